//! The way of our own words to stderr and stdout: one write a line, and no error matters.

use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long a line waits for a reader of stderr that does not read. Long enough for one that is
/// merely slow; and no deadline is missed by much because of one that has stopped.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

const NO_PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// stderr for lines of a run.
pub(crate) struct Outlet {
    /// Readable when a signal has arrived, which ends the wait for a reader.
    signals: Option<OwnedFd>,
}

impl Outlet {
    /// An outlet on which a signal that arrives at `signals` ends any wait.
    pub(super) fn new(signals: BorrowedFd<'_>) -> Self {
        Self {
            signals: rustix::io::fcntl_dupfd_cloexec(signals, 3).ok(),
        }
    }

    /// Writes a whole line, or loses it: the exit status never depends on it. In haste, it waits
    /// for nobody.
    pub(crate) fn say(&self, line: &str, in_haste: bool) {
        if self.is_writable(if in_haste { &NO_PATIENCE } else { &PATIENCE }) {
            write_once(line);
        }
    }

    fn is_writable(&self, patience: &Timespec) -> bool {
        let stderr = io::stderr();
        let mut watched = vec![PollFd::from_borrowed_fd(stderr.as_fd(), PollFlags::OUT)];
        watched.extend(
            self.signals
                .iter()
                .map(|signals| PollFd::new(signals, PollFlags::IN)),
        );
        poll(&mut watched, Some(patience)).is_ok() && !watched[0].revents().is_empty()
    }
}

/// Writes a line to stderr with one system call.
pub(crate) fn write_once(line: &str) {
    // A line that cannot be written is lost: there is nowhere to say so.
    let _ = rustix::io::write(io::stderr().as_fd(), line.as_bytes());
}

/// Writes what was asked for to stdout.
///
/// # Errors
/// When not all of it could be written.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
