//! The search of an attempt's output as it passes through us.

use std::io;
use std::time::Duration;

use crate::clock;
use crate::job::{Job, Output, RetryAfterSource};
use crate::patterns::{Matched, Patterns, Stream, Watch};
use crate::retry_after::HeadParser;

/// A scanner for one stream of an attempt.
pub(super) struct Scanner {
    watch: Watch,
    heads: Option<HeadParser>,
    is_idle: bool,
}

impl Scanner {
    /// A scanner for these patterns and, if asked for, response heads.
    pub(super) fn new(patterns: &Patterns, stream: Stream, for_heads: bool) -> Self {
        Self {
            watch: Watch::new(patterns, stream),
            heads: for_heads.then(HeadParser::default),
            is_idle: !for_heads && !patterns.look_at(stream),
        }
    }

    /// Whether it has nothing to look for.
    pub(super) fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Scans the next bytes.
    pub(super) fn scan(&mut self, bytes: &[u8], matched: &mut Matched) {
        self.watch.feed(bytes, matched);
        if let Some(heads) = &mut self.heads {
            heads.feed(bytes);
        }
    }

    /// Ends the stream; returns the wait that a server asked for.
    pub(super) fn finish(self, matched: &mut Matched) -> Option<Duration> {
        self.watch.finish(matched);
        self.heads?.wait(|| clock::now().into())
    }
}

/// The streams to scan, with what to look for.
pub(super) struct Interest<'a> {
    patterns: &'a Patterns,
    heads: Option<&'a RetryAfterSource>,
    /// Whether any output counts as activity.
    in_life: bool,
    /// Whether stdout is held back.
    pub(super) holds_stdout: bool,
}

impl<'a> Interest<'a> {
    /// The interest of this job.
    pub(super) fn of(job: &'a Job) -> Self {
        Self {
            patterns: &job.policy.patterns,
            heads: job.streams.heads.as_ref(),
            in_life: job.supervision.idle_timeout.is_some(),
            holds_stdout: match job.streams.stdout {
                Output::Stream => false,
                Output::Once => true,
            },
        }
    }

    /// Whether the command's output on this stream is looked at.
    pub(super) fn looks_at(&self, stream: Stream) -> bool {
        self.looks_for_heads(stream) || self.in_life || self.patterns.look_at(stream)
    }

    fn looks_for_heads(&self, stream: Stream) -> bool {
        self.heads.is_some_and(|heads| heads.may_be_in(stream))
    }

    /// Whether it matters which of the two streams output was written to.
    pub(super) fn tells_streams_apart(&self) -> bool {
        self.holds_stdout
            || matches!(self.heads, Some(RetryAfterSource::Only(_)))
            || self.patterns.tell_streams_apart()
    }

    /// Returns a scanner for an attempt's output on this stream.
    pub(super) fn scanner(&self, stream: Stream) -> Scanner {
        Scanner::new(self.patterns, stream, self.looks_for_heads(stream))
    }
}

/// Everything learned from the streams of an attempt.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// The patterns that were found.
    pub(crate) matched: Matched,
    /// The wait that a server asked for.
    pub(crate) server_wait: Option<Duration>,
    /// Why held-back stdout could not be kept in full.
    pub(crate) unkept: Option<io::Error>,
    /// Why a part of stdout was lost.
    pub(crate) loss: Option<Loss>,
    /// Why the header file could not be read.
    pub(crate) unreadable: Option<io::Error>,
}

/// Why output was lost.
#[derive(Debug)]
pub(crate) enum Loss {
    /// It has no reader any more.
    NoReader,
    /// It could not be written.
    Failed(io::Error),
    /// Its reader did not take it in time.
    NotTaken,
}
