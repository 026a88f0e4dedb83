//! Pipes as every Unix has them: what goes through them is copied.

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::pipe::pipe;

use super::never_wait;

/// A pipe whose ends are closed when a command is executed. Nobody can execute one in between,
/// because there is no other thread.
///
/// # Errors
/// When the system has none left.
pub(crate) fn private_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe()?;
    fcntl_setfd(&reader, FdFlags::CLOEXEC)?;
    fcntl_setfd(&writer, FdFlags::CLOEXEC)?;
    Ok((reader, writer))
}

/// The same, neither of whose ends ever waits.
///
/// # Errors
/// As [`private_pipe`].
pub(crate) fn pipe_without_waits() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = private_pipe()?;
    never_wait(&reader)?;
    never_wait(&writer)?;
    Ok((reader, writer))
}

/// Nothing can be opened anew.
pub(crate) fn reopened(_: BorrowedFd<'_>, _: OFlags) -> io::Result<OwnedFd> {
    Err(Errno::NOSYS.into())
}

/// A pipe holds what it holds.
pub(crate) fn widen(_: BorrowedFd<'_>) {}

/// There is no file in memory.
pub(crate) fn memory_file() -> io::Result<File> {
    Err(Errno::NOSYS.into())
}

/// Nothing can be had twice.
pub(crate) fn tee(_: BorrowedFd<'_>, _: &OwnedFd) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}

/// Nothing moves without us.
pub(crate) fn drain(_: &OwnedFd, _: &File, _: u64, _: usize) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}

/// Nothing moves without us.
pub(crate) fn fill(_: &OwnedFd, _: &File, _: u64, _: usize) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}

/// What watches for reads: there is none.
pub(crate) enum Reads {}

impl Reads {
    /// Never any.
    pub(crate) fn of_stdin() -> Option<Self> {
        None
    }

    /// Whether there was a read.
    pub(crate) fn have_been(&self) -> bool {
        match *self {}
    }

    /// Forgets those that there were.
    pub(crate) fn forget(&self) {
        match *self {}
    }
}
