//! Numbers as users write them, all exact: decimals, factors, shares, counts.

use std::fmt;
use std::str::FromStr;

const BILLION: u128 = 1_000_000_000;

/// A decimal number as written, kept exactly.
pub(crate) struct Decimal<'a> {
    whole: u128,
    decimals: &'a str,
}

impl<'a> Decimal<'a> {
    /// Parses `12`, `12.5`, `.5` or `12.`; a whole part that is too large saturates.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let point = text.bytes().position(|byte| byte == b'.');
        let (whole, decimals) = point.map_or((text, ""), |at| (&text[..at], &text[at + 1..]));
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

    /// Returns the decimals in billionths, truncated, with whether anything was cut off.
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

    /// Returns the number times `unit` (at most a week in nanoseconds), a fraction rounded up.
    pub(crate) fn times(&self, unit: u128) -> u128 {
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
    /// The default factor of an exponential backoff.
    pub(crate) const TWO: Self = Self {
        whole: 2,
        billionths: 0,
    };

    /// Parses a whole or decimal number of at least 1.
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

    /// Returns `value` (below 2^95) times the factor, rounded half up, saturating.
    pub(crate) fn times(self, value: u128) -> u128 {
        let whole = value.saturating_mul(self.whole);
        if self.billionths == 0 {
            return whole;
        }
        whole.saturating_add((value * self.billionths + BILLION / 2) / BILLION)
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(f, self.whole, self.billionths, 9)
    }
}

/// A share between 0 and 100 %, exact to nine decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    billionths: u128,
}

impl Share {
    /// Parses `20%` or `0.2`.
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

    /// Returns this share of `value` (below 2^95).
    pub(crate) fn of(self, value: u128) -> u128 {
        value * self.billionths / BILLION
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = BILLION / 100;
        write_decimal(f, self.billionths / percent, self.billionths % percent, 7)?;
        f.write_str("%")
    }
}

/// Writes a number with this many decimal places, less trailing zeros.
fn write_decimal(
    f: &mut fmt::Formatter<'_>,
    whole: u128,
    decimals: u128,
    places: usize,
) -> fmt::Result {
    let decimals = format!("{decimals:0places$}");
    match decimals.trim_end_matches('0') {
        "" => write!(f, "{whole}"),
        decimals => write!(f, "{whole}.{decimals}"),
    }
}

/// The maximum number of runs, including the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempts {
    /// At most this many; at least 1.
    AtMost(u64),
    /// No limit.
    Unlimited,
}

impl Attempts {
    /// The default number of runs.
    pub(crate) const USUAL: Self = Self::AtMost(5);

    /// Parses a count of at least 1, or `inf`.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "inf" {
            return Ok(Self::Unlimited);
        }
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("write a whole number of at least 1, or inf for no limit".into());
        }
        match text.parse() {
            Ok(0) => Err("0 attempts would never run the command; use 1 or more, or inf".into()),
            Ok(count) => Ok(Self::AtMost(count)),
            Err(_) => Err(format!(
                "write a whole number up to {}, or inf for no limit",
                u64::MAX
            )),
        }
    }

    /// Returns the limit, if there is one.
    pub(crate) fn most(self) -> Option<u64> {
        match self {
            Self::AtMost(count) => Some(count),
            Self::Unlimited => None,
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

/// Parses a number of nothing but digits; Rust's own parsers accept a sign.
pub(crate) fn whole_number<T: FromStr>(text: &str) -> Option<T> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests;
