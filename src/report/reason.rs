//! Sentences about why a run ends, or what it warns of.

use std::ffi::OsStr;
use std::time::Duration;

use crate::duration::Shown;
use crate::escape;
use crate::event::{Ended, Event};
use crate::patterns::Pattern;
use crate::policy::{Policy, Reason};
use crate::status::Outcome;
use crate::status_set::StatusList;

/// Returns why there is no retry, after a colon; empty if the numbers in the line say it.
pub(super) fn because(policy: &Policy, ended: &Ended<'_>, reason: &Reason) -> String {
    let noun = ended.ending.outcome.noun();
    match reason {
        Reason::Budget => {
            ": budget: the retries that --budget allows to all who share it are spent".into()
        }
        Reason::Stdin => {
            ": stdin: input already read from the pipe is lost; use --stdin replay to repeat it, null if none is needed, or inherit to retry without it".into()
        }
        Reason::Undelivered => format!(
            ": undelivered: not all of its output was read by the deadline of {}",
            Shown(policy.deadline.unwrap_or(Duration::MAX))
        ),
        Reason::Attempts | Reason::NeverStarts | Reason::Signal(_) => String::new(),
        Reason::LeftBehind(pid) => format!(
            ": process {pid} could not be ended and is left behind, so no attempt may start beside it"
        ),
        Reason::AskedFor => {
            format!(": not retryable: {noun} is retried only if --retry-on names it")
        }
        Reason::StopOn => {
            let listed = list(policy.stop_on.as_ref());
            format!(": not retryable: {noun} is in --stop-on{listed}")
        }
        Reason::StopIf(index) => {
            let found = found("--stop-if", &policy.patterns.stop_if, *index);
            format!(": not retryable: {found}")
        }
        Reason::NotInRetryOn => format!(": {}", not_listed(policy, &ended.ending.outcome)),
        Reason::NotInRetryIf => format!(": {}", not_found(&ended.ending.outcome)),
        Reason::RetryAfter { wait } => format!(
            ": retry-after: the server asks for {}, more than --retry-after-max {}",
            Shown(*wait),
            Shown(policy.retry_after_max)
        ),
        Reason::Deadline { delay, server_wait } => {
            format!(": {}", deadline(policy, *delay, *server_wait, ended.total))
        }
    }
}

fn not_listed(policy: &Policy, outcome: &Outcome) -> String {
    let (noun, listed) = (outcome.noun(), list(policy.retry_on.as_ref()));
    // A range never includes these, although the list may seem to hold them.
    let word = match outcome {
        Outcome::TimedOut => Some("timeout".to_owned()),
        Outcome::NotStarted(_) => Some("spawn".to_owned()),
        Outcome::Killed(signal) if signal.is_asked_for() => Some(signal.to_string()),
        Outcome::Exited(_) | Outcome::Killed(_) => None,
    };
    let remedy = word.map_or_else(String::new, |word| format!("; add {word} to retry it"));
    format!("not retryable: {noun} is not in --retry-on{listed}{remedy}")
}

/// Says that no pattern was found; a time-out can be retried without one if it is listed.
fn not_found(outcome: &Outcome) -> String {
    let remedy = match outcome {
        Outcome::TimedOut => "; --retry-on any,timeout retries a time-out whatever it said",
        _ => "",
    };
    format!("not retryable: no line of the output matches --retry-if{remedy}")
}

/// Says why a delay does not fit in the deadline.
pub(super) fn deadline(
    policy: &Policy,
    delay: Duration,
    server_wait: Option<Duration>,
    total: Duration,
) -> String {
    let deadline = policy.deadline.unwrap_or(Duration::MAX);
    let (delay, reserve) = (Shown(delay), policy.reserve);
    let left = deadline.saturating_sub(total);
    if left.is_zero() {
        return format!("the deadline of {} is over", Shown(deadline));
    }
    let left = Shown(left);
    let deadline = Shown(deadline);
    let asked = server_wait.map_or_else(String::new, |wait| {
        format!("retry-after: the server asks for {}, and ", Shown(wait))
    });
    if reserve.is_zero() {
        format!(
            "{asked}a delay of {delay} does not fit in the deadline of {deadline}, of which {left} is left"
        )
    } else {
        let reserve = Shown(reserve);
        format!(
            "{asked}a delay of {delay} and the reserve of {reserve} do not fit in the deadline of {deadline}, of which {left} is left"
        )
    }
}

/// Says that the pattern of this option matched.
pub(super) fn found(option: &str, patterns: &[Pattern], index: usize) -> String {
    let pattern = patterns.get(index).map_or("", Pattern::written);
    let pattern = escape::shortened(&escape::escaped(OsStr::new(pattern)));
    format!("the output matches {option} '{pattern}'")
}

/// Returns the list as the user wrote it, after a blank.
pub(super) fn list(list: Option<&StatusList>) -> String {
    list.map_or_else(String::new, |list| format!(" {}", list.written))
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
