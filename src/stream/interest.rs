//! What a job wants to know of the command's output.

use super::eyes::Eyes;
use crate::job::{Heads, Job};
use crate::patterns::{Patterns, Stream};

/// What is looked for, and where.
pub(super) struct Interest<'a> {
    patterns: &'a Patterns,
    heads: Option<&'a Heads>,
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
            || matches!(self.heads, Some(Heads::Only(_)))
            || self.patterns.tell_streams_apart()
    }

    /// What looks at an attempt's output there.
    pub(super) fn eyes(&self, stream: Stream) -> Eyes {
        Eyes::new(self.patterns, stream, self.looks_for_heads(stream))
    }
}
