//! The log file of a run.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::io::{retry_on_intr, write};

use crate::escape::described;

/// A file to append lines to. Others may append to it at the same time.
pub(crate) struct Log {
    file: File,
    /// Whether the last line is incomplete.
    is_torn: bool,
}

impl Log {
    /// Opens or creates the file at this path. Nothing here ever waits for a reader.
    ///
    /// # Errors
    /// The reason, worded to follow the file's name.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let opened = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o644)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(path);
        match opened {
            Ok(file) => Ok(Self {
                file,
                is_torn: false,
            }),
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
                Err("it is a FIFO or a socket, and nobody reads it".into())
            }
            Err(error) => Err(described(&error)),
        }
    }

    /// Appends lines, each by one call, so that those of several processes never mix. A line that
    /// cannot be written is lost, but the next ones are still tried.
    ///
    /// # Errors
    /// The reason, worded to follow the file's name.
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
            // A full disk may take only the beginning of a line.
            self.is_torn = !rest.is_empty();
        }
        Ok(())
    }
}
