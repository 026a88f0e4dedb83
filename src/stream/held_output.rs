//! Output that is held back until it is known whether it is shown.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use anyhow::Result;
use rustix::event::PollFd;
use rustix::io::Errno;

use super::Streams;
use super::delivery::{Delivery, Progress};
use super::destination::Destination;
use super::recording::{Recording, SharedRecording, Stage};
use super::writer::Writers;
use crate::job::Output;
use crate::patterns::Stream;

/// The output that is held back.
pub(super) struct HeldOutput {
    output: Output,
    recording: SharedRecording,
    delivery: Option<Delivery>,
    /// Why a part of what was due could not be written, if so.
    fault: Option<Errno>,
}

/// The end of an attempt or of the run, for which held output may be due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// Whether it is a success, after which `retry` exits 0.
    pub(crate) success: bool,
    /// Whether no attempt follows.
    pub(crate) is_last: bool,
    /// Whether a fatal signal ended it.
    pub(crate) interrupted: bool,
}

impl HeldOutput {
    /// Output to be held in this mode.
    ///
    /// # Errors
    /// When it cannot be kept anywhere.
    pub(super) fn new(output: Output, writers: &Writers) -> Result<Self> {
        let recording = Recording::new(output, writers.are_one())?;
        Ok(Self {
            output,
            recording: Rc::new(RefCell::new(recording)),
            delivery: None,
            fault: None,
        })
    }

    /// Returns the recording, for our own lines, if they are held back, too.
    pub(super) fn for_our_lines(&self) -> Option<SharedRecording> {
        (self.output == Output::OnFailure).then(|| self.recording.clone())
    }

    /// Returns where output on this stream goes.
    pub(super) fn destination(&self, stream: Stream, writers: &Writers) -> Destination {
        Destination::Recording(self.recording.clone(), stream, writers.to(stream))
    }

    /// Whether it holds the output of one attempt only.
    pub(super) fn is_of_one_attempt(&self) -> bool {
        matches!(self.output, Output::Once | Output::Last)
    }

    /// Forgets what an earlier attempt has written, if that is not to be shown.
    pub(super) fn start_attempt(&self) {
        if self.is_of_one_attempt() {
            self.recording.borrow_mut().clear();
        }
    }

    /// Returns why the output of an attempt could not be kept in full.
    pub(super) fn take_fault(&self) -> Option<io::Error> {
        self.recording.borrow_mut().take_fault()
    }

    /// Begins to deliver what is due now; returns whether anything is.
    pub(super) fn begin_delivery(&mut self, due: Due, writers: &Writers) -> bool {
        let mut recording = self.recording.borrow_mut();
        let stage = recording.stage();
        let (is_due, writers) = match self.output {
            Output::Stream => return false,
            Output::Once if due.success => (true, writers.both_to(Stream::Stdout)),
            Output::Once => (true, writers.both_to(Stream::Stderr)),
            Output::Last => (due.is_last, writers.each()),
            Output::OnFailure => {
                let has_failed = due.is_last && (!due.success || due.interrupted);
                if due.success && !has_failed && stage == Stage::Holding {
                    recording.close(Stage::Discarded);
                }
                let is_held = matches!(stage, Stage::Holding | Stage::Full);
                (
                    is_held && (has_failed || stage == Stage::Full && due.is_last),
                    writers.each(),
                )
            }
        };
        if is_due && recording.is_empty() {
            drop(recording);
            self.end_delivery();
            return false;
        }
        drop(recording);
        if is_due && self.delivery.is_none() {
            let must_arrive = due.success && !due.interrupted;
            let recording = self.recording.clone();
            self.delivery = Some(Delivery::new(recording, writers, must_arrive));
        }
        is_due
    }

    /// Delivers a part of it.
    ///
    /// # Errors
    /// When something that must arrive cannot be written.
    pub(super) fn deliver(&mut self) -> io::Result<Progress> {
        let Some(delivery) = &mut self.delivery else {
            return Ok(Progress::Done);
        };
        let progress = delivery.pump();
        if !matches!(progress, Ok(Progress::More | Progress::WouldBlock)) {
            self.end_delivery();
        }
        progress
    }

    /// Ends the delivery, complete or not.
    pub(super) fn end_delivery(&mut self) {
        let delivery = self.delivery.take();
        self.fault = delivery.and_then(|delivery| delivery.fault());
        let mut recording = self.recording.borrow_mut();
        match self.output {
            Output::OnFailure => recording.close(Stage::Open),
            Output::Stream | Output::Once | Output::Last => recording.clear(),
        }
    }

    /// Delivers what is held where there is no room for more.
    pub(super) fn make_room(&mut self, writers: &Writers) {
        let is_full = self.recording.borrow().stage() == Stage::Full;
        if is_full && self.delivery.is_none() {
            let recording = self.recording.clone();
            self.delivery = Some(Delivery::new(recording, writers.each(), false));
        }
        // Errors are ignored: this output need not arrive.
        while is_full
            && self
                .deliver()
                .is_ok_and(|progress| progress == Progress::More)
        {}
    }

    /// Returns the descriptor that becomes ready when the delivery can go on, or begin.
    pub(super) fn watched<'a>(&'a self, writers: &'a Writers) -> Option<PollFd<'a>> {
        match &self.delivery {
            Some(delivery) => delivery.watched(),
            // A line of ours may have found no room since the last look.
            None if self.recording.borrow().stage() == Stage::Full => writers.watched(),
            None => None,
        }
    }
}

impl Streams<'_> {
    /// Returns the command's output destination on this stream; none if it inherits our descriptor.
    pub(super) fn destination(&self, stream: Stream) -> Option<Destination> {
        let output = self.interest.output;
        let writer = self.writers.to(stream);
        // A stream that was closed at the start stays closed, except with --stdout once.
        let held = self.held.as_ref();
        let held = held.filter(|_| writer.is_some() || output == Output::Once);
        match held.filter(|_| output.holds(stream)) {
            Some(held) => Some(held.destination(stream, &self.writers)),
            None if self.interest.looks_at(stream) => writer.map(Destination::Writer),
            None => None,
        }
    }

    /// Returns why there is no room to hold more output back, once.
    pub(crate) fn take_shortage(&mut self) -> Option<io::Error> {
        let held = self.held.as_ref().filter(|held| !held.is_of_one_attempt());
        held.and_then(HeldOutput::take_fault)
    }

    /// Delivers what is held where there is no room for more.
    pub(super) fn make_room(&mut self) {
        if let Some(held) = &mut self.held {
            held.make_room(&self.writers);
        }
    }

    /// Returns where our own lines are held back, if they are.
    pub(crate) fn for_our_lines(&self) -> Option<SharedRecording> {
        self.held.as_ref().and_then(HeldOutput::for_our_lines)
    }

    /// Begins to deliver held output that is due now; returns whether there is any.
    pub(crate) fn begin_delivery(&mut self, due: Due) -> bool {
        let held = self.held.as_mut();
        held.is_some_and(|held| held.begin_delivery(due, &self.writers))
    }

    /// Delivers a part of it.
    ///
    /// # Errors
    /// When something that must arrive cannot be written.
    pub(crate) fn deliver(&mut self) -> io::Result<Progress> {
        self.held
            .as_mut()
            .map_or(Ok(Progress::Done), HeldOutput::deliver)
    }

    /// Ends the delivery, complete or not; returns why a part of it has not arrived, if so.
    pub(crate) fn end_delivery(&mut self) -> Option<io::Error> {
        let held = self.held.as_mut()?;
        if held.delivery.is_some() {
            held.end_delivery();
            return Some(io::Error::other("it was not read in time"));
        }
        held.fault.take().map(io::Error::from)
    }
}
