//! A pipe on stdin that is not kept: whether an attempt has eaten of it.
//!
//! Nothing is taken from it to find out. What is looked at before an attempt is as little as will do,
//! because most attempts succeed; what it means is asked after one that has failed.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::stdio::stdin;

use crate::sys::fd::Reads;
use crate::sys::fd::{self, private_pipe};

/// How much of the beginning is compared. A pipe holds as much by default.
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
    /// An attempt is about to start.
    pub(super) fn note(&mut self) {
        // Our own look counts as a read, too.
        self.note_reads();
        self.held = held();
        self.beginning = Beginning::of_stdin(self.held);
        match &self.reads {
            Some(reads) => reads.forget(),
            None => self.reads = Reads::of_stdin(),
        }
    }

    /// Whether the attempt that has failed, or one before it, has eaten of what was there. That its
    /// writer has merely ended is none of it: such a pipe looks the same to every attempt.
    pub(super) fn is_eaten(&mut self) -> bool {
        let flags = rustix::fs::fcntl_getfl(stdin());
        if flags.is_ok_and(|flags| flags.contains(OFlags::WRONLY)) {
            // The command can only write there, and who reads is somebody else.
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

/// How much the pipe holds.
fn held() -> u64 {
    rustix::io::ioctl_fionread(stdin()).unwrap_or(0)
}

/// Whether nobody can write to it any more. It must be empty.
fn is_at_its_end() -> bool {
    let ours = stdin();
    fd::state(PollFd::from_borrowed_fd(ours.as_fd(), PollFlags::IN)).contains(PollFlags::HUP)
}

/// A pipe that holds what another began with.
struct Beginning(OwnedFd);

impl Beginning {
    /// What stdin begins with, if it holds anything and the system can tell.
    fn of_stdin(held: u64) -> Option<Self> {
        if held == 0 {
            return None;
        }
        let (reader, writer) = private_pipe().ok()?;
        fd::tee(stdin(), &writer).ok()?;
        Some(Self(reader))
    }

    /// Whether one of the two is not how the other begins.
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
