//! Reports of a run's events, on stderr or in a log.

pub(crate) mod github;
mod hint;
pub(crate) mod json;
mod log_file;
mod reason;
pub(crate) mod sink;
pub(crate) mod stderr;
pub(crate) mod text;

use crate::event::Event;
use crate::job::{Format, Job};
use github::Github;
use text::Text;

/// A reporter for stderr, in the format that was asked for.
pub(crate) enum Reporter<'a> {
    /// For people.
    Text(Text<'a>),
    /// For GitHub Actions, and people who read there.
    Github(Github<'a>),
}

impl<'a> Reporter<'a> {
    /// A reporter for this job; lines for people have this prefix.
    pub(crate) fn new(job: &'a Job, prefix: fn() -> String) -> Self {
        match job.format {
            Format::Text | Format::Json => Self::Text(Text::new(job, prefix)),
            Format::Github => Self::Github(Github::new(job, prefix)),
        }
    }

    /// Returns the lines for this event, each with its newline; none if it is not worth any.
    pub(crate) fn lines(&self, event: &Event<'_>) -> Option<String> {
        match self {
            Self::Text(text) => text.line(event),
            Self::Github(github) => github.lines(event),
        }
    }
}
