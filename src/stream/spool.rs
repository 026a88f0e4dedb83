//! Unnamed temporary files: nobody else can open them, and they vanish when we end, however we do.

use std::env;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::sys::fd::{self, memory_file, reopened};

/// How many bytes are kept in memory before they go to a file.
const MOST_IN_MEMORY: u64 = 1024 * 1024;

/// The size of the buffer for copying, in bytes.
const BUFFER: usize = 64 * 1024;

/// Returns the directory of our temporary files: $TMPDIR, or else /tmp.
pub(super) fn directory() -> PathBuf {
    let directory = env::temp_dir();
    // The meaning of a relative path would depend on the working directory.
    if directory.is_absolute() {
        directory
    } else {
        PathBuf::from("/tmp")
    }
}

/// Creates a file in that directory.
///
/// # Errors
/// When there is no such directory, or none that we may write to.
pub(super) fn nameless_file() -> io::Result<File> {
    let file = tempfile::tempfile_in(directory())?;
    // A process that can list our descriptors must still not be able to read it.
    rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR)?;
    Ok(file)
}

/// All input so far.
pub(super) struct Spool {
    file: File,
    length: u64,
    is_in_memory: bool,
}

impl Spool {
    /// An empty spool.
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

    /// Appends bytes.
    ///
    /// # Errors
    /// When there is no room for it.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.make_room(bytes.len())?;
        self.file.write_all_at(bytes, self.length)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Moves `length` bytes from a pipe to the end.
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

    /// Does the same through a buffer, where the system cannot splice or has no room.
    fn copy(&self, pipe: &OwnedFd, length: usize) -> io::Result<usize> {
        let mut buffer = vec![0; length.min(BUFFER)];
        let read = rustix::io::read(pipe, &mut buffer)?;
        self.file.write_all_at(&buffer[..read], self.length)?;
        Ok(read)
    }

    /// Moves from memory to a file before the spool gets too long.
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

    /// Reads from this position.
    ///
    /// # Errors
    /// When the system cannot read.
    pub(super) fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        self.file.read_at(buffer, at)
    }

    /// Passes what is kept from this position on to a pipe, as much as it takes at once.
    ///
    /// # Errors
    /// AGAIN if it takes nothing for now; INVAL or NOSYS if the system cannot do this.
    pub(super) fn fill(&self, pipe: &OwnedFd, at: u64) -> Result<usize, Errno> {
        let left = usize::try_from(self.length - at).unwrap_or(usize::MAX);
        fd::fill(pipe, &self.file, at, left)
    }

    /// Opens the whole spool for reading, with a position of its own: a process that still reads
    /// for an earlier attempt must not move it for the next.
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
