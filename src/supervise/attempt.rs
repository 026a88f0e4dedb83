//! One run of the command or of the hook, and its ending, with the findings in its streams.

use std::io;
use std::time::Duration;

use anyhow::{Context as _, Error, Result};

use super::child::{ChildEnd, SpawnedChild, reap_orphans};
use super::kernel::Kernel;
use super::spawn::Role;
use super::spawn_error::fault;
use super::{Supervisor, signal_queue};
use crate::engine::{Attempt, Emit, Verdict, World as _};
use crate::escalation::Escalation;
use crate::escape::{described, with_reasons};
use crate::event::Event;
use crate::signal::Signal;
use crate::status::{Ending, FaultClass, Outcome, StartFault};
use crate::stream::{Findings, Loss, not_held};
use crate::sys::fd::ChildStdio;
use crate::sys::terminal;

/// The time our readers have for the rest of the output after a fatal signal or a time limit.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// The error when output cannot be passed on.
pub(super) const NOT_WRITTEN: &str = "cannot write to stdout what the command has written";

impl<K: Kernel> Supervisor<'_, K> {
    /// Returns the escalation that ends an attempt at its limit.
    pub(super) fn escalation(&self, attempt: &Attempt<'_>) -> Escalation {
        Escalation::new(attempt.ends_by, self.supervision.kill_after)
    }

    /// Runs the command or the hook once, to its end.
    pub(super) fn run(&mut self, launch: Launch<'_>, emit: &mut Emit<'_>) -> Result<ChildEnd> {
        let Launch {
            role,
            attempt,
            escalation,
            stdio,
        } = launch;
        let modes = escalation.has_limit().then(terminal::modes).flatten();
        // With signals blocked, one that arrives from here on stays pending until it can be passed
        // on.
        let hold = self.kernel.hold_signals();
        let early_signals = self.kernel.take_signals();
        let arrived = early_signals
            .iter()
            .map(|event| event.signal)
            .chain(self.kernel.held_back(&hold));
        if let Some(signal) = arrived
            .into_iter()
            .find(|signal| signal_queue::is_fatal(*signal))
        {
            return Ok(ChildEnd {
                interrupted: Some(signal),
                ..Outcome::Killed(signal).into()
            });
        }
        let started = self.spawner.spawn(&self.kernel, role, attempt, &stdio);
        // Close our copies: with only the command holding the streams, their end is noticed.
        drop(stdio);
        let spawned = started.map(|started| SpawnedChild {
            missed: started.missed,
            pid: started.pid,
            env_markers: self.spawner.env_markers(attempt),
            early_signals,
            shares_group: self.shares_group,
        });
        drop(hold);
        match spawned {
            Ok(spawned) => {
                let end = self.watch(spawned, escalation, emit)?;
                if let Some(modes) = modes.filter(|_| end.outcome == Outcome::TimedOut) {
                    modes.give_back();
                }
                Ok(end)
            }
            Err(fault) => Ok(Outcome::NotStarted(fault).into()),
        }
    }

    /// Passes on the rest of the attempt's output, for as long as our readers may take. Returns the
    /// attempt's fatal signal, or else the first that arrives meanwhile.
    pub(super) fn drain(&mut self, end: &ChildEnd, emit: &mut Emit<'_>) -> Result<Option<Signal>> {
        let mut gives_up = match end.outcome {
            Outcome::TimedOut => self.now().checked_add(PATIENCE),
            _ => self.deadline,
        };
        let mut interrupted = end.interrupted;
        let mut is_hurried = false;
        loop {
            self.streams.pump();
            self.warn_of_shortage(emit);
            interrupted = interrupted.or(self.drain_signals(emit));
            if interrupted.is_some() && !is_hurried {
                is_hurried = true;
                let patience_ends = self.now() + PATIENCE;
                gives_up = gives_up.into_iter().chain([patience_ends]).min();
            }
            reap_orphans(&self.kernel, self.us, None);
            let left = gives_up.map(|ends| ends.saturating_sub(self.now()));
            if self.streams.is_drained() || left.is_some_and(|left| left.is_zero()) {
                return Ok(interrupted);
            }
            self.kernel.wait(left, true, self.streams.watched())?;
        }
    }

    /// Builds the ending of an attempt from its child's end and the findings in its streams.
    ///
    /// # Errors
    /// When its output cannot be kept, or written to where it belongs.
    pub(super) fn ending(
        &mut self,
        end: ChildEnd,
        findings: Findings,
        emit: &mut Emit<'_>,
    ) -> Result<Ending> {
        self.interrupted = end.interrupted;
        let has_failed = end.outcome != Outcome::Exited(0);
        if let Some(error) = findings.unreadable.filter(|_| has_failed) {
            emit(&Event::HeadsUnreadable(described(&error)));
        }
        if let Some(error) = findings.unkept {
            // Deliver the part that was held, as a failure's.
            self.deliver(Verdict::Failed, emit)?;
            let output = format!("the output of an attempt that ended ({})", end.outcome);
            return Err(error).context(not_held(&output));
        }
        let mut matched = findings.matched;
        // Output that was not delivered whole is no success, whatever it matches.
        matched.success_if = matched.success_if.filter(|_| findings.loss.is_none());
        let (cut_short, is_late) = match (findings.loss, end.interrupted) {
            (None, _) => (None, false),
            (Some(Loss::Failed(error)), _) => return Err(error).context(NOT_WRITTEN),
            // Without retry in between, SIGPIPE would have killed it.
            (Some(Loss::NoReader), _) => (Some(Outcome::Killed(Signal::PIPE)), false),
            (Some(Loss::NotTaken), Some(signal)) => (Some(Outcome::Killed(signal)), false),
            (Some(Loss::NotTaken), None) => (None, true),
        };
        let has_exited = matches!(end.outcome, Outcome::Exited(_));
        let may_have_failed = has_failed || matched.fail_if.is_some();
        Ok(Ending {
            outcome: cut_short.filter(|_| has_exited).unwrap_or(end.outcome),
            interrupted: end.interrupted,
            left_behind: end.left_behind,
            by_idle_timeout: end.by_idle_timeout,
            undelivered: is_late && has_exited,
            input_lost: may_have_failed && self.streams.has_lost_input(),
            matched,
            http_status: findings.answer.status,
            server_wait: findings.answer.wait,
        })
    }
}

/// The parameters of one run of the command or the hook.
pub(super) struct Launch<'a> {
    pub(super) role: Role,
    pub(super) attempt: &'a Attempt<'a>,
    pub(super) escalation: Escalation,
    pub(super) stdio: ChildStdio,
}

/// Turns a shortage of resources into an attempt that was not started. Any other error ends the
/// run.
pub(super) fn not_started(error: Error) -> Result<ChildEnd> {
    let fault = what_is_missing(&error);
    if fault.class == FaultClass::Shortage {
        return Ok(Outcome::NotStarted(fault).into());
    }
    Err(error)
}

/// Returns the end of a hook whose streams could not be opened; the attempt before it is what
/// counts.
pub(super) fn hook_not_started(error: &Error) -> ChildEnd {
    Outcome::NotStarted(what_is_missing(error)).into()
}

/// Classifies the error that left a child without streams.
fn what_is_missing(error: &Error) -> StartFault {
    let system: Option<&io::Error> = error.downcast_ref();
    let is_short = system.is_some_and(|error| fault(error, &[]).class == FaultClass::Shortage);
    StartFault {
        class: if is_short {
            FaultClass::Shortage
        } else {
            FaultClass::NotExecutable
        },
        reason: with_reasons(error),
    }
}
