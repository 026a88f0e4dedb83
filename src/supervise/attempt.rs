//! One run of the command, or of what is to be run before it, and what its streams have told.

use std::ffi::OsStr;
use std::io;
use std::time::Duration;

use anyhow::{Context as _, Error, Result};

use super::child::SpawnedChild;
use super::child::reap_orphans;
use super::spawn::Role;
use super::spawn_error::fault;
use super::{Supervisor, signal_queue};
use crate::engine::{Attempt, Emit, World as _};
use crate::escalation::Escalation;
use crate::escape::{described, with_reasons};
use crate::event::Event;
use crate::signal::Signal;
use crate::status::{Ending, FaultClass, Outcome, StartFault};
use crate::stream::{Findings, Loss, NOT_HELD};
use crate::sys::stdio::ChildStdio;
use crate::sys::{self, terminal};

/// How long our readers may take when a fatal signal has reached us.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// What is said when output cannot be passed on.
pub(super) const NOT_WRITTEN: &str = "cannot write to stdout what the command has written";

impl Supervisor<'_> {
    /// What brings an attempt to its end at its limit.
    pub(super) fn escalation(&self, attempt: &Attempt<'_>) -> Escalation {
        Escalation::new(attempt.ends_by, self.supervision.kill_after)
    }

    /// Runs the command or the hook once, to its end.
    pub(super) fn run(
        &mut self,
        role: Role,
        attempt: &Attempt<'_>,
        escalation: Escalation,
        ends: ChildStdio,
        emit: &mut Emit<'_>,
    ) -> Result<Ending> {
        let modes = escalation.has_limit().then(terminal::modes).flatten();
        // With signals held back, what comes from here on waits until it can be passed on.
        let held = sys::hold_signals();
        let early_signals = self.signal_queue.take();
        let arrived = early_signals
            .iter()
            .map(|event| event.signal)
            .chain(self.held_back(&held));
        if let Some(signal) = arrived
            .into_iter()
            .find(|signal| signal_queue::is_fatal(*signal))
        {
            sys::release_signals(&held);
            let outcome = Outcome::Killed(signal);
            return Ok(Ending {
                interrupted: Some(signal),
                ..outcome.into()
            });
        }
        let started = self.spawner.spawn(role, attempt, &ends);
        // The command has them, and is to be the only one: their end is to be noticed.
        drop(ends);
        let spawned = started.map(|started| SpawnedChild {
            missed: started.missed,
            pid: started.pid,
            env_markers: self.spawner.env_markers(attempt),
            early_signals,
        });
        sys::release_signals(&held);
        match spawned {
            Ok(spawned) => {
                let ending = self.supervise(spawned, escalation, emit)?;
                if let Some(modes) = modes.filter(|_| ending.outcome == Outcome::TimedOut) {
                    modes.give_back();
                }
                Ok(ending)
            }
            Err(fault) => Ok(Outcome::NotStarted(fault).into()),
        }
    }

    /// Passes on what the attempt has written until its end, as long as our readers may take; adds to
    /// the ending what comes meanwhile.
    pub(super) fn drain(&mut self, ending: &mut Ending, emit: &mut Emit<'_>) -> Result<()> {
        let mut gives_up = match ending.outcome {
            Outcome::TimedOut => self.now().checked_add(PATIENCE),
            _ => self.deadline,
        };
        let mut is_hurried = false;
        loop {
            self.streams.pump();
            ending.interrupted = ending.interrupted.or(self.fatal_signal(emit));
            if ending.interrupted.is_some() && !is_hurried {
                is_hurried = true;
                let patience_ends = self.now() + PATIENCE;
                gives_up = gives_up.into_iter().chain([patience_ends]).min();
            }
            reap_orphans(None);
            let left = gives_up.map(|ends| ends.saturating_sub(self.now()));
            if self.streams.is_drained() || left.is_some_and(|left| left.is_zero()) {
                return Ok(());
            }
            self.signal_queue.wait(left, self.streams.watched())?;
        }
    }

    /// Adds to an attempt's end what its streams have told.
    pub(super) fn note(
        &mut self,
        findings: Findings,
        ending: &mut Ending,
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        ending.matched = findings.matched;
        ending.server_wait = findings.server_wait;
        self.interrupted = ending.interrupted;
        let failed = ending.outcome != Outcome::Exited(0);
        ending.input_eaten =
            (failed || ending.matched.fail_if.is_some()) && self.streams.is_input_eaten();
        if let Some(error) = findings.unreadable.filter(|_| failed) {
            emit(&Event::HeadsUnreadable(described(&error)));
        }
        if let Some(error) = findings.unkept {
            // What there is of it is not lost, and no success.
            self.deliver(false, emit)?;
            return Err(error).context(NOT_HELD);
        }
        let Some(loss) = findings.loss else {
            return Ok(());
        };
        // What was not delivered whole is no success, whatever it has said.
        ending.matched.success_if = None;
        let has_exited = matches!(ending.outcome, Outcome::Exited(_));
        let cut_short = match (loss, ending.interrupted) {
            (Loss::Failed(error), _) => return Err(error).context(NOT_WRITTEN),
            // Without us it would have died of this.
            (Loss::NoReader, _) => Outcome::Killed(Signal::PIPE),
            (Loss::NotTaken, Some(signal)) => Outcome::Killed(signal),
            (Loss::NotTaken, None) => {
                ending.undelivered = has_exited;
                return Ok(());
            }
        };
        if has_exited {
            ending.outcome = cut_short;
        }
        Ok(())
    }
}

/// An attempt for which the system is short of something; anything else ends the run.
pub(super) fn not_started(error: Error) -> Result<Ending> {
    let fault = what_is_missing(&error);
    if fault.class == FaultClass::Shortage {
        return Ok(Outcome::NotStarted(fault).into());
    }
    Err(error)
}

/// A hook that has not what it is to read and write: the attempt before it is what counts.
pub(super) fn hook_not_started(error: &Error) -> Ending {
    Outcome::NotStarted(what_is_missing(error)).into()
}

/// Why there are no streams for something that is to be started.
fn what_is_missing(error: &Error) -> StartFault {
    let system: Option<&io::Error> = error.downcast_ref();
    let is_short =
        system.is_some_and(|error| fault(error, OsStr::new("")).class == FaultClass::Shortage);
    StartFault {
        class: if is_short {
            FaultClass::Shortage
        } else {
            FaultClass::NotExecutable
        },
        reason: with_reasons(error),
    }
}
