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

use super::{Mask, SavedDisposition};
use crate::sys::stdio::ChildStdio;

/// All that is needed to start a command.
pub(crate) struct SpawnSpec<'a> {
    /// Where the program may be, in the order in which to try; at least one.
    pub(crate) paths: &'a [CString],
    /// The program's name and its arguments.
    pub(crate) words: &'a [CString],
    /// The environment, an entry each.
    pub(crate) environment: &'a [&'a CStr],
    /// What its process exits with if it cannot execute the command.
    pub(crate) codes: Codes,
    /// What it has for standard streams where ours would not do.
    pub(crate) ends: &'a ChildStdio,
    /// Whether the command leads a process group of its own.
    pub(crate) leads_group: bool,
    /// What it is to find as it was before us.
    pub(crate) saved_dispositions: &'a [SavedDisposition],
    /// The signals that were blocked when we were started.
    pub(crate) mask: &'a Mask,
}

/// Exit codes of a child that does not become the command.
#[derive(Clone, Copy)]
pub(crate) struct Codes {
    /// There is nothing to execute.
    pub(crate) not_found: u8,
    /// What there is cannot be executed.
    pub(crate) not_executable: u8,
    /// Its parent is gone already.
    pub(crate) abandoned: u8,
}

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub(crate) use linux::start;

#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::start;

/// A command that was started.
pub(crate) struct Started {
    /// Its process; until it is reaped this pid is its own.
    pub(crate) pid: Pid,
    /// The signals that were sent to our group before it was in it, a bit each.
    pub(crate) missed: u64,
}
