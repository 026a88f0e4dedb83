//! Events as lines for people.

use std::ffi::OsStr;
use std::time::Duration;

use crate::event::{Ended, Event};
use crate::job::{Job, Verbosity};
use crate::lists::StatusList;
use crate::plain;
use crate::policy::{Decision, Policy, Reason};
use crate::report::hint;
use crate::status::Outcome;
use crate::units::Shown;

/// What every line begins with; with the process id where lines of several runs may mix.
pub(crate) fn prefix(pid: Option<u32>) -> String {
    pid.map_or_else(|| "retry: ".into(), |pid| format!("retry[{pid}]: "))
}

/// Turns events into lines.
pub(crate) struct Text<'a> {
    prefix: String,
    name: String,
    program: &'a OsStr,
    policy: &'a Policy,
    verbosity: Verbosity,
}

impl<'a> Text<'a> {
    /// Lines about this job, each with this prefix.
    pub(crate) fn new(job: &'a Job, prefix: String) -> Self {
        let program = job.command.first().map_or(OsStr::new(""), |word| word);
        let (policy, verbosity) = (&job.policy, job.verbosity);
        Self {
            prefix,
            name: plain::program_name(program),
            program,
            policy,
            verbosity,
        }
    }

    /// The line for this event, with its newline; none if it is not worth one.
    pub(crate) fn line(&self, event: &Event<'_>) -> Option<String> {
        let (worth, said) = self.say(event);
        (self.verbosity >= worth).then(|| format!("{}{}: {said}\n", self.prefix, self.name))
    }

    fn say(&self, event: &Event<'_>) -> (Verbosity, String) {
        let of = self.policy.attempts;
        match event {
            Event::Starting { attempt, .. } => {
                (Verbosity::Verbose, format!("attempt {attempt}/{of} starts"))
            }
            Event::Forwarded(signal) => (Verbosity::Verbose, format!("{signal} passed on")),
            Event::Ignored(signal) => (
                Verbosity::Verbose,
                format!("{signal} ignored during the delay"),
            ),
            Event::LimitReached(signal) => (
                Verbosity::Verbose,
                format!("time limit reached; {signal} sent"),
            ),
            Event::Killed => (Verbosity::Verbose, "still running; SIGKILL sent".into()),
            Event::Ended(ended, Decision::Succeed { by_rule }) => {
                let at_first = ended.attempt == 1;
                let worth = if at_first {
                    Verbosity::Verbose
                } else {
                    Verbosity::Normal
                };
                (worth, self.success(ended, *by_rule))
            }
            Event::Ended(ended, Decision::Stop(reason)) => {
                (Verbosity::Normal, self.stop(ended, reason))
            }
            Event::Ended(ended, Decision::Retry { delay }) => {
                let said = format!("{}; next in {}", self.failed(ended), Shown(*delay));
                (Verbosity::Normal, said)
            }
            Event::TooLate { attempt, total } => {
                let because = self.deadline(Duration::ZERO, *total);
                let total = Shown(*total);
                let said = format!("giving up after attempt {attempt}/{of} and {total}: {because}");
                (Verbosity::Normal, said)
            }
            Event::Interrupted {
                signal,
                attempt,
                total,
            } => {
                let total = Shown(*total);
                let said = format!("stopped by {signal} after attempt {attempt}/{of}, {total} in");
                (Verbosity::Normal, said)
            }
        }
    }

    fn success(&self, ended: &Ended<'_>, by_rule: bool) -> String {
        let (attempt, of, total) = (ended.attempt, self.policy.attempts, Shown(ended.total));
        let said = format!("succeeded on attempt {attempt}/{of} after {total}");
        if by_rule {
            let (noun, listed) = (ended.outcome.noun(), list(self.policy.success_on.as_ref()));
            format!("{said}: {noun} is in --success-on{listed}")
        } else {
            said
        }
    }

    fn failed(&self, ended: &Ended<'_>) -> String {
        let Ended {
            attempt,
            outcome,
            took,
            ..
        } = ended;
        let failed = format!(
            "attempt {attempt}/{} failed: {outcome}",
            self.policy.attempts
        );
        match outcome {
            Outcome::NotStarted(_) => failed,
            _ => format!("{failed} after {}", Shown(*took)),
        }
    }

    fn stop(&self, ended: &Ended<'_>, reason: &Reason) -> String {
        let outcome = ended.outcome;
        match reason {
            Reason::NeverStarts => {
                format!("{outcome}{}", hint::of(outcome, self.program, &self.name))
            }
            Reason::Signal(signal) => {
                let (attempt, of, took) = (ended.attempt, self.policy.attempts, Shown(ended.took));
                format!("stopped by {signal} during attempt {attempt}/{of}: {outcome} after {took}")
            }
            _ => {
                let because = self.because(ended, reason);
                format!(
                    "{}; giving up after {}{because}",
                    self.failed(ended),
                    Shown(ended.total)
                )
            }
        }
    }

    /// Why there is no retry, behind a colon; empty if the numbers of the line say it.
    fn because(&self, ended: &Ended<'_>, reason: &Reason) -> String {
        let noun = ended.outcome.noun();
        match reason {
            Reason::Attempts | Reason::NeverStarts | Reason::Signal(_) => String::new(),
            Reason::LeftBehind(pid) => format!(
                ": process {pid} could not be ended and is left behind, so no attempt may start beside it"
            ),
            Reason::AskedFor => {
                format!(": not retryable: {noun} is retried only if --retry-on names it")
            }
            Reason::StopOn => {
                let listed = list(self.policy.stop_on.as_ref());
                format!(": not retryable: {noun} is in --stop-on{listed}")
            }
            Reason::NotInRetryOn => format!(": {}", self.not_listed(ended.outcome)),
            Reason::Deadline { delay } => format!(": {}", self.deadline(*delay, ended.total)),
        }
    }

    fn not_listed(&self, outcome: &Outcome) -> String {
        let (noun, listed) = (outcome.noun(), list(self.policy.retry_on.as_ref()));
        // These are never meant by a range, so that the list may seem to hold them.
        let word = match outcome {
            Outcome::TimedOut => Some("timeout".to_owned()),
            Outcome::NotStarted(_) => Some("spawn".to_owned()),
            Outcome::Killed(signal) if signal.is_asked_for() => Some(signal.to_string()),
            Outcome::Exited(_) | Outcome::Killed(_) => None,
        };
        let remedy = word.map_or_else(String::new, |word| format!("; add {word} to retry it"));
        format!("not retryable: {noun} is not in --retry-on{listed}{remedy}")
    }

    fn deadline(&self, delay: Duration, total: Duration) -> String {
        let deadline = self.policy.deadline.unwrap_or(Duration::MAX);
        let (delay, reserve) = (Shown(delay), self.policy.reserve);
        if total >= deadline {
            format!("the deadline of {} is over", Shown(deadline))
        } else if reserve.is_zero() {
            format!(
                "a delay of {delay} does not fit in the deadline of {}",
                Shown(deadline)
            )
        } else {
            let (reserve, deadline) = (Shown(reserve), Shown(deadline));
            format!(
                "a delay of {delay} and the reserve of {reserve} do not fit in the deadline of {deadline}"
            )
        }
    }
}

fn list(list: Option<&StatusList>) -> String {
    list.map_or_else(String::new, |list| format!(" {}", list.written))
}
