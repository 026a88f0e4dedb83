//! A child that shares our memory, as with `posix_spawn`.
//!
//! It runs on a stack of its own until it executes the command, and we stand still meanwhile. It
//! costs the same however much memory is in use, no pipe is needed to learn of an error, and unlike
//! `posix_spawn` it can ask for the parent-death signal and resets the handlers that are ours instead
//! of all there may be.

use std::ffi::c_void;
use std::io;

use rustix::process::{Pid, Signal, set_parent_process_death_signal};

use super::{Child, ChildReport, pid_or_error, run};

/// Bytes of stack for the child, which calls little and keeps nothing there. The largest thing on it
/// may be what the kernel keeps of the processor when a signal is handed over, some 11 KiB; of that
/// there is never more than one.
const STACK: usize = 32 * 1024;

/// A child that shares our memory while we stand still. In a group of its own it misses nothing,
/// because it is given nothing but what we pass on.
pub(super) fn spawn_in_new_group(mut child: Child<'_>) -> io::Result<(Pid, ChildReport, u64)> {
    let mut stack = Box::<[u128]>::new_uninit_slice(STACK / size_of::<u128>());
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack is ours, aligned to 16 bytes, unused, and grows down from its end on
    // every system that Rust knows; CLONE_VFORK has us stand still until the child has left
    // both it and `child`, whose type is the one that `run` takes it for.
    let pid = unsafe {
        let top = stack.as_mut_ptr_range().end.cast::<c_void>();
        libc::clone(run, top, flags, (&raw mut child).cast::<c_void>())
    };
    Ok((pid_or_error(pid)?, child.report, 0))
}

/// Has this child get TERM when its parent dies. Where this is forbidden, the command merely outlives
/// our death.
pub(super) fn die_with_parent() {
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
}
