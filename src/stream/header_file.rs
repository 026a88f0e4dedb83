//! A file that the command writes response heads to, as `curl -D FILE` does.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::clock;
use crate::escape::escaped;
use crate::retry_after::HeadParser;

/// How much of the end of the file is read, in bytes.
const MOST_READ: u64 = 1024 * 1024;

/// The file, with its state before the attempt.
pub(super) struct HeaderFile<'a> {
    path: &'a Path,
    before: Option<Stamp>,
}

/// The metadata that changes when a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(file: &Metadata) -> Self {
        Self {
            inode: (file.dev(), file.ino()),
            size: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        }
    }
}

impl<'a> HeaderFile<'a> {
    /// Checks the file at this path, which need not exist yet.
    ///
    /// # Errors
    /// When it is not a regular file that can be read.
    pub(super) fn open(path: &'a Path) -> Result<Self> {
        let name = escaped(path.as_os_str());
        if let Ok(there) = fs::metadata(path) {
            ensure!(
                there.is_file(),
                "--retry-after '@{name}' is no regular file; name one that the command writes"
            );
            open(path).with_context(|| {
                format!("--retry-after '@{name}' cannot be read; name a file that can")
            })?;
        }
        Ok(Self { path, before: None })
    }

    /// Records its state before an attempt.
    pub(super) fn note(&mut self) {
        self.before = fs::metadata(self.path).ok().as_ref().map(Stamp::of);
    }

    /// Returns the wait that its last head asks for, if the attempt has written it.
    ///
    /// # Errors
    /// When it exists and cannot be read.
    pub(super) fn wait(&self) -> io::Result<Option<Duration>> {
        let mut file = match open(self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let now = file.metadata()?;
        if !now.is_file() || self.before == Some(Stamp::of(&now)) {
            return Ok(None);
        }
        let cut = now.size().saturating_sub(MOST_READ);
        file.seek(SeekFrom::Start(cut))?;
        let mut text = Vec::new();
        file.take(MOST_READ).read_to_end(&mut text)?;
        // After a cut, the first line may be incomplete.
        let start = if cut == 0 {
            Some(0)
        } else {
            text.iter().position(|byte| *byte == b'\n')
        };
        let mut heads = HeadParser::default();
        heads.feed(
            start
                .and_then(|start| text.get(start..))
                .unwrap_or_default(),
        );
        Ok(heads.wait(|| clock::now().into()))
    }
}

/// Opens the file without waiting for a writer, in case it has become a FIFO.
fn open(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
}
