//! What flows in and out of the command.
//!
//! A stream that no option looks at is not here at all: the command has the very descriptor that we
//! have. Of the others nothing is kept in memory but what is just on its way, and nothing here ever
//! waits: whoever calls waits for one of the descriptors that are told to be watched.

mod scanner;

mod guard;
mod header_file;
mod input;

mod background;
pub(crate) mod writer;

mod held_output;
mod replay;

mod spool;
mod tap;

use std::os::fd::OwnedFd;

use anyhow::{Context as _, Result};
use rustix::event::PollFd;

use crate::job::{Job, RetryAfterSource};
use crate::patterns::{Matched, Stream};
use crate::sys::stdio::ChildStdio;
use background::BackgroundTaps;
use header_file::HeaderFile;
use input::Input;
use scanner::Interest;
use spool::Keep;
use writer::{Sink, Writers};

use tap::Tap;

pub(crate) use held_output::{HeldOutput, Progress};
pub(crate) use scanner::Findings;
pub(crate) use scanner::Loss;
pub(crate) use spool::NOT_HELD;

/// The two streams that a command writes.
const STREAMS: [Stream; 2] = [Stream::Stdout, Stream::Stderr];

/// All streams of a run.
pub(crate) struct Streams<'a> {
    interest: Interest<'a>,
    header_file: Option<HeaderFile<'a>>,
    input: Input,
    writers: Writers,
    /// What the attempt writes and we look at or keep.
    taps: Vec<Tap>,
    /// What those who have outlived their attempt write.
    background: BackgroundTaps,
    /// What the attempt has written to stdout and is held back.
    held: Option<Keep>,
    matched: Matched,
    /// Why the input cannot flow any more.
    fault: Option<anyhow::Error>,
}

impl<'a> Streams<'a> {
    /// The streams that this job asks for. `closed` tells of stdout and stderr whether they were
    /// closed at the start.
    ///
    /// # Errors
    /// When one of the options cannot be met.
    pub(crate) fn open(job: &'a Job, closed: [bool; 2]) -> Result<Self> {
        let interest = Interest::of(job);
        let input = Input::open(job.streams.stdin)?;
        let header_file = match &job.streams.heads {
            Some(RetryAfterSource::File(path)) => Some(HeaderFile::open(path)?),
            _ => None,
        };
        let needs = |stream| {
            !closed[stream as usize] && (interest.looks_at(stream) || interest.holds_stdout)
        };
        let writers = Writers::open(STREAMS.map(needs)).context("cannot use stdout and stderr")?;
        if interest.looks_at(Stream::Stderr) {
            writers.know_lines();
        }
        Ok(Self {
            interest,
            header_file,
            input,
            writers,
            taps: Vec::new(),
            background: BackgroundTaps::default(),
            held: None,
            matched: Matched::default(),
            fault: None,
        })
    }

    /// What the coming attempt is to have for standard streams.
    ///
    /// # Errors
    /// When the system is short of something.
    pub(crate) fn start(&mut self) -> Result<ChildStdio> {
        self.matched = Matched::default();
        // A start that came half way has left some.
        self.taps.clear();
        if let Some(file) = &mut self.header_file {
            file.note();
        }
        let mut ends = ChildStdio {
            stdin: self.input.start()?,
            ..ChildStdio::default()
        };
        // Nobody asks which of the two it was, and the order is kept.
        let share = self.writers.are_one() && !self.interest.tells_streams_apart();
        for stream in STREAMS {
            if share && stream == Stream::Stderr {
                let shared = ends.stdout.as_ref().map(OwnedFd::try_clone).transpose();
                ends.stderr = shared?;
            } else if let Some(sink) = self.sink(stream)? {
                let (tap, end) = Tap::new(stream, sink, self.interest.scanner(stream))?;
                self.taps.push(tap);
                *match stream {
                    Stream::Stdout => &mut ends.stdout,
                    Stream::Stderr => &mut ends.stderr,
                } = Some(end);
            }
        }
        Ok(ends)
    }

    /// Where what the command writes there goes; nothing if it has the very descriptor that we have.
    fn sink(&self, stream: Stream) -> Result<Option<Sink>> {
        if stream == Stream::Stdout && self.interest.holds_stdout {
            return Ok(Some(Sink::Keep(Keep::new()?)));
        }
        let writer = self
            .interest
            .looks_at(stream)
            .then(|| self.writers.to(stream));
        Ok(writer.flatten().map(Sink::Writer))
    }

    /// Carries on all that can be carried without waiting. Whether the command has shown that it is
    /// alive, or waits for our readers.
    pub(crate) fn pump(&mut self) -> bool {
        // Once it cannot flow, nothing may be given twice.
        if self.fault.is_none() {
            self.fault = self.input.pump().err();
        }
        self.background.pump();
        let mut is_alive = false;
        for tap in &mut self.taps {
            // In order within a stream, whichever attempt it is of.
            is_alive |=
                self.background.has_undelivered(tap.stream()) || tap.pump(&mut self.matched);
        }
        is_alive
    }

    /// Descriptors that are ready when there is something to carry.
    pub(crate) fn watched(&self) -> Vec<PollFd<'_>> {
        let taps = self
            .taps
            .iter()
            .filter(|tap| !self.background.has_undelivered(tap.stream()));
        let input = self.input.watched().filter(|_| self.fault.is_none());
        taps.filter_map(Tap::watched)
            .chain(self.background.watched())
            .chain(input)
            .collect()
    }

    /// Whether somebody who has outlived an attempt may still write.
    pub(crate) fn has_background_writers(&self) -> bool {
        self.background.has_reader()
    }

    /// Closes what those who have outlived their attempt write to.
    pub(crate) fn close_background_taps(&mut self) {
        self.background.clear();
    }

    /// Whether the input cannot flow any more, so that the attempt is to be ended.
    pub(crate) fn is_broken(&self) -> bool {
        self.fault.is_some()
    }

    /// The command has ended: what its pipes hold now is the last that counts.
    pub(crate) fn end(&mut self) {
        self.input.end();
        for tap in &mut self.taps {
            tap.end();
        }
    }

    /// Whether all that the attempt has written is passed on.
    pub(crate) fn is_drained(&self) -> bool {
        self.taps.iter().all(Tap::is_drained)
    }

    /// What was learned from the attempt that is over. Who still writes is heard further.
    ///
    /// # Errors
    /// Why the input could not flow.
    pub(crate) fn findings(&mut self) -> Result<Findings> {
        self.input.end();
        let mut findings = Findings::default();
        for mut tap in std::mem::take(&mut self.taps) {
            let wait = tap.finish(&mut self.matched);
            findings.server_wait = findings.server_wait.max(wait);
            if tap.stream() == Stream::Stdout {
                findings.loss = tap.take_loss();
            }
            if let Some(mut kept) = tap.take_kept() {
                findings.unkept = kept.fault.take();
                self.held = Some(kept);
            }
            self.background.add(tap);
        }
        match self.header_file.as_ref().map_or(Ok(None), HeaderFile::wait) {
            Ok(wait) => findings.server_wait = findings.server_wait.max(wait),
            Err(error) => findings.unreadable = Some(error),
        }
        findings.matched = self.matched;
        self.fault.take().map_or(Ok(findings), Err)
    }

    /// Whether a retry would find a rest of its input, and is not to.
    pub(crate) fn is_input_eaten(&mut self) -> bool {
        self.input.is_eaten()
    }

    /// Whether an attempt has read from a pipe that is not replayed.
    pub(crate) fn is_spent(&self) -> bool {
        self.input.is_spent()
    }

    /// What was held back of the last attempt's output, on its way to where it belongs.
    pub(crate) fn held_output(&mut self, success: bool) -> Option<HeldOutput> {
        let stream = if success {
            Stream::Stdout
        } else {
            Stream::Stderr
        };
        let writer = self.writers.to(stream);
        self.held.take().map(|kept| HeldOutput::new(kept, writer))
    }
}
