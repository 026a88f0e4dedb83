//! The delays of one run whose attempts all fail and take no time, however many there are.

use std::time::Duration;

use super::extrapolation::{DrawnDelay, Extrapolation, MOST_WALKED, is_settled};
use super::means;
use crate::backoff::Backoff;
use crate::duration::{from_nanos, nanos};
use crate::engine;
use crate::event::Event;
use crate::numbers::Attempts;
use crate::patterns::Patterns;
use crate::policy::{Decision, Policy};
use crate::simulation::AlwaysFails;

/// A draw that gives the longest delay of a range, at whose end it is cut.
pub(super) const LONGEST: f64 = 2.0;

/// A draw that gives the mean delay of a range.
const MEAN: f64 = 0.5;

/// A draw that gives the shortest delay of a range.
pub(super) const SHORTEST: f64 = 0.0;

/// How many retries are walked at first. By then, nearly every schedule is settled.
const USUALLY_ENOUGH: u64 = 256;

/// Returns the maximum number of retries; none means no limit.
pub(super) fn retries(attempts: Attempts) -> Option<u64> {
    match attempts {
        Attempts::AtMost(count) => Some(count - 1),
        Attempts::Unlimited => None,
    }
}

/// Returns the policy of a plan: every failure is worth a retry, and at most `most` are made.
pub(super) fn simulated(policy: &Policy, most: u64) -> Policy {
    let wanted = retries(policy.attempts).unwrap_or(u64::MAX);
    Policy {
        backoff: policy.backoff.clone(),
        attempts: Attempts::AtMost(wanted.min(most).saturating_add(1)),
        retry_on: None,
        stop_on: None,
        success_on: None,
        patterns: Patterns::default(),
        ..*policy
    }
}

/// Runs the loop with such a policy; calls `each` with every delay and the time its retry starts.
pub(super) fn walk(
    policy: &Policy,
    draw: &mut dyn FnMut() -> f64,
    each: &mut dyn FnMut(DrawnDelay, Duration),
) {
    walk_until(Duration::MAX, policy, draw, each);
}

/// Does the same up to a time: of the retries after it, only the first is passed on.
pub(super) fn walk_until(
    end: Duration,
    policy: &Policy,
    draw: &mut dyn FnMut() -> f64,
    each: &mut dyn FnMut(DrawnDelay, Duration),
) {
    let mut emit = |event: &Event<'_>| {
        if let Event::Ended(ended, Decision::Retry { delay, range, .. }) = event {
            let drawn = DrawnDelay {
                range: *range,
                delay: *delay,
            };
            each(drawn, ended.total.saturating_add(*delay));
        }
    };
    // Only the attempts can fail in this world.
    let _ = engine::run(policy, &mut AlwaysFails::until(end), draw, &mut emit);
}

/// A run in which every draw is the same, or every delay is the mean.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    delays: Vec<DrawnDelay>,
    /// The time up to each retry, in nanoseconds.
    totals: Vec<u128>,
    after: Extrapolation,
}

impl Schedule {
    /// Walks until the delays no longer change. `retries` is none if there is no limit.
    pub(super) fn new(policy: &Policy, retries: Option<u64>, u: f64) -> Self {
        Self::walked(retries, &policy.backoff, u, |most| delays(policy, most, u))
    }

    /// The schedule in which each delay is the mean of all possible ones. Where a range depends on
    /// the draws before it, a draw in the middle of each range would not give that.
    pub(super) fn mean(policy: &Policy, retries: Option<u64>) -> Self {
        Self::walked(retries, &policy.backoff, MEAN, |most| {
            let mut delays = delays(policy, most, MEAN);
            means::set(&policy.backoff, &mut delays);
            delays
        })
    }

    fn walked(
        retries: Option<u64>,
        backoff: &Backoff,
        u: f64,
        delays: impl Fn(u64) -> Vec<DrawnDelay>,
    ) -> Self {
        let wanted = retries.unwrap_or(u64::MAX);
        let mut walked = delays(wanted.min(USUALLY_ENOUGH));
        if wanted > USUALLY_ENOUGH && !is_settled(backoff, &walked) {
            walked = delays(wanted.min(MOST_WALKED));
        }
        let delays = walked;
        let totals = delays.iter().scan(0_u128, |total, drawn| {
            *total += nanos(drawn.delay);
            Some(*total)
        });
        Self {
            totals: totals.collect(),
            after: Extrapolation::new(backoff, &delays, u),
            delays,
        }
    }

    /// Returns the delays that were walked, from the first one on.
    pub(super) fn delays(&self) -> &[DrawnDelay] {
        &self.delays
    }

    /// Returns the time from the first attempt to the n-th retry, in nanoseconds.
    pub(super) fn total(&self, retries: u64) -> u128 {
        let walked = self.delays.len() as u64;
        let index = usize::try_from(retries.min(walked)).unwrap_or(usize::MAX);
        let total = index.checked_sub(1).map_or(0, |index| self.totals[index]);
        total.saturating_add(self.after.sum(retries.saturating_sub(walked)))
    }

    /// Returns the delay in the long run.
    pub(super) fn eventually(&self) -> Duration {
        self.after.eventually()
    }

    /// Whether the time up to this retry is approximate.
    pub(super) fn is_rough(&self, retries: u64) -> bool {
        self.after.is_rough() && retries > self.delays.len() as u64
    }
}

/// Returns the first `most` delays, or all if there are fewer.
fn delays(policy: &Policy, most: u64, u: f64) -> Vec<DrawnDelay> {
    let mut delays = Vec::new();
    walk(&simulated(policy, most), &mut || u, &mut |drawn, _| {
        delays.push(drawn);
    });
    delays
}

/// The last attempts that a deadline allows; none means any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LastAttempts {
    /// With the longest delays.
    pub(super) at_worst: Option<u64>,
    /// With the shortest delays.
    pub(super) at_best: Option<u64>,
    /// With the longest delays, if every attempt takes its time limit.
    pub(super) with_timeouts: Option<u64>,
}

impl LastAttempts {
    /// Whether every run makes the same number of attempts, however long its delays are.
    pub(super) fn are_certain(&self) -> bool {
        self.at_best == self.at_worst
    }
}

/// Returns the last of these retries that the deadline allows, if the n-th starts after `time(n)`
/// nanoseconds; none means any.
pub(super) fn last_retry(
    policy: &Policy,
    retries: Option<u64>,
    time: impl Fn(u64) -> u128,
) -> Option<u64> {
    let fits = |retry| policy.fits(from_nanos(time(retry)), Duration::ZERO);
    let (mut allowed, mut refused) = (0, retries.unwrap_or(u64::MAX));
    if refused == 0 || fits(refused) {
        return retries;
    }
    while refused - allowed > 1 {
        let middle = allowed + (refused - allowed) / 2;
        if fits(middle) {
            allowed = middle;
        } else {
            refused = middle;
        }
    }
    Some(allowed)
}

/// Returns the number of attempts for this many retries.
pub(super) fn attempts(retries: Option<u64>) -> Option<u64> {
    retries.map(|retries| retries.saturating_add(1))
}
