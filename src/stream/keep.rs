//! What an attempt has written, kept until it is known where it belongs.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

use anyhow::{Context as _, Result};
use rustix::io::Errno;

use super::spool::nameless_file;
use crate::sys::fd;

/// How much is taken at a time, before signals and limits are looked at again.
const MOST: usize = 1024 * 1024;

/// What is said when there is no room.
pub(crate) const NOT_HELD: &str =
    "cannot keep stdout for --stdout once; set TMPDIR to where there is room";

/// A file without a name that only we write to.
pub(super) struct Keep {
    pub(super) file: File,
    pub(super) length: u64,
    /// Why not all of it is there, if so: the rest is dropped.
    pub(super) fault: Option<io::Error>,
}

impl Keep {
    /// An empty one.
    ///
    /// # Errors
    /// As [`nameless_file`].
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            file: nameless_file().context(NOT_HELD)?,
            length: 0,
            fault: None,
        })
    }

    /// Moves what is in a pipe to the file, so much of it at most. Nothing if there is no such way,
    /// or no room, and then nothing of it is lost.
    pub(super) fn take(&mut self, pipe: &OwnedFd, most: usize) -> Option<Result<usize, Errno>> {
        if self.fault.is_some() {
            return None;
        }
        match fd::drain(pipe, &self.file, self.length, most.min(MOST)) {
            Ok(taken) => {
                self.length += taken as u64;
                Some(Ok(taken))
            }
            Err(Errno::AGAIN) => Some(Err(Errno::AGAIN)),
            Err(Errno::INTR) => Some(Err(Errno::INTR)),
            Err(_) => None,
        }
    }

    /// Adds what came, or drops it if there is no room.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        if self.fault.is_some() {
            return;
        }
        match self.file.write_all_at(bytes, self.length) {
            Ok(()) => self.length += bytes.len() as u64,
            Err(error) => self.fault = Some(error),
        }
    }
}
