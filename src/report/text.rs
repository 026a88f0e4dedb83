//! Events as lines for people.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::time::Duration;

use crate::event::Event;
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
            Event::Ended {
                attempt,
                outcome,
                took,
                decision,
                total,
            } => match decision {
                Decision::Succeed { by_rule } => {
                    let worth = if *attempt == 1 {
                        Verbosity::Verbose
                    } else {
                        Verbosity::Normal
                    };
                    (worth, self.success(*attempt, outcome, *by_rule, *total))
                }
                Decision::Stop(reason) => (
                    Verbosity::Normal,
                    self.stop(*attempt, outcome, *took, reason, *total),
                ),
                Decision::Retry { delay } => {
                    let failed = self.failed(*attempt, outcome, *took);
                    (
                        Verbosity::Normal,
                        format!("{failed}; next in {}", Shown(*delay)),
                    )
                }
            },
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

    fn success(&self, attempt: u64, outcome: &Outcome, by_rule: bool, total: Duration) -> String {
        let of = self.policy.attempts;
        let mut said = format!("succeeded on attempt {attempt}/{of} after {}", Shown(total));
        if let (true, Some(list)) = (by_rule, &self.policy.success_on) {
            // Writing to a string cannot fail.
            let _ = write!(
                said,
                ": {} is in --success-on {}",
                outcome.noun(),
                list.written
            );
        }
        said
    }

    fn failed(&self, attempt: u64, outcome: &Outcome, took: Duration) -> String {
        let of = self.policy.attempts;
        match outcome {
            Outcome::NotStarted(_) => format!("attempt {attempt}/{of} failed: {outcome}"),
            _ => format!(
                "attempt {attempt}/{of} failed: {outcome} after {}",
                Shown(took)
            ),
        }
    }

    fn stop(
        &self,
        attempt: u64,
        outcome: &Outcome,
        took: Duration,
        reason: &Reason,
        total: Duration,
    ) -> String {
        let because = match reason {
            Reason::Attempts => None,
            Reason::NeverStarts => {
                return format!("{outcome}{}", hint::of(outcome, self.program, &self.name));
            }
            Reason::Signal(signal) => {
                let of = self.policy.attempts;
                let took = Shown(took);
                return format!(
                    "stopped by {signal} during attempt {attempt}/{of}: {outcome} after {took}"
                );
            }
            Reason::LeftBehind(pid) => Some(format!(
                "process {pid} could not be ended and is left behind, so no attempt may start beside it"
            )),
            Reason::AskedFor => {
                let noun = outcome.noun();
                Some(format!(
                    "not retryable: {noun} is retried only if --retry-on names it"
                ))
            }
            Reason::StopOn => {
                let (noun, listed) = (outcome.noun(), list(self.policy.stop_on.as_ref()));
                Some(format!("not retryable: {noun} is in --stop-on{listed}"))
            }
            Reason::NotInRetryOn => Some(self.not_listed(outcome)),
            Reason::Deadline { delay } => Some(self.deadline(*delay, total)),
        };
        let mut said = self.failed(attempt, outcome, took);
        // Writing to a string cannot fail.
        let _ = write!(said, "; giving up after {}", Shown(total));
        if let Some(because) = because {
            let _ = write!(said, ": {because}");
        }
        said
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
