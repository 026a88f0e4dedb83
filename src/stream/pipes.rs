//! Pipes and other descriptors that must not make us wait.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

/// The most that is asked for at a time where nothing is copied.
const MOST: usize = 1024 * 1024;

/// A pipe whose reading and writing end are closed when a command is executed.
pub(super) fn private_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// Has reads and writes through this descriptor of ours fail instead of wait.
pub(super) fn never_wait(fd: &OwnedFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | OFlags::NONBLOCK)?)
}

/// What a descriptor leads to, opened anew, so that neither its position nor its flags are shared
/// with whoever else has it. Only Linux can do that, and only where it is allowed.
pub(super) fn reopened(fd: BorrowedFd<'_>, flags: OFlags) -> io::Result<OwnedFd> {
    if cfg!(not(target_os = "linux")) {
        return Err(Errno::NOSYS.into());
    }
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Has a pipe hold more, so that its ends take turns less often; where it may not, it stays as it is.
pub(super) fn widen(pipe: BorrowedFd<'_>) {
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, MOST);
    #[cfg(not(target_os = "linux"))]
    let _ = pipe;
}

/// What is true of a descriptor now.
pub(super) fn state(watched: PollFd<'_>) -> PollFlags {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut watched = [watched];
    match poll(&mut watched, Some(&at_once)) {
        Ok(1..) => watched[0].revents(),
        _ => PollFlags::empty(),
    }
}

/// Whether a read would not wait.
pub(crate) fn is_ready(fd: &OwnedFd) -> bool {
    !state(PollFd::new(fd, PollFlags::IN)).is_empty()
}

/// Lets another pipe have what is in this one, and leaves it there; 0 at its end.
///
/// # Errors
/// AGAIN if there is nothing or no room for now, PIPE if nobody reads the other; any other if they
/// are not both pipes of a system that can do this.
#[cfg(target_os = "linux")]
pub(super) fn tee(from: &OwnedFd, to: &OwnedFd) -> Result<usize, Errno> {
    rustix::pipe::tee(from, to, MOST, rustix::pipe::SpliceFlags::NONBLOCK)
}
#[cfg(not(target_os = "linux"))]
pub(super) fn tee(_: &OwnedFd, _: &OwnedFd) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}

/// Moves what is in a pipe to a place in a file.
///
/// # Errors
/// When there is no room, or the system cannot do this.
#[cfg(target_os = "linux")]
pub(super) fn drain(from: &OwnedFd, to: &File, at: u64, length: usize) -> Result<usize, Errno> {
    let mut at = at;
    rustix::pipe::splice(
        from,
        None,
        to,
        Some(&mut at),
        length,
        rustix::pipe::SpliceFlags::empty(),
    )
}
#[cfg(not(target_os = "linux"))]
pub(super) fn drain(_: &OwnedFd, _: &File, _: u64, _: usize) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}

/// Fills a pipe from a place in a file; 0 at its end.
///
/// # Errors
/// AGAIN if there is no room for now, PIPE if nobody reads it; any other if the system cannot do
/// this.
#[cfg(target_os = "linux")]
pub(super) fn fill(to: &OwnedFd, from: &File, at: u64, length: usize) -> Result<usize, Errno> {
    let mut at = at;
    let length = length.min(MOST);
    rustix::pipe::splice(
        from,
        Some(&mut at),
        to,
        None,
        length,
        rustix::pipe::SpliceFlags::NONBLOCK,
    )
}
#[cfg(not(target_os = "linux"))]
pub(super) fn fill(_: &OwnedFd, _: &File, _: u64, _: usize) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}
