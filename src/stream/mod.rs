//! The standard streams of the command.
//!
//! A stream that no option looks at does not pass through here: the command inherits our own
//! descriptor. Of the others, only data in transit is held in memory. Nothing here blocks: the
//! caller polls the descriptors that `watched` returns.

mod findings;
mod guard;
mod input;

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
use crate::sys::fd::ChildStdio;
use findings::{HeaderFile, Interest};
use held_output::BackgroundTaps;
use input::Input;
use spool::Hold;
use writer::{Destination, Writers};

use tap::Tap;

pub(crate) use findings::{Findings, Loss};
pub(crate) use held_output::{HeldOutput, Progress};
pub(crate) use spool::NOT_HELD;

/// The two output streams of a command.
const STREAMS: [Stream; 2] = [Stream::Stdout, Stream::Stderr];

/// All streams of a run.
pub(crate) struct Streams<'a> {
    interest: Interest<'a>,
    header_file: Option<HeaderFile<'a>>,
    input: Input,
    writers: Writers,
    /// Taps on the current attempt's output.
    taps: Vec<Tap>,
    /// Taps on the output of processes that outlived their attempt.
    background: BackgroundTaps,
    /// The attempt's stdout, if it is held back.
    held: Option<Hold>,
    matched: Matched,
    /// Why input can no longer be passed on.
    fault: Option<anyhow::Error>,
}

impl<'a> Streams<'a> {
    /// Opens the streams that this job asks for. `closed` says whether stdout and stderr were
    /// closed at the start.
    ///
    /// # Errors
    /// When one of the options cannot be satisfied.
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

    /// Prepares the standard streams of the next attempt.
    ///
    /// # Errors
    /// When the system is short of a resource.
    pub(crate) fn start(&mut self) -> Result<ChildStdio> {
        self.matched = Matched::default();
        // An attempt that was only half started leaves some.
        self.taps.clear();
        if let Some(file) = &mut self.header_file {
            file.note();
        }
        let mut ends = ChildStdio {
            stdin: self.input.start()?,
            ..ChildStdio::default()
        };
        // Nothing needs to know which of the two it was, and one pipe keeps their order.
        let share = self.writers.are_one() && !self.interest.tells_streams_apart();
        for stream in STREAMS {
            if share && stream == Stream::Stderr {
                let shared = ends.stdout.as_ref().map(OwnedFd::try_clone).transpose();
                ends.stderr = shared?;
            } else if let Some(destination) = self.destination(stream)? {
                let (tap, end) = Tap::new(stream, destination, self.interest.scanner(stream))?;
                self.taps.push(tap);
                *match stream {
                    Stream::Stdout => &mut ends.stdout,
                    Stream::Stderr => &mut ends.stderr,
                } = Some(end);
            }
        }
        Ok(ends)
    }

    /// Returns where the command's output on this stream goes; none if it inherits our descriptor.
    fn destination(&self, stream: Stream) -> Result<Option<Destination>> {
        if stream == Stream::Stdout && self.interest.holds_stdout {
            return Ok(Some(Destination::Hold(Hold::new()?)));
        }
        let writer = self
            .interest
            .looks_at(stream)
            .then(|| self.writers.to(stream));
        Ok(writer.flatten().map(Destination::Writer))
    }

    /// Passes on all that can be passed on without waiting. Returns whether the command has shown
    /// activity or is waiting for our readers.
    pub(crate) fn pump(&mut self) -> bool {
        // After a fault, pumping again could pass the same input on twice.
        if self.fault.is_none() {
            self.fault = self.input.pump().err();
        }
        self.background.pump();
        let mut is_alive = false;
        for tap in &mut self.taps {
            // Output stays in order within a stream, across attempts.
            is_alive |=
                self.background.has_undelivered(tap.stream()) || tap.pump(&mut self.matched);
        }
        is_alive
    }

    /// Returns the descriptors that become ready when there is something to pump.
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

    /// Whether a process that outlived its attempt may still write.
    pub(crate) fn has_background_writers(&self) -> bool {
        self.background.has_reader()
    }

    /// Closes the taps on processes that outlived their attempt.
    pub(crate) fn close_background_taps(&mut self) {
        self.background.clear();
    }

    /// Whether input can no longer be passed on, so that the attempt must be ended.
    pub(crate) fn is_broken(&self) -> bool {
        self.fault.is_some()
    }

    /// Notes that the command has ended: only what its pipes hold by now still counts.
    pub(crate) fn end(&mut self) {
        self.input.end();
        for tap in &mut self.taps {
            tap.end();
        }
    }

    /// Whether all of the attempt's output is passed on.
    pub(crate) fn is_drained(&self) -> bool {
        self.taps.iter().all(Tap::is_drained)
    }

    /// Returns what was learned from the finished attempt. Processes that still write keep
    /// their taps.
    ///
    /// # Errors
    /// Why input could not be passed on.
    pub(crate) fn findings(&mut self) -> Result<Findings> {
        self.input.end();
        let mut findings = Findings::default();
        for mut tap in std::mem::take(&mut self.taps) {
            let wait = tap.finish(&mut self.matched);
            findings.server_wait = findings.server_wait.max(wait);
            if tap.stream() == Stream::Stdout {
                findings.loss = tap.take_loss();
            }
            if let Some(mut held) = tap.take_held() {
                findings.unkept = held.fault.take();
                self.held = Some(held);
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

    /// Whether a retry would get only the rest of its input, which it must not.
    pub(crate) fn has_lost_input(&mut self) -> bool {
        self.input.has_lost_input()
    }

    /// Whether an attempt has read from a pipe that is not replayed.
    pub(crate) fn is_consumed(&self) -> bool {
        self.input.is_consumed()
    }

    /// Returns the held-back output of the attempt that has just ended, on its way to where it belongs.
    pub(crate) fn held_output(&mut self, success: bool) -> Option<HeldOutput> {
        let stream = if success {
            Stream::Stdout
        } else {
            Stream::Stderr
        };
        let writer = self.writers.to(stream);
        self.held.take().map(|held| HeldOutput::new(held, writer))
    }
}
