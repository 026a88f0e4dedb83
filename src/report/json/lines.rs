//! The shapes of the lines of a log, whose fields tests/it/fixtures/log.schema.json describes.

use std::time::Duration;

use serde::Serialize;

use crate::duration::{nanos, whole_millis};
use crate::event::Ended;
use crate::policy::{Decision, Policy};
use crate::report::json::codes;
use crate::signal::Signal;
use crate::status::Outcome;

/// The largest whole number that every JSON reader keeps exactly, 2^53 - 1. Anything larger, such
/// as an endless time, is written as this.
const LARGEST: u64 = (1 << 53) - 1;

/// Clamps a count to what every reader can keep.
pub(super) fn count(count: u64) -> u64 {
    count.min(LARGEST)
}

/// Converts to whole milliseconds, rounded half up and clamped.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(whole_millis(nanos(duration))).map_or(LARGEST, count)
}

/// A line: the fields that all have, and those of its kind.
#[derive(Serialize)]
pub(super) struct Line<'a, Rest> {
    pub(super) event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) schema: Option<u32>,
    pub(super) time: &'a str,
    pub(super) elapsed_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run_id: Option<&'a str>,
    pub(super) pid: u32,
    #[serde(flatten)]
    pub(super) rest: Rest,
}

/// The end of an attempt.
#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "it is the number of the attempt")]
pub(super) struct Attempt<'a> {
    attempt: u64,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    duration_ms: u64,
    retryable: bool,
    reason: &'static str,
    rule: Option<&'static str>,
    silent: bool,
    server_wait_ms: Option<u64>,
    deadline_left_ms: Option<u64>,
}

impl<'a> Attempt<'a> {
    pub(super) fn of(policy: &Policy, ended: &Ended<'a>, decision: &Decision) -> Self {
        let ending = ended.ending;
        let (mut code, mut died_of, mut error) = (None, None, None);
        match &ending.outcome {
            Outcome::Exited(status) => code = Some(*status),
            Outcome::Killed(signal) => died_of = Some(*signal),
            Outcome::TimedOut => {}
            Outcome::NotStarted(fault) => error = Some(fault.reason.as_str()),
        }
        Self {
            attempt: count(ended.attempt),
            outcome: codes::outcome(&ending.outcome, decision),
            code,
            signal: died_of.map(Signal::number),
            signal_name: died_of.map(|signal| signal.to_string()),
            error,
            duration_ms: millis(ended.took),
            retryable: codes::is_retryable(decision),
            reason: codes::reason(decision),
            rule: codes::rule(policy, ending, decision),
            silent: ending.by_idle_timeout,
            server_wait_ms: ending.server_wait.map(millis),
            deadline_left_ms: deadline_left(policy, ended.total),
        }
    }
}

/// Returns the milliseconds left until the deadline at this time, if there is one.
pub(super) fn deadline_left(policy: &Policy, now: Duration) -> Option<u64> {
    let left = policy.deadline.map(|deadline| deadline.saturating_sub(now));
    left.map(millis)
}

/// The start of a delay.
#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "it is the delay in milliseconds")]
pub(super) struct Delay {
    pub(super) attempt: u64,
    pub(super) delay_ms: u64,
    pub(super) ceiling_ms: u64,
    pub(super) source: &'static str,
    pub(super) deadline_left_ms: Option<u64>,
}

/// A warning.
#[derive(Serialize)]
pub(super) struct Warned<'a> {
    pub(super) kind: &'static str,
    pub(super) message: &'a str,
}

/// The end of the run.
#[derive(Serialize)]
pub(super) struct End<'a> {
    pub(super) outcome: Option<&'static str>,
    pub(super) reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<&'a str>,
    pub(super) exit_status: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) signal_name: Option<String>,
    pub(super) attempts: u64,
    pub(super) retries: u64,
    pub(super) total_ms: u64,
    pub(super) slept_ms: u64,
    pub(super) server_waits: u64,
    pub(super) deadline_exhausted: bool,
}
