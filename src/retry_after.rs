//! The wait that a server asks for in the last HTTP response head of a stream.

mod fields;
mod head;

use std::mem;

use httpdate::HttpDate;
use memchr::{memchr, memchr_iter, memmem, memrchr};

use crate::escape::ControlSequences;
pub(crate) use fields::Answer;
use fields::{HeadFields, LONGEST_LINE, Line, VERSION};
use head::{Head, is_of_a_field};

/// How many bytes are skimmed at a time for a possible head.
const BLOCK: usize = 4 * 1024;

/// A parser for the response heads in a stream.
#[derive(Debug, Default)]
pub(crate) struct HeadParser {
    /// The current line, without control sequences.
    line: Line,
    sequences: ControlSequences,
    /// Whether the rest of the line is skipped.
    passing: bool,
    /// The bytes of a body still to come; nothing in them counts.
    body: usize,
    /// Whether a body of unknown length has begun, so that only lines marked by `curl -v` count.
    endless_body: bool,
    place: Place,
    /// A head whose status line comes after other text: the next line shows whether it is one.
    quoted: Option<Head>,
    /// The raw bytes since a bare head.
    held: Vec<u8>,
    /// The fields of the last final response.
    said: HeadFields,
    /// The fields before the last line, in case the next line invalidates that one.
    before: HeadFields,
}

/// The position of the next line in the stream.
#[derive(Debug, Default)]
enum Place {
    #[default]
    Outside,
    Head(Head),
    /// Right after a bare head. Of a chain of responses `curl` prints only the heads, so the next
    /// line shows whether a body follows.
    AfterHead,
}

impl HeadParser {
    /// Parses the next bytes of the stream; how it is split makes no difference.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let body = self.body.min(bytes.len());
            self.body -= body;
            bytes = &bytes[body..];
            bytes = &bytes[self.skim(bytes)..];
            bytes = &bytes[self.read(bytes)..];
        }
    }

    /// Ends the stream; returns what its last response says. The local clock is asked only for a
    /// date without the server's own `Date` to measure it from.
    pub(crate) fn answer(self, now: impl FnOnce() -> HttpDate) -> Answer {
        self.said.answer(now)
    }

    /// Returns how many bytes at the start can be skipped, since gigabytes of them may come:
    /// complete lines without an HTTP version.
    fn skim(&self, bytes: &[u8]) -> usize {
        let is_between = self.line.is_empty() && !self.passing && self.quoted.is_none();
        let is_outside = matches!(self.place, Place::Outside);
        if !is_between || !is_outside || self.sequences != ControlSequences::Text {
            return 0;
        }
        let block = &bytes[..bytes.len().min(BLOCK)];
        let lines = &block[..memrchr(b'\n', block).map_or(0, |end| end + 1)];
        let plain = ControlSequences::default().without(lines);
        let Some(at) = memmem::find(&plain, VERSION) else {
            return lines.len();
        };
        // No control sequence spans a line end.
        let before = memchr_iter(b'\n', &plain[..at]).count();
        let ends = memchr_iter(b'\n', lines).take(before);
        ends.last().map_or(0, |end| end + 1)
    }

    /// Reads up to the end of the line; returns the number of bytes used.
    fn read(&mut self, bytes: &[u8]) -> usize {
        let end = memchr(b'\n', bytes);
        let part = &bytes[..end.unwrap_or(bytes.len())];
        let used = part.len() + usize::from(end.is_some());
        if matches!(self.place, Place::AfterHead) {
            self.held.extend_from_slice(part);
            let is_too_long = self.held.len() > LONGEST_LINE;
            self.held.extend_from_slice(&bytes[part.len()..used]);
            if is_too_long {
                self.enter_body();
                return used;
            }
        }
        self.take(part);
        if end.is_some() {
            let rest = mem::take(&mut self.sequences).rest();
            self.line.take(rest);
            self.judge();
        }
        used
    }

    /// Appends to the current line.
    fn take(&mut self, part: &[u8]) {
        if self.passing {
            return;
        }
        let plain = self.sequences.without(part);
        let mut rest = &*plain;
        while !rest.is_empty() && !self.passing {
            rest = self.line.take(rest);
            if self.line.is_too_long() {
                self.shorten();
            }
        }
    }

    /// Makes room in a line that is too long. Only its end may still matter.
    fn shorten(&mut self) {
        let line = mem::take(&mut self.line);
        if !line.is_cut() {
            self.confirm(&line);
            self.place = match mem::take(&mut self.place) {
                Place::Head(head) => self.go_on_long(head, &line),
                place => place,
            };
        }
        if !self.passing {
            self.line = line;
            self.line.slide();
        }
    }

    /// Interprets a line, or the end of a long one.
    fn judge(&mut self) {
        let line = mem::take(&mut self.line);
        if mem::take(&mut self.passing) {
            return;
        }
        self.confirm(&line);
        let counts = |head: &Head| !self.endless_body || head.is_marked();
        let opened = Head::open(&line).filter(counts);
        match (opened, mem::take(&mut self.place)) {
            (Some(head), _) => self.enter(head),
            (None, Place::Head(head)) => {
                // A field may mention a status, and the next field proves nothing.
                if !head.after_prefix(&line).is_some_and(is_of_a_field) {
                    self.quote(&line);
                }
                self.place = self.go_on(head, &line, true);
            }
            (None, Place::AfterHead) => self.leave_head(&line),
            (None, Place::Outside) => self.quote(&line),
        }
    }

    /// Handles the first line after a bare head. It belongs to the body, but after something that
    /// curl has drawn there may be the next head.
    fn leave_head(&mut self, line: &Line) {
        if line.text().starts_with(b"\r") {
            self.quote(line);
        }
        if self.quoted.is_some() {
            self.place = Place::AfterHead;
        } else {
            self.enter_body();
        }
    }

    /// Records a status line that comes after other text.
    fn quote(&mut self, line: &Line) {
        if !self.endless_body {
            self.quoted = Head::quoted(line);
        }
    }

    /// Enters the quoted head if this line is a field, which proves that it was one.
    fn confirm(&mut self, line: &Line) {
        let quoted = self.quoted.take();
        if let Some(head) = quoted.and_then(|head| head.confirmed_by(line)) {
            self.enter(head);
        }
    }

    /// Enters a head. A final response discards the fields before it; an interim one has none.
    fn enter(&mut self, head: Head) {
        self.held.clear();
        if !head.is_interim() {
            self.said = HeadFields::after(head.status);
        }
        self.said.length = None;
        self.before = self.said;
        self.place = Place::Head(head);
    }

    /// Handles a line within a head, or the first after it; returns the position of the next one.
    fn go_on(&mut self, head: Head, line: &Line, whole: bool) -> Place {
        match head.after_prefix(line) {
            None => return Place::Outside,
            Some([]) if whole && head.is_bare() => return Place::AfterHead,
            Some([]) if whole => return Place::Outside,
            // A folded line: the field before it is incomplete.
            Some([b' ' | b'\t', ..]) => self.said = self.before,
            Some(field) => {
                self.before = self.said;
                if whole && !head.is_interim() {
                    self.said.take(field);
                }
            }
        }
        Place::Head(head)
    }

    /// Does the same for a line that is too long to matter. The mark of curl may come after any
    /// length of progress meter.
    fn go_on_long(&mut self, head: Head, line: &Line) -> Place {
        self.passing = head.after_prefix(line).is_some();
        if head.is_marked() && !self.passing {
            return Place::Head(head);
        }
        self.go_on(head, line, false)
    }

    /// Enters a body, to which the held bytes belong; it may end, and a head begin, within them.
    fn enter_body(&mut self) {
        self.place = Place::Outside;
        self.quoted = None;
        self.endless_body = self.said.length.is_none();
        self.body = self.said.length.unwrap_or_default();
        let held = mem::take(&mut self.held);
        self.feed(&held);
    }
}

#[cfg(test)]
mod tests;
