//! From here to the command.
//!
//! On Linux, for a group of its own, this is what `posix_spawn` does: the child shares our memory
//! and runs on a stack of its own until it executes the command, and we stand still meanwhile. It
//! costs the same however much memory is in use, no pipe is needed to learn of an error, and unlike
//! `posix_spawn` it can ask for the parent-death signal and resets the handlers that are ours instead
//! of all there may be. In the group of a terminal the child is forked, because a key may stop it.
//! Elsewhere std forks.

use std::ffi::{CStr, CString};

use rustix::process::Pid;

use super::{Mask, Original};
use crate::stream::Ends;

/// All that is needed to start a command.
pub(in crate::os) struct Recipe<'a> {
    /// Where the program may be, in the order in which to try; at least one.
    pub(in crate::os) paths: &'a [CString],
    /// The program's name and its arguments.
    pub(in crate::os) words: &'a [CString],
    /// The environment, an entry each.
    pub(in crate::os) environment: &'a [&'a CStr],
    /// What it has for standard streams where ours would not do.
    pub(in crate::os) ends: &'a Ends,
    /// Whether the command leads a process group of its own.
    pub(in crate::os) leads_group: bool,
    /// What it is to find as it was before us.
    pub(in crate::os) originals: &'a [Original],
    /// The signals that were blocked when we were started.
    pub(in crate::os) mask: &'a Mask,
}

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub(in crate::os) use linux::start;

#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
pub(in crate::os) use other::start;

/// A command that was started.
pub(in crate::os) struct Started {
    /// Its process; until it is reaped this pid is its own.
    pub(in crate::os) pid: Pid,
    /// The signals that were sent to our group before it was in it, a bit each.
    pub(in crate::os) missed: u64,
}
