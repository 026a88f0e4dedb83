//! Our own output: lines on stderr, requested text on stdout.

use std::borrow::Cow;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::sys::{self, fd, startup, terminal};

/// How long a line waits for a reader of stderr that does not read: long enough for one that is
/// merely slow, and short enough that no deadline is missed by much for one that has stopped.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

const NO_PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Whether the last line was read in time. After one wait in vain, later lines do not wait for the
/// reader.
static IS_READ: AtomicBool = AtomicBool::new(true);

/// Writes a whole line to stderr with one system call, or drops it. The exit status never depends
/// on it. A fatal signal ends the wait for a reader; in haste there is no wait, and [`IS_READ`]
/// stays as it is.
pub(crate) fn say(text: &str, in_haste: bool) {
    let is_read = takes_more(&NO_PATIENCE)
        || !in_haste
            && IS_READ.load(Ordering::Relaxed)
            && sys::hearing_fatal_only(|| takes_more(&PATIENCE));
    if is_read {
        // The command may have left its last line unfinished.
        let begun = fd::stderr_line_is_open() && !text.starts_with('\n');
        let text = if begun {
            Cow::Owned(format!("\n{text}"))
        } else {
            Cow::Borrowed(text)
        };
        // A line that cannot be written is lost: there is nowhere to say so.
        let _ = rustix::io::write(io::stderr().as_fd(), text.as_bytes());
        fd::note_on_stderr(b'\n');
    }
    if !in_haste {
        IS_READ.store(is_read, Ordering::Relaxed);
    }
}

/// Whether it is known if the last line of stderr is unterminated; [`say`] then ends it.
pub(crate) fn knows_line() -> bool {
    fd::knows_stderr_line()
}

/// Whether stderr becomes writable within this time.
fn takes_more(patience: &Timespec) -> bool {
    let stderr = io::stderr();
    let mut watched = [PollFd::from_borrowed_fd(stderr.as_fd(), PollFlags::OUT)];
    matches!(poll(&mut watched, Some(patience)), Ok(1..))
}

/// Returns text that moves the cursor to the start of a line, for a terminal that the command
/// writes to directly; empty otherwise. The cursor's position cannot be queried without reading the
/// terminal. So the text has as many blanks as fit a line: an empty line holds them all, and after
/// any other text the cursor is on the next line.
pub(crate) fn fresh_line() -> String {
    if knows_line() || !terminal::may_change() {
        return String::new();
    }
    format!("{:1$}\r\x1b[K", "", terminal::columns())
}

/// Writes the requested text to stdout, however slowly it is read, even if it was made non-blocking
/// by whoever gave it to us: that is theirs to change back, not ours.
///
/// # Errors
/// When not all of it could be written.
pub(crate) fn print(text: &str) -> io::Result<()> {
    if startup::output_was_closed()[0] {
        return Err(Errno::BADF.into());
    }
    let stdout = io::stdout();
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        match rustix::io::write(stdout.as_fd(), rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => rest = &rest[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => await_reader(stdout.as_fd())?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Waits until something can be written, or until it is certain that nothing can.
fn await_reader(fd: BorrowedFd<'_>) -> io::Result<()> {
    let mut watched = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
    match poll(&mut watched, None) {
        // A descriptor that cannot be polled must not be tried again and again.
        Ok(_) if watched[0].revents().contains(PollFlags::NVAL) => Err(Errno::AGAIN.into()),
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
