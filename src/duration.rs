//! Durations as users write and read them.

use std::fmt;
use std::time::Duration;

use crate::numbers::Decimal;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// The units of a duration, in nanoseconds. Months and years are left out on purpose: `5M` would
/// be five months to some and five minutes to others.
const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", NANOS_PER_SECOND),
    ("m", 60 * NANOS_PER_SECOND),
    ("h", 3_600 * NANOS_PER_SECOND),
    ("d", 86_400 * NANOS_PER_SECOND),
    ("w", 604_800 * NANOS_PER_SECOND),
];

/// Returns a duration in whole nanoseconds; below 2^95 for every `Duration`.
pub(crate) fn nanos(duration: Duration) -> u128 {
    duration.as_nanos()
}

/// Returns the duration of this many nanoseconds, saturating at `Duration::MAX`.
pub(crate) fn from_nanos(nanos: u128) -> Duration {
    // Nearly all fit 64 bits (585 years), which are divided ten times faster than 128.
    if let Ok(nanos) = u64::try_from(nanos) {
        return Duration::from_nanos(nanos);
    }
    let Ok(seconds) = u64::try_from(nanos / NANOS_PER_SECOND) else {
        return Duration::MAX;
    };
    let rest = (nanos % NANOS_PER_SECOND) as u32;
    Duration::new(seconds, rest)
}

/// Parses a duration: numbers, whole or decimal, each with one of `ns us ms s m h d w`, or one bare
/// number of seconds. Too large a value saturates; a fraction of a nanosecond counts as a whole
/// one, so that a limit above zero never becomes the zero that means "no limit".
///
/// # Errors
/// A sentence that says what is wrong and how to write it.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if text == "inf" {
        return Err(
            "inf is only for --attempts, --deadline, --timeout and --idle-timeout; write a long time like 1000d"
                .into(),
        );
    }
    let mut rest = text;
    let mut total: u128 = 0;
    loop {
        let number_ends = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(number_ends);
        let Some(number) = Decimal::parse(number) else {
            return Err(duration_advice(text));
        };
        let after = after.trim_start();
        let unit_ends = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_ends);
        let bare = unit.is_empty() && after.is_empty() && number_ends == text.len();
        let unit = match UNITS.iter().find(|(name, _)| *name == unit) {
            Some((_, unit)) => *unit,
            None if bare => NANOS_PER_SECOND,
            None => return Err(duration_advice(text)),
        };
        total = total.saturating_add(number.times(unit));
        rest = after.trim_start();
        if rest.is_empty() {
            return Ok(from_nanos(total));
        }
    }
}

fn duration_advice(text: &str) -> String {
    let advice = "write it like 500ms, 1.5s, 1m30s or 2h; the units are ns us ms s m h d w";
    if text.contains(',') {
        format!("the decimal point is '.'; {advice}")
    } else if text.starts_with('-') {
        format!("a duration is never negative; {advice}")
    } else {
        advice.into()
    }
}

/// An optional time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) Option<Duration>);

/// Parses a limit: a duration, or `0` or `inf` for none.
///
/// # Errors
/// As [`parse_duration`].
pub(crate) fn parse_limit(text: &str) -> Result<Limit, String> {
    if text.trim() == "inf" {
        return Ok(Limit(None));
    }
    let limit = parse_duration(text).map_err(|why| why + "; 0 or inf means no limit")?;
    Ok(Limit(Some(limit).filter(|limit| !limit.is_zero())))
}

/// Converts nanoseconds to whole milliseconds, rounded half up.
pub(crate) fn whole_millis(nanos: u128) -> u128 {
    rounded_to(nanos, 1_000_000)
}

fn rounded_to(nanos: u128, unit: u128) -> u128 {
    nanos.saturating_add(unit / 2) / unit
}

/// A duration displayed for people: whole milliseconds below a second, three significant digits
/// below a minute, then minutes and seconds, then hours and minutes; each rounded half up.
pub(crate) struct Shown(pub(crate) Duration);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = nanos(self.0);
        let rounded_to = |unit| rounded_to(ns, unit);
        let (ms, cs, ds) = (
            whole_millis(ns),
            rounded_to(10_000_000),
            rounded_to(100_000_000),
        );
        let (s, min) = (
            rounded_to(NANOS_PER_SECOND),
            rounded_to(60 * NANOS_PER_SECOND),
        );
        if ms < 1_000 {
            write!(f, "{ms}ms")
        } else if cs < 1_000 {
            write!(f, "{}.{:02}s", cs / 100, cs % 100)
        } else if ds < 600 {
            write!(f, "{}.{}s", ds / 10, ds % 10)
        } else if s < 3_600 {
            write!(f, "{}m {}s", s / 60, s % 60)
        } else {
            write!(f, "{}h {}m", min / 60, min % 60)
        }
    }
}

#[cfg(test)]
mod tests;
