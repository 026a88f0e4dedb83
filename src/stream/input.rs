//! The stdin of each attempt.

use std::os::fd::{AsFd as _, OwnedFd};

use anyhow::{Context as _, Result, bail};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FileType, OFlags, SeekFrom};
use rustix::stdio::stdin;

use super::guard::Guard;
use super::replay::{NOT_KEPT, Replay};
use crate::job;
use crate::sys::fd;
use crate::sys::fd::{NULL, null};

/// The error message when /dev/null cannot be opened.
const NO_NULL: &str = "--stdin null needs /dev/null; mount /dev, or remove the option";

/// How the attempts of a run get their input.
pub(super) enum Input {
    /// Our own stdin, whatever it is.
    Ours,
    /// A regular file, which is rewound to where it was at the start.
    Rewound(Place),
    /// A pipe that we never read; a retry continues with what is left of it.
    Passing(Option<Level>),
    /// A pipe that we never read. There is no retry once an attempt has read from it.
    Guarded(Guard),
    /// A pipe whose whole content each attempt gets.
    Replayed(Box<Replay>),
    /// An empty input.
    Null,
}

/// The position that a file is read from.
pub(super) struct Place {
    start: u64,
    /// Whether an attempt may have read from there.
    is_read: bool,
}

/// How full a pipe is, and whether it has no writer left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level {
    held: u64,
    is_final: bool,
}

impl Input {
    /// Chooses the kind of input by what stdin is.
    ///
    /// # Errors
    /// When stdin cannot be replayed.
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
                let replay = Replay::open().context("cannot store stdin for a retry")?;
                Self::Replayed(Box::new(replay))
            }
            Ok(FileType::Fifo) if wanted == job::Input::Auto => Self::Guarded(Guard::default()),
            // A socket does not show what was read from it.
            Ok(FileType::Socket) if wanted == job::Input::Auto => Self::Ours,
            Ok(FileType::Fifo | FileType::Socket) => Self::Passing(None),
            _ if wanted == job::Input::Replay && rustix::termios::isatty(ours) => {
                bail!(
                    "--stdin replay cannot replay a terminal; pipe the input, or remove the option"
                )
            }
            _ => Self::Ours,
        })
    }

    /// Returns the stdin of the next attempt, if not our own.
    ///
    /// # Errors
    /// When the system is short of a resource.
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

    /// Passes on what can be passed on without waiting.
    ///
    /// # Errors
    /// When input cannot be read or kept.
    pub(super) fn pump(&mut self) -> Result<()> {
        match self {
            Self::Replayed(replay) => replay.pump(),
            _ => Ok(()),
        }
    }

    /// Notes that the command has ended.
    pub(super) fn end(&mut self) {
        if let Self::Replayed(replay) = self {
            replay.end();
        }
    }

    /// Returns the descriptor that becomes ready when there is something to pump.
    pub(super) fn watched(&self) -> Option<PollFd<'_>> {
        match self {
            Self::Replayed(replay) => replay.watched(),
            _ => None,
        }
    }

    /// Whether a retry would read only what the failed attempt has left in a pipe, without `--stdin
    /// inherit`.
    pub(super) fn has_lost_input(&mut self) -> bool {
        match self {
            Self::Guarded(guard) => guard.has_lost_input(),
            _ => false,
        }
    }

    /// Whether the last attempt has read from a pipe that we do not keep. Data written meanwhile
    /// may hide it.
    pub(super) fn is_consumed(&self) -> bool {
        let Self::Passing(Some(before)) = self else {
            return false;
        };
        Level::of_stdin().is_some_and(|now| {
            now.held < before.held || (now.held == 0 && now.is_final && !before.is_final)
        })
    }
}

impl Place {
    /// Rewinds the file to its position, unless output would then overwrite it.
    fn rewind(&mut self) {
        if std::mem::replace(&mut self.is_read, true) && !is_output_too() {
            // A file that cannot be rewound could not be read either.
            let _ = rustix::fs::seek(stdin(), SeekFrom::Start(self.start));
        }
    }
}

/// Whether stdout or stderr writes to the file on stdin at the position where stdin reads. They may
/// share that position or just happen to be at the same one; it is safe to treat both alike.
/// Appending does no harm.
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
