//! The shapes of the lines of a log, whose fields tests/it/fixtures/log.schema.json describes.

use std::time::Duration;

use serde::Serialize;

use super::{ERROR, Stamp, Tally};
use crate::duration::{nanos, whole_millis};
use crate::event::Ended;
use crate::policy::{Decision, Policy, Reason, Success};
use crate::signal::Signal;
use crate::status::{Ending, Exit, OWN_FAILURE, Outcome};

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
pub(super) struct AttemptLine<'a> {
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
    http_status: Option<u16>,
    server_wait_ms: Option<u64>,
    deadline_left_ms: Option<u64>,
}

impl<'a> AttemptLine<'a> {
    pub(super) fn of(policy: &Policy, ended: &Ended<'a>, decision: &Decision) -> Self {
        let ending = ended.ending;
        let codes = Codes::of(policy, ending, decision);
        let (mut code, mut died_of, mut error) = (None, None, None);
        match &ending.outcome {
            Outcome::Exited(status) => code = Some(*status),
            Outcome::Killed(signal) => died_of = Some(*signal),
            Outcome::TimedOut => {}
            Outcome::NotStarted(fault) => error = Some(fault.reason.as_str()),
        }
        Self {
            attempt: count(ended.attempt),
            outcome: outcome(&ending.outcome, decision),
            code,
            signal: died_of.map(Signal::number),
            signal_name: died_of.map(|signal| signal.to_string()),
            error,
            duration_ms: millis(ended.took),
            retryable: codes.retryable,
            reason: codes.reason,
            rule: codes.rule,
            silent: ending.by_idle_timeout,
            http_status: ending.http_status,
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
pub(super) struct DelayLine {
    pub(super) attempt: u64,
    pub(super) delay_ms: u64,
    pub(super) ceiling_ms: u64,
    pub(super) source: &'static str,
    pub(super) deadline_left_ms: Option<u64>,
}

/// The slot of an attempt.
#[derive(Serialize)]
pub(super) struct SlotLine {
    pub(super) attempt: u64,
    pub(super) waited_ms: u64,
}

/// A warning.
#[derive(Serialize)]
pub(super) struct WarningLine<'a> {
    pub(super) kind: &'static str,
    pub(super) message: &'a str,
}

/// The end of the run.
#[derive(Serialize)]
pub(super) struct EndLine<'a> {
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

impl<'a> EndLine<'a> {
    /// The last line of a run with these totals.
    pub(super) fn of(tally: &Tally, exit: Result<Exit, &'a str>, stamp: &Stamp) -> Self {
        let exit_status = exit.map_or(OWN_FAILURE, Exit::code);
        let died_of = match exit {
            Ok(Exit::Raise(signal)) => Some(signal),
            Ok(Exit::Code(_)) | Err(_) => None,
        };
        let error = exit.err();
        let reason = tally.reason.filter(|_| error.is_none());
        Self {
            // The outcome of an attempt that started but did not end is unknown.
            outcome: tally
                .outcome
                .or(error.filter(|_| tally.attempts == 0).map(|_| ERROR)),
            reason: reason.unwrap_or(ERROR),
            error,
            exit_status,
            signal_name: died_of.map(|signal| signal.to_string()),
            attempts: count(tally.attempts),
            retries: count(tally.attempts.saturating_sub(1)),
            total_ms: millis(stamp.elapsed),
            slept_ms: millis(tally.slept),
            server_waits: tally.server_waits,
            deadline_exhausted: tally.is_out_of_time,
        }
    }
}

/// Returns the word for how an attempt ended.
pub(super) fn outcome(outcome: &Outcome, decision: &Decision) -> &'static str {
    match (decision, outcome) {
        (Decision::Succeed(_), _) => "success",
        (_, Outcome::Exited(_)) => "exit",
        (_, Outcome::Killed(_)) => "signal",
        (_, Outcome::TimedOut) => "timed_out",
        (_, Outcome::NotStarted(_)) => "not_started",
    }
}

/// The codes of a decision: words for programs to compare with.
pub(super) struct Codes {
    /// Why there is another attempt, or none.
    pub(super) reason: &'static str,
    /// Whether the rules would retry the attempt, even if a limit forbids it.
    pub(super) retryable: bool,
    /// The option that made the attempt a success, worth a retry or not worth one; `default` if
    /// that holds without any option, and none if no rule was consulted.
    pub(super) rule: Option<&'static str>,
}

impl Codes {
    pub(super) fn of(policy: &Policy, ending: &Ending, decision: &Decision) -> Self {
        let allowed = |reason| (reason, true, Some(what_allows(policy, ending)));
        let refused = |rule| ("not retryable", false, Some(rule));
        let (reason, retryable, rule) = match decision {
            Decision::Succeed(success) => {
                let rule = match success {
                    Success::Zero => None,
                    Success::Listed => Some("--success-on"),
                    Success::Matched(_) => Some("--success-if"),
                };
                ("success", false, rule)
            }
            Decision::Retry { .. } => allowed("retry"),
            Decision::Stop(reason) => match reason {
                Reason::Signal(_) => ("signal", false, None),
                Reason::LeftBehind(_) => ("left behind", false, None),
                Reason::Undelivered => ("undelivered", false, None),
                Reason::NeverStarts | Reason::AskedFor => refused("default"),
                Reason::StopOn => refused("--stop-on"),
                Reason::StopIf(_) => refused("--stop-if"),
                Reason::NotInRetryOn => refused("--retry-on"),
                Reason::NotInRetryIf => refused("--retry-if"),
                Reason::RetryAfter { .. } => allowed("retry-after"),
                Reason::Attempts => allowed("attempts"),
                Reason::Stdin => allowed("stdin"),
                Reason::Budget => allowed("budget"),
                Reason::Deadline { .. } => allowed("deadline"),
            },
        };
        Self {
            reason,
            retryable,
            rule,
        }
    }
}

/// Returns the option that makes a failure worth a retry. If a list and a pattern must both hold,
/// it is the pattern, which is consulted last.
fn what_allows(policy: &Policy, ending: &Ending) -> &'static str {
    let Ending {
        outcome, matched, ..
    } = ending;
    let asks_for_output = !policy.patterns.retry_if.is_empty();
    match &policy.retry_on {
        _ if matched.fail_if.is_some() && *outcome != Outcome::TimedOut => "--fail-if",
        Some(list) if !asks_for_output || list.set.names(outcome) => "--retry-on",
        _ if asks_for_output => "--retry-if",
        _ => "default",
    }
}
