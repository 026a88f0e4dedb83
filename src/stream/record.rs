//! The records that a recording consists of.

use crate::patterns::Stream;

/// The length of a header: one number, whose highest bit is set for stderr.
pub(super) const HEADER: u64 = 8;

/// The bit for stderr in a header.
const IS_STDERR: u64 = 1 << 63;

/// Bytes that came in one go on one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) stream: Stream,
    /// Where its bytes begin in the file.
    pub(super) begin: u64,
    pub(super) length: u64,
}

impl Record {
    /// Returns the header, to be written before its bytes.
    pub(super) fn header(&self) -> [u8; 8] {
        let stream = match self.stream {
            Stream::Stdout => 0,
            Stream::Stderr => IS_STDERR,
        };
        (stream | self.length).to_le_bytes()
    }

    /// Reads a header; the bytes follow it.
    pub(super) fn parse(header: [u8; 8], begin: u64) -> Self {
        let header = u64::from_le_bytes(header);
        Self {
            stream: if header & IS_STDERR == 0 {
                Stream::Stdout
            } else {
                Stream::Stderr
            },
            begin,
            length: header & !IS_STDERR,
        }
    }

    /// Returns where its header is.
    pub(super) fn header_at(&self) -> u64 {
        self.begin - HEADER
    }

    /// Returns where the next record begins.
    pub(super) fn end(&self) -> u64 {
        self.begin + self.length
    }
}
