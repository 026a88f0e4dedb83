//! The delays of one run whose attempts all fail and take no time, however many there are.

use std::time::Duration;

use super::means;
use super::tail::{Tail, is_settled};
use crate::backoff::{Backoff, DelayRange};
use crate::duration::nanos;
use crate::engine;
use crate::event::Event;
use crate::numbers::Attempts;
use crate::patterns::Patterns;
use crate::policy::{Decision, Policy};
use crate::simulation::AlwaysFails;

/// A draw that gives the longest delay of a range: what lies outside of it is cut.
pub(super) const LONGEST: f64 = 2.0;

/// A draw that gives the mean delay of a range.
const MEAN: f64 = 0.5;

/// A draw that gives the shortest delay of a range.
pub(super) const SHORTEST: f64 = 0.0;

/// How many retries are walked at first. By then, nearly every schedule goes on as it is.
const USUALLY_ENOUGH: u64 = 256;

/// How many retries are walked at most. What grows so slowly is then followed by its formula.
pub(super) const MOST_WALKED: u64 = 1 << 14;

/// A delay, and the range that it is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leg {
    /// The range.
    pub(super) range: DelayRange,
    /// What is slept.
    pub(super) delay: Duration,
}

impl Leg {
    /// The end of the range.
    pub(super) fn end(&self) -> Duration {
        end(&self.range)
    }
}

/// The end of a range.
pub(super) fn end(range: &DelayRange) -> Duration {
    range.fixed.saturating_add(range.width)
}

/// How many retries there may be; no number means no limit.
pub(super) fn retries(attempts: Attempts) -> Option<u64> {
    match attempts {
        Attempts::AtMost(count) => Some(count - 1),
        Attempts::Unlimited => None,
    }
}

/// The policy of a plan: every failure is worth a retry, and so many retries are looked at.
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

/// Runs the loop with such a policy, and tells each retry with the time at which it starts.
pub(super) fn walk(
    policy: &Policy,
    draw: &mut dyn FnMut() -> f64,
    each: &mut dyn FnMut(Leg, Duration),
) {
    walk_until(Duration::MAX, policy, draw, each);
}

/// The same, up to a time: what starts later is not told, but for the first of it.
pub(super) fn walk_until(
    end: Duration,
    policy: &Policy,
    draw: &mut dyn FnMut() -> f64,
    each: &mut dyn FnMut(Leg, Duration),
) {
    let mut emit = |event: &Event<'_>| {
        if let Event::Ended(ended, Decision::Retry { delay, range, .. }) = event {
            let leg = Leg {
                range: *range,
                delay: *delay,
            };
            each(leg, ended.total.saturating_add(*delay));
        }
    };
    // Nothing fails there but the attempts.
    let _ = engine::run(policy, &mut AlwaysFails::until(end), draw, &mut emit);
}

/// A run in which every draw is the same, or every delay the mean.
#[derive(Clone, Debug)]
pub(super) struct Path {
    legs: Vec<Leg>,
    /// The time up to each of them, in nanoseconds.
    totals: Vec<u128>,
    after: Tail,
}

impl Path {
    /// Walks until the delays stay the same. No number of retries means no limit.
    pub(super) fn new(policy: &Policy, retries: Option<u64>, u: f64) -> Self {
        Self::walked(retries, &policy.backoff, u, |most| legs(policy, most, u))
    }

    /// The path on which each delay is the mean of those that there may be. Where a range depends on
    /// the draws before it, that is not what a draw in the middle of each range would give.
    pub(super) fn mean(policy: &Policy, retries: Option<u64>) -> Self {
        Self::walked(retries, &policy.backoff, MEAN, |most| {
            let mut legs = legs(policy, most, MEAN);
            means::set(&policy.backoff, &mut legs);
            legs
        })
    }

    fn walked(
        retries: Option<u64>,
        backoff: &Backoff,
        u: f64,
        legs: impl Fn(u64) -> Vec<Leg>,
    ) -> Self {
        let wanted = retries.unwrap_or(u64::MAX);
        let mut walked = legs(wanted.min(USUALLY_ENOUGH));
        if wanted > USUALLY_ENOUGH && !is_settled(backoff, &walked) {
            walked = legs(wanted.min(MOST_WALKED));
        }
        let legs = walked;
        let totals = legs.iter().scan(0_u128, |total, leg| {
            *total += nanos(leg.delay);
            Some(*total)
        });
        Self {
            totals: totals.collect(),
            after: Tail::new(backoff, &legs, u),
            legs,
        }
    }

    /// The retries that were walked, from the first one on.
    pub(super) fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// The time from the first attempt to the n-th retry, in nanoseconds.
    pub(super) fn total(&self, retries: u64) -> u128 {
        let walked = self.legs.len() as u64;
        let index = usize::try_from(retries.min(walked)).unwrap_or(usize::MAX);
        let total = index.checked_sub(1).map_or(0, |index| self.totals[index]);
        total.saturating_add(self.after.sum(retries.saturating_sub(walked)))
    }

    /// The delay in the end.
    pub(super) fn eventually(&self) -> Duration {
        self.after.eventually()
    }

    /// Whether the time up to this retry is only nearly right.
    pub(super) fn is_rough(&self, retries: u64) -> bool {
        self.after.is_rough() && retries > self.legs.len() as u64
    }
}

/// So many delays, or as many as there are.
fn legs(policy: &Policy, most: u64, u: f64) -> Vec<Leg> {
    let mut legs = Vec::new();
    walk(&simulated(policy, most), &mut || u, &mut |leg, _| {
        legs.push(leg);
    });
    legs
}
