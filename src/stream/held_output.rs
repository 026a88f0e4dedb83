//! Output that outlasts its attempt: held back until its destination is known, or late, from
//! background jobs and for slow readers.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::rc::Rc;

use rustix::event::PollFd;
use rustix::io::Errno;

use super::spool::Hold;
use super::tap::Tap;
use super::writer::Writer;
use crate::patterns::{Matched, Stream};

/// The size of the buffer for copying, in bytes.
const BUFFER: usize = 128 * 1024;

/// Held output on its way to its destination.
pub(crate) struct HeldOutput {
    file: File,
    writer: Option<Rc<Writer>>,
    buffer: Vec<u8>,
    at: u64,
    end: u64,
}

/// The progress of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All of it is delivered.
    Done,
    /// There is more.
    More,
    /// There is more, but the reader takes nothing for now.
    WouldBlock,
}

impl HeldOutput {
    /// Held output to be delivered to this writer.
    pub(super) fn new(held: Hold, writer: Option<Rc<Writer>>) -> Self {
        Self {
            file: held.file,
            writer,
            buffer: Vec::new(),
            at: 0,
            end: held.length,
        }
    }

    /// Delivers a part of it.
    ///
    /// # Errors
    /// When it cannot be written to its destination.
    pub(crate) fn pump(&mut self) -> io::Result<Progress> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        if left == 0 {
            self.note_last();
            return Ok(Progress::Done);
        }
        let Some(writer) = &self.writer else {
            return Err(Errno::BADF.into());
        };
        let written = match writer.fill(&self.file, self.at, left) {
            Err(error) if error != Errno::AGAIN && error != Errno::PIPE => {
                let part = left.min(BUFFER);
                self.buffer.resize(BUFFER, 0);
                match self.file.read_at(&mut self.buffer[..part], self.at)? {
                    0 => Ok(0),
                    read => writer.write(&self.buffer[..read]),
                }
            }
            written => written,
        };
        match written {
            // Somebody who found the file in /proc has truncated it.
            Ok(0) => Ok(Progress::Done),
            Ok(written) => {
                self.at += written as u64;
                Ok(Progress::More)
            }
            Err(Errno::AGAIN) => Ok(Progress::WouldBlock),
            Err(error) => Err(error.into()),
        }
    }

    /// Records the last byte, for our own lines that follow.
    fn note_last(&self) {
        let last = || {
            let (at, mut last) = (self.end.checked_sub(1)?, [0]);
            self.file.read_exact_at(&mut last, at).ok()?;
            Some(last[0])
        };
        if let Some(writer) = &self.writer {
            writer.note_last(last);
        }
    }

    /// Returns the descriptor that becomes ready when delivery can go on.
    pub(crate) fn watched(&self) -> Option<PollFd<'_>> {
        self.writer.as_ref().map(|writer| writer.watched())
    }
}

/// The most taps that are kept; a job that writes to both streams takes two.
const MOST_TAPS: usize = 64;

/// The taps of attempts that are over, the oldest first.
#[derive(Default)]
pub(super) struct BackgroundTaps(Vec<Tap>);

impl BackgroundTaps {
    /// Adds a tap that may still have writers.
    pub(super) fn add(&mut self, tap: Tap) {
        self.0.push(tap);
        // A tap whose writers have all closed their ends goes at once.
        self.pump();
        let too_many = self.0.len().saturating_sub(MOST_TAPS);
        self.0.drain(..too_many);
    }

    /// Passes on what is available.
    pub(super) fn pump(&mut self) {
        for tap in &mut self.0 {
            // It comes too late to count for the attempt.
            tap.pump(&mut Matched::default());
        }
        self.0.retain(|tap| !tap.is_closed());
    }

    /// Whether output of a finished attempt is still due on this stream, ahead of a later
    /// attempt's.
    pub(super) fn has_undelivered(&self, stream: Stream) -> bool {
        self.0
            .iter()
            .any(|tap| tap.stream() == stream && tap.has_undelivered())
    }

    /// Returns the descriptors that become ready when there is something to pump.
    pub(super) fn watched(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.0.iter().filter_map(Tap::watched)
    }

    /// Whether any late output would be passed on.
    pub(super) fn has_reader(&self) -> bool {
        self.0.iter().any(Tap::has_reader)
    }

    /// Closes all taps.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
