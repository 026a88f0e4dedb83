//! A filter that removes terminal control sequences from text.
//!
//! It knows the sequences of ECMA-48 that begin with an escape: `ESC [` up to a final byte
//! (colours, cursor movement) and `ESC ]` up to BEL or `ESC \` (window titles, links). It does not
//! know their one-byte forms: in UTF-8 those bytes are parts of letters.

use std::borrow::Cow;

use memchr::memchr;

const ESC: u8 = b'\x1b';
const BEL: u8 = b'\x07';

/// The position of the next byte in the text. An unterminated sequence ends with its line.
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
