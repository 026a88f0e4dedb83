//! The fixed words of a log, for programs to compare with.

use crate::policy::{Decision, Policy, Reason, Success};
use crate::status::{Ending, Outcome};

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

/// Whether the rules would retry the attempt, even if a limit forbids it.
pub(super) fn is_retryable(decision: &Decision) -> bool {
    match decision {
        Decision::Retry { .. } => true,
        Decision::Succeed(_) => false,
        Decision::Stop(reason) => match reason {
            Reason::Attempts
            | Reason::Stdin
            | Reason::Budget
            | Reason::Deadline { .. }
            | Reason::RetryAfter { .. } => true,
            Reason::Signal(_)
            | Reason::LeftBehind(_)
            | Reason::Undelivered
            | Reason::NeverStarts
            | Reason::AskedFor
            | Reason::StopOn
            | Reason::StopIf(_)
            | Reason::NotInRetryOn
            | Reason::NotInRetryIf => false,
        },
    }
}

/// Returns the word for why there is another attempt, or none.
pub(super) fn reason(decision: &Decision) -> &'static str {
    match decision {
        Decision::Succeed(_) => "success",
        Decision::Retry { .. } => "retry",
        Decision::Stop(reason) => match reason {
            Reason::Signal(_) => "signal",
            Reason::LeftBehind(_) => "left_behind",
            Reason::Undelivered => "undelivered",
            Reason::NeverStarts
            | Reason::AskedFor
            | Reason::StopOn
            | Reason::StopIf(_)
            | Reason::NotInRetryOn
            | Reason::NotInRetryIf => "not_retryable",
            Reason::RetryAfter { .. } => "retry_after",
            Reason::Attempts => "attempts",
            Reason::Stdin => "stdin",
            Reason::Budget => "budget",
            Reason::Deadline { .. } => "deadline",
        },
    }
}

/// Returns the option that made the attempt a success, worth a retry or not worth one; `default` if
/// that holds without any option, and none if no rule was consulted.
pub(super) fn rule(policy: &Policy, ending: &Ending, decision: &Decision) -> Option<&'static str> {
    match decision {
        Decision::Succeed(Success::Zero)
        | Decision::Stop(Reason::Signal(_) | Reason::LeftBehind(_) | Reason::Undelivered) => None,
        Decision::Succeed(Success::Listed) => Some("--success-on"),
        Decision::Succeed(Success::Matched(_)) => Some("--success-if"),
        Decision::Stop(Reason::NeverStarts | Reason::AskedFor) => Some("default"),
        Decision::Stop(Reason::StopOn) => Some("--stop-on"),
        Decision::Stop(Reason::StopIf(_)) => Some("--stop-if"),
        Decision::Stop(Reason::NotInRetryOn) => Some("--retry-on"),
        Decision::Stop(Reason::NotInRetryIf) => Some("--retry-if"),
        Decision::Retry { .. }
        | Decision::Stop(
            Reason::Attempts
            | Reason::Stdin
            | Reason::Budget
            | Reason::Deadline { .. }
            | Reason::RetryAfter { .. },
        ) => Some(what_allows(policy, ending)),
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
