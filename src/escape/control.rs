//! What a terminal obeys instead of showing, passed over: the control sequences in a text.
//!
//! Known are those of ECMA-48 that begin with an escape: `ESC [` to a final byte, which colour and
//! move, and `ESC ]` to BEL or `ESC \`, which name windows and links. Their one-byte forms are not:
//! in UTF-8 those bytes are parts of letters.

use std::borrow::Cow;

use memchr::memchr;

const ESC: u8 = b'\x1b';
const BEL: u8 = b'\x07';

/// Where in a text the next byte stands. Whatever is not ended ends with its line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ControlSequences {
    /// Outside of any.
    #[default]
    Text,
    /// Behind an escape, which may begin one.
    Escape,
    /// In one that a final byte ends.
    Control,
    /// In one that holds text.
    Command,
    /// Behind an escape in that, which may end it.
    CommandEnd,
}

impl ControlSequences {
    /// The next bytes without them; how the text is cut into pieces makes no difference.
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

    /// Where the text goes on when this byte comes within a sequence, and whether it is of that.
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

    /// What the end of the text shows to be none.
    pub(crate) fn rest(self) -> &'static [u8] {
        match self {
            Self::Escape => &[ESC],
            Self::Text | Self::Control | Self::Command | Self::CommandEnd => &[],
        }
    }
}

#[cfg(test)]
mod tests;
