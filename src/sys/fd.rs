//! Pipes and other descriptors that must not block us.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

pub(crate) use super::system::{
    Reads, drain, fill, memory_file, pipe_without_waits, private_pipe, reopened, tee, widen,
};

/// Makes a descriptor of ours non-blocking.
pub(crate) fn never_wait(fd: &OwnedFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | OFlags::NONBLOCK)?)
}

/// Polls a descriptor without waiting.
pub(crate) fn state(watched: PollFd<'_>) -> PollFlags {
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

/// Whether a read would not block.
pub(crate) fn is_ready(fd: &OwnedFd) -> bool {
    !state(PollFd::new(fd, PollFlags::IN)).is_empty()
}

/// Whether a pipe is full and still has a reader.
pub(crate) fn is_full(pipe: &OwnedFd) -> bool {
    state(PollFd::new(pipe, PollFlags::OUT)).is_empty()
}
