//! Detects whether an attempt has read from a pipe on stdin whose content we do not keep.
//!
//! Nothing is read from the pipe to find out. As little as possible is recorded before an attempt,
//! because most succeed; it is interpreted only after one that has failed.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::stdio::stdin;

use crate::sys::fd::Reads;
use crate::sys::fd::{self, private_pipe};

/// How many bytes of the beginning are compared: the default capacity of a pipe.
const MOST_COMPARED: usize = 64 * 1024;

/// The pipe as it was before the attempt.
#[derive(Default)]
pub(super) struct Guard {
    held: u64,
    beginning: Option<Beginning>,
    reads: Option<Reads>,
    was_read: bool,
}

impl Guard {
    /// Records the state of the pipe before an attempt.
    pub(super) fn note(&mut self) {
        // First, because our own look counts as a read, too.
        self.note_reads();
        self.held = held();
        self.beginning = Beginning::of_stdin(self.held);
        match &self.reads {
            Some(reads) => reads.forget(),
            None => self.reads = Reads::of_stdin(),
        }
    }

    /// Whether the failed attempt, or one before it, has read any of the input. A writer that
    /// has merely closed its end does not count: such a pipe looks the same to every attempt.
    pub(super) fn has_lost_input(&mut self) -> bool {
        let flags = rustix::fs::fcntl_getfl(stdin());
        if flags.is_ok_and(|flags| flags.contains(OFlags::WRONLY)) {
            // The command can only write to it; the reader is another process.
            return false;
        }
        self.note_reads();
        let held = held();
        if held < self.held {
            return true;
        }
        if held == 0 {
            return self.was_read && is_at_its_end();
        }
        let began = self.beginning.take();
        began.is_some_and(|began| {
            Beginning::of_stdin(held).is_some_and(|begins| began.is_other_than(&begins))
        })
    }

    fn note_reads(&mut self) {
        self.was_read |= self.reads.as_ref().is_some_and(Reads::have_been);
    }
}

/// Returns how many bytes the pipe holds.
fn held() -> u64 {
    rustix::io::ioctl_fionread(stdin()).unwrap_or(0)
}

/// Whether the pipe, which must be empty, has no writer left.
fn is_at_its_end() -> bool {
    let ours = stdin();
    fd::state(PollFd::from_borrowed_fd(ours.as_fd(), PollFlags::IN)).contains(PollFlags::HUP)
}

/// A pipe with a copy of another pipe's first bytes.
struct Beginning(OwnedFd);

impl Beginning {
    /// Copies the first bytes of stdin, if it holds any and the system can.
    fn of_stdin(held: u64) -> Option<Self> {
        if held == 0 {
            return None;
        }
        let (reader, writer) = private_pipe().ok()?;
        fd::tee(stdin(), &writer).ok()?;
        Some(Self(reader))
    }

    /// Whether the two differ within their common length.
    fn is_other_than(&self, other: &Self) -> bool {
        let (one, other) = (self.bytes(), other.bytes());
        one.iter().zip(&other).any(|(one, other)| one != other)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; MOST_COMPARED];
        let read = rustix::io::read(&self.0, &mut bytes).unwrap_or(0);
        bytes.truncate(read);
        bytes
    }
}
