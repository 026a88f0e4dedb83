//! Output of an attempt that is kept until it is known where it belongs.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::rc::Rc;

use rustix::event::PollFd;
use rustix::io::Errno;

use super::spool::Keep;
use super::writer::Writer;

/// Bytes on their way at a time.
const BUFFER: usize = 128 * 1024;

/// Kept output on its way to where it belongs.
pub(crate) struct HeldOutput {
    file: File,
    writer: Option<Rc<Writer>>,
    buffer: Vec<u8>,
    at: u64,
    end: u64,
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All of it is there.
    Done,
    /// There is more.
    More,
    /// There is more, and nobody takes it for now.
    WouldBlock,
}

impl HeldOutput {
    /// What was kept, on its way to this writer.
    pub(super) fn new(kept: Keep, writer: Option<Rc<Writer>>) -> Self {
        Self {
            file: kept.file,
            writer,
            buffer: Vec::new(),
            at: 0,
            end: kept.length,
        }
    }

    /// Carries a part of it.
    ///
    /// # Errors
    /// When it cannot be written where it belongs.
    pub(crate) fn pump(&mut self) -> io::Result<Progress> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        if left == 0 {
            self.note_last();
            return Ok(Progress::Done);
        }
        let Some(writer) = &self.writer else {
            return Err(Errno::BADF.into());
        };
        let written = match writer.fill(&self.file, self.at, left) {
            Err(error) if error != Errno::AGAIN && error != Errno::PIPE => {
                let part = left.min(BUFFER);
                self.buffer.resize(BUFFER, 0);
                match self.file.read_at(&mut self.buffer[..part], self.at)? {
                    0 => Ok(0),
                    read => writer.write(&self.buffer[..read]),
                }
            }
            written => written,
        };
        match written {
            // Somebody who found it in /proc has made the file shorter.
            Ok(0) => Ok(Progress::Done),
            Ok(written) => {
                self.at += written as u64;
                Ok(Progress::More)
            }
            Err(Errno::AGAIN) => Ok(Progress::WouldBlock),
            Err(error) => Err(error.into()),
        }
    }

    /// Tells who writes behind it how it ends.
    fn note_last(&self) {
        let last = || {
            let (at, mut last) = (self.end.checked_sub(1)?, [0]);
            self.file.read_exact_at(&mut last, at).ok()?;
            Some(last[0])
        };
        if let Some(writer) = &self.writer {
            writer.note_last(last);
        }
    }

    /// Ready when it can go on.
    pub(crate) fn watched(&self) -> Option<PollFd<'_>> {
        self.writer.as_ref().map(|writer| writer.watched())
    }
}
