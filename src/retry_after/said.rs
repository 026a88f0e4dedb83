//! What the fields of a head say.

use std::time::{Duration, UNIX_EPOCH};

use httpdate::HttpDate;

use crate::duration;
use crate::numbers::Decimal;

/// What the fields of a head say. Dates are times since the epoch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeadFields {
    /// `Retry-After` as a time, the longest.
    wait: Option<Duration>,
    /// `Retry-After` as a date, the latest.
    until: Option<Duration>,
    /// `Date`, by the server's clock.
    date: Option<Duration>,
    /// `Content-Length`.
    pub(super) length: Option<usize>,
}

impl HeadFields {
    /// Takes a field, `name: value`; all but three say nothing.
    pub(super) fn take(&mut self, field: &[u8]) {
        let field = String::from_utf8_lossy(field);
        let (name, value) = field.split_once(':').unwrap_or_default();
        let value = value.trim_matches([' ', '\t']);
        match name.to_ascii_lowercase().as_str() {
            "retry-after" => {
                self.wait = self.wait.max(seconds(value));
                self.until = self.until.max(date(value));
            }
            "date" => self.date = date(value).or(self.date),
            "content-length" if is_number(value.as_bytes()) => self.length = value.parse().ok(),
            _ => {}
        }
    }

    /// The wait that is asked for, zero for a date in the past.
    pub(super) fn wait(self, now: impl FnOnce() -> HttpDate) -> Option<Duration> {
        let until = self.until.map(|until| {
            let from = self.date.unwrap_or_else(|| since_epoch(now()));
            until.saturating_sub(from)
        });
        self.wait.max(until)
    }
}

/// Reads whole or decimal seconds; a part of a millisecond counts as a whole one.
fn seconds(value: &str) -> Option<Duration> {
    let digit = |c: char| c.is_ascii_digit();
    let complete = value.starts_with(digit) && value.ends_with(digit);
    let milliseconds = Decimal::parse(value).filter(|_| complete)?.times(1_000);
    Some(duration::from_nanos(milliseconds.saturating_mul(1_000_000)))
}

/// Reads a date in any of the three forms. A leap second, the 60th of its minute, comes right after
/// the 59th, as the first of the next minute does.
fn date(value: &str) -> Option<Duration> {
    let Some((before, after)) = value.split_once(":60 ") else {
        return value.parse().ok().map(since_epoch);
    };
    let second_before = format!("{before}:59 {after}").parse().ok()?;
    Some(since_epoch(second_before) + Duration::from_secs(1))
}

fn since_epoch(date: HttpDate) -> Duration {
    let time = UNIX_EPOCH.max(date.into());
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Whether this is one digit or more, and nothing else.
pub(super) fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}
