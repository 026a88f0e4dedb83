//! The outside world, as the loop sees it.

use std::time::Duration;

use anyhow::Result;

use crate::bucket::BudgetOp;
use crate::event::Event;
use crate::signal::Signal;
use crate::status::{Ending, Outcome};

/// The receiver of events.
pub(crate) type Emit<'a> = dyn FnMut(&Event<'_>) + 'a;

/// All that the loop needs from outside: real in `supervise`, virtual in `simulation`.
pub(crate) trait World {
    /// Returns the time since the start of the run, which never goes back.
    fn now(&self) -> Duration;

    /// Runs the command once, until it ends.
    ///
    /// # Errors
    /// When the command's end cannot be learned; nothing of it is left running then.
    fn attempt(&mut self, attempt: &Attempt<'_>, emit: &mut Emit<'_>) -> Result<Ending>;

    /// Delivers held output that is due after this verdict, which may come more than once. Returns
    /// what cut the delivery short, if anything.
    ///
    /// # Errors
    /// When the output of a success cannot be written.
    fn deliver(&mut self, verdict: Verdict, emit: &mut Emit<'_>) -> Result<Option<DeliveryAbort>>;

    /// Takes a token from the shared budget, if there is one, or refunds part of one for a success.
    ///
    /// # Errors
    /// When the system cannot wait.
    fn charge_budget(&mut self, op: BudgetOp, emit: &mut Emit<'_>) -> Result<Token>;

    /// Waits at least until this time, unless a fatal signal ends the wait; returns that signal.
    ///
    /// # Errors
    /// When the system cannot wait.
    fn pause(&mut self, until: Duration, emit: &mut Emit<'_>) -> Result<Option<Signal>>;

    /// Takes a slot for the coming attempt, if attempts of several runs share a bound, as soon as one
    /// is free.
    ///
    /// # Errors
    /// When the system cannot wait.
    fn enter(&mut self, entrance: Entrance, emit: &mut Emit<'_>) -> Result<Slot>;

    /// Gives the slot back, if this run has one.
    fn leave(&mut self);

    /// Runs the hook before the coming retry, if there is one.
    ///
    /// # Errors
    /// As [`World::attempt`].
    fn prepare(&mut self, retry: &Attempt<'_>, emit: &mut Emit<'_>) -> Result<Option<Ending>>;
}

/// The state of the run after an attempt, which decides how much of its output is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is over, and exits 0.
    Succeeded,
    /// There is to be a retry.
    Retrying,
    /// It is over, and has failed.
    Failed,
    /// A fatal signal has ended it during a delay.
    Interrupted,
}

/// The answer to a request for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// The retry is allowed.
    Granted,
    /// The budget is spent.
    Refused,
    /// A fatal signal came meanwhile.
    Interrupted(Signal),
}

/// The wait for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entrance {
    /// The attempt that needs it, counted from 1.
    pub(crate) attempt: u64,
    /// When it is too late for that, since the start of the run.
    pub(crate) until: Option<Duration>,
}

/// The answer to a request for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The attempt may start.
    Taken,
    /// None was free in time.
    TooLate,
    /// A fatal signal came meanwhile.
    Interrupted(Signal),
}

/// Why output was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeliveryAbort {
    /// A fatal signal; PIPE if the output of a success has no reader.
    Signal(Signal),
    /// The deadline: a success has missed it if not all of its output was written in time.
    Deadline,
}

/// An attempt, as described to a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt<'a> {
    /// Counted from 1.
    pub(crate) number: u64,
    /// How the previous attempt ended.
    pub(crate) last: Option<&'a Outcome>,
    /// When it starts, since the start of the run.
    pub(crate) start: Duration,
    /// When a time limit ends it, since the start of the run.
    pub(crate) ends_by: Option<Duration>,
}

impl Attempt<'_> {
    /// Returns the time that it has, if there is a limit.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        Some(self.ends_by?.saturating_sub(self.start))
    }
}
