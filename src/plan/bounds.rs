//! The retries at which the cap or the deadline takes effect.

use std::time::Duration;

use super::extrapolation::{DrawnDelay, end};
use super::extrapolation::{float, logarithm_of_factor, whole};
use super::schedule::MOST_WALKED;
use crate::backoff::{Backoff, Curve, DelayRange};
use crate::duration::{from_nanos, nanos};
use crate::policy::Policy;

/// Returns the first retry whose delay would exceed the cap, jitter left out; with decorrelated
/// jitter, whose delay could. None if there is no such retry.
pub(super) fn cap_takes_over(backoff: &Backoff) -> Option<u64> {
    let cap = nanos(backoff.cap);
    let free = Backoff {
        cap: Duration::MAX,
        ..backoff.clone()
    };
    if backoff.cap == Duration::MAX {
        return None;
    }
    if backoff.curve == Curve::Linear && !backoff.jitter.follows_previous_delay() {
        let below = cap.checked_div(nanos(backoff.base))?;
        return u64::try_from(below).ok()?.checked_add(1);
    }
    let mut at = free.start();
    let mut last = None;
    for retry in 1..=MOST_WALKED {
        let range = free.range(at);
        let nominal = nominal(&free, &range);
        if nominal > backoff.cap {
            return Some(retry);
        }
        if last.replace(nominal) == Some(nominal) {
            return None;
        }
        free.advance(&mut at, end(&range));
    }
    // It still grows, but very slowly.
    let grown = float(nanos(last?)).max(1.0);
    let more = libm::log(float(cap) / grown) / logarithm_of_factor(backoff.curve);
    let more = u64::try_from(whole(more.floor())).ok()?;
    MOST_WALKED.checked_add(more)?.checked_add(1)
}

/// Returns the delay that is compared with the cap.
fn nominal(backoff: &Backoff, range: &DelayRange) -> Duration {
    if backoff.jitter.follows_previous_delay() {
        end(range)
    } else {
        range.ceiling
    }
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

/// Returns the ceiling before a retry beyond those that were walked.
pub(super) fn ceiling_far_on(
    backoff: &Backoff,
    last: &DrawnDelay,
    walked: u64,
    retry: u64,
) -> Duration {
    let ceiling = nanos(last.range.ceiling);
    let more = u128::from(retry.saturating_sub(walked));
    let far_on = match backoff.curve {
        Curve::Linear => nanos(backoff.base)
            .saturating_mul(more)
            .saturating_add(ceiling),
        Curve::Exponential(_) => {
            let grown = libm::exp(logarithm_of_factor(backoff.curve) * float(more));
            whole(float(ceiling) * grown)
        }
        Curve::Constant => ceiling,
    };
    from_nanos(far_on).min(backoff.cap)
}
