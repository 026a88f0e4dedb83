//! What the loop needs from outside.

use std::time::Duration;

use anyhow::Result;

use crate::bucket::BudgetOp;
use crate::event::Event;
use crate::signal::Signal;
use crate::status::{Ending, Outcome};

/// Where events go.
pub(crate) type Emit<'a> = dyn FnMut(&Event<'_>) + 'a;

/// All that the loop needs from outside: real in `os`, virtual in `simulation`.
pub(crate) trait World {
    /// The time since the start of the run, which never goes back.
    fn now(&self) -> Duration;

    /// Runs the command once, to its end.
    ///
    /// # Errors
    /// When the command's end cannot be learned; nothing of it is left running then.
    fn attempt(&mut self, attempt: &Attempt<'_>, emit: &mut Emit<'_>) -> Result<Ending>;

    /// Hands on what was held back of the attempt's output, as that of a success or of a failure;
    /// tells what ends the run meanwhile.
    ///
    /// # Errors
    /// When the output of a success cannot be written.
    fn deliver(&mut self, success: bool, emit: &mut Emit<'_>) -> Result<Option<DeliveryAbort>>;

    /// Takes a token from the budget that is shared with other runs, if there is one, or gives back
    /// for a success.
    ///
    /// # Errors
    /// When the system cannot wait.
    fn charge_budget(&mut self, op: BudgetOp, emit: &mut Emit<'_>) -> Result<Token>;

    /// Waits until then, never shorter, unless a fatal signal ends the wait: that signal.
    ///
    /// # Errors
    /// When the system cannot wait.
    fn pause(&mut self, until: Duration, emit: &mut Emit<'_>) -> Result<Option<Signal>>;

    /// Runs what is to be run before the retry that comes, if anything.
    ///
    /// # Errors
    /// As [`World::attempt`].
    fn prepare(&mut self, retry: &Attempt<'_>, emit: &mut Emit<'_>) -> Result<Option<Ending>>;
}

/// What came of asking for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// There may be a retry.
    Granted,
    /// The budget is spent.
    Refused,
    /// A fatal signal came meanwhile.
    Interrupted(Signal),
}

/// What keeps output from being handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeliveryAbort {
    /// A fatal signal; PIPE if nobody reads a success.
    Signal(Signal),
    /// The deadline, which a success has not kept if not all of it was written.
    Deadline,
}

/// What a world is told about an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt<'a> {
    /// Counted from 1.
    pub(crate) number: u64,
    /// How the attempt before ended.
    pub(crate) last: Option<&'a Outcome>,
    /// When a time limit ends it, since the start of the run.
    pub(crate) ends_by: Option<Duration>,
}
