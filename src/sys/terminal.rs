//! The terminal: whether there is one, who is in the foreground, its modes and its width.

use std::env;
use std::io::{IsTerminal as _, stderr, stdin, stdout};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{Mode, OFlags, fstat, open};
use rustix::process::Pid;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};

use super::group_of;

/// Whether this process has a controlling terminal. What counts is that it can be opened: ssh, sudo
/// and git read it even when stdin is a file.
pub(crate) fn is_controlled() -> bool {
    open(
        "/dev/tty",
        OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .is_ok()
}

/// Whether stderr is a terminal, which people read as it comes.
pub(crate) fn stderr_is_terminal() -> bool {
    stderr().is_terminal()
}

/// Whether a line on stderr may be rewritten in place: the terminal can do it, and nobody records
/// its output.
pub(crate) fn may_change() -> bool {
    let is_dumb = env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    stderr_is_terminal() && !is_dumb && env::var_os("CI").is_none()
}

/// Whether lines on stderr may have colours: as for what may change, unless `NO_COLOR` forbids it.
pub(crate) fn has_colours() -> bool {
    may_change() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Whether our job is in the foreground of the terminal.
pub(crate) fn is_in_front() -> bool {
    is_in_front_of(stderr())
}

/// Whether our group is in the foreground of this terminal.
fn is_in_front_of(terminal: impl AsFd) -> bool {
    let ours = group_of(None).ok();
    tcgetpgrp(terminal).is_ok_and(|group| Some(Pid::as_raw(Some(group))) == ours)
}

/// The modes of a terminal.
pub(crate) struct Modes(Termios);

/// Reads the modes of the terminal on stdin, if there is one.
pub(crate) fn modes() -> Option<Modes> {
    tcgetattr(stdin()).ok().map(Modes)
}

impl Modes {
    /// Restores them on the terminal of stdin, if stdout is the same and our job is in the
    /// foreground. It does not wait for pending output.
    pub(crate) fn give_back(&self) {
        let device = |stream: BorrowedFd<'_>| {
            let is_terminal = stream.is_terminal();
            fstat(stream)
                .ok()
                .filter(|_| is_terminal)
                .map(|is| is.st_rdev)
        };
        let (input, output) = (stdin(), stdout());
        let is_one = device(input.as_fd()).is_some_and(|one| device(output.as_fd()) == Some(one));
        if is_one && is_in_front_of(&input) {
            let _ = tcsetattr(&input, OptionalActions::Now, &self.0);
        }
    }
}

/// Returns the width of the terminal on stderr, in columns.
pub(crate) fn columns() -> usize {
    let columns = tcgetwinsize(stderr()).map_or(0, |size| size.ws_col);
    // 80 is the traditional width, for a terminal that reports none.
    if columns == 0 { 80 } else { columns.into() }
}
