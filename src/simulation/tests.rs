//! A world in which attempts follow a script.

use std::time::Duration;

use anyhow::Result;

use crate::bucket::BudgetOp;
use crate::engine::{Attempt, DeliveryAbort, Emit, Entrance, Slot, Token, Verdict, World};
use crate::event::Event;
use crate::signal::Signal;
use crate::status::{Ending, Outcome};

/// The behaviour of one attempt when nothing cuts it short.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// How long it takes.
    pub(crate) takes: Duration,
    /// How it ends.
    pub(crate) ending: Ending,
}

/// A world in which the n-th attempt takes the n-th step, and the last step repeats.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    now: Duration,
    steps: Vec<Step>,
    interruption: Option<(Duration, Signal)>,
    /// How long each attempt waits for a slot; no wait where there is none.
    waits: Vec<Duration>,
}

impl Script {
    /// A world with these steps, at least one.
    pub(crate) fn new(steps: Vec<Step>) -> Self {
        assert!(!steps.is_empty(), "a script needs a step");
        Self {
            now: Duration::ZERO,
            steps,
            interruption: None,
            waits: Vec::new(),
        }
    }

    /// The same, with a fatal signal at this time.
    pub(crate) fn interrupted(mut self, at: Duration, signal: Signal) -> Self {
        self.interruption = Some((at, signal));
        self
    }

    /// The same, with these waits for slots.
    pub(crate) fn waiting(mut self, waits: &[Duration]) -> Self {
        self.waits = waits.to_vec();
        self
    }

    /// Advances to `until`, or to the interruption if that comes first.
    fn pass(&mut self, until: Duration) -> Option<Signal> {
        match self.interruption {
            Some((at, signal)) if at <= until => {
                self.now = self.now.max(at);
                Some(signal)
            }
            _ => {
                self.now = until;
                None
            }
        }
    }
}

impl World for Script {
    fn now(&self) -> Duration {
        self.now
    }

    fn attempt(&mut self, attempt: &Attempt<'_>, _: &mut Emit<'_>) -> Result<Ending> {
        let index = usize::try_from(attempt.number - 1).unwrap_or(usize::MAX);
        let step = self.steps[index.min(self.steps.len() - 1)].clone();
        let end = self.now.saturating_add(step.takes);
        let (until, mut ending) = match attempt.ends_by {
            Some(limit) if limit < end => (limit.max(self.now), Outcome::TimedOut.into()),
            _ => (end, step.ending),
        };
        if let Some(signal) = self.pass(until) {
            ending = Ending {
                interrupted: Some(signal),
                ..Outcome::Killed(signal).into()
            };
        }
        Ok(ending)
    }

    fn deliver(&mut self, _: Verdict, _: &mut Emit<'_>) -> Result<Option<DeliveryAbort>> {
        Ok(None)
    }

    fn charge_budget(&mut self, _: BudgetOp, _: &mut Emit<'_>) -> Result<Token> {
        Ok(Token::Granted)
    }

    fn pause(&mut self, until: Duration, _: &mut Emit<'_>) -> Result<Option<Signal>> {
        Ok(self.pass(until))
    }

    fn enter(&mut self, entrance: Entrance, emit: &mut Emit<'_>) -> Result<Slot> {
        let index = usize::try_from(entrance.attempt - 1).unwrap_or(usize::MAX);
        let Some(wait) = self.waits.get(index).copied() else {
            return Ok(Slot::Taken);
        };
        let begun = self.now;
        if !wait.is_zero() {
            emit(&Event::SlotAwaited(1));
        }
        let had = begun.saturating_add(wait);
        let until = entrance.until.unwrap_or(Duration::MAX);
        if let Some(signal) = self.pass(had.min(until)) {
            return Ok(Slot::Interrupted(signal));
        }
        if had > until {
            return Ok(Slot::TooLate);
        }
        let (attempt, waited) = (entrance.attempt, wait);
        emit(&Event::SlotTaken { attempt, waited });
        Ok(Slot::Taken)
    }

    fn leave(&mut self) {}

    fn prepare(&mut self, _: &Attempt<'_>, _: &mut Emit<'_>) -> Result<Option<Ending>> {
        Ok(None)
    }
}
