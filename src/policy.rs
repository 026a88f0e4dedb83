//! Whether to try again: one decision from how an attempt ended, what came before, and the time.

use std::time::Duration;

use crate::backoff::{Backoff, Progress};
use crate::lists::{StatusList, StatusSet};
use crate::numbers::Attempts;
use crate::signal::Signal;
use crate::status::{Ending, Exit, Outcome};

/// What the user wants, as pure data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    /// How long to wait.
    pub(crate) backoff: Backoff,
    /// How many runs there may be.
    pub(crate) attempts: Attempts,
    /// When everything must be over, since the start.
    pub(crate) deadline: Option<Duration>,
    /// No retry starts with less than this left of the deadline.
    pub(crate) reserve: Duration,
    /// How long one attempt may take.
    pub(crate) timeout: Option<Duration>,
    /// Endings to retry; every failure that is worth it if there is no list.
    pub(crate) retry_on: Option<StatusList>,
    /// Endings never to retry.
    pub(crate) stop_on: Option<StatusList>,
    /// Endings that are success besides exit 0.
    pub(crate) success_on: Option<StatusList>,
}

/// What a decision needs to know of the attempts so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct History {
    /// Attempts made.
    pub(crate) attempts: u64,
    progress: Progress,
}

/// What comes after an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It succeeded: by exit 0, or by a rule.
    Succeed {
        /// Whether `--success-on` made a success of it.
        by_rule: bool,
    },
    /// It failed, and there is no retry.
    Stop(Reason),
    /// It failed, and the next attempt starts after this delay.
    Retry {
        /// What is slept.
        delay: Duration,
    },
}

/// Why there is no retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A fatal signal reached us.
    Signal(Signal),
    /// This process could not be ended, and no attempt may run beside it.
    LeftBehind(u32),
    /// No list can make this ending worth a retry: the command cannot be executed at all.
    NeverStarts,
    /// It died of a signal that somebody asked for, which is retried only if named.
    AskedFor,
    /// It is in `--stop-on`.
    StopOn,
    /// It is not in `--retry-on`.
    NotInRetryOn,
    /// All attempts are made.
    Attempts,
    /// The next delay, with the reserve, does not fit in the deadline.
    Deadline {
        /// The delay that does not fit.
        delay: Duration,
    },
}

impl Policy {
    /// When a time limit ends an attempt that starts at `start`, if any does.
    pub(crate) fn attempt_ends_by(&self, start: Duration) -> Option<Duration> {
        let timeout = self.timeout.and_then(|timeout| start.checked_add(timeout));
        match (timeout, self.deadline) {
            (Some(timeout), Some(deadline)) => Some(timeout.min(deadline)),
            (timeout, deadline) => timeout.or(deadline),
        }
    }

    /// The endings that the lists leave to retry.
    pub(crate) fn retryable(&self) -> StatusSet {
        let listed = self.retry_on.as_ref().map(|list| list.set.clone());
        let set = listed.unwrap_or_else(StatusSet::default_retryable);
        [&self.stop_on, &self.success_on]
            .into_iter()
            .flatten()
            .fold(set, |set, list| set.without(&list.set))
    }

    /// The status to exit with after this last attempt and decision.
    pub(crate) fn exit(outcome: &Outcome, decision: &Decision) -> Exit {
        match decision {
            Decision::Succeed { .. } => Exit::Code(0),
            Decision::Stop(_) | Decision::Retry { .. } => outcome.exit(),
        }
    }

    /// Decides at the time `now` what comes after an attempt that ended like this. `u` in [0, 1)
    /// is the draw for the delay.
    pub(crate) fn decide(
        &self,
        history: &mut History,
        ending: &Ending,
        now: Duration,
        u: f64,
    ) -> Decision {
        history.attempts += 1;
        if let Some(reason) = Self::what_forbids(ending) {
            return Decision::Stop(reason);
        }
        if ending.outcome == Outcome::Exited(0) {
            return Decision::Succeed { by_rule: false };
        }
        if lists(self.success_on.as_ref(), &ending.outcome) {
            return Decision::Succeed { by_rule: true };
        }
        if let Some(reason) = self.what_rules_out(&ending.outcome) {
            return Decision::Stop(reason);
        }
        if self.attempts.used_up_by(history.attempts) {
            return Decision::Stop(Reason::Attempts);
        }
        let delay = self.backoff.window(history.progress).at(u);
        if !self.fits(now, delay) {
            return Decision::Stop(Reason::Deadline { delay });
        }
        self.backoff.advance(&mut history.progress, delay);
        Decision::Retry { delay }
    }

    /// What ends the retrying whatever the status is.
    fn what_forbids(ending: &Ending) -> Option<Reason> {
        let left_behind = ending.left_behind.map(Reason::LeftBehind);
        left_behind.or(ending.interrupted.map(Reason::Signal))
    }

    /// What makes a failure not worth a retry.
    fn what_rules_out(&self, outcome: &Outcome) -> Option<Reason> {
        match outcome {
            Outcome::NotStarted(fault) if !fault.class.passes() => {
                return Some(Reason::NeverStarts);
            }
            _ if lists(self.stop_on.as_ref(), outcome) => return Some(Reason::StopOn),
            _ => {}
        }
        match &self.retry_on {
            Some(list) => (!list.set.holds(outcome)).then_some(Reason::NotInRetryOn),
            None => (!StatusSet::default_retryable().holds(outcome)).then_some(Reason::AskedFor),
        }
    }

    /// Whether an attempt after this delay would start with time left, and enough of it.
    pub(crate) fn fits(&self, now: Duration, delay: Duration) -> bool {
        let Some(deadline) = self.deadline else {
            return true;
        };
        let left = deadline.saturating_sub(now).saturating_sub(delay);
        !left.is_zero() && left >= self.reserve
    }
}

fn lists(list: Option<&StatusList>, outcome: &Outcome) -> bool {
    list.is_some_and(|list| list.set.holds(outcome))
}

impl History {
    /// Before the first attempt.
    pub(crate) fn new(policy: &Policy) -> Self {
        Self {
            attempts: 0,
            progress: policy.backoff.start(),
        }
    }
}
