//! The way of our own words to stderr and stdout: one write a line, and no error matters.

use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// stderr for lines of a run.
pub(crate) struct Outlet {
    /// Readable when a signal has arrived, which ends the wait for a reader that does not read.
    signals: Option<OwnedDup>,
}

type OwnedDup = std::os::fd::OwnedFd;

impl Outlet {
    /// An outlet that a signal on `signals` keeps from blocking for ever.
    pub(super) fn new(signals: BorrowedFd<'_>) -> Self {
        Self {
            signals: rustix::io::fcntl_dupfd_cloexec(signals, 3).ok(),
        }
    }

    /// Writes a whole line, or loses it: the exit status never depends on it.
    pub(crate) fn say(&self, line: &str) {
        if self.is_writable() {
            write_once(line);
        }
    }

    /// Waits until stderr takes a line; not while a signal is waiting to be heard.
    fn is_writable(&self) -> bool {
        let stderr = io::stderr();
        let mut watched = vec![PollFd::from_borrowed_fd(stderr.as_fd(), PollFlags::OUT)];
        watched.extend(
            self.signals
                .iter()
                .map(|signals| PollFd::new(signals, PollFlags::IN)),
        );
        loop {
            match poll(&mut watched, None) {
                Ok(_) => return !watched[0].revents().is_empty(),
                Err(Errno::INTR) => {}
                Err(_) => return true,
            }
        }
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
