//! Where output goes, without waiting for whoever reads it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

use super::pipes::{self, reopened};

/// What a pipe that is ready takes at least, so that a write of it does not wait.
const SURELY_TAKEN: usize = 4096;

/// A descriptor to write to. It may be shared with others, so that its flags are not ours to change.
pub(super) struct Outlet {
    fd: OwnedFd,
    may_wait: bool,
    is_pipe: bool,
}

impl Outlet {
    /// The way to where this descriptor leads.
    ///
    /// # Errors
    /// When it cannot be looked at.
    pub(super) fn to(fd: OwnedFd) -> io::Result<Self> {
        let file = rustix::fs::fstat(&fd)?;
        let kind = FileType::from_raw_mode(file.st_mode);
        let may_wait = !matches!(kind, FileType::RegularFile | FileType::BlockDevice);
        // Another kind of device may be another one each time that it is opened.
        let is_pipe = kind == FileType::Fifo;
        if is_pipe || is_terminal_line(&fd) {
            let own = reopened(fd.as_fd(), OFlags::WRONLY | OFlags::NONBLOCK);
            if let Ok(fd) = own {
                return Ok(Self {
                    fd,
                    may_wait: false,
                    is_pipe,
                });
            }
        }
        Ok(Self {
            fd,
            may_wait,
            is_pipe: false,
        })
    }

    /// Writes as much as is taken at once.
    ///
    /// # Errors
    /// AGAIN if nothing is taken for now; any other is final.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let most = if self.may_wait {
            SURELY_TAKEN
        } else {
            bytes.len()
        };
        if self.may_wait && !self.is_ready() {
            return Err(Errno::AGAIN);
        }
        match rustix::io::write(&self.fd, &bytes[..most.min(bytes.len())]) {
            Err(Errno::INTR) => Err(Errno::AGAIN),
            other => other,
        }
    }

    /// Writes a part of a file, as much as is taken at once, without a copy on the way.
    ///
    /// # Errors
    /// As [`Outlet::write`]; or INVAL if there is no such way.
    pub(super) fn fill(&self, from: &File, at: u64, length: usize) -> Result<usize, Errno> {
        if !self.is_pipe {
            return Err(Errno::INVAL);
        }
        pipes::fill(&self.fd, from, at, length)
    }

    fn is_ready(&self) -> bool {
        !pipes::state(self.watched()).is_empty()
    }

    /// Ready when it takes something.
    pub(super) fn watched(&self) -> PollFd<'_> {
        PollFd::new(&self.fd, PollFlags::OUT)
    }
}

/// Whether it is the end of a terminal that programs use, which has a name of its own.
fn is_terminal_line(fd: &OwnedFd) -> bool {
    let name = rustix::termios::ttyname(fd, Vec::new());
    name.is_ok_and(|name| name.as_bytes() != b"/dev/ptmx")
}
