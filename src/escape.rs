//! Escaping of untrusted text, so that it is safe to print.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt as _;

use memchr::memchr;

/// The longest name that is displayed, in bytes.
const LONGEST_NAME: usize = 64;

/// The longest path that is displayed as typed, in bytes: a line is one write.
const LONGEST_PATH: usize = 1024;

/// Escapes control characters, bidirectional marks and bytes that are not UTF-8, so that the text
/// can neither move the cursor nor reverse or break the line.
pub(crate) fn escaped(text: &OsStr) -> String {
    let mut shown = String::new();
    for chunk in text.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_harmless(c) {
                shown.push(c);
            } else {
                shown.extend(c.escape_default());
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

fn is_harmless(c: char) -> bool {
    let reorders = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let breaks = matches!(c, '\u{2028}' | '\u{2029}');
    !(c.is_control() || reorders || breaks)
}

/// Returns the name of a command for reports: the basename of its first word, cut at the first
/// blank and at 64 bytes, without anything before `@` or after `: ; # ? =`. No more is shown,
/// because a URL, a header or an assignment typed as the command may hold a secret there.
pub(crate) fn program_name(program: &OsStr) -> String {
    let word = until(program.as_bytes(), b"\t\n\x0c\r ;#?=");
    // A slash may be part of a secret, but not in a word that is a path from its start.
    let is_path = word.starts_with(b"/") || word.starts_with(b".");
    let word = if is_path { basename(word) } else { word };
    let word = word.rsplit(|byte| *byte == b'@').next().unwrap_or(word);
    let scheme = word.windows(3).position(|three| three == b"://");
    let word = scheme.map_or(word, |at| &word[at + 3..]);
    match basename(until(word, b":")) {
        b"" => "''".into(),
        name if name.len() <= LONGEST_NAME => escaped(OsStr::from_bytes(name)),
        name => escaped(OsStr::from_bytes(beginning(name, LONGEST_NAME))) + "…",
    }
}

/// Returns the name of a command that cannot be run: as typed, path and all, if that can only be a
/// file name; otherwise [`program_name`].
pub(crate) fn program_as_typed(program: &OsStr) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./+-".contains(&byte);
    match program.to_str() {
        Some(word) if (1..=LONGEST_PATH).contains(&word.len()) && word.bytes().all(is_plain) => {
            word.into()
        }
        _ => program_name(program),
    }
}

/// Returns the text before the first of these bytes.
fn until<'a>(text: &'a [u8], ends: &[u8]) -> &'a [u8] {
    let end = text.iter().position(|byte| ends.contains(byte));
    end.map_or(text, |end| &text[..end])
}

/// Returns the part after the last slash, ignoring trailing slashes.
fn basename(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/');
    let path = end.map_or(&path[..0], |end| &path[..=end]);
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Returns at most the first `most` bytes of a text, without splitting a character.
fn beginning(text: &[u8], most: usize) -> &[u8] {
    let begins = |at: &usize| text[*at] & 0b1100_0000 != 0b1000_0000;
    let end = (1..=most).rev().find(begins);
    &text[..end.unwrap_or(most)]
}

/// Cuts a text to fit a line that must be written by one call.
pub(crate) fn shortened(text: &str) -> String {
    const LONGEST: usize = 64;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the system's message for an error, in lower case and without the number.
pub(crate) fn described(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_lowercase()
}

/// Formats an error with its causes, in the system's words where it gave them.
pub(crate) fn with_reasons(error: &anyhow::Error) -> String {
    let reasons = error.chain().map(|reason| {
        let system: Option<&io::Error> = reason.downcast_ref();
        system.map_or_else(|| reason.to_string(), described)
    });
    reasons.collect::<Vec<_>>().join(": ")
}

const ESC: u8 = b'\x1b';
const BEL: u8 = b'\x07';

/// A filter that removes terminal control sequences from text. Its state is the position of the
/// next byte; an unterminated sequence ends with its line.
///
/// It knows the sequences of ECMA-48 that begin with an escape: `ESC [` up to a final byte
/// (colours, cursor movement) and `ESC ]` up to BEL or `ESC \` (window titles, links). It does not
/// know their one-byte forms: in UTF-8 those bytes are parts of letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ControlSequences {
    /// Outside any sequence.
    #[default]
    Text,
    /// After an escape, which may begin a sequence.
    Escape,
    /// In a sequence that a final byte ends.
    Control,
    /// In a sequence that holds text.
    Command,
    /// In such a sequence after an escape, which may end it.
    CommandEnd,
}

impl ControlSequences {
    /// Returns the next bytes without control sequences; how the text is split makes no difference.
    pub(crate) fn without<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if *self == Self::Text && memchr(ESC, bytes).is_none() {
            return bytes.into();
        }
        let mut plain = Vec::with_capacity(bytes.len() + 1);
        let mut rest = bytes;
        while let Some(&byte) = rest.first() {
            if *self == Self::Text {
                let end = memchr(ESC, rest);
                let (text, more) = rest.split_at(end.unwrap_or(rest.len()));
                plain.extend_from_slice(text);
                rest = more.get(1..).unwrap_or_default();
                *self = end.map_or(Self::Text, |_| Self::Escape);
            } else {
                let (next, is_taken) = self.pass(byte);
                if *self == Self::Escape && !is_taken {
                    plain.push(ESC);
                }
                rest = &rest[usize::from(is_taken)..];
                *self = next;
            }
        }
        plain.into()
    }

    /// Returns the position after this byte of a sequence, and whether the byte belongs to it.
    fn pass(self, byte: u8) -> (Self, bool) {
        match (self, byte) {
            (Self::Escape | Self::CommandEnd, b'[') | (Self::Control, b' '..=b'?') => {
                (Self::Control, true)
            }
            (Self::Escape | Self::CommandEnd, b']') => (Self::Command, true),
            (Self::Control, b'@'..=b'~') | (Self::Command, BEL) | (Self::CommandEnd, b'\\') => {
                (Self::Text, true)
            }
            (Self::Command, ESC) => (Self::CommandEnd, true),
            (Self::Command, byte) if !b"\r\n".contains(&byte) => (Self::Command, true),
            _ => (Self::Text, false),
        }
    }

    /// Returns the held-back bytes that turn out to be plain at the end of the text.
    pub(crate) fn rest(self) -> &'static [u8] {
        match self {
            Self::Escape => &[ESC],
            Self::Text | Self::Control | Self::Command | Self::CommandEnd => &[],
        }
    }
}

#[cfg(test)]
mod tests;
