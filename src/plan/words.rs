//! What the parts of a schedule are called, and its numbers.

use std::time::Duration;

use super::tail::float;
use crate::backoff::{Backoff, Curve, Jitter};
use crate::duration::Shown;
use crate::numbers::Factor;

/// What is too long for a column of the table is too long for anybody.
const LONGEST_SHOWN: Duration = Duration::from_secs(10_000 * 3600);

const BILLION: u128 = 1_000_000_000;

/// How many attempts and retries there may be, and what this is based on.
pub(super) fn attempts(retries: Option<u64>) -> String {
    let counts = match retries {
        None => "attempts without limit".into(),
        Some(0) => return "1 attempt, no retry".into(),
        Some(1) => "2 attempts, 1 retry".into(),
        Some(retries) => format!("{} attempts, {retries} retries", u128::from(retries) + 1),
    };
    counts + ", if all of them fail; attempts take no time here"
}

/// A schedule in words.
pub(super) fn described(backoff: &Backoff) -> String {
    let growth = match backoff.curve {
        Curve::Exponential(factor) => format!(", factor {factor}"),
        Curve::Linear | Curve::Constant => String::new(),
    };
    format!(
        "{} backoff: base {}{growth}, cap {}, {}",
        backoff.curve,
        Shown(backoff.base),
        Shown(backoff.cap),
        jitter(backoff.jitter)
    )
}

/// A jitter in words.
pub(super) fn jitter(jitter: Jitter) -> String {
    match jitter {
        Jitter::None => "no jitter".into(),
        other => format!("{other} jitter"),
    }
}

/// A factor as a number.
pub(super) fn factor_number(factor: Factor) -> f64 {
    float(factor.times(BILLION)) / float(BILLION)
}

/// A time in a column.
pub(super) fn cell(time: Duration) -> String {
    if time < LONGEST_SHOWN {
        Shown(time).to_string()
    } else {
        ">9999h".into()
    }
}
