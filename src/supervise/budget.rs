//! The budget that is shared with other runs.

use std::time::Duration;

use anyhow::Result;

use super::Supervisor;
use crate::bucket::BudgetOp;
use crate::engine::{Emit, Token, World as _};
use crate::event::Event;
use crate::shared::Done;

/// How long the lock is awaited, which nobody holds for longer than a write.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long it is left alone, at first and at most: with many who want it, it is rarely free.
const NAP: Duration = Duration::from_micros(200);
const LONGEST_NAP: Duration = Duration::from_millis(10);

impl Supervisor<'_> {
    /// Does it as soon as nobody else has the lock. That a token cannot be taken is said once, and
    /// retries go on: a budget is there to spare others, not to fail a run. A success that cannot
    /// give back has nothing to warn of, because there is no retry to come.
    pub(super) fn charge_shared_budget(
        &mut self,
        op: BudgetOp,
        emit: &mut Emit<'_>,
    ) -> Result<Token> {
        let patience_ends = [self.now() + PATIENCE].into_iter().chain(self.deadline);
        let patience_ends = patience_ends.min().unwrap_or_default();
        let mut nap = NAP;
        loop {
            let done = match &self.shared {
                Some(shared) => shared.change(op),
                None => return Ok(Token::Granted),
            };
            let reason = match done {
                Done::Yes { granted, rebuilt } => {
                    if rebuilt {
                        emit(&Event::BudgetRebuilt);
                    }
                    return Ok(if granted {
                        Token::Granted
                    } else {
                        Token::Refused
                    });
                }
                Done::Busy if self.now() < patience_ends => {
                    if let Some(signal) = self.fatal_signal(emit) {
                        return Ok(Token::Interrupted(signal));
                    }
                    self.streams.pump();
                    self.signal_queue.wait(Some(nap), self.streams.watched())?;
                    nap = (nap * 2).min(LONGEST_NAP);
                    continue;
                }
                Done::Busy => "another process does not let go of it".to_owned(),
                Done::Unusable(reason) => reason,
            };
            self.shared = None;
            if op == BudgetOp::Spend {
                emit(&Event::BudgetUnusable(reason));
            }
            return Ok(Token::Granted);
        }
    }
}
