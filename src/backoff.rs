//! How long to wait before a retry: a capped ceiling, then jitter from a given `u` in [0, 1).
//!
//! The curves and the full and equal jitter are those of "Exponential Backoff And Jitter" (AWS
//! Architecture Blog, 2015); the percentage is gRPC's; decorrelated jitter cuts the range at the
//! cap, not the drawn delay, so that delays do not pile up exactly at the cap.

use std::fmt;
use std::time::Duration;

use crate::duration::{from_nanos, nanos};
use crate::numbers::{Factor, Share};

/// The longest range over which a server's wait alone is spread.
const LONGEST_SPREAD: Duration = Duration::from_secs(10);

/// How the ceiling grows from one retry to the next, before the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curve {
    /// base · factor^(n-1), by repeated multiplication that stops at the cap.
    Exponential(Factor),
    /// base · n.
    Linear,
    /// base.
    Constant,
}

impl Curve {
    /// Returns the growth factor of an exponential curve.
    pub(crate) fn factor(self) -> Option<Factor> {
        match self {
            Self::Exponential(factor) => Some(factor),
            Self::Linear | Self::Constant => None,
        }
    }
}

impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exponential(_) => "exponential",
            Self::Linear => "linear",
            Self::Constant => "constant",
        })
    }
}

/// The part of a ceiling that is drawn at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Jitter {
    /// Nothing: the delay is the ceiling.
    None,
    /// All of it: [0, ceiling).
    Full,
    /// The upper half: [ceiling/2, ceiling).
    Equal,
    /// A share on either side of the ceiling, cut at the cap.
    Around(Share),
    /// [base, 3 · previous delay), cut at the cap; the ceiling plays no part.
    Decorrelated,
}

impl Jitter {
    /// The jitters that have a name.
    pub(crate) const NAMED: [(&str, Self); 4] = [
        ("none", Self::None),
        ("full", Self::Full),
        ("equal", Self::Equal),
        ("decorrelated", Self::Decorrelated),
    ];

    /// Whether a delay depends on the delay before it, and not on a ceiling.
    pub(crate) fn follows_previous_delay(self) -> bool {
        match self {
            Self::None | Self::Full | Self::Equal | Self::Around(_) => false,
            Self::Decorrelated => true,
        }
    }
}

impl fmt::Display for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Around(share) = self {
            return share.fmt(f);
        }
        let mut named = Self::NAMED.iter();
        f.write_str(
            named
                .find(|(_, jitter)| jitter == self)
                .map_or("", |(name, _)| name),
        )
    }
}

/// A schedule of delays, as pure data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backoff {
    /// Ceiling before the first retry; 0 means no delay at all.
    pub(crate) base: Duration,
    /// The longest delay, jitter included.
    pub(crate) cap: Duration,
    /// How the ceiling grows.
    pub(crate) curve: Curve,
    /// The part drawn at random.
    pub(crate) jitter: Jitter,
}

/// The position of a run in its schedule: all that the next delay depends on but `u`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    ceiling: Duration,
    previous: Duration,
}

/// The range that one delay is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DelayRange {
    /// The capped backoff before jitter.
    pub(crate) ceiling: Duration,
    /// The part that is always slept.
    pub(crate) fixed: Duration,
    /// The width of the part that is drawn.
    pub(crate) width: Duration,
}

impl Backoff {
    /// Returns the state before the first retry.
    pub(crate) fn start(&self) -> State {
        State {
            ceiling: self.base.min(self.cap),
            previous: self.base,
        }
    }

    /// Returns the range of the next delay. It never exceeds the cap.
    pub(crate) fn range(&self, at: State) -> DelayRange {
        let (ceiling, cap) = (at.ceiling, nanos(self.cap));
        let c = nanos(ceiling);
        let between = |from, to| (from_nanos(from), from_nanos(to - from));
        let (fixed, width) = match self.jitter {
            // The two most common jitters need no arithmetic, which saves time in a plan of a
            // million clients.
            Jitter::None => (ceiling, Duration::ZERO),
            Jitter::Full => (Duration::ZERO, ceiling),
            Jitter::Equal => between(c / 2, c),
            Jitter::Around(share) => between(c - share.of(c), (c + share.of(c)).min(cap)),
            Jitter::Decorrelated if self.base >= self.cap => (self.cap, Duration::ZERO),
            Jitter::Decorrelated => {
                let base = nanos(self.base);
                let longest = nanos(at.previous).saturating_mul(3).clamp(base, cap);
                between(base, longest)
            }
        };
        DelayRange {
            ceiling,
            fixed,
            width,
        }
    }

    /// Returns the range of the delay for a server that asks to wait for `floor`: never shorter,
    /// and above it at least as random as our own delay, because other clients were told the same.
    pub(crate) fn at_least(&self, floor: Duration, range: &DelayRange) -> DelayRange {
        let spread = match self.jitter {
            Jitter::None => Duration::ZERO,
            _ => (floor / 10).min(LONGEST_SPREAD),
        };
        DelayRange {
            ceiling: range.ceiling,
            fixed: range.fixed.max(floor),
            width: range.width.max(spread),
        }
    }

    /// Advances to the next retry, after a local delay of `slept`. Takes constant time and space
    /// for any number of retries, because the ceiling is carried along.
    pub(crate) fn advance(&self, at: &mut State, slept: Duration) {
        at.previous = slept;
        if at.ceiling == self.cap {
            // A ceiling never shrinks, so it stays at the cap.
            return;
        }
        let c = nanos(at.ceiling);
        let next = match self.curve {
            Curve::Exponential(factor) => factor.times(c),
            Curve::Linear => c.saturating_add(nanos(self.base)),
            Curve::Constant => c,
        };
        at.ceiling = from_nanos(next).min(self.cap);
    }
}

impl DelayRange {
    /// Returns this range, cut so that no delay exceeds `most` unless the fixed part does. As at
    /// the cap, the range is cut, not the drawn delay, so that delays do not pile up at its end.
    pub(crate) fn within(self, most: Duration) -> Self {
        let left = most.checked_sub(self.fixed);
        Self {
            width: left.map_or(self.width, |left| left.min(self.width)),
            ..self
        }
    }

    /// Returns the delay for a uniform `u` in [0, 1): fixed + u · width, in whole nanoseconds.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast back saturates, and the bound below keeps what was rounded up inside"
    )]
    pub(crate) fn at(&self, u: f64) -> Duration {
        let width = nanos(self.width);
        // Nearly every width fits 63 bits. The arithmetic then takes a tenth of the time of 128
        // bits, and gives the same delay.
        let Ok(narrow) = i64::try_from(width) else {
            let drawn = (u * width as f64) as u128;
            return from_nanos(nanos(self.fixed) + drawn.min(width));
        };
        let drawn = ((u * narrow as f64) as i64).clamp(0, narrow);
        self.fixed
            .saturating_add(Duration::from_nanos(drawn as u64))
    }
}

#[cfg(test)]
pub(crate) mod tests;
