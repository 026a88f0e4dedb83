//! The bucket in a file that many processes share.
//!
//! The file is opened anew for each change and locked by flock(2), which a holder that is killed
//! cannot leave behind. Its text has a fixed length and is written by one call, so that no state is
//! ever half written.

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
use crate::job::Sharing;

/// What our files begin with, and no other does.
const MAGIC: &str = "retry budget, version 1\n";

/// More than our text, and little enough for any file.
const MOST_READ: u64 = 256;

/// The latest time that the text can hold, in the year 2554. A clock that is further on stands still
/// there: nothing may be earned up to a time that cannot be noted.
const LATEST: Duration = Duration::from_nanos(u64::MAX);

/// A budget and where its bucket is.
pub(crate) struct Shared<'a> {
    path: &'a Path,
    budget: &'a Budget,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// It is done; for a token, whether there was one.
    Yes {
        /// Whether there was a token.
        granted: bool,
        /// Whether the file was damaged and the bucket is full again.
        rebuilt: bool,
    },
    /// Another process has the lock.
    Busy,
    /// It cannot be done, for this reason.
    Unusable(String),
}

impl<'a> Shared<'a> {
    /// A bucket of this size at this place. The file need not be there.
    pub(crate) fn new(sharing: &'a Sharing) -> Self {
        Self {
            path: &sharing.path,
            budget: &sharing.budget,
        }
    }

    /// Does it, if nobody else has the lock.
    pub(crate) fn change(&self, op: BudgetOp) -> Done {
        match self.try_change(op) {
            Ok(done) => done,
            Err(error) => Done::Unusable(described(&error)),
        }
    }

    fn try_change(&self, op: BudgetOp) -> io::Result<Done> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(self.path)
            .map_err(clarified)?;
        if let Some(fault) = fault(&file.metadata()?) {
            return Ok(Done::Unusable(fault.into()));
        }
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::AGAIN | Errno::INTR) => return Ok(Done::Busy),
            Err(error) => return Err(error.into()),
        }
        // Between the two it may have been removed, and then others use another.
        let there = symlink_metadata(self.path);
        if !there.is_ok_and(|there| is_same(&there, &file)) {
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
                let fault = "it is not a file of ours, and is left as it is";
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

/// What a file holds.
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
    // Digits only: `parse` would take a sign, too.
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

/// Why a file must not be trusted, or written.
fn fault(file: &Metadata) -> Option<&'static str> {
    let ours = rustix::process::geteuid().as_raw();
    if !file.is_file() {
        Some("it is no regular file")
    } else if file.uid() != ours && file.uid() != 0 {
        Some("it belongs to another user")
    } else if file.mode() & 0o022 != 0 {
        Some("others may write to it; take that from them with chmod go-w")
    } else if file.nlink() > 1 {
        Some("it has another name elsewhere")
    } else {
        None
    }
}

fn is_same(there: &Metadata, file: &File) -> bool {
    file.metadata()
        .is_ok_and(|file| (file.dev(), file.ino()) == (there.dev(), there.ino()))
}

/// What the system says of a link that is not followed is not what people would call it.
fn clarified(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::ELOOP) => io::Error::new(
            ErrorKind::InvalidInput,
            "it is a link, and none is followed",
        ),
        _ => error,
    }
}
