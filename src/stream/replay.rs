//! Input that is replayed in full to each attempt.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use anyhow::{Context as _, Result};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::stdio::stdin;

use super::spool::Spool;
use crate::sys::fd::{self, is_ready, never_wait, private_pipe, reopened, widen};

/// The size of the buffer for copying, in bytes.
const BUFFER: usize = 128 * 1024;

/// The error message when there is no room.
pub(super) const NOT_KEPT: &str =
    "cannot store stdin for a retry; set TMPDIR to a directory with free space";

/// How many buffers are passed on before signals and limits are checked again.
const MOST_ROUNDS: usize = 16;

/// A pipe whose content is kept as it is read.
pub(super) struct Replay {
    /// The pipe; none once it has ended.
    source: Option<OwnedFd>,
    /// Whether a read of the source may block, because others share it.
    may_wait: bool,
    spool: Spool,
    /// The pipe that the attempt reads from.
    feed: Option<Feed>,
    buffer: Vec<u8>,
}

/// The pipe to an attempt's stdin.
struct Feed {
    pipe: OwnedFd,
    /// How much of the spool has been passed on.
    at: u64,
    /// Whether the pipe is full, so that more input may be waiting for it.
    is_full: bool,
}

impl Feed {
    /// Copies what the source holds to the attempt without consuming it; returns 0 at the end.
    ///
    /// # Errors
    /// AGAIN if nothing can be copied now; `is_full` then tells which of the two pipes to wait for.
    fn tee(&mut self, source: &OwnedFd) -> Result<usize, Errno> {
        let first = fd::tee(source.as_fd(), &self.pipe);
        if first != Err(Errno::AGAIN) {
            return first;
        }
        // If the last writer of a named pipe was gone when we opened it, only a read of the empty
        // pipe shows its end, and tee(2) does not read while its target is full. So ask the target
        // whether it is full, not the source whether it holds more.
        self.is_full = fd::is_full(&self.pipe);
        if self.is_full {
            return first;
        }
        // Only we fill the target, so that this time it cannot be the reason.
        fd::tee(source.as_fd(), &self.pipe)
    }
}

impl Replay {
    /// Keeps what comes through stdin, which is a pipe or a socket.
    ///
    /// # Errors
    /// When the system is short of a resource.
    pub(super) fn open() -> io::Result<Self> {
        let ours = stdin();
        // Whoever asks for a replay gives us the pipe, so we may widen it.
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

    /// Returns the stdin of the next attempt. Until all input has come, an attempt reads it as it
    /// comes; after that, the file is enough.
    ///
    /// # Errors
    /// When the system is short of a resource.
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

    /// Passes on what can be passed on without waiting.
    ///
    /// # Errors
    /// When input cannot be read or kept.
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

    /// Passes more of the kept input to the attempt. Returns whether it took any.
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
            // An attempt that closes its input early needs no more of it.
            Err(_) => self.feed = None,
        }
        Ok(true)
    }

    /// Keeps new input, and passes it to the attempt, which has had all before it. Returns whether
    /// there was any, or the end.
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

    /// Handles the end of the input, which the attempt must notice.
    fn come_to_the_end(&mut self) {
        self.source = None;
        self.feed = None;
    }

    /// Does the same through a buffer, where the system cannot tee.
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

    /// Notes that the attempt has ended.
    pub(super) fn end(&mut self) {
        self.feed = None;
    }

    /// Returns the descriptor that becomes ready when there is something to pump.
    pub(super) fn watched(&self) -> Option<PollFd<'_>> {
        let feed = self.feed.as_ref()?;
        if feed.is_full || feed.at < self.spool.length() {
            return Some(PollFd::new(&feed.pipe, PollFlags::OUT));
        }
        let source = self.source.as_ref()?;
        Some(PollFd::new(source, PollFlags::IN))
    }
}
