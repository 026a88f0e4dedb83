//! Whether there is a terminal, and where.

use std::env;
use std::io::{IsTerminal as _, stderr};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::getpgrp;
use rustix::termios::{tcgetpgrp, tcgetwinsize};

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

/// Whether a line on stderr may change under people's eyes: there is a terminal that can do it, and
/// nobody keeps what is written there.
pub(super) fn may_change() -> bool {
    let is_dumb = env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    stderr_is_terminal() && !is_dumb && env::var_os("CI").is_none()
}

/// Whether the terminal is ours to write to now, and not another job's.
pub(super) fn is_in_front() -> bool {
    tcgetpgrp(stderr()).is_ok_and(|group| group == getpgrp())
}

/// How many columns the terminal on stderr has.
pub(crate) fn columns() -> usize {
    let columns = tcgetwinsize(stderr()).map_or(0, |size| size.ws_col);
    // A terminal that does not know is as wide as they were made to be.
    if columns == 0 { 80 } else { columns.into() }
}
