//! Worlds of virtual time, in which waiting takes no real time.

#[cfg(test)]
mod tests;

use std::time::Duration;

use anyhow::Result;

use crate::bucket::BudgetOp;
use crate::engine::{Attempt, DeliveryAbort, Emit, Entrance, Slot, Token, Verdict, World};
use crate::signal::Signal;
use crate::status::{Ending, Outcome};

#[cfg(test)]
pub(crate) use tests::{Script, Step};

/// A world in which every attempt fails at once, up to a given time. It adds nothing to the cost of
/// the decisions themselves, even over a million runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AlwaysFails {
    now: Duration,
    ends: Duration,
}

impl AlwaysFails {
    /// A world in which a signal ends the run in place of any wait beyond this time.
    pub(crate) fn until(ends: Duration) -> Self {
        Self {
            now: Duration::ZERO,
            ends,
        }
    }
}

impl World for AlwaysFails {
    fn now(&self) -> Duration {
        self.now
    }

    fn attempt(&mut self, _: &Attempt<'_>, _: &mut Emit<'_>) -> Result<Ending> {
        Ok(Outcome::Exited(1).into())
    }

    fn deliver(&mut self, _: Verdict, _: &mut Emit<'_>) -> Result<Option<DeliveryAbort>> {
        Ok(None)
    }

    fn charge_budget(&mut self, _: BudgetOp, _: &mut Emit<'_>) -> Result<Token> {
        Ok(Token::Granted)
    }

    fn pause(&mut self, until: Duration, _: &mut Emit<'_>) -> Result<Option<Signal>> {
        self.now = until.min(self.ends);
        Ok(Some(Signal::TERM).filter(|_| until > self.ends))
    }

    fn enter(&mut self, _: Entrance, _: &mut Emit<'_>) -> Result<Slot> {
        Ok(Slot::Taken)
    }

    fn leave(&mut self) {}

    fn prepare(&mut self, _: &Attempt<'_>, _: &mut Emit<'_>) -> Result<Option<Ending>> {
        Ok(None)
    }
}
