//! What looks at an attempt's output while it passes.

use std::time::Duration;

use crate::clock;
use crate::patterns::{Matched, Patterns, Stream, Watch};
use crate::retry_after::Heads;

/// What looks at one stream of an attempt.
pub(super) struct Eyes {
    watch: Watch,
    heads: Option<Heads>,
    are_shut: bool,
}

impl Eyes {
    /// For these patterns and, if asked for, response heads.
    pub(super) fn new(patterns: &Patterns, stream: Stream, for_heads: bool) -> Self {
        Self {
            watch: Watch::new(patterns, stream),
            heads: for_heads.then(Heads::default),
            are_shut: !for_heads && !patterns.look_at(stream),
        }
    }

    /// Whether there is nothing that they look for.
    pub(super) fn are_shut(&self) -> bool {
        self.are_shut
    }

    /// Looks at what comes next.
    pub(super) fn see(&mut self, bytes: &[u8], matched: &mut Matched) {
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
