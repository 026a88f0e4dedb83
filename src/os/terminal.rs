//! Whether there is a terminal, and where.

use std::io::{IsTerminal as _, stderr};

use rustix::fs::{Mode, OFlags, open};

/// Whether this process has a controlling terminal. What counts is that it can be opened: ssh, sudo
/// and git read it even when stdin is a file.
pub(super) fn is_controlled() -> bool {
    open(
        "/dev/tty",
        OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .is_ok()
}

/// Whether people read stderr as it comes.
pub(crate) fn stderr_is_terminal() -> bool {
    stderr().is_terminal()
}
