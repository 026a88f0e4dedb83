//! What looks at an attempt's output while it passes.

use std::io;
use std::time::Duration;

use crate::clock;
use crate::job::{Job, RetryAfterSource};
use crate::patterns::{Matched, Patterns, Stream, Watch};
use crate::retry_after::HeadParser;

/// What looks at one stream of an attempt.
pub(super) struct Scanner {
    watch: Watch,
    heads: Option<HeadParser>,
    is_idle: bool,
}

impl Scanner {
    /// For these patterns and, if asked for, response heads.
    pub(super) fn new(patterns: &Patterns, stream: Stream, for_heads: bool) -> Self {
        Self {
            watch: Watch::new(patterns, stream),
            heads: for_heads.then(HeadParser::default),
            is_idle: !for_heads && !patterns.look_at(stream),
        }
    }

    /// Whether it looks for nothing.
    pub(super) fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Looks at what comes next.
    pub(super) fn scan(&mut self, bytes: &[u8], matched: &mut Matched) {
        self.watch.feed(bytes, matched);
        if let Some(heads) = &mut self.heads {
            heads.feed(bytes);
        }
    }

    /// Nothing more comes. Tells the wait that a server asked for.
    pub(super) fn finish(self, matched: &mut Matched) -> Option<Duration> {
        self.watch.finish(matched);
        self.heads?.wait(|| clock::now().into())
    }
}

/// What is looked for, and where.
pub(super) struct Interest<'a> {
    patterns: &'a Patterns,
    heads: Option<&'a RetryAfterSource>,
    /// Whether it matters that anything is written at all.
    in_life: bool,
    /// Whether stdout is held back.
    pub(super) holds_stdout: bool,
}

impl<'a> Interest<'a> {
    /// What this job asks for.
    pub(super) fn of(job: &'a Job) -> Self {
        Self {
            patterns: &job.policy.patterns,
            heads: job.streams.heads.as_ref(),
            in_life: job.supervision.idle_timeout.is_some(),
            holds_stdout: job.streams.stdout_once,
        }
    }

    /// Whether anything looks at what the command writes there.
    pub(super) fn looks_at(&self, stream: Stream) -> bool {
        self.looks_for_heads(stream) || self.in_life || self.patterns.look_at(stream)
    }

    fn looks_for_heads(&self, stream: Stream) -> bool {
        self.heads.is_some_and(|heads| heads.may_be_in(stream))
    }

    /// Whether it matters which of the two streams something was written to.
    pub(super) fn tells_streams_apart(&self) -> bool {
        self.holds_stdout
            || matches!(self.heads, Some(RetryAfterSource::Only(_)))
            || self.patterns.tell_streams_apart()
    }

    /// What looks at an attempt's output there.
    pub(super) fn scanner(&self, stream: Stream) -> Scanner {
        Scanner::new(self.patterns, stream, self.looks_for_heads(stream))
    }
}

/// What was learned from the streams of an attempt.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Which patterns were found.
    pub(crate) matched: Matched,
    /// The wait that a server asked for.
    pub(crate) server_wait: Option<Duration>,
    /// Why not all of stdout could be kept, where it is held back.
    pub(crate) unkept: Option<io::Error>,
    /// Why a part of stdout was not passed on.
    pub(crate) loss: Option<Loss>,
    /// Why the file for response heads could not be read.
    pub(crate) unreadable: Option<io::Error>,
}

/// Why output was not passed on.
#[derive(Debug)]
pub(crate) enum Loss {
    /// Nobody reads it any more.
    NoReader,
    /// It could not be written.
    Failed(io::Error),
    /// Its reader has not taken it in time.
    NotTaken,
}
