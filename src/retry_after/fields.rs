//! The lines of a stream, with the fields of a head.

use std::time::{Duration, UNIX_EPOCH};

use httpdate::HttpDate;
use memchr::memmem;

use crate::duration;
use crate::numbers::Decimal;

/// What the last final response in a stream says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Its status; none if there was no response.
    pub(crate) status: Option<u16>,
    /// The wait that it asks for, zero for a date in the past.
    pub(crate) wait: Option<Duration>,
}

/// The fields of a head that matter. Dates are times since the epoch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeadFields {
    /// The status before them; none if there was no final response.
    status: Option<u16>,
    /// `Retry-After` in seconds; the longest.
    wait: Option<Duration>,
    /// `Retry-After` as a date; the latest.
    until: Option<Duration>,
    /// `Date`, by the server's clock.
    date: Option<Duration>,
    /// `Content-Length`.
    pub(super) length: Option<usize>,
}

impl HeadFields {
    /// No fields yet, after a status line.
    pub(super) fn after(status: u16) -> Self {
        Self {
            status: Some(status),
            ..Self::default()
        }
    }

    /// Records a field, `name: value`; all but three are ignored.
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

    /// Returns what the head says.
    pub(super) fn answer(self, now: impl FnOnce() -> HttpDate) -> Answer {
        Answer {
            status: self.status,
            wait: self.wait(now),
        }
    }

    /// Returns the wait that is asked for, zero for a date in the past.
    fn wait(self, now: impl FnOnce() -> HttpDate) -> Option<Duration> {
        let until = self.until.map(|until| {
            let from = self.date.unwrap_or_else(|| since_epoch(now()));
            until.saturating_sub(from)
        });
        self.wait.max(until)
    }
}

/// Parses whole or decimal seconds; a fraction of a millisecond counts as a whole one.
fn seconds(value: &str) -> Option<Duration> {
    let digit = |c: char| c.is_ascii_digit();
    let complete = value.starts_with(digit) && value.ends_with(digit);
    let milliseconds = Decimal::parse(value).filter(|_| complete)?.times(1_000);
    Some(duration::from_nanos(milliseconds.saturating_mul(1_000_000)))
}

/// Parses a date in any of the three HTTP formats. A leap second, `:60`, is the same as the first
/// second of the next minute.
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

/// Whether the text is one digit or more, and nothing else.
pub(super) fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// The text that every status line contains.
pub(super) const VERSION: &[u8] = b"HTTP/";

/// The longest line that is read, in bytes: no `Retry-After` needs more, and a stream without line
/// ends must not fill the memory.
pub(super) const LONGEST_LINE: usize = 8 * 1024;

/// How many bytes before a head on its line are kept: more than curl draws at a time.
pub(super) const SIGHT: usize = 1024;

/// A line without control sequences.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Its bytes, including a CR at the end.
    pub(super) bytes: Vec<u8>,
    is_cut: bool,
}

impl Line {
    /// Returns the line, or its end, without CRs at the end: a terminal on the way may add a second
    /// one.
    pub(super) fn text(&self) -> &[u8] {
        let end = self.bytes.iter().rposition(|byte| *byte != b'\r');
        &self.bytes[..end.map_or(0, |at| at + 1)]
    }

    /// Whether its beginning was cut off.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether none of it has come.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends up to one byte more than the limit; returns the rest.
    pub(super) fn take<'a>(&mut self, more: &'a [u8]) -> &'a [u8] {
        let room = LONGEST_LINE + 1 - self.bytes.len();
        let (fits, rest) = more.split_at(room.min(more.len()));
        self.bytes.extend_from_slice(fits);
        rest
    }

    /// Whether it is longer than any line that matters.
    pub(super) fn is_too_long(&self) -> bool {
        self.bytes.len() > LONGEST_LINE
    }

    /// Drops its beginning, but for what may still be a head with the text before it.
    pub(super) fn slide(&mut self) {
        self.is_cut = true;
        // Searching from the end alone would be slow.
        let first = memmem::find(&self.bytes, VERSION);
        let last = first.and_then(|_| memmem::rfind(&self.bytes, VERSION));
        let from = last.filter(|at| *at > SIGHT);
        self.bytes.drain(..from.unwrap_or(self.bytes.len()) - SIGHT);
    }
}
