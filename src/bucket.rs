//! The arithmetic of a budget that many runs share: a token bucket.
//!
//! What is kept is what has been spent, in thousandths of a token, so that runs with different
//! budgets agree on it. A retry takes a token, a success gives back a tenth of one (as gRPC's retry
//! throttling does with its token ratio, A6 "gRPC Retry Design"), and a refill gives back with time.

use std::time::Duration;

use crate::duration::{from_nanos, parse_duration};
use crate::numbers::whole_number;

/// A token, in the thousandths that are kept.
const TOKEN: u64 = 1000;

/// What a success gives back.
const REWARD: u64 = TOKEN / 10;

/// By how much the clocks of those who share a bucket may differ, and step, without a refill giving
/// back more than time has earned.
const TOLERANCE: Duration = Duration::from_secs(5 * 60);

/// How many retries all may make together, and how they come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Tokens of a full bucket.
    pub(crate) tokens: u32,
    /// What time gives back, if anything.
    pub(crate) refill: Option<Refill>,
}

/// So many tokens in so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refill {
    tokens: u32,
    period: Duration,
}

/// What is done to a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetOp {
    /// A retry takes a token.
    Spend,
    /// A success gives back a part of one.
    Refund,
}

/// What is kept of a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// What has been spent and has not come back, in thousandths of a token.
    pub(crate) spent: u64,
    /// Up to when time has given back, since 1970 by the clock on the wall.
    pub(crate) refilled: Duration,
}

impl Budget {
    /// How many tokens there are unless the user says otherwise.
    pub(crate) const USUAL: u32 = 10;

    /// Reads a number of tokens.
    ///
    /// # Errors
    /// A sentence that says how to write it.
    pub(crate) fn parse_tokens(text: &str) -> Result<u32, String> {
        whole_number(text)
            .ok_or_else(|| format!("write a whole number of retries, from 0 to {}", u32::MAX))
    }
}

impl Refill {
    /// Reads `N/DUR`.
    ///
    /// # Errors
    /// A sentence that says how to write it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (tokens, period) = text
            .split_once('/')
            .ok_or("write how many come back in how long, like 1/10s")?;
        let tokens = whole_number(tokens.trim_end()).filter(|tokens| *tokens > 0);
        let tokens = tokens.ok_or_else(|| {
            format!(
                "write a whole number from 1 to {} before the /, like 1/10s",
                u32::MAX
            )
        })?;
        let period = parse_duration(period.trim_start())?;
        if period.is_zero() {
            return Err(
                "nothing can come back in no time; write a time behind the /, like 1/10s".into(),
            );
        }
        Ok(Self { tokens, period })
    }
}

impl Bucket {
    /// A full one, at the time `now` on the wall.
    pub(crate) fn new(now: Duration) -> Self {
        Self {
            spent: 0,
            refilled: now,
        }
    }

    /// Takes a token at the time `now` on the wall, if one is left.
    pub(crate) fn take(&mut self, budget: &Budget, now: Duration) -> bool {
        self.refill(budget, now);
        let after = self.spent.saturating_add(TOKEN);
        let is_left = after <= u64::from(budget.tokens) * TOKEN;
        if is_left {
            self.spent = after;
        }
        is_left
    }

    /// Gives back for a success at the time `now` on the wall.
    pub(crate) fn reward(&mut self, budget: &Budget, now: Duration) {
        self.refill(budget, now);
        self.spent = self.spent.saturating_sub(REWARD);
    }

    /// Gives back what time has earned; what is less than a thousandth is earned the next time.
    ///
    /// Where `now` is behind what others have already been paid for, there is nothing to earn before
    /// it has caught up: a clock that goes back and forth would earn the same time again and again.
    fn refill(&mut self, budget: &Budget, now: Duration) {
        if now < self.refilled {
            if self.was_set_right(budget, now) {
                self.refilled = now;
            }
            return;
        }
        let Some(refill) = budget.refill.filter(|_| self.spent > 0) else {
            // What is spent from here on is not paid with time from before.
            self.refilled = now;
            return;
        };
        let gone = now.saturating_sub(self.refilled);
        let rate = u128::from(refill.tokens) * u128::from(TOKEN);
        let earned = gone.as_nanos().saturating_mul(rate) / refill.period.as_nanos();
        if earned >= u128::from(self.spent) {
            self.spent = 0;
            self.refilled = now;
        } else {
            // Only the time that these thousandths took, so that the rest of it still counts.
            let took = (earned * refill.period.as_nanos()).div_ceil(rate);
            self.refilled = self.refilled.saturating_add(from_nanos(took)).min(now);
            self.spent -= u64::try_from(earned).unwrap_or(self.spent);
        }
    }

    /// Whether the clock was wrong before, so that it would be senseless to wait for it to catch up:
    /// it is behind by more than clocks may differ, and by more than it takes to fill the whole
    /// bucket.
    fn was_set_right(&self, budget: &Budget, now: Duration) -> bool {
        let behind = self.refilled.saturating_sub(now);
        let whole = budget.refill.map_or(u128::MAX, |refill| {
            refill.period.as_nanos() * u128::from(budget.tokens) / u128::from(refill.tokens)
        });
        behind > TOLERANCE && behind.as_nanos() > whole
    }
}

#[cfg(test)]
mod tests;
