//! The extrapolation of delays beyond those that were walked, and where the cap takes over.

use std::time::Duration;

use crate::backoff::{Backoff, Curve, DelayRange};
use crate::duration::{from_nanos, nanos};

/// How many retries are walked at most. A schedule that grows more slowly is extrapolated.
pub(super) const MOST_WALKED: u64 = 1 << 14;

/// A delay, with the range that it is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DrawnDelay {
    /// The range.
    pub(super) range: DelayRange,
    /// The delay.
    pub(super) delay: Duration,
}

impl DrawnDelay {
    /// Returns the end of the range.
    pub(super) fn end(&self) -> Duration {
        end(&self.range)
    }
}

/// Returns the end of a range.
pub(super) fn end(range: &DelayRange) -> Duration {
    range.fixed.saturating_add(range.width)
}

/// The course of the delays after those that were walked, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extrapolation {
    last: f64,
    growth: Growth,
    /// The delay that they grow to.
    top: f64,
}

/// How a delay grows from one retry to the next.
#[derive(Clone, Copy, Debug)]
enum Growth {
    /// Not at all: it stays this.
    Settled(u128),
    /// By this many nanoseconds.
    Linear(f64),
    /// By a factor with this logarithm.
    Exponential(f64),
}

impl Extrapolation {
    pub(super) fn new(backoff: &Backoff, delays: &[DrawnDelay], u: f64) -> Self {
        let last = delays.last().copied();
        let exact = last.map_or(0, |drawn| nanos(drawn.delay));
        let delay = float(exact);
        let ceiling = last.map_or(1.0, |drawn| float(nanos(drawn.range.ceiling)).max(1.0));
        let growth = match backoff.curve {
            _ if is_settled(backoff, delays) => Growth::Settled(exact),
            Curve::Linear => Growth::Linear(float(nanos(backoff.base)) * delay / ceiling),
            Curve::Exponential(_) => Growth::Exponential(logarithm_of_factor(backoff.curve)),
            Curve::Constant => Growth::Settled(exact),
        };
        let at_cap = delay_range_at(backoff, backoff.cap);
        Self {
            last: delay,
            growth,
            top: float(nanos(at_cap.at(u))).max(delay),
        }
    }

    /// Returns the delay in the long run.
    pub(super) fn eventually(&self) -> Duration {
        from_nanos(match self.growth {
            Growth::Settled(delay) => delay,
            Growth::Linear(_) | Growth::Exponential(_) => whole(self.top),
        })
    }

    /// Whether it is approximate.
    pub(super) fn is_rough(&self) -> bool {
        !matches!(self.growth, Growth::Settled(_))
    }

    /// Returns the time that this many more delays take.
    pub(super) fn sum(&self, count: u64) -> u128 {
        let Self { last, top, growth } = *self;
        let all = float(count.into());
        let growing = match growth {
            Growth::Settled(delay) => return u128::from(count).saturating_mul(delay),
            _ if last <= 0.0 => return 0,
            Growth::Linear(step) => all.min(((top - last) / step).floor()),
            Growth::Exponential(log) => all.min((libm::log(top / last) / log).floor()),
        };
        let grown = match growth {
            Growth::Settled(_) => 0.0,
            Growth::Linear(step) => growing * last + step * growing * (growing + 1.0) / 2.0,
            Growth::Exponential(log) => {
                last * libm::exp(log) * libm::expm1(log * growing) / libm::expm1(log)
            }
        };
        whole(grown + (all - growing) * top)
    }
}

/// Whether all further delays equal the last one, because their state no longer changes.
pub(super) fn is_settled(backoff: &Backoff, delays: &[DrawnDelay]) -> bool {
    match delays {
        [.., before, last] if backoff.jitter.follows_previous_delay() => before.delay == last.delay,
        [.., before, last] => before.range == last.range,
        _ => true,
    }
}

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

/// Returns the range of a delay at this ceiling.
pub(super) fn delay_range_at(backoff: &Backoff, ceiling: Duration) -> DelayRange {
    let there = Backoff {
        base: ceiling,
        ..backoff.clone()
    };
    there.range(there.start())
}

/// Returns the logarithm of the factor of an exponential curve.
pub(super) fn logarithm_of_factor(curve: Curve) -> f64 {
    const BILLION: u128 = 1_000_000_000;
    match curve {
        Curve::Exponential(factor) => {
            libm::log1p(float(factor.times(BILLION) - BILLION) / float(BILLION))
        }
        Curve::Linear | Curve::Constant => 0.0,
    }
}

/// Converts a number that need not stay exact.
#[expect(clippy::cast_precision_loss, reason = "it need not be exact")]
pub(super) fn float(number: u128) -> f64 {
    number as f64
}

/// Rounds to the nearest whole number; too large a number saturates, and NaN gives 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
pub(super) fn whole(number: f64) -> u128 {
    number.round() as u128
}
