//! What the parts of a schedule are called, and its numbers.

use std::fmt;
use std::time::Duration;

use super::tail::float;
use crate::backoff::{Backoff, Curve, Jitter};
use crate::numbers::{Factor, Share};
use crate::units::Shown;

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
        Curve::Exponential(factor) => format!(", factor {}", Decimal(factor.times(BILLION))),
        Curve::Linear | Curve::Constant => String::new(),
    };
    format!(
        "{} backoff: base {}{growth}, cap {}, {}",
        curve_name(backoff.curve),
        Shown(backoff.base),
        Shown(backoff.cap),
        jitter(backoff.jitter)
    )
}

/// What a curve is called on the command line.
pub(super) fn curve_name(curve: Curve) -> &'static str {
    match curve {
        Curve::Exponential(_) => "exponential",
        Curve::Linear => "linear",
        Curve::Constant => "constant",
    }
}

/// What a jitter is called on the command line.
pub(super) fn jitter_name(jitter: Jitter) -> String {
    match jitter {
        Jitter::None => "none".into(),
        Jitter::Full => "full".into(),
        Jitter::Equal => "equal".into(),
        Jitter::Around(share) => format!("{}%", percent(share)),
        Jitter::Decorrelated => "decorrelated".into(),
    }
}

/// A jitter in words.
pub(super) fn jitter(jitter: Jitter) -> String {
    match jitter {
        Jitter::None => "no jitter".into(),
        other => format!("{} jitter", jitter_name(other)),
    }
}

fn percent(share: Share) -> Decimal {
    Decimal(share.of(BILLION) * 100)
}

/// A factor as a number.
pub(super) fn factor_number(factor: Factor) -> f64 {
    float(factor.times(BILLION)) / float(BILLION)
}

/// Billionths as a decimal number.
struct Decimal(u128);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = format!("{}.{:09}", self.0 / BILLION, self.0 % BILLION);
        f.write_str(number.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// A time in a column.
pub(super) fn cell(time: Duration) -> String {
    if time < LONGEST_SHOWN {
        Shown(time).to_string()
    } else {
        ">9999h".into()
    }
}
