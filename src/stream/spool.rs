//! Files without a name: nobody else can open them, and they are gone when we are, however we end.

use std::env;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::sys::fd::{self, memory_file, reopened};

/// How much is kept in memory before it goes to a file.
const MOST_IN_MEMORY: u64 = 1024 * 1024;

/// Bytes on their way at a time, where they must pass through us.
const BUFFER: usize = 64 * 1024;

/// A new file in $TMPDIR.
///
/// # Errors
/// When there is no such directory, or none that we may write to.
pub(super) fn nameless_file() -> io::Result<File> {
    let directory = env::temp_dir();
    // What it means must not depend on where we are.
    let directory = if directory.is_absolute() {
        directory
    } else {
        PathBuf::from("/tmp")
    };
    let file = tempfile::tempfile_in(directory)?;
    // Who may look into our descriptors may still not be let read it.
    rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR)?;
    Ok(file)
}

/// All that came in so far.
pub(super) struct Spool {
    file: File,
    length: u64,
    is_in_memory: bool,
}

impl Spool {
    /// An empty one.
    ///
    /// # Errors
    /// As [`nameless_file`].
    pub(super) fn new() -> io::Result<Self> {
        let memory = memory_file();
        let is_in_memory = memory.is_ok();
        Ok(Self {
            file: memory.or_else(|_| nameless_file())?,
            length: 0,
            is_in_memory,
        })
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Adds what came.
    ///
    /// # Errors
    /// When there is no room for it.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.make_room(bytes.len())?;
        self.file.write_all_at(bytes, self.length)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Adds what is in a pipe, so much of it.
    ///
    /// # Errors
    /// When there is no room for it.
    pub(super) fn take(&mut self, pipe: &OwnedFd, length: usize) -> io::Result<()> {
        self.make_room(length)?;
        let mut left = length;
        while left > 0 {
            let taken = match fd::drain(pipe, &self.file, self.length, left) {
                Err(Errno::INTR) => continue,
                Err(_) => self.copy(pipe, left)?,
                Ok(taken) => taken,
            };
            if taken == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            left -= taken;
            self.length += taken as u64;
        }
        Ok(())
    }

    /// The same, where the system cannot do it without us, or has no room.
    fn copy(&self, pipe: &OwnedFd, length: usize) -> io::Result<usize> {
        let mut buffer = vec![0; length.min(BUFFER)];
        let read = rustix::io::read(pipe, &mut buffer)?;
        self.file.write_all_at(&buffer[..read], self.length)?;
        Ok(read)
    }

    /// Goes from memory to a file when it gets long.
    fn make_room(&mut self, length: usize) -> io::Result<()> {
        if self.is_in_memory && self.length + length as u64 > MOST_IN_MEMORY {
            let mut file = nameless_file()?;
            // Nothing else moves the positions of the two.
            io::copy(&mut self.file, &mut file)?;
            self.file = file;
            self.is_in_memory = false;
        }
        Ok(())
    }

    /// Reads from a place.
    ///
    /// # Errors
    /// When the system cannot.
    pub(super) fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        self.file.read_at(buffer, at)
    }

    /// Gives a pipe what is kept from a place on, as much as it takes at once.
    ///
    /// # Errors
    /// AGAIN if it takes nothing for now; INVAL or NOSYS if the system cannot do this.
    pub(super) fn fill(&self, pipe: &OwnedFd, at: u64) -> Result<usize, Errno> {
        let left = usize::try_from(self.length - at).unwrap_or(usize::MAX);
        fd::fill(pipe, &self.file, at, left)
    }

    /// The whole of it from its beginning, with a position of its own, so that one who still reads
    /// for an attempt that is over does not move it for the next.
    ///
    /// # Errors
    /// When the system is short of descriptors.
    pub(super) fn reader(&self) -> io::Result<OwnedFd> {
        reopened(self.file.as_fd(), OFlags::RDONLY).or_else(|_| {
            rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Start(0))?;
            self.file.as_fd().try_clone_to_owned()
        })
    }
}

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
