//! One run of the command, or of what is to be run before it, and what its streams have told.

use std::ffi::OsStr;
use std::io;

use anyhow::{Context as _, Result};

use super::run::Newborn;
use super::spawn::{self, Role};
use super::{Machine, inbox, sys};
use crate::engine::{Attempt, Emit};
use crate::event::Event;
use crate::leash::Leash;
use crate::plain::described;
use crate::signal::Signal;
use crate::status::{Ending, FaultClass, Outcome};
use crate::stream::{Ends, Findings};

/// What is said when output cannot be passed on.
pub(super) const NOT_WRITTEN: &str = "cannot write to stdout what the command has written";

impl Machine<'_> {
    /// What brings an attempt to its end at its limit.
    pub(super) fn leash(&self, attempt: &Attempt<'_>) -> Leash {
        Leash::new(attempt.ends_by, self.supervision.kill_after)
    }

    /// Runs the command or the hook once, to its end.
    pub(super) fn run(
        &mut self,
        role: Role,
        attempt: &Attempt<'_>,
        leash: Leash,
        ends: Ends,
        emit: &mut Emit<'_>,
    ) -> Result<Ending> {
        // With signals held back, what comes from here on waits until it can be passed on.
        let held = sys::hold_signals();
        let early = self.inbox.take();
        let arrived = early
            .iter()
            .map(|arrival| arrival.signal)
            .chain(self.held_back(&held));
        if let Some(signal) = arrived.into_iter().find(|signal| inbox::is_fatal(*signal)) {
            sys::release_signals(&held);
            let outcome = Outcome::Killed(signal);
            return Ok(Ending {
                interrupted: Some(signal),
                ..outcome.into()
            });
        }
        let signals = (self.inbox.hooked(), self.inbox.mask_at_start());
        let started = self.spawner.spawn(role, attempt, &ends, signals);
        // The command has them, and is to be the only one: their end is to be noticed.
        drop(ends);
        let newborn = started.map(|started| Newborn {
            missed: started.missed,
            pid: started.pid,
            marks: self.spawner.marks(attempt),
            early,
        });
        sys::release_signals(&held);
        match newborn {
            Ok(newborn) => self.supervise(newborn, leash, emit),
            Err(fault) => Ok(Outcome::NotStarted(fault).into()),
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
        self.is_interrupted = ending.interrupted.is_some();
        if let Some(error) = findings.unreadable {
            emit(&Event::HeadsUnreadable(described(&error)));
        }
        match findings.lost {
            // Without us it would have died of this.
            Some(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                if ending.outcome == Outcome::Exited(0) {
                    ending.outcome = Outcome::Killed(Signal::PIPE);
                }
                Ok(())
            }
            Some(error) => Err(error).context(NOT_WRITTEN),
            None => Ok(()),
        }
    }
}

/// An attempt for which the system is short of something; anything else ends the run.
pub(super) fn not_started(error: io::Error) -> Result<Ending> {
    let fault = spawn::fault(&error, OsStr::new(""));
    if fault.class == FaultClass::Shortage {
        return Ok(Outcome::NotStarted(fault).into());
    }
    Err(error).context("cannot make room for what the command reads or writes; set TMPDIR to a directory that can be written")
}
