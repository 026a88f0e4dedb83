//! How long a run takes on average if all of its attempts fail and take no time.

use std::time::Duration;

use super::schedule::{LONGEST, Schedule, last_retry, retries, simulated, walk};
use crate::backoff::{Backoff, Jitter};
use crate::duration::nanos;
use crate::policy::Policy;

/// The jitters whose expected totals are compared.
pub(super) const COMPARED: [Jitter; 3] = [Jitter::None, Jitter::Equal, Jitter::Full];

/// How many runs are drawn where the deadline may end one. The mean of so many is accurate to about
/// a hundredth.
const RUNS: u32 = 4096;

/// How many retries are drawn for it in all. A run that makes more of them than its share of these
/// ends so close to the deadline that fewer runs are enough.
const MOST_DRAWN: u64 = 1 << 18;

/// An expected total, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    /// The time; none means unbounded.
    pub(super) total: Option<u128>,
    /// Whether the deadline may make it shorter.
    pub(super) is_cut: bool,
    /// Whether it is approximate.
    pub(super) is_rough: bool,
}

/// Returns the expected total of this policy with another jitter. `draws` gives each run its own
/// draws in [0, 1).
pub(super) fn expected<D: FnMut() -> f64>(
    policy: &Policy,
    jitter: Jitter,
    draws: &impl Fn(u32) -> D,
) -> Expected {
    let retries = retries(policy.attempts);
    let policy = Policy {
        backoff: Backoff {
            jitter,
            ..policy.backoff.clone()
        },
        ..simulated(policy, u64::MAX)
    };
    let free = Policy {
        deadline: None,
        ..policy.clone()
    };
    let mean = Schedule::mean(&free, retries);
    let last = |schedule: &Schedule| last_retry(&policy, retries, |retry| schedule.total(retry));
    let last_at_mean = last(&mean);
    let is_cut = is_cut(&policy, last(&Schedule::new(&free, retries, LONGEST)));
    let is_random = is_cut && jitter != Jitter::None;
    let by_runs = is_random
        .then(|| mean_of_runs(&policy, last_at_mean?, draws))
        .flatten();
    let by_means = || {
        let total = last_at_mean.map(|retries| mean.total(retries));
        bounded(total, available(&policy))
    };
    Expected {
        total: by_runs.or_else(by_means),
        is_cut,
        is_rough: jitter.follows_previous_delay()
            || is_random
            || mean.is_rough(retries.unwrap_or(u64::MAX)),
    }
}

/// Returns the time up to which retries may start, if there is a deadline.
pub(super) fn available(policy: &Policy) -> Option<Duration> {
    let deadline = policy.deadline?;
    Some(deadline.saturating_sub(policy.reserve))
}

/// Whether the deadline cuts short a run whose last retry is this one.
pub(super) fn is_cut(policy: &Policy, last: Option<u64>) -> bool {
    let retries = retries(policy.attempts);
    policy.deadline.is_some() && (retries.is_none() || last != retries)
}

/// Returns the mean total of runs that end at the deadline. It does not follow from the mean delays:
/// a run with short delays may fit in one more retry, which may be a long one. None if a run makes so
/// many retries, about this number, that drawing them would take too long.
fn mean_of_runs<D: FnMut() -> f64>(
    policy: &Policy,
    about: u64,
    draws: &impl Fn(u32) -> D,
) -> Option<u128> {
    let runs = MOST_DRAWN / about.max(1);
    let runs = u32::try_from(runs).unwrap_or(RUNS).min(RUNS);
    let most = simulated(policy, MOST_DRAWN);
    let total: u128 = (1..=runs)
        .map(|run| {
            let mut end = Duration::ZERO;
            walk(&most, &mut draws(run), &mut |_, total| end = total);
            nanos(end)
        })
        .sum();
    total.checked_div(runs.into())
}

/// Returns the smaller of a time and a limit, either of which may be missing.
pub(super) fn bounded(total: Option<u128>, limit: Option<Duration>) -> Option<u128> {
    match (total, limit.map(nanos)) {
        (Some(total), Some(limit)) => Some(total.min(limit)),
        (total, limit) => total.or(limit),
    }
}
