//! The decision whether to retry, from how an attempt ended, the history and the time.

mod verdict;

use std::time::Duration;

use crate::backoff::{Backoff, Jitter, State};
use crate::numbers::Attempts;
use crate::patterns::Patterns;
use crate::status::{Ending, Exit, FAILED_BY_OUTPUT, Outcome, TIMED_OUT};
use crate::status_set::{StatusList, StatusSet};

pub(crate) use verdict::{Decision, Reason, Success};

/// The user's rules for retries, as pure data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    /// How long to wait between attempts.
    pub(crate) backoff: Backoff,
    /// The maximum number of runs.
    pub(crate) attempts: Attempts,
    /// The limit for the whole run, from its start.
    pub(crate) deadline: Option<Duration>,
    /// The time before the deadline in which no retry may start.
    pub(crate) reserve: Duration,
    /// The time limit of each attempt.
    pub(crate) timeout: Option<Duration>,
    /// Outcomes to retry; without a list, [`StatusSet::default_retryable`].
    pub(crate) retry_on: Option<StatusList>,
    /// Outcomes never to retry.
    pub(crate) stop_on: Option<StatusList>,
    /// Outcomes that are a success, besides exit 0.
    pub(crate) success_on: Option<StatusList>,
    /// The patterns that decide by output.
    pub(crate) patterns: Patterns,
    /// The longest wait that a server may ask for.
    pub(crate) retry_after_max: Duration,
}

/// The attempts so far, as far as later decisions depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct History {
    /// Attempts made.
    pub(crate) attempts: u64,
    state: State,
}

impl Policy {
    /// Returns when a time limit ends an attempt that starts at `start`, if any does.
    pub(crate) fn attempt_ends_by(&self, start: Duration) -> Option<Duration> {
        let timeout = self.timeout.and_then(|timeout| start.checked_add(timeout));
        match (timeout, self.deadline) {
            (Some(timeout), Some(deadline)) => Some(timeout.min(deadline)),
            (timeout, deadline) => timeout.or(deadline),
        }
    }

    /// Returns the outcomes that remain to retry once all lists are applied.
    pub(crate) fn retryable(&self) -> StatusSet {
        let listed = self.retry_on.as_ref().map(|list| list.set.clone());
        let set = listed.unwrap_or_else(StatusSet::default_retryable);
        [&self.stop_on, &self.success_on]
            .into_iter()
            .flatten()
            .fold(set, |set, list| set.without(&list.set))
    }

    /// Whether any delay is random.
    pub(crate) fn draws(&self) -> bool {
        self.attempts != Attempts::AtMost(1) && self.backoff.jitter != Jitter::None
    }

    /// Returns the status to exit with after this last attempt and decision.
    pub(crate) fn exit(ending: &Ending, decision: &Decision) -> Exit {
        let Ending {
            outcome, matched, ..
        } = ending;
        match decision {
            Decision::Succeed(_) => Exit::Code(0),
            Decision::Stop(Reason::Undelivered) => Exit::Code(TIMED_OUT),
            _ if *outcome == Outcome::Exited(0) && matched.fail_if.is_some() => {
                Exit::Code(FAILED_BY_OUTPUT)
            }
            Decision::Stop(_) | Decision::Retry { .. } => outcome.exit(),
        }
    }

    /// Decides at the time `now` what follows an attempt that ended like this. `u` in [0, 1) is the
    /// draw for the delay.
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
        if let Some(success) = self.success(ending) {
            return Decision::Succeed(success);
        }
        if let Some(reason) = self.what_rules_out(ending) {
            return Decision::Stop(reason);
        }
        let most = self.attempts.most();
        if most.is_some_and(|most| history.attempts >= most) {
            return Decision::Stop(Reason::Attempts);
        }
        let range = self.backoff.range(history.state);
        let local = range.at(u);
        let asked = ending.server_wait;
        let delay = asked.map_or(local, |wait| {
            let range = self.backoff.at_least(wait, &range);
            let most = self.longest_that_fits(now);
            most.map_or(range, |most| range.within(most)).at(u)
        });
        let server_wait = asked.filter(|_| delay > local);
        if !self.fits(now, delay) {
            return Decision::Stop(Reason::Deadline { delay, server_wait });
        }
        if let Some(wait) = asked.filter(|wait| self.is_too_long(*wait, local)) {
            return Decision::Stop(Reason::RetryAfter { wait });
        }
        if ending.input_lost {
            return Decision::Stop(Reason::Stdin);
        }
        self.backoff.advance(&mut history.state, local);
        Decision::Retry {
            delay,
            range,
            server_wait,
        }
    }

    /// Whether a server asks for more than its limit, and for more than our own delay. A limit of
    /// zero refuses every wait.
    fn is_too_long(&self, wait: Duration, local: Duration) -> bool {
        let most = self.retry_after_max;
        wait > most && (wait > local || most.is_zero())
    }

    /// Returns why this ending is a success, if it is one.
    fn success(&self, ending: &Ending) -> Option<Success> {
        let Ending {
            outcome, matched, ..
        } = ending;
        if *outcome == Outcome::TimedOut || matched.fail_if.is_some() {
            None
        } else if *outcome == Outcome::Exited(0) {
            Some(Success::Zero)
        } else if lists(self.success_on.as_ref(), outcome) {
            Some(Success::Listed)
        } else {
            matched.success_if.map(Success::Matched)
        }
    }

    /// Returns the reason that ends the run whatever the status is, if any.
    fn what_forbids(ending: &Ending) -> Option<Reason> {
        let left_behind = ending.left_behind.map(Reason::LeftBehind);
        let undelivered = ending.undelivered.then_some(Reason::Undelivered);
        left_behind
            .or(ending.interrupted.map(Reason::Signal))
            .or(undelivered)
    }

    /// Returns why a failure is not worth a retry, if so.
    fn what_rules_out(&self, ending: &Ending) -> Option<Reason> {
        let Ending {
            outcome, matched, ..
        } = ending;
        match outcome {
            Outcome::NotStarted(fault) if !fault.class.passes() => {
                return Some(Reason::NeverStarts);
            }
            _ if lists(self.stop_on.as_ref(), outcome) => return Some(Reason::StopOn),
            _ => {}
        }
        if let Some(pattern) = matched.stop_if {
            return Some(Reason::StopIf(pattern));
        }
        let is_asked_for = matches!(outcome, Outcome::Killed(signal) if signal.is_asked_for());
        let is_failed_by_output = matched.fail_if.is_some() && *outcome != Outcome::TimedOut;
        match &self.retry_on {
            None if is_asked_for => Some(Reason::AskedFor),
            _ if is_failed_by_output => None,
            Some(list) if !list.set.holds(outcome) => Some(Reason::NotInRetryOn),
            Some(list) if list.set.names(outcome) => None,
            // It has not run, so it wrote nothing.
            None if matches!(outcome, Outcome::NotStarted(_)) => None,
            _ => {
                let is_missing = !self.patterns.retry_if.is_empty() && matched.retry_if.is_none();
                is_missing.then_some(Reason::NotInRetryIf)
            }
        }
    }

    /// Whether an attempt after this delay would start with enough time left.
    pub(crate) fn fits(&self, now: Duration, delay: Duration) -> bool {
        let Some(deadline) = self.deadline else {
            return true;
        };
        let left = deadline.saturating_sub(now).saturating_sub(delay);
        left >= self.least_left()
    }

    /// Returns the latest time at which a retry may start, if there is a deadline.
    pub(crate) fn latest_start(&self) -> Option<Duration> {
        let deadline = self.deadline?;
        Some(deadline.saturating_sub(self.least_left()))
    }

    /// Returns the longest delay that fits; none if no delay does, or without a deadline.
    fn longest_that_fits(&self, now: Duration) -> Option<Duration> {
        let left = self.deadline?.checked_sub(now)?;
        left.checked_sub(self.least_left())
    }

    /// Returns how much of the deadline must be left for an attempt to start.
    fn least_left(&self) -> Duration {
        self.reserve.max(Duration::from_nanos(1))
    }
}

fn lists(list: Option<&StatusList>, outcome: &Outcome) -> bool {
    list.is_some_and(|list| list.set.holds(outcome))
}

impl History {
    /// The history before the first attempt.
    pub(crate) fn new(policy: &Policy) -> Self {
        Self {
            attempts: 0,
            state: policy.backoff.start(),
        }
    }
}
