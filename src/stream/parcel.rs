//! What an attempt has written to stdout, on its way to where it belongs.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::rc::Rc;

use rustix::event::PollFd;
use rustix::io::Errno;

use super::keep::Keep;
use super::outlet::Outlet;

/// Bytes on their way at a time.
const BUFFER: usize = 128 * 1024;

/// A file that is being copied.
pub(crate) struct Parcel {
    file: File,
    outlet: Option<Rc<Outlet>>,
    buffer: Vec<u8>,
    at: u64,
    end: u64,
}

/// How far a parcel has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// All of it is there.
    Done,
    /// There is more.
    More,
    /// There is more, and nobody takes it for now.
    Stuck,
}

impl Parcel {
    /// What was kept, for this outlet.
    pub(super) fn new(kept: Keep, outlet: Option<Rc<Outlet>>) -> Self {
        Self {
            file: kept.file,
            outlet,
            buffer: Vec::new(),
            at: 0,
            end: kept.length,
        }
    }

    /// Carries a part of it.
    ///
    /// # Errors
    /// When it cannot be written where it belongs.
    pub(crate) fn carry(&mut self) -> io::Result<Step> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        if left == 0 {
            self.note_last();
            return Ok(Step::Done);
        }
        let Some(outlet) = &self.outlet else {
            return Err(Errno::BADF.into());
        };
        let written = match outlet.fill(&self.file, self.at, left) {
            Err(error) if error != Errno::AGAIN && error != Errno::PIPE => {
                let part = left.min(BUFFER);
                self.buffer.resize(BUFFER, 0);
                match self.file.read_at(&mut self.buffer[..part], self.at)? {
                    0 => Ok(0),
                    read => outlet.write(&self.buffer[..read]),
                }
            }
            written => written,
        };
        match written {
            // Somebody who found it in /proc has made the file shorter.
            Ok(0) => Ok(Step::Done),
            Ok(written) => {
                self.at += written as u64;
                Ok(Step::More)
            }
            Err(Errno::AGAIN) => Ok(Step::Stuck),
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
        if let Some(outlet) = &self.outlet {
            outlet.note_last(last);
        }
    }

    /// Ready when it can go on.
    pub(crate) fn watched(&self) -> Option<PollFd<'_>> {
        self.outlet.as_ref().map(|outlet| outlet.watched())
    }
}
