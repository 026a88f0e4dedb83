//! Input that each attempt gets all of.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use anyhow::{Context as _, Result};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::stdio::stdin;

use super::spool::Spool;
use crate::sys::fd::{self, is_ready, never_wait, private_pipe, reopened, widen};

/// Bytes on their way at a time.
const BUFFER: usize = 128 * 1024;

/// What is said when there is no room.
pub(super) const NOT_KEPT: &str =
    "cannot keep stdin for a retry; set TMPDIR to where there is room";

/// How often a buffer is passed on before signals and limits are looked at again.
const MOST_ROUNDS: usize = 16;

/// A pipe that is kept as it is read.
pub(super) struct Replay {
    /// Nothing when it has come to its end.
    source: Option<OwnedFd>,
    /// Whether a read of the source may wait, because others have it too.
    may_wait: bool,
    spool: Spool,
    /// What the attempt reads from.
    feed: Option<Feed>,
    buffer: Vec<u8>,
}

/// The way to an attempt's stdin.
struct Feed {
    pipe: OwnedFd,
    /// How much of the spool has gone there.
    at: u64,
    /// Whether there may be more for it than it takes.
    is_full: bool,
}

impl Feed {
    /// Lets the attempt have what is in the source, and leaves it there; 0 at its end.
    ///
    /// # Errors
    /// AGAIN if nothing can go there now, and then it is known which of the two pipes to wait for.
    fn tee(&mut self, source: &OwnedFd) -> Result<usize, Errno> {
        let first = fd::tee(source.as_fd(), &self.pipe);
        if first != Err(Errno::AGAIN) {
            return first;
        }
        // Of a named pipe whose last writer was gone when we opened it, the end is told by nothing but
        // a read of what is empty; and no read is tried for a pipe that is full. So the source must
        // not be asked whether there is more.
        self.is_full = fd::is_full(&self.pipe);
        if self.is_full {
            return first;
        }
        // Nobody but us fills it, so that this time it cannot be the reason.
        fd::tee(source.as_fd(), &self.pipe)
    }
}

impl Replay {
    /// Keeps what comes through stdin, which is a pipe or a socket.
    ///
    /// # Errors
    /// When the system is short of something.
    pub(super) fn open() -> io::Result<Self> {
        let ours = stdin();
        // Who asks for a replay gives the pipe to us.
        widen(ours.as_fd());
        let own = reopened(ours.as_fd(), OFlags::RDONLY | OFlags::NONBLOCK);
        Ok(Self {
            may_wait: own.is_err(),
            source: Some(own.or_else(|_| ours.as_fd().try_clone_to_owned())?),
            spool: Spool::new()?,
            feed: None,
            buffer: Vec::new(),
        })
    }

    /// The first attempt reads what comes as it comes, and so does any other until all has come;
    /// then the file is enough.
    ///
    /// # Errors
    /// When the system is short of something.
    pub(super) fn start(&mut self) -> io::Result<OwnedFd> {
        self.feed = None;
        if self.source.is_none() {
            return self.spool.reader();
        }
        let (end, pipe) = private_pipe()?;
        never_wait(&pipe)?;
        widen(pipe.as_fd());
        self.feed = Some(Feed {
            pipe,
            at: 0,
            is_full: false,
        });
        Ok(end)
    }

    /// Carries on what can be carried without waiting.
    ///
    /// # Errors
    /// When what comes in cannot be read or kept.
    pub(super) fn pump(&mut self) -> Result<()> {
        for _ in 0..MOST_ROUNDS {
            let Some(feed) = &mut self.feed else {
                return Ok(());
            };
            if feed.at < self.spool.length() {
                if !self.feed_again()? {
                    return Ok(());
                }
            } else if !self.take()? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Gives the attempt more of what is kept. Whether it took any.
    fn feed_again(&mut self) -> Result<bool> {
        let Some(feed) = &mut self.feed else {
            return Ok(false);
        };
        let taken = match self.spool.fill(&feed.pipe, feed.at) {
            Err(error) if error != Errno::AGAIN && error != Errno::PIPE => {
                self.buffer.resize(BUFFER, 0);
                let read = self.spool.read_at(&mut self.buffer, feed.at);
                let read = read.context("cannot read what was kept of stdin")?;
                rustix::io::write(&feed.pipe, &self.buffer[..read])
            }
            taken => taken,
        };
        match taken {
            Ok(written) => feed.at += written as u64,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            // Whoever closes its input early needs no more of it.
            Err(_) => self.feed = None,
        }
        Ok(true)
    }

    /// Keeps what has come, and gives it to the attempt, which has all that came before. Whether
    /// there was anything, or the end.
    fn take(&mut self) -> Result<bool> {
        let (Some(source), Some(feed)) = (&self.source, &mut self.feed) else {
            return Ok(false);
        };
        match feed.tee(source) {
            Ok(0) => self.come_to_the_end(),
            Ok(length) => {
                feed.at += length as u64;
                self.spool.take(source, length).context(NOT_KEPT)?;
            }
            Err(Errno::AGAIN) => return Ok(false),
            Err(Errno::PIPE) => self.feed = None,
            Err(_) => return self.copy(),
        }
        Ok(true)
    }

    /// Nothing more comes, and the attempt is to learn of it.
    fn come_to_the_end(&mut self) {
        self.source = None;
        self.feed = None;
    }

    /// The same, where the system cannot do it without us.
    fn copy(&mut self) -> Result<bool> {
        let may_read = |source: &&OwnedFd| !self.may_wait || is_ready(source);
        let Some(source) = self.source.as_ref().filter(may_read) else {
            return Ok(false);
        };
        self.buffer.resize(BUFFER, 0);
        match rustix::io::read(source, &mut self.buffer) {
            Ok(0) => self.come_to_the_end(),
            Ok(length) => {
                let bytes = &self.buffer[..length];
                self.spool.append(bytes).context(NOT_KEPT)?;
                self.feed_again()?;
            }
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            Err(error) => return Err(error).context("cannot read stdin"),
        }
        Ok(true)
    }

    /// The attempt is over.
    pub(super) fn end(&mut self) {
        self.feed = None;
    }

    /// Ready when there is something to carry.
    pub(super) fn watched(&self) -> Option<PollFd<'_>> {
        let feed = self.feed.as_ref()?;
        if feed.is_full || feed.at < self.spool.length() {
            return Some(PollFd::new(&feed.pipe, PollFlags::OUT));
        }
        let source = self.source.as_ref()?;
        Some(PollFd::new(source, PollFlags::IN))
    }
}
