//! Lines of a stream, and what the fields of a head say.

use std::time::{Duration, UNIX_EPOCH};

use httpdate::HttpDate;
use memchr::memmem;

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

/// What every status line holds.
pub(super) const VERSION: &[u8] = b"HTTP/";

/// No `Retry-After` comes in a longer line, and a stream without line ends must not fill the memory.
pub(super) const LONGEST_LINE: usize = 8 * 1024;

/// How much is kept of what stands before a head on its line: more than curl draws at a time.
pub(super) const SIGHT: usize = 1024;

/// A line without the sequences that colour it on a terminal.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// With the CR at its end.
    pub(super) bytes: Vec<u8>,
    is_cut: bool,
}

impl Line {
    /// All of it, or its end; the CR before its LF, or two, after a terminal on the way, are none
    /// of it.
    pub(super) fn text(&self) -> &[u8] {
        let end = self.bytes.iter().rposition(|byte| *byte != b'\r');
        &self.bytes[..end.map_or(0, |at| at + 1)]
    }

    /// Whether it was longer, and this is its end.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether nothing of it has come.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes more of it, up to one byte more than there may be, and gives back the rest.
    pub(super) fn take<'a>(&mut self, more: &'a [u8]) -> &'a [u8] {
        let room = LONGEST_LINE + 1 - self.bytes.len();
        let (fits, rest) = more.split_at(room.min(more.len()));
        self.bytes.extend_from_slice(fits);
        rest
    }

    /// Whether there is more of it than says anything.
    pub(super) fn is_too_long(&self) -> bool {
        self.bytes.len() > LONGEST_LINE
    }

    /// Forgets its beginning, but for what may still be a head with what stands before it.
    pub(super) fn slide(&mut self) {
        self.is_cut = true;
        // Looking from the end alone would be slow.
        let first = memmem::find(&self.bytes, VERSION);
        let last = first.and_then(|_| memmem::rfind(&self.bytes, VERSION));
        let from = last.filter(|at| *at > SIGHT);
        self.bytes.drain(..from.unwrap_or(self.bytes.len()) - SIGHT);
    }
}
