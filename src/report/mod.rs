//! Reports of a run's events, on stderr or in a log.

pub(crate) mod github;
pub(crate) mod json;
mod reason;
pub(crate) mod sink;
pub(crate) mod stderr;
pub(crate) mod style;
pub(crate) mod text;

use crate::event::Event;
use crate::job::{Format, Job};
use github::Github;
use style::Style;
use text::Text;

/// A reporter for stderr, in the format that was asked for.
pub(crate) enum Reporter<'a> {
    /// For people.
    Text(Text<'a>),
    /// For GitHub Actions, and people who read there.
    Github(Github<'a>),
}

impl<'a> Reporter<'a> {
    /// A reporter for this job; lines for people look like this.
    pub(crate) fn new(job: &'a Job, style: Style) -> Self {
        match job.format {
            Format::Text | Format::Json => Self::Text(Text::new(job, style)),
            Format::Github => Self::Github(Github::new(job, style)),
        }
    }

    /// Returns the lines for this event, each with its newline; none if the event is not reported.
    /// If the state of stderr's last line is known, whoever writes these ends that line.
    pub(crate) fn lines(&self, event: &Event<'_>, line_is_known: bool) -> Option<String> {
        match self {
            Self::Text(text) => text.line(event),
            Self::Github(github) => github.lines(event, line_is_known),
        }
    }
}

/// A warning, as a fixed word and in a sentence.
pub(super) struct Warning {
    /// A fixed word for programs that read logs.
    pub(super) kind: &'static str,
    /// For people.
    pub(super) said: String,
}

impl Warning {
    /// Returns the warning of this event, if it is one.
    pub(super) fn of(event: &Event<'_>) -> Option<Self> {
        let (kind, said) = match event {
            Event::Nested => (
                "nested",
                "runs inside another retry, so attempts multiply".into(),
            ),
            Event::BudgetUnusable(reason) => (
                "budget_unusable",
                format!("cannot use the --shared file ({reason}); retries are not limited"),
            ),
            Event::SlotsUnusable(reason) => (
                "slots_unusable",
                format!("cannot use the slots of the --shared file ({reason}); attempts run without waiting"),
            ),
            Event::SlotInherited => (
                "slot_inherited",
                "runs in an attempt that holds a slot of the same --shared file, and takes no other".into(),
            ),
            Event::BudgetRebuilt => (
                "budget_rebuilt",
                "the --shared file was damaged; its budget starts full".into(),
            ),
            Event::LogUnusable(reason) => (
                "log_unusable",
                format!("cannot write the --log file ({reason})"),
            ),
            Event::InputSpent => (
                "input_spent",
                "input already read from stdin is lost; use --stdin replay to repeat it".into(),
            ),
            Event::HeadsUnreadable(reason) => (
                "heads_unreadable",
                format!("cannot read the --retry-after file ({reason})"),
            ),
            Event::NoRoomForOutput(reason) => (
                "no_room_for_output",
                format!("cannot hold back more output ({reason}); it is shown from here on"),
            ),
            Event::OutputLost(reason) => (
                "output_lost",
                format!("some of the command's output is lost ({reason})"),
            ),
            Event::OptionPassed(option) => (
                "option_passed",
                format!(
                    "{option} was passed to the command; write options of retry before the command, or write -- before the command to silence this"
                ),
            ),
            Event::Forks => (
                "forks",
                "setsid forked, so the command's exit status is lost; use setsid --wait".into(),
            ),
            Event::NotExpanded(word) => (
                "not_expanded",
                format!("nothing expands {word}; to use the variable: retry -- sh -c '...'"),
            ),
            _ => return None,
        };
        Some(Self { kind, said })
    }
}
