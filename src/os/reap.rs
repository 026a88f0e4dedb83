//! Children that have ended.

use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitIdStatus, getpid, waitid};

use crate::sys;

/// Reaps what is not `ours`: as PID 1 we are given the orphans of the whole container. One that
/// stands behind our own child, while that may not be reaped yet, waits for it.
pub(super) fn reap_orphans(ours: Option<Pid>) {
    if getpid() != Pid::INIT {
        return;
    }
    while let Some(orphan) = sys::some_ended_child().filter(|ended| Some(*ended) != ours) {
        if !matches!(wait_for(orphan, WaitIdOptions::empty()), Ok(Some(_))) {
            return;
        }
    }
}

/// Looks whether the child has ended, and reaps it unless told not to.
///
/// # Errors
/// When there is no such child.
pub(super) fn wait_for(child: Pid, options: WaitIdOptions) -> io::Result<Option<WaitIdStatus>> {
    loop {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | options;
        match waitid(WaitId::Pid(child), options) {
            Err(Errno::INTR) => {}
            other => return other.map_err(io::Error::from),
        }
    }
}
