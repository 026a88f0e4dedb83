//! Standard streams: what stands in for them, and how the last line of stderr stands.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use rustix::fs::{Mode, OFlags};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

/// What stands in for the standard streams of a command, where ours would not do.
#[derive(Default)]
pub(crate) struct ChildStdio {
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
}

impl ChildStdio {
    /// What a command between two attempts has for standard streams.
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

    /// Puts them where a command looks for them, in its process. It cannot fail: none of them has
    /// the number of a standard stream, because all of these are open from the start.
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

/// Where nothing is read from.
pub(crate) const NULL: &str = "/dev/null";

/// /dev/null, to read.
pub(crate) fn null() -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(NULL, flags, Mode::empty())?)
}

// There is one stderr, and two who write to it: what passes on the command's output, and what says
// our own lines. Who cannot know of the other writes behind a line that has no end.

/// Whether all that the command writes to stderr passes through us.
static STDERR_IS_FOLLOWED: AtomicBool = AtomicBool::new(false);

/// Whether the last that went to stderr was not the end of a line.
static STDERR_LINE_IS_OPEN: AtomicBool = AtomicBool::new(false);

/// From now on all that the command writes to stderr passes through us.
pub(crate) fn follow_stderr() {
    STDERR_IS_FOLLOWED.store(true, Ordering::Relaxed);
}

/// Notes the last byte that went to stderr.
pub(crate) fn note_on_stderr(last: u8) {
    STDERR_LINE_IS_OPEN.store(last != b'\n', Ordering::Relaxed);
}

/// Whether it is known how the last line of stderr stands.
pub(crate) fn knows_stderr_line() -> bool {
    STDERR_IS_FOLLOWED.load(Ordering::Relaxed) || stderr_line_is_open()
}

/// Whether the last line of stderr has no end.
pub(crate) fn stderr_line_is_open() -> bool {
    STDERR_LINE_IS_OPEN.load(Ordering::Relaxed)
}
