//! A tap on an output stream, which is scanned and passed on as it comes.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use super::destination::Destination;
use super::findings::{Loss, Scanner};
use crate::patterns::{Matched, Stream};
use crate::retry_after::Answer;
use crate::sys::fd::{never_wait, private_pipe, widen};

/// The size of the buffer, in bytes.
const BUFFER: usize = 128 * 1024;

/// How many buffers are passed on before signals and limits are checked again.
const MOST_ROUNDS: usize = 16;

/// The tap on one output stream of one attempt.
pub(super) struct Tap {
    stream: Stream,
    /// The pipe from the command; none once it is closed, or nobody takes its output any more.
    source: Option<OwnedFd>,
    destination: Destination,
    buffer: Vec<u8>,
    /// The part of the buffer not yet passed on.
    pending: Range<usize>,
    /// How many of the next bytes still belong to the attempt, once the command has ended.
    left: Option<u64>,
    scanner: Option<Scanner>,
    loss: Option<Errno>,
}

impl Tap {
    /// A tap, with the end for the command to write to.
    ///
    /// # Errors
    /// When the system cannot create a pipe.
    pub(super) fn new(
        stream: Stream,
        destination: Destination,
        scanner: Scanner,
    ) -> io::Result<(Self, OwnedFd)> {
        let (source, end) = private_pipe()?;
        never_wait(&source)?;
        if matches!(destination, Destination::Recording(..)) {
            // Nobody waits for held-back output, so it may come in large pieces.
            widen(source.as_fd());
        }
        let tap = Self {
            stream,
            source: Some(source),
            destination,
            buffer: vec![0; BUFFER],
            pending: 0..0,
            left: None,
            scanner: Some(scanner),
            loss: None,
        };
        Ok((tap, end))
    }

    pub(super) fn stream(&self) -> Stream {
        self.stream
    }

    /// Passes on what is available. Returns whether anything came, or waits for its reader.
    pub(super) fn pump(&mut self, matched: &mut Matched) -> bool {
        if self.scanner.is_none() && self.is_drained() {
            // The attempt's output is passed on; later output belongs to no attempt.
            self.left = None;
        }
        let mut is_alive = false;
        for _ in 0..MOST_ROUNDS {
            if !self.pass_on() {
                return true;
            }
            if !self.take(matched) {
                return is_alive;
            }
            is_alive = true;
        }
        // Nothing that can be passed on stays here until more comes.
        !self.pass_on() || is_alive
    }

    /// Empties the buffer; returns whether that was possible.
    fn pass_on(&mut self) -> bool {
        while !self.pending.is_empty() {
            match self.destination.write(&self.buffer[self.pending.clone()]) {
                Ok(written) => self.pending.start += written,
                Err(Errno::AGAIN) => return false,
                Err(error) => self.lose(error),
            }
        }
        true
    }

    /// Drops what cannot be written. A command whose reader is gone must learn of it; one whose
    /// stderr goes to a full disk may go on, as it would without us.
    fn lose(&mut self, error: Errno) {
        self.pending = 0..0;
        if self.stream == Stream::Stdout || error == Errno::PIPE {
            self.source = None;
            self.loss = Some(error);
        }
    }

    /// Takes what is available, into the buffer or, if nobody looks at it, straight into the file
    /// that holds it. Returns whether there was anything.
    fn take(&mut self, matched: &mut Matched) -> bool {
        let Some(source) = &self.source else {
            return false;
        };
        let most = self.left.map_or(usize::MAX, |left| {
            usize::try_from(left).unwrap_or(usize::MAX)
        });
        if most == 0 {
            return false;
        }
        let held = match (&mut self.destination, &self.scanner) {
            (Destination::Recording(recording, stream, _), Some(scanner)) if scanner.is_idle() => {
                recording.borrow_mut().take(*stream, source, most)
            }
            _ => None,
        };
        let came = held.map_or_else(
            || {
                let most = most.min(BUFFER);
                let read = rustix::io::read(source, &mut self.buffer[..most])?;
                Ok((read, read))
            },
            |held| held.map(|held| (held, 0)),
        );
        match came {
            Ok((came @ 1.., here)) => {
                self.left = self.left.map(|left| left.saturating_sub(came as u64));
                self.pending = 0..here;
                if let Some(scanner) = &mut self.scanner {
                    scanner.scan(&self.buffer[..here], matched);
                }
                true
            }
            Err(Errno::INTR) => true,
            Err(Errno::AGAIN) => {
                self.left = self.left.map(|_| 0);
                false
            }
            Ok(_) | Err(_) => {
                self.source = None;
                false
            }
        }
    }

    /// Notes that the command has ended; what others write from now on is too late for the attempt.
    pub(super) fn end(&mut self) {
        if self.left.is_none() {
            let held = self.source.as_ref().map(rustix::io::ioctl_fionread);
            self.left = Some(held.and_then(Result::ok).unwrap_or(0));
        }
    }

    /// Whether all output that belongs to the attempt is passed on.
    pub(super) fn is_drained(&self) -> bool {
        self.pending.is_empty() && (self.source.is_none() || self.left == Some(0))
    }

    /// Whether nothing more can come, and nothing is left to pass on.
    pub(super) fn is_closed(&self) -> bool {
        self.pending.is_empty() && self.source.is_none()
    }

    /// Stops scanning; returns what a server has answered.
    pub(super) fn finish(&mut self, matched: &mut Matched) -> Answer {
        if self.is_drained() {
            self.left = None;
        }
        let scanner = self.scanner.take();
        scanner.map_or_else(Answer::default, |scanner| scanner.finish(matched))
    }

    /// Whether output that belongs to a finished attempt is still to be passed on.
    pub(super) fn has_undelivered(&self) -> bool {
        self.left.is_some() && !self.is_drained()
    }

    /// Discards what comes from now on; it is still read as long as we run, so that it blocks
    /// nobody who writes it.
    pub(super) fn discard_rest(&mut self) {
        self.destination = Destination::Nowhere;
    }

    /// Whether its output is held back.
    pub(super) fn is_held(&self) -> bool {
        matches!(self.destination, Destination::Recording(..))
    }

    /// Whether late output is passed on to anybody.
    pub(super) fn has_reader(&self) -> bool {
        !matches!(self.destination, Destination::Nowhere)
    }

    /// Returns why a part of the output was lost, if it was.
    pub(super) fn take_loss(&mut self) -> Option<Loss> {
        match self.loss.take() {
            Some(Errno::PIPE) => Some(Loss::NoReader),
            Some(error) => Some(Loss::Failed(error.into())),
            None => self.has_undelivered().then_some(Loss::NotTaken),
        }
    }

    /// Returns the descriptor that becomes ready when there is something to do.
    pub(super) fn watched(&self) -> Option<PollFd<'_>> {
        if !self.pending.is_empty() {
            return self.destination.watched();
        }
        let is_over = self.left == Some(0);
        let source = self.source.as_ref().filter(|_| !is_over)?;
        Some(PollFd::new(source, PollFlags::IN))
    }
}
