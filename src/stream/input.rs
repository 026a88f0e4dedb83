//! What an attempt reads from stdin.

use std::os::fd::{AsFd as _, OwnedFd};

use anyhow::{Context as _, Result, bail};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FileType, OFlags, SeekFrom};
use rustix::stdio::stdin;

use super::guard::Guard;
use super::replay::{NOT_KEPT, Replay};
use crate::job;
use crate::sys::fd;
use crate::sys::stdio::{NULL, null};

/// What is said when there is no nothing to read.
const NO_NULL: &str = "--stdin null needs /dev/null; mount /dev, or leave the option out";

/// How the attempts of a run get their input.
pub(super) enum Input {
    /// The very stdin that we have, whatever it is.
    Ours,
    /// A regular file, which is rewound to where it was at the start.
    Rewound(Place),
    /// A pipe that we never read, and that is gone on with whatever was read from it.
    Passing(Option<Level>),
    /// A pipe that we never read, and whose rest is given to no attempt.
    Guarded(Guard),
    /// A pipe that each attempt gets all of.
    Replayed(Box<Replay>),
    /// Nothing.
    Null,
}

/// Where a file is read from.
pub(super) struct Place {
    start: u64,
    /// Whether an attempt may have read from there.
    is_read: bool,
}

/// How full a pipe is, and whether nobody can write to it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level {
    held: u64,
    is_final: bool,
}

impl Input {
    /// Looks what stdin is.
    ///
    /// # Errors
    /// When it cannot be replayed.
    pub(super) fn open(wanted: job::Input) -> Result<Self> {
        if wanted == job::Input::Null {
            return Ok(Self::Null);
        }
        let ours = stdin();
        let kind = rustix::fs::fstat(ours).map(|file| FileType::from_raw_mode(file.st_mode));
        Ok(match kind {
            Ok(FileType::RegularFile) => {
                let start = rustix::fs::tell(ours);
                start.map_or(Self::Ours, |start| {
                    Self::Rewound(Place {
                        start,
                        is_read: false,
                    })
                })
            }
            Ok(FileType::Fifo | FileType::Socket) if wanted == job::Input::Replay => {
                let replay = Replay::open().context("cannot keep stdin for a retry")?;
                Self::Replayed(Box::new(replay))
            }
            Ok(FileType::Fifo) if wanted == job::Input::Auto => Self::Guarded(Guard::default()),
            // What was read from a socket cannot be seen.
            Ok(FileType::Socket) if wanted == job::Input::Auto => Self::Ours,
            Ok(FileType::Fifo | FileType::Socket) => Self::Passing(None),
            _ if wanted == job::Input::Replay && rustix::termios::isatty(ours) => {
                bail!("--stdin replay cannot replay a terminal; pipe the input, or leave it out")
            }
            _ => Self::Ours,
        })
    }

    /// What the coming attempt is to have for stdin, if not ours.
    ///
    /// # Errors
    /// When the system is short of something.
    pub(super) fn start(&mut self) -> Result<Option<OwnedFd>> {
        match self {
            Self::Ours => Ok(None),
            Self::Rewound(place) => {
                place.rewind();
                Ok(None)
            }
            Self::Passing(level) => {
                *level = Level::of_stdin();
                Ok(None)
            }
            Self::Guarded(guard) => {
                guard.note();
                Ok(None)
            }
            Self::Replayed(replay) => replay.start().map(Some).context(NOT_KEPT),
            Self::Null => null().map(Some).context(NULL).context(NO_NULL),
        }
    }

    /// Carries on what can be carried without waiting.
    ///
    /// # Errors
    /// When what comes in cannot be read or kept.
    pub(super) fn pump(&mut self) -> Result<()> {
        match self {
            Self::Replayed(replay) => replay.pump(),
            _ => Ok(()),
        }
    }

    /// The command has ended.
    pub(super) fn end(&mut self) {
        if let Self::Replayed(replay) = self {
            replay.end();
        }
    }

    /// Ready when there is something to carry.
    pub(super) fn watched(&self) -> Option<PollFd<'_>> {
        match self {
            Self::Replayed(replay) => replay.watched(),
            _ => None,
        }
    }

    /// Whether a retry would run on what the failed attempt has left of a pipe, though nobody has
    /// asked for that.
    pub(super) fn is_eaten(&mut self) -> bool {
        match self {
            Self::Guarded(guard) => guard.is_eaten(),
            _ => false,
        }
    }

    /// Whether the last attempt has read from a pipe that we do not keep. What was written
    /// meanwhile may hide it.
    pub(super) fn is_spent(&self) -> bool {
        let Self::Passing(Some(before)) = self else {
            return false;
        };
        Level::of_stdin().is_some_and(|now| {
            now.held < before.held || (now.held == 0 && now.is_final && !before.is_final)
        })
    }
}

impl Place {
    /// Has the file read from its place again, unless that would have the output written over what
    /// stands there.
    fn rewind(&mut self) {
        if std::mem::replace(&mut self.is_read, true) && !is_output_too() {
            // If it cannot be, it could not be read before either.
            let _ = rustix::fs::seek(stdin(), SeekFrom::Start(self.start));
        }
    }
}

/// Whether stdout or stderr writes to the file that stdin is, where stdin reads: then they share one
/// position, or happen to stand at the same, and it is safe to take that for the same. What is
/// written at the end of a file, wherever its position is, is in no danger.
fn is_output_too() -> bool {
    let ours = stdin();
    let place = |fd| {
        let file = rustix::fs::fstat(fd).ok()?;
        Some((file.st_dev, file.st_ino))
    };
    let (read, position) = (place(ours), rustix::fs::tell(ours));
    [rustix::stdio::stdout(), rustix::stdio::stderr()]
        .into_iter()
        .any(|written| {
            let appends =
                || rustix::fs::fcntl_getfl(written).is_ok_and(|now| now.contains(OFlags::APPEND));
            place(written) == read && rustix::fs::tell(written) == position && !appends()
        })
}

impl Level {
    fn of_stdin() -> Option<Self> {
        let ours = stdin();
        let state = fd::state(PollFd::from_borrowed_fd(ours.as_fd(), PollFlags::IN));
        Some(Self {
            held: rustix::io::ioctl_fionread(ours).ok()?,
            is_final: state.contains(PollFlags::HUP),
        })
    }
}
