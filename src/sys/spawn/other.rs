//! No other system lets a child share our memory, or hear of our death.

use std::io;

use rustix::process::Pid;

use super::{Child, ChildReport, spawn_fork};

/// Starts a child in a group of its own.
///
/// # Errors
/// Why there is no process.
pub(super) fn spawn_in_new_group(child: Child<'_>) -> io::Result<(Pid, ChildReport, u64)> {
    spawn_fork(child)
}

/// Does nothing.
pub(super) fn die_with_parent() {}
