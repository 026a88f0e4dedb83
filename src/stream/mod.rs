//! What flows in and out of the command.
//!
//! A stream that no option looks at is not here at all: the command has the very descriptor that we
//! have. Of the others nothing is kept in memory but what is just on its way, and nothing here ever
//! waits: whoever calls waits for one of the descriptors that are told to be watched.

mod ends;
mod findings;
mod guard;
mod heads;
mod input;
mod late;
mod outlet;
mod parcel;
mod pipes;
mod reads;
mod replay;
mod spool;
mod tap;

use std::fs::File;
use std::io;
use std::rc::Rc;

use anyhow::{Context as _, Result};
use rustix::event::PollFd;

use crate::job::{Heads, Job};
use crate::patterns::{Matched, Patterns, Stream};
use heads::HeadFile;
use input::Input;
use late::Late;
use outlet::Outlet;
use tap::{Eyes, Tap};

pub(crate) use ends::Ends;
pub(crate) use findings::Findings;
pub(crate) use parcel::{Parcel, Step};
pub(crate) use pipes::{is_ready, pipe_without_waits};
pub(crate) use tap::Loss;

/// What is said when there is no room.
const NOT_HELD: &str = "cannot keep stdout for --stdout once; set TMPDIR to where there is room";

/// All streams of a run.
pub(crate) struct Flow<'a> {
    patterns: &'a Patterns,
    heads: Option<&'a Heads>,
    head_file: Option<HeadFile<'a>>,
    looks_for_life: bool,
    holds_stdout: bool,
    input: Input,
    /// Our stdout and stderr, if they are not closed and something of us writes to them.
    outlets: [Option<Rc<Outlet>>; 2],
    /// What the attempt writes and we look at.
    taps: Vec<Tap>,
    /// What those who have outlived their attempt write.
    late: Late,
    /// What the attempt writes to stdout and is held back.
    held: Option<File>,
    matched: Matched,
    /// Why the input cannot flow any more.
    fault: Option<anyhow::Error>,
}

const STREAMS: [Stream; 2] = [Stream::Stdout, Stream::Stderr];

impl<'a> Flow<'a> {
    /// The streams that this job asks for. `closed` tells of stdout and stderr whether they were
    /// closed at the start.
    ///
    /// # Errors
    /// When one of the options cannot be met.
    pub(crate) fn open(job: &'a Job, closed: [bool; 2]) -> Result<Self> {
        let streams = &job.streams;
        let mut flow = Self {
            patterns: &job.policy.patterns,
            heads: streams.heads.as_ref(),
            head_file: None,
            looks_for_life: job.supervision.idle_timeout.is_some(),
            holds_stdout: streams.stdout_once,
            input: Input::open(streams.stdin)?,
            outlets: [None, None],
            taps: Vec::new(),
            late: Late::default(),
            held: None,
            matched: Matched::default(),
            fault: None,
        };
        if let Some(Heads::File(path)) = flow.heads {
            flow.head_file = Some(HeadFile::open(path)?);
        }
        let ours = [rustix::stdio::stdout(), rustix::stdio::stderr()];
        for ((stream, ours), is_closed) in STREAMS.into_iter().zip(ours).zip(closed) {
            if !is_closed && (flow.looks_at(stream) || flow.holds_stdout) {
                let outlet = ours
                    .try_clone_to_owned()
                    .and_then(Outlet::to)
                    .context("cannot use stdout and stderr")?;
                flow.outlets[stream as usize] = Some(Rc::new(outlet));
            }
        }
        Ok(flow)
    }

    /// Whether anything looks at what the command writes there.
    fn looks_at(&self, stream: Stream) -> bool {
        self.looks_for_heads(stream) || self.looks_for_life || self.patterns.look_at(stream)
    }

    fn looks_for_heads(&self, stream: Stream) -> bool {
        self.heads.is_some_and(|heads| heads.may_be_in(stream))
    }

    /// What the coming attempt is to have for standard streams.
    ///
    /// # Errors
    /// When the system is short of something.
    pub(crate) fn start(&mut self) -> Result<Ends> {
        self.matched = Matched::default();
        // A start that came half way has left some.
        self.taps.clear();
        if let Some(file) = &mut self.head_file {
            file.note();
        }
        let mut ends = Ends {
            stdin: self.input.start()?,
            ..Ends::default()
        };
        if self.holds_stdout {
            let file = spool::nameless_file().context(NOT_HELD)?;
            ends.stdout = Some(spool::appending(&file)?);
            self.held = Some(file);
        }
        for stream in STREAMS {
            if !self.looks_at(stream) {
                continue;
            }
            let outlet = match (stream, &self.held) {
                (Stream::Stdout, Some(file)) => Some(Rc::new(Outlet::to(spool::appending(file)?)?)),
                _ => self.outlets[stream as usize].clone(),
            };
            if let Some(outlet) = outlet {
                let eyes = Eyes::new(self.patterns, stream, self.looks_for_heads(stream));
                let (tap, end) = Tap::new(stream, outlet, eyes)?;
                self.taps.push(tap);
                *match stream {
                    Stream::Stdout => &mut ends.stdout,
                    Stream::Stderr => &mut ends.stderr,
                } = Some(end);
            }
        }
        Ok(ends)
    }

    /// Carries on all that can be carried without waiting. Whether the command has shown that it is
    /// alive, or waits for our readers.
    pub(crate) fn carry(&mut self) -> bool {
        // Once it cannot flow, nothing may be given twice.
        if self.fault.is_none() {
            self.fault = self.input.carry().err();
        }
        self.late.carry();
        let mut is_alive = false;
        for tap in &mut self.taps {
            // In order within a stream, whichever attempt it is of.
            is_alive |= self.late.owes(tap.stream()) || tap.carry(&mut self.matched);
        }
        is_alive
    }

    /// Descriptors that are ready when there is something to carry.
    pub(crate) fn watched(&self) -> Vec<PollFd<'_>> {
        let taps = self.taps.iter().filter(|tap| !self.late.owes(tap.stream()));
        let input = self.input.watched().filter(|_| self.fault.is_none());
        taps.filter_map(Tap::watched)
            .chain(self.late.watched())
            .chain(input)
            .collect()
    }

    /// Whether somebody who has outlived an attempt may still write.
    pub(crate) fn hears_the_late(&self) -> bool {
        self.late.watched().next().is_some()
    }

    /// Closes what those who have outlived their attempt write to.
    pub(crate) fn forget_the_late(&mut self) {
        self.late.forget();
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
    pub(crate) fn is_carried(&self) -> bool {
        self.taps.iter().all(Tap::is_carried)
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
            self.late.add(tap);
        }
        match self.head_file.as_ref().map_or(Ok(None), HeadFile::wait) {
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
    ///
    /// # Errors
    /// When it cannot be looked at.
    pub(crate) fn parcel(&mut self, success: bool) -> io::Result<Option<Parcel>> {
        let stream = if success {
            Stream::Stdout
        } else {
            Stream::Stderr
        };
        let outlet = self.outlets[stream as usize].clone();
        self.held
            .take()
            .map(|file| Parcel::new(file, outlet))
            .transpose()
    }
}
