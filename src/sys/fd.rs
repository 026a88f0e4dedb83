//! Pipes and other descriptors that must not make us wait.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

pub(crate) use super::system::{
    Reads, drain, fill, memory_file, pipe_without_waits, private_pipe, reopened, tee, widen,
};

/// Has reads and writes through this descriptor of ours fail instead of wait.
pub(crate) fn never_wait(fd: &OwnedFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | OFlags::NONBLOCK)?)
}

/// What is true of a descriptor now.
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

/// Whether a read would not wait.
pub(crate) fn is_ready(fd: &OwnedFd) -> bool {
    !state(PollFd::new(fd, PollFlags::IN)).is_empty()
}

/// Whether a pipe takes nothing more for now, although somebody may still read it.
pub(crate) fn is_full(pipe: &OwnedFd) -> bool {
    state(PollFd::new(pipe, PollFlags::OUT)).is_empty()
}
