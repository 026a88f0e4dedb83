//! The file that a run is logged to.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::event::{Timespec, poll};
use rustix::io::{retry_on_intr, write};

use crate::escape::described;

/// A file that lines are appended to. Others may append to it at the same time.
pub(crate) struct Log {
    file: File,
    /// Whether the last line was begun and could not be ended.
    is_torn: bool,
}

impl Log {
    /// Opens the file at this place, or makes it. Nothing here ever waits for a reader.
    ///
    /// # Errors
    /// The reason in words, to follow its name.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let opened = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o644)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(path);
        match opened {
            Ok(file) => Ok(Self {
                is_torn: is_torn(path, &file),
                file,
            }),
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
                Err("it is a FIFO or a socket, and nobody reads it".into())
            }
            Err(error) => Err(described(&error)),
        }
    }

    /// Appends lines, each by one call, so that those of several processes never mix. What cannot
    /// be written is lost, and the next lines are tried all the same.
    ///
    /// # Errors
    /// The reason in words, to follow the name of the file.
    pub(crate) fn append(&mut self, lines: &str) -> Result<(), String> {
        let mut done = Ok(());
        for line in lines.split_inclusive('\n') {
            done = self.append_line(line).and(done);
        }
        done.map_err(|error| described(&error))
    }

    fn append_line(&mut self, line: &str) -> io::Result<()> {
        let ended = if self.is_torn { "\n" } else { "" };
        let line = format!("{ended}{line}");
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            let written = retry_on_intr(|| write(&self.file, rest))?;
            if written == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
            rest = &rest[written..];
            // A full disk takes the beginning of a line.
            self.is_torn = !rest.is_empty();
        }
        Ok(())
    }
}

/// How often, and how long apart, a line that has no end is looked at: another may be writing it.
const LOOKS: usize = 4;
const BETWEEN_LOOKS: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 5_000_000,
};

/// Whether the last line that another has written has no end, and gets none.
fn is_torn(path: &Path, file: &File) -> bool {
    let mut before = None;
    for look in 0..LOOKS {
        if look > 0 {
            let _ = poll(&mut [], Some(&BETWEEN_LOOKS));
        }
        match end_of(path, file) {
            Some((_, b'\n')) | None => return false,
            Some((length, _)) if before.is_some_and(|before| before != length) => return false,
            Some((length, _)) => before = Some(length),
        }
    }
    true
}

/// How long a regular file is, and the last byte of it, if there is one and it can be read.
fn end_of(path: &Path, file: &File) -> Option<(u64, u8)> {
    let now = file.metadata().ok().filter(Metadata::is_file)?;
    let mut last = [0];
    let at = now.len().checked_sub(1)?;
    File::open(path).ok()?.read_exact_at(&mut last, at).ok()?;
    Some((now.len(), last[0]))
}
