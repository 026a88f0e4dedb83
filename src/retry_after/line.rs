//! A line of a stream as far as it may say something of a head.

use memchr::memmem;

use super::head::VERSION;

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
