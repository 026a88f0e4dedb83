//! An incremental search for patterns in the lines of a stream.

use std::iter;
use std::ops::Range;

use super::{Matched, Pattern, Patterns, Stream};
use crate::escape::ControlSequences;

/// The overlap of adjacent windows over a long line, in bytes. A match that is shorter lies within
/// one of them; a longer one may be missed.
pub(super) const OVERLAP: usize = 32 << 10;

/// The longest line that is always matched as a whole, in bytes.
pub(super) const WINDOW: usize = 2 * OVERLAP;

/// How far `^ $ \b` look beyond a match on either side: one character of UTF-8.
const SIGHT: usize = 4;

impl Pattern {
    /// Returns the start of the first line that matches. The last line has no end yet.
    ///
    /// All lines are searched at once. `^ $ . \b` treat the end of a line like that of a text, so a
    /// line that matches by itself also matches among others, and no line before the first match
    /// matches. But that match may span lines, so lines are then tried one by one.
    fn first_line(&self, lines: &[u8]) -> Option<usize> {
        let from = if self.needs_single_lines {
            0
        } else {
            line_at(lines, self.regex.find(lines)?.start())
        };
        let mut lines = lines_from(lines, from);
        lines.find_map(|(start, line)| self.regex.is_match(line).then_some(start))
    }

    /// Whether it matches in a part of a line, so far from the end that later bytes cannot undo it.
    /// The first `behind` bytes are only context. Takes the shortest match if there are several.
    fn is_inside(&self, part: &[u8], behind: usize) -> bool {
        let end = self.regex.shortest_match_at(part, behind);
        end.is_some_and(|end| end + SIGHT <= part.len())
    }

    /// Whether it matches in a line, or in the last part of one.
    fn is_in(&self, line: &[u8], behind: usize) -> bool {
        self.regex.is_match_at(line, behind)
    }
}

/// The search of one stream of one attempt.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The patterns for both streams.
    patterns: Patterns,
    /// The stream that is searched.
    stream: Stream,
    /// The filter for control sequences, which are not searched.
    sequences: ControlSequences,
    /// The unfinished line, or the end of it if it is long.
    pub(super) line: Vec<u8>,
    /// How many bytes of that are only context for look-behind.
    behind: usize,
    /// Whether the last byte was a CR, which a following LF would belong to.
    after_cr: bool,
}

impl Watch {
    /// A search before the first byte.
    pub(crate) fn new(patterns: &Patterns, stream: Stream) -> Self {
        Self {
            patterns: patterns.clone(),
            stream,
            sequences: ControlSequences::default(),
            line: Vec::new(),
            behind: 0,
            after_cr: false,
        }
    }

    /// Searches the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8], matched: &mut Matched) {
        if self.patterns.sought(self.stream, matched).next().is_some() {
            let plain = self.sequences.without(bytes);
            self.look_at(&plain, matched);
        }
    }

    /// Searches the next bytes of text, without control sequences.
    fn look_at(&mut self, bytes: &[u8], matched: &mut Matched) {
        if bytes.is_empty() {
            return;
        }
        let mut rest = bytes;
        if self.after_cr {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        self.after_cr = bytes.ends_with(b"\r");
        if !self.line.is_empty() {
            // Only this line is copied; those after it are searched in place.
            let Some(end) = first_end(rest) else {
                return self.hold(rest, matched);
            };
            self.hold(&rest[..end.start], matched);
            self.end_line(matched);
            rest = &rest[end.end..];
        }
        if let Some(end) = last_end(rest) {
            self.search(matched, |pattern| pattern.first_line(&rest[..end.start]));
            rest = &rest[end.end..];
        }
        self.hold(rest, matched);
    }

    /// Searches the last line, which may lack its end.
    pub(crate) fn finish(mut self, matched: &mut Matched) {
        self.look_at(self.sequences.rest(), matched);
        if !self.line.is_empty() {
            self.end_line(matched);
        }
    }

    /// Appends to the unfinished line, and searches what no longer fits.
    fn hold(&mut self, more: &[u8], matched: &mut Matched) {
        let (fits, rest) = more.split_at(more.len().min(WINDOW - self.line.len()));
        self.line.extend_from_slice(fits);
        if rest.is_empty() {
            return;
        }
        let (line, behind) = (&self.line, self.behind);
        self.search(matched, |pattern| {
            pattern.is_inside(line, behind).then_some(0)
        });
        self.behind = SIGHT;
        let Some(shared) = fits.len().checked_sub(OVERLAP) else {
            self.line.drain(..OVERLAP);
            return self.hold(rest, matched);
        };
        // The rest is searched in place. Only its overlap with the next window is copied.
        let part = &more[shared..];
        self.search(matched, |pattern| {
            pattern.is_inside(part, SIGHT).then_some(0)
        });
        self.line.clear();
        self.line.extend_from_slice(&more[more.len() - OVERLAP..]);
    }

    /// Searches the unfinished line, now that its end has come.
    fn end_line(&mut self, matched: &mut Matched) {
        let (line, behind) = (&self.line, self.behind);
        self.search(matched, |pattern| pattern.is_in(line, behind).then_some(0));
        self.line.clear();
        self.behind = 0;
    }

    /// Records, for each option without a match, the pattern that matches in the earliest line.
    fn search(&self, matched: &mut Matched, line: impl Fn(&Pattern) -> Option<usize>) {
        for (patterns, found) in self.patterns.sought(self.stream, matched) {
            let indexed = patterns.iter().enumerate();
            let mine = indexed.filter(|(_, pattern)| pattern.looks_at(self.stream));
            let matching = mine.filter_map(|(index, pattern)| Some((line(pattern)?, index)));
            *found = matching.min().map(|(_, index)| index);
        }
    }
}

/// Whether a byte ends a line.
fn is_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Returns the first line end: an LF, a CR, or a CRLF.
fn first_end(text: &[u8]) -> Option<Range<usize>> {
    // Whole blocks first, without a branch for each byte, so that a long line is no bottleneck.
    let ends = |block: &[u8]| block.iter().map(|byte| u8::from(is_end(*byte))).sum::<u8>();
    let blocks = text.chunks_exact(64);
    let passed = 64 * blocks.take_while(|block| ends(block) == 0).count();
    let first = passed + text[passed..].iter().position(|byte| is_end(*byte))?;
    let more = usize::from(text[first..].starts_with(b"\r\n"));
    Some(first..first + 1 + more)
}

/// Returns the last line end.
fn last_end(text: &[u8]) -> Option<Range<usize>> {
    let last = text.iter().rposition(|byte| is_end(*byte))?;
    let more = usize::from(text[..=last].ends_with(b"\r\n"));
    Some(last - more..last + 1)
}

/// Returns where the line that holds `at` begins, or the next line if `at` is inside a CRLF.
fn line_at(lines: &[u8], at: usize) -> usize {
    let (before, after) = lines.split_at(at);
    if before.ends_with(b"\r") && after.starts_with(b"\n") {
        return at + 1;
    }
    last_end(before).map_or(0, |end| end.end)
}

/// Returns the lines from the one that begins at `from`, each with its start.
fn lines_from(lines: &[u8], from: usize) -> impl Iterator<Item = (usize, &[u8])> {
    let mut rest = lines.get(from..);
    iter::from_fn(move || {
        let text = rest?;
        let end = first_end(text).unwrap_or(text.len()..usize::MAX);
        rest = text.get(end.end..);
        Some((lines.len() - text.len(), &text[..end.start]))
    })
}
