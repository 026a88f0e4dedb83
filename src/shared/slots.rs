//! Slots in a file that many processes share: a bound on how many attempts run at once.
//!
//! A slot is a record lock on a byte of the file, which the kernel frees however its holder ends.
//! Byte 0 is held while slots are counted and one is taken, so that no two take the last one. The
//! file is not that of the budget: closing any descriptor of a file drops the locks of the process
//! on it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::event::PollFd;

use super::{is_at, opened};
use crate::escape::described;
use crate::sys::Closes;
use crate::sys::record_lock::{Offset, lock, locked_in, unlock};

/// The text that only our files hold.
const MAGIC: &str = "retry slots, version 1\n";

/// The byte that is held while slots are counted.
const GATE: Offset = 0;

/// The slots at one place, of which this process holds one at most.
pub(crate) trait Slots {
    /// Returns how many there are.
    fn most(&self) -> u32;

    /// Takes a slot if one is free.
    fn enter(&mut self) -> Entry;

    /// Begins to watch for freed slots. A slot freed before must be looked for once more.
    fn watch(&mut self);

    /// Returns the descriptor that becomes readable when a slot may have been freed; none where
    /// nothing watches.
    fn watched(&self) -> Option<PollFd<'_>>;

    /// Gives the slot back, or ends the wait for one.
    fn leave(&mut self);
}

/// The slots in a file.
pub(crate) struct FileSlots {
    path: PathBuf,
    most: u32,
    /// The file, from the first look until the slot is given back.
    file: Option<File>,
    /// Tells of a freed slot; only while we wait for one.
    closes: Option<Closes>,
}

/// The result of a look at the slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A slot is ours.
    Had,
    /// None is free.
    Full,
    /// Another process is taking one: look again in a millisecond.
    Busy,
    /// The file cannot be used, for this reason.
    Unusable(String),
}

impl FileSlots {
    /// At most this many slots beside the file at a path.
    pub(crate) fn new(path: &Path, most: u32) -> Self {
        let mut name = OsString::from(path);
        name.push(".slots");
        Self {
            path: name.into(),
            most,
            file: None,
            closes: None,
        }
    }

    fn try_enter(&mut self) -> io::Result<Entry> {
        if let Some(closes) = &self.closes {
            closes.forget();
        }
        if self
            .file
            .as_ref()
            .is_some_and(|file| !is_at(file, &self.path))
        {
            self.leave();
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => checked(opened(&self.path)?)?,
        };
        let entry = take(&file, self.most)?;
        if entry == Entry::Had && !is_at(&file, &self.path) {
            // Others count in another file by now, and nothing tells of theirs.
            self.leave();
            return Ok(Entry::Busy);
        }
        self.file = Some(file);
        Ok(entry)
    }

    /// Returns a word that stands for the place, without its name: the same for all who name it.
    pub(crate) fn place(&self) -> String {
        let directory = self
            .path
            .parent()
            .filter(|path| !path.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        let directory = directory.canonicalize().unwrap_or(directory.into());
        let place = directory.join(self.path.file_name().unwrap_or_default());
        // FNV-1a, 64 bits.
        let hash = place.as_os_str().as_bytes().iter();
        let hash = hash.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    }
}

impl Slots for FileSlots {
    fn most(&self) -> u32 {
        self.most
    }

    fn enter(&mut self) -> Entry {
        let entry = self
            .try_enter()
            .unwrap_or_else(|error| Entry::Unusable(described(&error)));
        match entry {
            Entry::Had | Entry::Unusable(_) => self.closes = None,
            Entry::Full | Entry::Busy => {}
        }
        if let Entry::Unusable(_) = entry {
            self.file = None;
        }
        entry
    }

    fn watch(&mut self) {
        self.closes = Closes::of(&self.path);
    }

    fn watched(&self) -> Option<PollFd<'_>> {
        self.closes.as_ref().map(Closes::watched)
    }

    fn leave(&mut self) {
        // Others are told of a closed descriptor, not of a lock that is dropped.
        (self.file, self.closes) = (None, None);
    }
}

/// Returns the file if it is ours or empty, and marks it as ours.
fn checked(file: File) -> io::Result<File> {
    let mut text = [0; MAGIC.len()];
    let length = (&file).read(&mut text)?;
    if length == 0 {
        file.write_all_at(MAGIC.as_bytes(), 0)?;
    } else if text[..length] != *MAGIC.as_bytes() {
        let fault = "it is not a file of retry slots, and is left unchanged";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, fault));
    }
    Ok(file)
}

/// Takes the first free of so many slots.
fn take(file: &File, most: u32) -> io::Result<Entry> {
    // Most of those who are woken see here that they are late. If each took the gate for it, those
    // who could enter would wait for them.
    if is_full(&held(file)?, most) {
        return Ok(Entry::Full);
    }
    if !lock(file, GATE)? {
        return Ok(Entry::Busy);
    }
    let held = held(file)?;
    let entry = if is_full(&held, most) {
        Entry::Full
    } else {
        let free = (1..Offset::MAX).find(|slot| !held.contains(slot));
        let free = free.unwrap_or(Offset::MAX);
        if lock(file, free)? {
            Entry::Had
        } else {
            Entry::Busy
        }
    };
    unlock(file, GATE)?;
    Ok(entry)
}

fn is_full(held: &[Offset], most: u32) -> bool {
    u64::try_from(held.len()).is_ok_and(|held| held >= most.into())
}

/// Returns the slots that others hold, in no order.
fn held(file: &File) -> io::Result<Vec<Offset>> {
    let mut held = Vec::new();
    // Ranges to look at, each from a slot to before another; the last has no end.
    let mut ranges = vec![(GATE + 1, Offset::MAX)];
    while let Some((from, end)) = ranges.pop() {
        let length = if end == Offset::MAX { 0 } else { end - from };
        if let Some(slot) = locked_in(file, from, length)? {
            held.push(slot);
            ranges.extend(
                [(from, slot), (slot + 1, end)]
                    .iter()
                    .filter(|(from, end)| from < end),
            );
        }
    }
    Ok(held)
}
