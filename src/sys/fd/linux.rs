//! Pipes as Linux has them: what goes through them need not be copied.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with};

use super::is_ready;

/// The most that is asked for at a time where nothing is copied.
const MOST: usize = 1024 * 1024;

/// A pipe whose ends are closed when a command is executed.
///
/// # Errors
/// When the system has none left.
pub(crate) fn private_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// The same, neither of whose ends ever waits.
///
/// # Errors
/// As [`private_pipe`].
pub(crate) fn pipe_without_waits() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?)
}

/// What a descriptor leads to, opened anew, so that neither its position nor its flags are shared
/// with whoever else has it.
///
/// # Errors
/// When that is not allowed.
pub(crate) fn reopened(fd: BorrowedFd<'_>, flags: OFlags) -> io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Has a pipe hold more, so that its ends take turns less often; where it may not, it stays as it is.
pub(crate) fn widen(pipe: BorrowedFd<'_>) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, MOST);
}

/// A file in memory that the kernel holds.
///
/// # Errors
/// When the system has none to give.
pub(crate) fn memory_file() -> io::Result<File> {
    Ok(rustix::fs::memfd_create("retry-stdin", MemfdFlags::CLOEXEC)?.into())
}

/// Lets another pipe have what is in this one, and leaves it there; 0 at its end.
///
/// # Errors
/// AGAIN if there is nothing or no room for now, PIPE if nobody reads the other; any other if they
/// are not both pipes.
pub(crate) fn tee(from: BorrowedFd<'_>, to: &OwnedFd) -> Result<usize, Errno> {
    rustix::pipe::tee(from, to, MOST, SpliceFlags::NONBLOCK)
}

/// Moves what is in a pipe to a place in a file.
///
/// # Errors
/// AGAIN if there is nothing for now; any other when there is no room, or the file cannot take it
/// like this.
pub(crate) fn drain(from: &OwnedFd, to: &File, at: u64, length: usize) -> Result<usize, Errno> {
    let mut at = at;
    rustix::pipe::splice(from, None, to, Some(&mut at), length, SpliceFlags::NONBLOCK)
}

/// Fills a pipe from a place in a file; 0 at its end.
///
/// # Errors
/// AGAIN if there is no room for now, PIPE if nobody reads it; any other if the file cannot give it
/// like this.
pub(crate) fn fill(to: &OwnedFd, from: &File, at: u64, length: usize) -> Result<usize, Errno> {
    let (mut at, length) = (at, length.min(MOST));
    rustix::pipe::splice(from, Some(&mut at), to, None, length, SpliceFlags::NONBLOCK)
}

/// A watch for reads of our stdin. inotify tells of what has been read from a pipe, and keeps still
/// at its end, at a write and at a close.
pub(crate) struct Reads(OwnedFd);

impl Reads {
    /// Watches from now on; nothing where the system will not have it, as with too many watchers.
    pub(crate) fn of_stdin() -> Option<Self> {
        let watcher = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        inotify::add_watch(&watcher, "/proc/self/fd/0", WatchFlags::ACCESS).ok()?;
        Some(Self(watcher))
    }

    /// Whether there was one since the watch began, or since they were forgotten.
    pub(crate) fn have_been(&self) -> bool {
        is_ready(&self.0)
    }

    /// Forgets those that there were.
    pub(crate) fn forget(&self) {
        let mut events = [0; 4096];
        while rustix::io::read(&self.0, &mut events).is_ok_and(|length| length > 0) {}
    }
}
