//! Pipes as Linux has them: what goes through them need not be copied.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with};

/// The most that is asked for at a time where nothing is copied.
const MOST: usize = 1024 * 1024;

/// A pipe whose ends are closed when a command is executed.
///
/// # Errors
/// When the system has none left.
pub(in crate::stream) fn private_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
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
pub(in crate::stream) fn reopened(fd: BorrowedFd<'_>, flags: OFlags) -> io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Has a pipe hold more, so that its ends take turns less often; where it may not, it stays as it is.
pub(in crate::stream) fn widen(pipe: BorrowedFd<'_>) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, MOST);
}

/// A file in memory that the kernel holds.
///
/// # Errors
/// When the system has none to give.
pub(in crate::stream) fn memory_file() -> io::Result<File> {
    Ok(rustix::fs::memfd_create("retry-stdin", MemfdFlags::CLOEXEC)?.into())
}

/// Lets another pipe have what is in this one, and leaves it there; 0 at its end.
///
/// # Errors
/// AGAIN if there is nothing or no room for now, PIPE if nobody reads the other; any other if they
/// are not both pipes.
pub(in crate::stream) fn tee(from: BorrowedFd<'_>, to: &OwnedFd) -> Result<usize, Errno> {
    rustix::pipe::tee(from, to, MOST, SpliceFlags::NONBLOCK)
}

/// Moves what is in a pipe to a place in a file.
///
/// # Errors
/// AGAIN if there is nothing for now; any other when there is no room, or the file cannot take it
/// like this.
pub(in crate::stream) fn drain(
    from: &OwnedFd,
    to: &File,
    at: u64,
    length: usize,
) -> Result<usize, Errno> {
    let mut at = at;
    rustix::pipe::splice(from, None, to, Some(&mut at), length, SpliceFlags::NONBLOCK)
}

/// Fills a pipe from a place in a file; 0 at its end.
///
/// # Errors
/// AGAIN if there is no room for now, PIPE if nobody reads it; any other if the file cannot give it
/// like this.
pub(in crate::stream) fn fill(
    to: &OwnedFd,
    from: &File,
    at: u64,
    length: usize,
) -> Result<usize, Errno> {
    let (mut at, length) = (at, length.min(MOST));
    rustix::pipe::splice(from, Some(&mut at), to, None, length, SpliceFlags::NONBLOCK)
}
