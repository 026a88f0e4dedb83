//! The rows of the table: one for each of the first retries, one for all others.

use std::time::Duration;

use super::MOST_ROWS;
use super::extrapolation::ceiling_far_on;
use super::extrapolation::end;
use super::extrapolation::{delay_range_at, float};
use super::schedule::LastAttempts;
use super::schedule::Schedule;
use crate::backoff::{Backoff, Curve, Jitter};
use crate::duration::{Shown, from_nanos};
use crate::numbers::Factor;
use crate::policy::Policy;

/// A retry, or all retries without a row of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) retry: u64,
    /// The last retry of the row; none means no limit.
    pub(super) until: Option<u64>,
    pub(super) ceiling: Duration,
    pub(super) from: Duration,
    pub(super) to: Duration,
    pub(super) mean: Duration,
    /// The longest time up to here; none means unbounded.
    pub(super) worst_total: Option<u128>,
    pub(super) is_capped: bool,
    pub(super) allowed: Allowed,
}

/// Whether the deadline allows a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    Always,
    /// If delays turn out short.
    Perhaps,
    Never,
}

/// The data that the rows are made from.
pub(super) struct Table<'a> {
    pub(super) policy: &'a Policy,
    pub(super) retries: Option<u64>,
    pub(super) mean: &'a Schedule,
    pub(super) worst: &'a Schedule,
    pub(super) cap_from: Option<u64>,
    pub(super) last: Option<LastAttempts>,
}

impl Table<'_> {
    /// Returns the rows of the first retries.
    pub(super) fn rows(&self) -> Vec<Row> {
        let delays = self.worst.delays().iter().zip(self.mean.delays());
        let rows = (1..=MOST_ROWS)
            .zip(delays)
            .map(|(retry, (longest, mean))| Row {
                retry,
                until: Some(retry),
                ceiling: longest.range.ceiling,
                from: longest.range.fixed,
                to: longest.end(),
                mean: mean.delay,
                worst_total: Some(self.worst.total(retry)),
                is_capped: self.cap_from.is_some_and(|from| from <= retry),
                allowed: self.allowed(retry, Some(retry)),
            });
        rows.collect()
    }

    /// Returns one row for all retries after them, if any.
    pub(super) fn rest(&self) -> Option<Row> {
        let retry = MOST_ROWS + 1;
        let delays = self.worst.delays();
        let (first, last) = (
            delays.get(usize::try_from(MOST_ROWS).ok()?)?,
            delays.last()?,
        );
        let backoff = &self.policy.backoff;
        let until = self.retries.unwrap_or(u64::MAX);
        let walked = delays.len() as u64;
        let ceiling = match self.cap_from {
            _ if until == walked => last.range.ceiling,
            Some(from) if from <= until => backoff.cap,
            _ if delays.len() > 1 && delays[delays.len() - 2].range == last.range => {
                last.range.ceiling
            }
            _ => ceiling_far_on(backoff, last, walked, until),
        };
        let from = first.range.fixed;
        let to = if backoff.jitter.follows_previous_delay() {
            last.end()
        } else {
            end(&delay_range_at(backoff, ceiling)).max(from)
        };
        let mean = self.retries.map(|until| {
            let rest = self
                .mean
                .total(until)
                .saturating_sub(self.mean.total(MOST_ROWS));
            from_nanos(rest / u128::from(until - MOST_ROWS))
        });
        Some(Row {
            retry,
            until: self.retries,
            ceiling,
            from,
            to,
            // An approximation must not leave the range.
            mean: mean
                .unwrap_or_else(|| self.mean.eventually())
                .clamp(from, to),
            worst_total: self.retries.map(|until| self.worst.total(until)),
            is_capped: self.cap_from.is_some_and(|from| from <= retry),
            allowed: self.allowed(retry, self.retries),
        })
    }

    /// Whether the deadline allows all retries from `first` to `last`.
    fn allowed(&self, first: u64, last: Option<u64>) -> Allowed {
        // The n-th retry is attempt n + 1.
        let is_within = |retry: Option<u64>, attempts: Option<u64>| match (retry, attempts) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(retry), Some(attempts)) => retry < attempts,
        };
        match self.last {
            Some(limits) if !is_within(Some(first), limits.at_best) => Allowed::Never,
            Some(limits) if !is_within(last, limits.at_worst) => Allowed::Perhaps,
            _ => Allowed::Always,
        }
    }
}

/// From this time on, a column of the table is too narrow, and the wait absurdly long.
const LONGEST_SHOWN: Duration = Duration::from_secs(10_000 * 3600);

const BILLION: u128 = 1_000_000_000;

/// Describes how many attempts and retries there may be, and under which assumption.
pub(super) fn describe_attempts(retries: Option<u64>) -> String {
    let counts = match retries {
        None => "unlimited attempts".into(),
        Some(0) => return "1 attempt, no retry".into(),
        Some(1) => "2 attempts, 1 retry".into(),
        Some(retries) => format!("{} attempts, {retries} retries", u128::from(retries) + 1),
    };
    counts + " if all fail; attempts are assumed to take no time"
}

/// Describes a schedule.
pub(super) fn describe_backoff(backoff: &Backoff) -> String {
    let growth = match backoff.curve {
        Curve::Exponential(factor) => format!(", factor {factor}"),
        Curve::Linear | Curve::Constant => String::new(),
    };
    format!(
        "{} backoff: base {}{growth}, cap {}, {}",
        backoff.curve,
        Shown(backoff.base),
        Shown(backoff.cap),
        describe_jitter(backoff.jitter)
    )
}

/// Describes a jitter.
pub(super) fn describe_jitter(jitter: Jitter) -> String {
    match jitter {
        Jitter::None => "no jitter".into(),
        other => format!("{other} jitter"),
    }
}

/// Converts a factor to a number.
pub(super) fn factor_number(factor: Factor) -> f64 {
    float(factor.times(BILLION)) / float(BILLION)
}

/// Formats a time for a column.
pub(super) fn cell(time: Duration) -> String {
    if time < LONGEST_SHOWN {
        Shown(time).to_string()
    } else {
        ">9999h".into()
    }
}
