//! Where the cap and the deadline come in.

use std::time::Duration;

use super::extrapolation::{DrawnDelay, end};
use super::extrapolation::{float, logarithm_of_factor, whole};
use super::schedule::MOST_WALKED;
use crate::backoff::{Backoff, Curve, DelayRange, Jitter};
use crate::duration::{from_nanos, nanos};
use crate::policy::Policy;

/// The first retry whose delay would be above the cap, jitter left out; with decorrelated jitter,
/// whose delay could be. None if there is no such retry.
pub(super) fn cap_takes_over(backoff: &Backoff) -> Option<u64> {
    let cap = nanos(backoff.cap);
    let free = Backoff {
        cap: Duration::MAX,
        ..backoff.clone()
    };
    if backoff.cap == Duration::MAX {
        return None;
    }
    if backoff.curve == Curve::Linear && backoff.jitter != Jitter::Decorrelated {
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
    // It grows, and very slowly.
    let grown = float(nanos(last?)).max(1.0);
    let more = libm::log(float(cap) / grown) / logarithm_of_factor(backoff.curve);
    let more = u64::try_from(whole(more.floor())).ok()?;
    MOST_WALKED.checked_add(more)?.checked_add(1)
}

/// What the cap is held against.
fn nominal(backoff: &Backoff, range: &DelayRange) -> Duration {
    match backoff.jitter {
        Jitter::Decorrelated => end(range),
        _ => range.ceiling,
    }
}

/// The last attempts that a deadline allows; no number means that it allows any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LastAttempts {
    /// With the longest delays.
    pub(super) at_worst: Option<u64>,
    /// With the shortest.
    pub(super) at_best: Option<u64>,
    /// With the longest, and attempts that all take as long as they may.
    pub(super) with_timeouts: Option<u64>,
}

/// The last retry of these that the deadline allows, if the n-th starts after `time(n)`
/// nanoseconds; no number means any.
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

/// How many attempts there are with so many retries.
pub(super) fn attempts(retries: Option<u64>) -> Option<u64> {
    retries.map(|retries| retries.saturating_add(1))
}

/// The ceiling before a retry that was not walked, if it does not reach the cap.
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
