//! Descriptors: pipes that must not block us, the standard streams of a child, and the state of the
//! last line of stderr.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

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

/// The standard streams of a child. Where one is `None`, it inherits ours.
#[derive(Default)]
pub(crate) struct ChildStdio {
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
}

impl ChildStdio {
    /// Returns the streams of the hook: /dev/null for stdin, our stderr for stdout.
    ///
    /// # Errors
    /// When the system is short of descriptors, or has no /dev/null.
    pub(crate) fn for_hook() -> Result<Self> {
        Ok(Self {
            stdin: Some(null().context(NULL)?),
            stdout: Some(rustix::stdio::stderr().try_clone_to_owned()?),
            stderr: None,
        })
    }

    /// Duplicates them to descriptors 0 to 2, in the child. It cannot fail: these are open from the
    /// start, so that none of the others has such a number.
    pub(super) fn put_in_place(&self) {
        let puts = [
            (&self.stdin, dup2_stdin as fn(_) -> _),
            (&self.stdout, dup2_stdout),
            (&self.stderr, dup2_stderr),
        ];
        for (end, put) in puts {
            let _ = end.as_ref().map(put);
        }
    }
}

/// The path of the null device.
pub(crate) const NULL: &str = "/dev/null";

/// Opens /dev/null for reading.
pub(crate) fn null() -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(NULL, flags, Mode::empty())?)
}

// Two parts write to stderr: the pump of the command's output, and our own messages. Each must know
// whether the other has left a line unfinished.

/// Whether all of the command's stderr passes through us.
static STDERR_IS_FOLLOWED: AtomicBool = AtomicBool::new(false);

/// Whether the last byte written to stderr did not end a line.
static STDERR_LINE_IS_OPEN: AtomicBool = AtomicBool::new(false);

/// Notes that all of the command's stderr passes through us from now on.
pub(crate) fn follow_stderr() {
    STDERR_IS_FOLLOWED.store(true, Ordering::Relaxed);
}

/// Notes the last byte written to stderr.
pub(crate) fn note_on_stderr(last: u8) {
    STDERR_LINE_IS_OPEN.store(last != b'\n', Ordering::Relaxed);
}

/// Whether the state of the last line of stderr is known.
pub(crate) fn knows_stderr_line() -> bool {
    STDERR_IS_FOLLOWED.load(Ordering::Relaxed) || stderr_line_is_open()
}

/// Whether the last line of stderr is unterminated.
pub(crate) fn stderr_line_is_open() -> bool {
    STDERR_LINE_IS_OPEN.load(Ordering::Relaxed)
}
