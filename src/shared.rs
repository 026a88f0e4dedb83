//! The bucket in a file that many processes share, and the slots in another.
//!
//! The file is opened anew for each change and locked with flock(2), which a killed holder cannot
//! leave behind. Its text has a fixed length and is written by a single call, so that no state is
//! ever half written.

mod slots;

use std::fs::{File, Metadata, OpenOptions, symlink_metadata};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::bucket::{Bucket, Budget, BudgetOp};
use crate::clock;
use crate::escape::described;

pub(crate) use slots::{Entry, FileSlots, Slots};

/// The text that only our files begin with.
const MAGIC: &str = "retry budget, version 1\n";

/// Upper bound of what is read: more than our text, but little even of a huge file.
const MOST_READ: u64 = 256;

/// The latest time that the text can hold, in the year 2554. A clock beyond it is treated as
/// standing still there: nothing may be earned up to a time that cannot be recorded.
const LATEST: Duration = Duration::from_nanos(u64::MAX);

/// A budget and the file of its bucket.
pub(crate) struct Shared<'a> {
    path: &'a Path,
    budget: &'a Budget,
}

/// The result of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// The bucket was changed.
    Yes {
        /// Whether a token was left; always true for a refund.
        granted: bool,
        /// Whether the file was damaged, so that the bucket starts full.
        rebuilt: bool,
    },
    /// Another process holds the lock.
    Busy,
    /// The file cannot be used, for this reason.
    Unusable(String),
}

impl<'a> Shared<'a> {
    /// The bucket of this budget. Its file need not exist.
    pub(crate) fn new(path: &'a Path, budget: &'a Budget) -> Self {
        Self { path, budget }
    }

    /// Makes the change, unless another process holds the lock.
    pub(crate) fn change(&self, op: BudgetOp) -> Done {
        match self.try_change(op) {
            Ok(done) => done,
            Err(error) => Done::Unusable(described(&error)),
        }
    }

    fn try_change(&self, op: BudgetOp) -> io::Result<Done> {
        let file = opened(self.path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::AGAIN | Errno::INTR) => return Ok(Done::Busy),
            Err(error) => return Err(error.into()),
        }
        // If the file was removed before we locked it, others use another one by now.
        if !is_at(&file, self.path) {
            return Ok(Done::Busy);
        }
        self.change_locked(&file, op)
    }

    fn change_locked(&self, file: &File, op: BudgetOp) -> io::Result<Done> {
        let mut text = Vec::new();
        file.take(MOST_READ).read_to_end(&mut text)?;
        let now = clock::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = now.min(LATEST);
        let (mut bucket, rebuilt) = match Kept::of(&text) {
            Kept::Nothing => (Bucket::new(now), false),
            Kept::Bucket(bucket) => (bucket, false),
            Kept::Torn => (Bucket::new(now), true),
            Kept::Foreign => {
                let fault = "it is not a retry budget file, and is left unchanged";
                return Ok(Done::Unusable(fault.into()));
            }
        };
        let before = bucket;
        let granted = match op {
            BudgetOp::Spend => bucket.take(self.budget, now),
            BudgetOp::Refund => {
                bucket.reward(self.budget, now);
                true
            }
        };
        if bucket != before || rebuilt || text.is_empty() {
            file.write_all_at(written(&bucket).as_bytes(), 0)?;
            if rebuilt {
                file.set_len(written(&bucket).len() as u64)?;
            }
        }
        Ok(Done::Yes { granted, rebuilt })
    }
}

/// The contents of a file.
enum Kept {
    Nothing,
    Bucket(Bucket),
    /// Ours, but damaged.
    Torn,
    Foreign,
}

impl Kept {
    fn of(text: &[u8]) -> Self {
        if text.is_empty() {
            return Self::Nothing;
        }
        let Some(rest) = text.strip_prefix(MAGIC.as_bytes()) else {
            return Self::Foreign;
        };
        parsed(rest).map_or(Self::Torn, Self::Bucket)
    }
}

fn parsed(text: &[u8]) -> Option<Bucket> {
    let text = std::str::from_utf8(text).ok()?;
    let (spent, rest) = text.strip_prefix("spent ")?.split_once('\n')?;
    let refilled = rest.strip_prefix("refilled ")?.strip_suffix('\n')?;
    // Digits only: `parse` would accept a sign, too.
    let is_ours = |text: &str| text.len() == 20 && text.bytes().all(|c| c.is_ascii_digit());
    let number = |text: &str| is_ours(text).then(|| text.parse().ok())?;
    Some(Bucket {
        spent: number(spent)?,
        refilled: Duration::from_nanos(number(refilled)?),
    })
}

fn written(bucket: &Bucket) -> String {
    let refilled = u64::try_from(bucket.refilled.as_nanos()).unwrap_or(u64::MAX);
    format!(
        "{MAGIC}spent {:020}\nrefilled {refilled:020}\n",
        bucket.spent
    )
}

/// Opens a file for all who name it; makes it if there is none.
///
/// # Errors
/// When that is impossible, or the file must not be trusted.
fn opened(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(clarified)?;
    match fault(&file.metadata()?) {
        Some(fault) => Err(io::Error::new(ErrorKind::InvalidInput, fault)),
        None => Ok(file),
    }
}

/// Returns why a file must not be trusted or written to, if so.
fn fault(file: &Metadata) -> Option<&'static str> {
    let ours = rustix::process::geteuid().as_raw();
    if !file.is_file() {
        Some("it is not a regular file")
    } else if file.uid() != ours && file.uid() != 0 {
        Some("it belongs to another user")
    } else if file.mode() & 0o022 != 0 {
        Some("other users may write to it; run chmod go-w on it")
    } else if file.nlink() > 1 {
        Some("it has more than one hard link")
    } else {
        None
    }
}

/// Whether this is still the file at a path, not one that was removed or replaced.
fn is_at(file: &File, path: &Path) -> bool {
    let inode = |metadata: &Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), symlink_metadata(path)) {
        (Ok(ours), Ok(there)) => inode(&ours) == inode(&there),
        _ => false,
    }
}

/// Replaces the system's confusing message about a symbolic link.
fn clarified(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::ELOOP) => io::Error::new(
            ErrorKind::InvalidInput,
            "it is a symbolic link; links are not followed",
        ),
        _ => error,
    }
}
