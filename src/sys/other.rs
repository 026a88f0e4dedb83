//! The system calls of macOS and the BSDs, where Linux has others.

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::event::PollFd;
use rustix::fs::OFlags;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::pipe::pipe;
use rustix::process::{Pid, Resource, Rlimit, setrlimit};

use super::fd::never_wait;
use super::spawn::{Child, ChildReport, spawn_fork};

/// Fills `bytes`, at most 256 of them, with random bits.
///
/// # Errors
/// When the system has none to give.
pub(crate) fn fill_with_random_bits(bytes: &mut [u8]) -> io::Result<()> {
    // SAFETY: all of the bytes are ours, and every pattern of bits is a byte.
    match unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), bytes.len()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Prevents core dumps of this process.
pub(crate) fn forbid_core_files() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = setrlimit(Resource::Core, none);
}

/// Whether the kernel generated a signal.
pub(crate) fn is_from_kernel(info: &libc::siginfo_t) -> bool {
    // SAFETY: the member is there for every signal on these systems.
    unsafe { info.si_pid() == 0 }
}

/// Does nothing: these systems take free memory back when they need it.
pub(crate) fn give_back_memory() {}

/// Spawns a child in a group of its own.
///
/// # Errors
/// Why there is no process.
pub(super) fn spawn_in_new_group(child: Child<'_>) -> io::Result<(Pid, ChildReport, u64)> {
    spawn_fork(child)
}

/// Does nothing.
pub(super) fn die_with_parent() {}

/// Opens a close-on-exec pipe. Without another thread nothing is executed before the flag is set.
///
/// # Errors
/// When the system has none left.
pub(crate) fn private_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe()?;
    fcntl_setfd(&reader, FdFlags::CLOEXEC)?;
    fcntl_setfd(&writer, FdFlags::CLOEXEC)?;
    Ok((reader, writer))
}

/// Opens a close-on-exec pipe with both ends non-blocking.
///
/// # Errors
/// As [`private_pipe`].
pub(crate) fn pipe_without_waits() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = private_pipe()?;
    never_wait(&reader)?;
    never_wait(&writer)?;
    Ok((reader, writer))
}

/// Unsupported: a descriptor cannot be reopened.
pub(crate) fn reopened(_: BorrowedFd<'_>, _: OFlags) -> io::Result<OwnedFd> {
    Err(Errno::NOSYS.into())
}

/// Does nothing: the buffer of a pipe has a fixed size.
pub(crate) fn widen(_: BorrowedFd<'_>) {}

/// Unsupported: there are no files in memory.
pub(crate) fn memory_file() -> io::Result<File> {
    Err(Errno::NOSYS.into())
}

/// Unsupported: the content of a pipe cannot be copied.
pub(crate) fn tee(_: BorrowedFd<'_>, _: &OwnedFd) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}

/// Unsupported: there is no splice.
pub(crate) fn drain(_: &OwnedFd, _: &File, _: u64, _: usize) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}

/// Unsupported: there is no splice.
pub(crate) fn fill(_: &OwnedFd, _: &File, _: u64, _: usize) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}

/// An empty type, because reads cannot be watched.
pub(crate) enum Reads {}

impl Reads {
    /// Returns `None`.
    pub(crate) fn of_stdin() -> Option<Self> {
        None
    }

    /// Whether there was a read.
    pub(crate) fn have_been(&self) -> bool {
        match *self {}
    }

    /// Forgets the reads so far.
    pub(crate) fn forget(&self) {
        match *self {}
    }
}

/// Nothing here tells when a descriptor of a file is closed, so there is never such a watch.
pub(crate) enum Closes {}

impl Closes {
    /// Returns `None`: callers look again after a while.
    pub(crate) fn of(_: &Path) -> Option<Self> {
        None
    }

    /// Never called.
    pub(crate) fn watched(&self) -> PollFd<'_> {
        match *self {}
    }

    /// Never called.
    pub(crate) fn forget(&self) {
        match *self {}
    }
}
