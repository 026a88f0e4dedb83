//! Durations, counts and shares as users write and read them.

use std::fmt;
use std::time::Duration;

const NANOS_PER_SECOND: u128 = 1_000_000_000;
const BILLION: u128 = 1_000_000_000;

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

/// A duration in whole nanoseconds; below 2^95 for every `Duration`.
pub(crate) fn nanos(duration: Duration) -> u128 {
    duration.as_nanos()
}

/// A duration of so many nanoseconds, saturating at `Duration::MAX`.
pub(crate) fn duration(nanos: u128) -> Duration {
    let Ok(seconds) = u64::try_from(nanos / NANOS_PER_SECOND) else {
        return Duration::MAX;
    };
    let rest = (nanos % NANOS_PER_SECOND) as u32;
    Duration::new(seconds, rest)
}

/// Reads a duration: numbers, whole or decimal, each with one of `ns us ms s m h d w`, or one bare
/// number of seconds. What is too large saturates; a fraction of a nanosecond counts as a whole
/// one, so that a limit above zero never becomes the zero that means "no limit".
///
/// # Errors
/// A sentence that says what is wrong and how to write it.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if text == "inf" {
        return Err("'inf' is only for --attempts and for the limits that may be absent".into());
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
            return Ok(duration(total));
        }
    }
}

fn duration_advice(text: &str) -> String {
    let advice = "write it like 500ms, 1.5s, 1m 30s or 2h; the units are ns us ms s m h d w";
    if text.contains(',') {
        format!("the decimal point is '.'; {advice}")
    } else if text.starts_with('-') {
        format!("a duration is never negative; {advice}")
    } else {
        advice.into()
    }
}

/// A limit in time that may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) Option<Duration>);

/// Reads a limit: a duration, or `0` or `inf` for none.
///
/// # Errors
/// As [`parse_duration`].
pub(crate) fn parse_limit(text: &str) -> Result<Limit, String> {
    if text.trim() == "inf" {
        return Ok(Limit(None));
    }
    parse_duration(text).map(|limit| Limit(Some(limit).filter(|limit| !limit.is_zero())))
}

/// A duration as people read it: whole milliseconds below a second, three significant digits below
/// a minute, then minutes and seconds, then hours and minutes; each rounded half up.
pub(crate) struct Shown(pub(crate) Duration);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = nanos(self.0);
        let rounded_to = |unit: u128| (ns + unit / 2) / unit;
        let (ms, cs, ds) = (
            rounded_to(1_000_000),
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

/// A number as written: whole part and decimals, exact.
struct Decimal<'a> {
    whole: u128,
    decimals: &'a str,
}

impl<'a> Decimal<'a> {
    /// Reads `12`, `12.5`, `.5` or `12.`; a whole part that is too large saturates.
    fn parse(text: &'a str) -> Option<Self> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(decimals) || (whole.is_empty() && decimals.is_empty()) {
            return None;
        }
        let whole = if whole.is_empty() {
            0
        } else {
            whole.parse().unwrap_or(u128::MAX)
        };
        Some(Self { whole, decimals })
    }

    /// The decimals in billionths, cut; and whether anything was cut off.
    fn billionths(&self) -> (u128, bool) {
        let mut value = 0;
        for place in 0..9 {
            let digit = self
                .decimals
                .as_bytes()
                .get(place)
                .map_or(0, |byte| byte - b'0');
            value = value * 10 + u128::from(digit);
        }
        let cut = self.decimals.bytes().skip(9).any(|byte| byte != b'0');
        (value, cut)
    }

    /// The number times `unit` (at most a week in nanoseconds), a fraction rounded up.
    fn times(&self, unit: u128) -> u128 {
        let (billionths, cut) = self.billionths();
        let fraction = (billionths * unit + u128::from(cut)).div_ceil(BILLION);
        self.whole.saturating_mul(unit).saturating_add(fraction)
    }
}

/// The growth of an exponential ceiling: at least 1, exact to nine decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Factor {
    whole: u128,
    billionths: u128,
}

impl Factor {
    /// The factor by which an exponential backoff grows unless told otherwise.
    pub(crate) const TWO: Self = Self {
        whole: 2,
        billionths: 0,
    };

    /// Reads a whole or decimal number of at least 1.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match Decimal::parse(text.trim()) {
            Some(number) if number.whole >= 1 => Ok(Self {
                whole: number.whole,
                billionths: number.billionths().0,
            }),
            Some(_) => Err("a factor below 1 would shrink the delays; use 1 or more".into()),
            None => Err("write a plain number of at least 1, such as 2 or 1.5".into()),
        }
    }

    /// `value` (below 2^95) times the factor, rounded half up, saturating.
    pub(crate) fn times(self, value: u128) -> u128 {
        let fraction = (value * self.billionths + BILLION / 2) / BILLION;
        value.saturating_mul(self.whole).saturating_add(fraction)
    }
}

/// A share between 0 and 100 %, exact to nine decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    billionths: u128,
}

impl Share {
    /// Reads `20%` or `0.2`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (number, percent) = match text.strip_suffix('%') {
            Some(number) => (Decimal::parse(number.trim_end())?, true),
            None => (Decimal::parse(text)?, false),
        };
        let (decimals, _) = number.billionths();
        let billionths = number.whole.checked_mul(BILLION)?.checked_add(decimals)?;
        let billionths = if percent {
            billionths / 100
        } else {
            billionths
        };
        (billionths <= BILLION).then_some(Self { billionths })
    }

    /// This share of `value` (below 2^95).
    pub(crate) fn of(self, value: u128) -> u128 {
        value * self.billionths / BILLION
    }
}

/// How many runs there may be in total, the first one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempts {
    /// So many, at least 1.
    AtMost(u64),
    /// No limit.
    Unlimited,
}

impl Attempts {
    /// Reads a count of at least 1 (saturating), or `inf`.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "inf" {
            return Ok(Self::Unlimited);
        }
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("write a whole number of at least 1, or inf".into());
        }
        match text.parse().unwrap_or(u64::MAX) {
            0 => Err("0 attempts would never run the command; use 1 or more, or inf".into()),
            count => Ok(Self::AtMost(count)),
        }
    }

    /// Whether `made` attempts are all there may be.
    pub(crate) fn used_up_by(self, made: u64) -> bool {
        match self {
            Self::AtMost(count) => made >= count,
            Self::Unlimited => false,
        }
    }
}

impl fmt::Display for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(count) => count.fmt(f),
            Self::Unlimited => f.write_str("inf"),
        }
    }
}

#[cfg(test)]
mod tests;
