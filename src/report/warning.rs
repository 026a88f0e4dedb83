//! What is amiss and yet does not end a run.

use crate::event::Event;

/// A warning, as data and in words.
pub(super) struct Warning {
    /// A fixed word for programs that read logs.
    pub(super) kind: &'static str,
    /// For people.
    pub(super) said: String,
}

impl Warning {
    /// What this event warns of, if it is a warning.
    pub(super) fn of(event: &Event<'_>) -> Option<Self> {
        let (kind, said) = match event {
            Event::Nested => (
                "nested",
                "runs inside another retry, so that attempts multiply".into(),
            ),
            Event::BudgetUnusable(reason) => (
                "budget_unusable",
                format!(
                    "retries are not bounded by --budget: the file of --shared cannot be used: {reason}"
                ),
            ),
            Event::BudgetRebuilt => (
                "budget_rebuilt",
                "the file of --shared was damaged; its budget begins anew".into(),
            ),
            Event::LogUnusable(reason) => (
                "log_unusable",
                format!("the file of --log cannot be written: {reason}"),
            ),
            Event::InputSpent => (
                "input_spent",
                "what was read from the pipe on stdin is gone; --stdin replay keeps it for the next attempt".into(),
            ),
            Event::HeadsUnreadable(reason) => (
                "heads_unreadable",
                format!("the file of --retry-after cannot be read: {reason}"),
            ),
            _ => return None,
        };
        Some(Self { kind, said })
    }
}
