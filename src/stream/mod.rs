//! The standard streams of the command.
//!
//! A stream that no option looks at does not pass through here: the command inherits our own
//! descriptor. Of the others, only data in transit is held in memory. Nothing here blocks: the
//! caller polls the descriptors that `watched` returns.

mod background;
mod delivery;
mod destination;
mod findings;
mod guard;
mod input;

pub(crate) mod writer;

mod held_output;
mod hook;
mod record;
mod recording;
mod replay;

mod spool;
mod tap;

use std::os::fd::{BorrowedFd, OwnedFd};

use anyhow::{Context as _, Result};
use rustix::event::PollFd;

use crate::job::{Job, RetryAfterSource};
use crate::patterns::{Matched, Stream};
use crate::sys::fd::ChildStdio;
use background::BackgroundTaps;
use findings::{HeaderFile, Interest};
use held_output::HeldOutput;
use input::Input;
use writer::Writers;

use tap::Tap;

pub(crate) use delivery::Progress;
pub(crate) use findings::{Findings, Loss};
pub(crate) use held_output::Due;
pub(crate) use recording::{SharedRecording, not_held};

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
    /// The output that is held back.
    held: Option<HeldOutput>,
    matched: Matched,
    /// Why input can no longer be passed on.
    fault: Option<anyhow::Error>,
}

impl<'a> Streams<'a> {
    /// Opens the streams that this job asks for. `ours` are our stdout and stderr, unless they were
    /// closed at the start.
    ///
    /// # Errors
    /// When one of the options cannot be satisfied.
    pub(crate) fn open(job: &'a Job, ours: [Option<BorrowedFd<'_>>; 2]) -> Result<Self> {
        let interest = Interest::of(job);
        let input = Input::open(job.streams.stdin)?;
        let header_file = match &job.streams.heads {
            Some(RetryAfterSource::File(path)) => Some(HeaderFile::open(path)?),
            _ => None,
        };
        let output = interest.output;
        let holds_any = STREAMS.iter().any(|stream| output.holds(*stream));
        let needed =
            |stream| ours[stream as usize].filter(|_| interest.looks_at(stream) || holds_any);
        let writers = Writers::open(STREAMS.map(needed)).context("cannot use stdout and stderr")?;
        if interest.looks_at(Stream::Stderr) || output.holds(Stream::Stderr) {
            writers.know_lines(ours[Stream::Stdout as usize]);
        }
        let held = holds_any.then(|| HeldOutput::new(output, &writers));
        Ok(Self {
            interest,
            header_file,
            input,
            writers,
            taps: Vec::new(),
            background: BackgroundTaps::default(),
            held: held.transpose()?,
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
        // An attempt whose start failed halfway leaves some.
        self.taps.clear();
        if let Some(held) = &self.held {
            held.start_attempt();
        }
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
            } else if let Some(destination) = self.destination(stream) {
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

    /// Passes on all that can be passed on without waiting. Returns whether the command has shown
    /// activity or is waiting for our readers.
    pub(crate) fn pump(&mut self) -> bool {
        // After a fault, pumping again could pass the same input on twice.
        if self.fault.is_none() {
            self.fault = self.input.pump().err();
        }
        self.background.pump();
        self.make_room();
        let mut is_alive = false;
        for tap in &mut self.taps {
            // Output stays in order within a stream, across attempts.
            is_alive |=
                self.background.has_undelivered(tap.stream()) || tap.pump(&mut self.matched);
        }
        // What came just now may have found no room.
        self.make_room();
        is_alive
    }

    /// Returns the descriptors that become ready when there is something to pump.
    pub(crate) fn watched(&self) -> Vec<PollFd<'_>> {
        let taps = self
            .taps
            .iter()
            .filter(|tap| !self.background.has_undelivered(tap.stream()));
        let input = self.input.watched().filter(|_| self.fault.is_none());
        let held = self.held.as_ref();
        let delivery = held.and_then(|held| held.watched(&self.writers));
        taps.filter_map(Tap::watched)
            .chain(delivery)
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
            findings.hear(tap.finish(&mut self.matched));
            if tap.stream() == Stream::Stdout {
                findings.loss = tap.take_loss();
            }
            if tap.is_held()
                && self
                    .held
                    .as_ref()
                    .is_some_and(HeldOutput::is_of_one_attempt)
            {
                tap.discard_rest();
            }
            self.background.add(tap);
        }
        match self.header_file.as_ref().map(HeaderFile::answer) {
            Some(Ok(answer)) => findings.hear(answer),
            Some(Err(error)) => findings.unreadable = Some(error),
            None => {}
        }
        let held = self.held.as_ref();
        let held = held.filter(|held| held.is_of_one_attempt());
        findings.unkept = held.and_then(HeldOutput::take_fault);
        findings.matched = self.matched;
        self.fault.take().map_or(Ok(findings), Err)
    }

    /// Whether a retry would get only the rest of its input, and is therefore not allowed.
    pub(crate) fn has_lost_input(&mut self) -> bool {
        self.input.has_lost_input()
    }

    /// Whether an attempt has read from a pipe that is not replayed.
    pub(crate) fn is_consumed(&self) -> bool {
        self.input.is_consumed()
    }
}
