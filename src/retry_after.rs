//! What a server asks for: the wait in the last HTTP response head of a stream.

use std::mem;
use std::time::{Duration, UNIX_EPOCH};

use httpdate::HttpDate;

use crate::numbers::Decimal;
use crate::units;

/// No `Retry-After` comes in a longer line, and a stream without line ends must not fill the memory.
const LONGEST_LINE: usize = 8 * 1024;

/// How `curl -v` marks what it received.
const CURL_MARK: &[u8] = b"< ";

/// What a stream has said of response heads so far.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    /// The line that is being read, with its end; at most one byte longer than the longest.
    line: Vec<u8>,
    /// Whether the rest of the line is passed over instead.
    passing: bool,
    /// So many bytes of a body are still to come; nothing in them counts.
    body: usize,
    /// Whether a body of unknown length has begun, so that only what `curl -v` marks is no text of it.
    endless_body: bool,
    place: Place,
    /// What the last final response says.
    said: Said,
    /// What it said before the last field, in case the next line spoils that.
    before: Said,
}

/// Where in the stream the next line stands.
#[derive(Debug, Default)]
enum Place {
    #[default]
    Outside,
    Head(Head),
    /// Right after a bare head. Of a chain of responses `curl` prints the heads alone, so the next
    /// line shows whether a body follows.
    AfterHead,
}

impl Heads {
    /// Takes the next bytes of the stream; how it is cut into pieces makes no difference.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let body = self.body.min(bytes.len());
            self.body -= body;
            bytes = &bytes[body..];
            bytes = &bytes[self.read(bytes)..];
        }
    }

    /// The stream has ended: the wait that its last response asks for, zero for a date in the past.
    /// The local clock is asked only for a date without the server's own `Date` to measure it from.
    pub(crate) fn wait(self, now: impl FnOnce() -> HttpDate) -> Option<Duration> {
        let until = self.said.until.map(|until| {
            let from = self.said.date.unwrap_or_else(now);
            UNIX_EPOCH.max(until.into()).duration_since(from.into())
        });
        self.said.wait.max(until.map(Result::unwrap_or_default))
    }

    /// Reads up to the end of the line, or until it is too long, and tells how many bytes that is.
    fn read(&mut self, bytes: &[u8]) -> usize {
        let begins_outside = self.line.is_empty() && matches!(self.place, Place::Outside);
        self.passing |= begins_outside && !may_open_head(bytes);
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let line = lines.next().unwrap_or_default();
        if self.passing {
            self.passing = !line.ends_with(b"\n");
            return line.len();
        }
        let room = LONGEST_LINE + 1 - self.line.len();
        let used = room.min(line.len());
        self.line.extend_from_slice(&line[..used]);
        if used == room || self.line.ends_with(b"\n") {
            let line = mem::take(&mut self.line);
            self.judge(&line);
        }
        used
    }

    /// Looks at a line: all of it, or as much as shows that it is too long to say anything.
    fn judge(&mut self, line: &[u8]) {
        let whole = line.ends_with(b"\n");
        self.passing = !whole;
        let text = without_colours(line);
        // A terminal on the way makes CR CR LF of CR LF.
        let end = text.iter().rposition(|byte| !b"\r\n".contains(byte));
        let text = &text[..end.map_or(0, |at| at + 1)];
        let counts = |head: &Head| whole && (!self.endless_body || head.prefix == CURL_MARK);
        let opened = Head::open(text).filter(counts);
        match (opened, mem::take(&mut self.place)) {
            (Some(head), _) => self.enter(head),
            (None, Place::Head(head)) => self.place = self.go_on(head, text, whole),
            (None, Place::AfterHead) => self.enter_body(line),
            (None, Place::Outside) => {}
        }
    }

    /// A final response takes back all that was said before it; an interim one says nothing.
    fn enter(&mut self, head: Head) {
        if !head.interim {
            self.said = Said::default();
        }
        self.said.length = None;
        self.before = self.said;
        self.place = Place::Head(head);
    }

    /// Takes a line within a head, or the first after it, and tells where the next one stands.
    fn go_on(&mut self, head: Head, text: &[u8], whole: bool) -> Place {
        match head.after_prefix(text) {
            None => return Place::Outside,
            Some([]) if whole && head.prefix.is_empty() => return Place::AfterHead,
            Some([]) if whole => return Place::Outside,
            // Folded: what the field before it says is not all.
            Some([b' ' | b'\t', ..]) => self.said = self.before,
            Some(field) => {
                self.before = self.said;
                if whole && !head.interim {
                    self.said.take(field);
                }
            }
        }
        Place::Head(head)
    }

    /// The line was the first of a body, which may end, and a head begin, within it.
    fn enter_body(&mut self, line: &[u8]) {
        self.passing = false;
        self.endless_body = self.said.length.is_none();
        self.body = self.said.length.unwrap_or_default();
        self.feed(line);
    }
}

/// A response head.
#[derive(Debug)]
struct Head {
    /// What each of its lines begins with: nothing, the mark of `curl -v`, or blanks.
    prefix: Vec<u8>,
    /// Whether its status is 1xx: the response proper is still to come.
    interim: bool,
}

impl Head {
    /// Reads a status line, such as `HTTP/1.1 503 Service Unavailable` or `< HTTP/2 429 `.
    fn open(text: &[u8]) -> Option<Self> {
        let blanks = text.iter().take_while(|byte| b" \t".contains(byte)).count();
        let marked = text.starts_with(CURL_MARK);
        let (prefix, line) = text.split_at(if marked { CURL_MARK.len() } else { blanks });
        let mut words = line.split(|byte| *byte == b' ');
        let version = words.next()?.strip_prefix(b"HTTP/")?;
        let mut numbers = version.splitn(2, |byte| *byte == b'.');
        let status = words.find(|word| !word.is_empty())?;
        let valid = numbers.all(is_number) && is_number(status) && status.len() == 3;
        valid.then(|| Self {
            prefix: prefix.to_vec(),
            interim: status.starts_with(b"1"),
        })
    }

    /// What a line of this head says; nothing if the line is not of this head.
    fn after_prefix<'a>(&self, text: &'a [u8]) -> Option<&'a [u8]> {
        let rest = text.strip_prefix(self.prefix.as_slice());
        // The line that ends a head of `curl -v` may lack the blank of the mark.
        rest.or_else(|| text.strip_prefix(b"<").filter(|_| self.prefix == CURL_MARK))
    }
}

/// What the fields of a head say.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    /// `Retry-After` as a time, the longest.
    wait: Option<Duration>,
    /// `Retry-After` as a date, the latest.
    until: Option<HttpDate>,
    /// `Date`, by the server's clock.
    date: Option<HttpDate>,
    /// `Content-Length`.
    length: Option<usize>,
}

impl Said {
    /// Takes a field, `name: value`; all but three say nothing.
    fn take(&mut self, field: &[u8]) {
        let field = String::from_utf8_lossy(field);
        let (name, value) = field.split_once(':').unwrap_or_default();
        let value = value.trim_matches([' ', '\t']);
        match name.to_ascii_lowercase().as_str() {
            "retry-after" => {
                self.wait = self.wait.max(seconds(value));
                self.until = self.until.max(value.parse().ok());
            }
            "date" => self.date = value.parse().ok().or(self.date),
            "content-length" if is_number(value.as_bytes()) => self.length = value.parse().ok(),
            _ => {}
        }
    }
}

/// Reads whole or decimal seconds; a part of a millisecond counts as a whole one.
fn seconds(value: &str) -> Option<Duration> {
    let digit = |c: char| c.is_ascii_digit();
    let complete = value.starts_with(digit) && value.ends_with(digit);
    let milliseconds = Decimal::parse(value).filter(|_| complete)?.times(1_000);
    Some(units::duration(milliseconds.saturating_mul(1_000_000)))
}

/// Whether a line that begins like this may be a status line; gigabytes of others may come by.
fn may_open_head(line: &[u8]) -> bool {
    match line.iter().find(|byte| !b" \t".contains(byte)) {
        Some(b'H' | b'\x1b') | None => true,
        Some(b'<') => line.starts_with(b"<"),
        Some(_) => false,
    }
}

/// The line without the sequences that colour it on a terminal.
fn without_colours(line: &[u8]) -> Vec<u8> {
    let mut pieces = line.split(|byte| *byte == b'\x1b');
    let mut plain = pieces.next().unwrap_or_default().to_vec();
    for piece in pieces {
        match after_sequence(piece) {
            Some(rest) => plain.extend(rest),
            None => plain.extend([b"\x1b", piece].concat()),
        }
    }
    plain
}

/// What follows a control sequence, which begins like this after its escape.
fn after_sequence(piece: &[u8]) -> Option<&[u8]> {
    let inside = piece.strip_prefix(b"[")?;
    let parameters = inside.iter().take_while(|byte| matches!(byte, b' '..=b'?'));
    let (end, rest) = inside.get(parameters.count()..)?.split_first()?;
    matches!(end, b'@'..=b'~').then_some(rest)
}

fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests;
