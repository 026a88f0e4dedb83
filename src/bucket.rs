//! A token bucket: the arithmetic of a shared retry budget.
//!
//! The bucket records what has been spent, in thousandths of a token, so that runs with different
//! budgets agree on it. A retry takes a token, a success gives back a tenth of one (like the token
//! ratio of gRPC's retry throttling, A6 "gRPC Retry Design"), and a refill gives tokens back over
//! time.

use std::time::Duration;

use crate::duration::{from_nanos, parse_duration};
use crate::numbers::whole_number;

/// One token, in the recorded thousandths.
const TOKEN: u64 = 1000;

/// The refund for a success.
const REWARD: u64 = TOKEN / 10;

/// The most by which clocks of runs that share a bucket may differ or step. Within it, a refill
/// gives back no more than time has earned.
const TOLERANCE: Duration = Duration::from_secs(5 * 60);

/// The retries that all runs may make together, and how they come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// The number of tokens in a full bucket.
    pub(crate) tokens: u32,
    /// The tokens that time gives back, if any.
    pub(crate) refill: Option<Refill>,
}

/// A refill rate: `tokens` in each `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refill {
    tokens: u32,
    period: Duration,
}

/// A change to a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetOp {
    /// A retry takes a token.
    Spend,
    /// A success gives back a part of one.
    Refund,
}

/// The recorded state of a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// Tokens spent and not yet given back, in thousandths.
    pub(crate) spent: u64,
    /// The time up to which tokens have been refilled, since 1970 by the wall clock.
    pub(crate) refilled: Duration,
}

impl Budget {
    /// The default number of tokens.
    pub(crate) const USUAL: u32 = 10;

    /// Parses a number of tokens.
    ///
    /// # Errors
    /// A sentence that says how to write it.
    pub(crate) fn parse_tokens(text: &str) -> Result<u32, String> {
        whole_number(text)
            .ok_or_else(|| format!("write a whole number of retries, from 0 to {}", u32::MAX))
    }
}

impl Refill {
    /// Parses `N/DUR`.
    ///
    /// # Errors
    /// A sentence that says how to write it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (tokens, period) = text
            .split_once('/')
            .ok_or("write a number of retries and a time, like 1/10s")?;
        let tokens = whole_number(tokens.trim_end()).filter(|tokens| *tokens > 0);
        let tokens = tokens.ok_or_else(|| {
            format!(
                "write a whole number from 1 to {} before the /, like 1/10s",
                u32::MAX
            )
        })?;
        let period = parse_duration(period.trim_start())?;
        if period.is_zero() {
            return Err("the time after the / must be longer than 0; write it like 1/10s".into());
        }
        Ok(Self { tokens, period })
    }
}

impl Bucket {
    /// A full bucket, at the wall-clock time `now`.
    pub(crate) fn new(now: Duration) -> Self {
        Self {
            spent: 0,
            refilled: now,
        }
    }

    /// Takes a token at the wall-clock time `now`; returns whether one was left.
    pub(crate) fn take(&mut self, budget: &Budget, now: Duration) -> bool {
        self.refill(budget, now);
        let after = self.spent.saturating_add(TOKEN);
        let is_left = after <= u64::from(budget.tokens) * TOKEN;
        if is_left {
            self.spent = after;
        }
        is_left
    }

    /// Refunds a success at the wall-clock time `now`.
    pub(crate) fn reward(&mut self, budget: &Budget, now: Duration) {
        self.refill(budget, now);
        self.spent = self.spent.saturating_sub(REWARD);
    }

    /// Gives back the tokens earned since the last refill. A remainder below a thousandth counts
    /// next time.
    ///
    /// While `now` is behind the time already credited, nothing is earned. Otherwise a clock that
    /// goes back and forth would earn the same time again and again.
    fn refill(&mut self, budget: &Budget, now: Duration) {
        if now < self.refilled {
            if self.was_set_right(budget, now) {
                self.refilled = now;
            }
            return;
        }
        let Some(refill) = budget.refill.filter(|_| self.spent > 0) else {
            // Earlier time must not pay for tokens spent from here on.
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
            // Credit only the time that these thousandths took: the rest of it still counts.
            let took = (earned * refill.period.as_nanos()).div_ceil(rate);
            self.refilled = self.refilled.saturating_add(from_nanos(took)).min(now);
            self.spent -= u64::try_from(earned).unwrap_or(self.spent);
        }
    }

    /// Whether an earlier clock was wrong, so that it is pointless to wait until `now` catches up:
    /// `now` is behind by more than clocks may differ, and by more than a full refill takes.
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
