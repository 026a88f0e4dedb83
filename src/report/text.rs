//! Events as lines for people.

mod between;

use std::ffi::OsStr;
use std::time::Duration;

use crate::duration::Shown;
use crate::escape;
use crate::event::{Ended, Event};
use crate::job::{Job, Sharing, Verbosity};
use crate::numbers::Attempts;
use crate::policy::{Decision, Policy, Reason, Success};
use crate::report::Warning;
use crate::report::reason::{self, found, list};
use crate::report::style::Style;
use crate::signal::Signal;
use crate::status::{Ending, Outcome};

/// The sentences about a run that stops with an attempt.
pub(super) enum Stopped {
    /// One sentence that says it all.
    Alone(String),
    /// One sentence about the failure, one about the end.
    GivingUp {
        /// How the attempt failed.
        failed: String,
        /// Why there is no other attempt.
        end: String,
    },
}

/// A reporter that writes lines for people.
pub(crate) struct Text<'a> {
    style: Style,
    program: &'a OsStr,
    /// The name of the run, if it is not that of the program.
    run_name: Option<&'a str>,
    policy: &'a Policy,
    sharing: Option<&'a Sharing>,
    idle_timeout: Option<Duration>,
    verbosity: Verbosity,
}

impl<'a> Text<'a> {
    /// A reporter for this job, whose lines look like this.
    pub(crate) fn new(job: &'a Job, style: Style) -> Self {
        let program = job.command.first().map_or(OsStr::new(""), |word| word);
        let (policy, verbosity) = (&job.policy, job.verbosity);
        Self {
            style,
            program,
            run_name: job.name.as_deref(),
            policy,
            sharing: job.sharing.as_ref(),
            idle_timeout: job.supervision.idle_timeout,
            verbosity,
        }
    }

    /// Returns the line for this event, with its newline; none if the event is not reported.
    pub(crate) fn line(&self, event: &Event<'_>) -> Option<String> {
        if self.verbosity < worth(event) {
            return None;
        }
        let said = self.said(event)?;
        Some(format!(
            "{}{}: {said}\n",
            (self.style.prefix)(),
            self.name(event)
        ))
    }

    /// Returns the name in the line for this event: the command's, or what was typed if no such
    /// command can be run.
    pub(super) fn name(&self, event: &Event<'_>) -> String {
        match event {
            Event::Ended(_, Decision::Stop(Reason::NeverStarts)) => {
                escape::program_as_typed(self.program)
            }
            _ => match self.run_name {
                Some(name) => escape::escaped(OsStr::new(name)),
                None => escape::program_name(self.program),
            },
        }
    }

    /// Returns which attempt this is, and of how many if there is a limit.
    pub(super) fn numbered(&self, attempt: u64) -> String {
        match self.policy.attempts {
            Attempts::AtMost(most) => format!("attempt {attempt}/{most}"),
            Attempts::Unlimited => format!("attempt {attempt}"),
        }
    }

    /// Returns the sentence for this event, even if it is not reported.
    pub(super) fn said(&self, event: &Event<'_>) -> Option<String> {
        Some(match event {
            Event::Starting { attempt, .. } => format!("{} starts", self.numbered(*attempt)),
            Event::Forwarded(signal) => format!("{signal} forwarded"),
            Event::Ignored(signal) => format!("{signal} ignored during the delay"),
            Event::LimitReached(signal) => format!("time limit expired; {signal} sent"),
            Event::Killed => "still running; SIGKILL sent".into(),
            // A countdown is not a line.
            Event::Waiting(_) | Event::Waited => return None,
            Event::Nested
            | Event::BudgetUnusable(_)
            | Event::BudgetRebuilt
            | Event::SlotsUnusable(_)
            | Event::SlotInherited
            | Event::LogUnusable(_)
            | Event::InputSpent
            | Event::HeadsUnreadable(_)
            | Event::NoRoomForOutput(_)
            | Event::OutputLost(_)
            | Event::OptionPassed(_)
            | Event::Forks
            | Event::NotExpanded(_) => Warning::of(event)?.said,
            Event::HookFailed {
                ending,
                attempt,
                total,
            } => {
                let (outcome, total) = (&ending.outcome, Shown(*total));
                format!(
                    "{} after {} and {total}: --before-retry failed: {outcome}",
                    self.style.giving_up(),
                    self.numbered(*attempt)
                )
            }
            Event::Ended(ended, Decision::Succeed(success)) => self.success(ended, *success),
            Event::Ended(ended, Decision::Stop(reason)) => match self.stopped(ended, reason) {
                Stopped::Alone(said) => said,
                Stopped::GivingUp { failed, end } => format!("{failed}; {end}"),
            },
            Event::Ended(
                ended,
                Decision::Retry {
                    delay, server_wait, ..
                },
            ) => {
                let next = Shown(*delay);
                let asked = server_wait.map_or_else(String::new, |wait| {
                    format!(" (the server asks for {})", Shown(wait))
                });
                format!("{}; next in {next}{asked}", self.failed(ended))
            }
            Event::SlotAwaited(_)
            | Event::SlotTaken { .. }
            | Event::NoSlot { .. }
            | Event::TooLate { .. }
            | Event::Interrupted { .. } => return self.said_between(event),
        })
    }

    fn success(&self, ended: &Ended<'_>, success: Success) -> String {
        let (attempt, total) = (self.numbered(ended.attempt), Shown(ended.total));
        let said = format!("{} on {attempt} after {total}", self.style.succeeded());
        let noun = ended.ending.outcome.noun();
        match success {
            Success::Zero => said,
            Success::Listed => {
                let listed = list(self.policy.success_on.as_ref());
                format!("{said}: {noun} is in --success-on{listed}")
            }
            Success::Matched(index) => {
                let found = found("--success-if", &self.policy.patterns.success_if, index);
                format!("{said}: {noun}, and {found}")
            }
        }
    }

    fn failed(&self, ended: &Ended<'_>) -> String {
        let (attempt, took) = (self.numbered(ended.attempt), Shown(ended.took));
        let Ending {
            outcome, matched, ..
        } = ended.ending;
        let answer = ended.ending.http_status;
        let answer = answer.map_or_else(String::new, |status| format!(" (HTTP {status})"));
        let failed = format!("{attempt} {}: {outcome}{answer}", self.style.failed());
        match (outcome, matched.fail_if) {
            (Outcome::NotStarted(_), _) => failed,
            (Outcome::TimedOut, _) if ended.ending.by_idle_timeout => {
                let silence = Shown(self.idle_timeout.unwrap_or(ended.took));
                format!("{failed} after {took}: no output for {silence} (--idle-timeout)")
            }
            (Outcome::Exited(_) | Outcome::Killed(_), Some(index)) => {
                let found = found("--fail-if", &self.policy.patterns.fail_if, index);
                format!("{failed} after {took}, and {found}")
            }
            _ => format!("{failed} after {took}"),
        }
    }

    /// Returns the sentences about an attempt after which there is no other.
    pub(super) fn stopped(&self, ended: &Ended<'_>, reason: &Reason) -> Stopped {
        let outcome = &ended.ending.outcome;
        match reason {
            Reason::NeverStarts => {
                Stopped::Alone(format!("{outcome}{}", reason::hint(outcome, self.program)))
            }
            Reason::Signal(signal) => {
                let (attempt, took) = (self.numbered(ended.attempt), Shown(ended.took));
                Stopped::Alone(format!(
                    "interrupted ({signal}) during {attempt}: {outcome} after {took}"
                ))
            }
            _ => {
                let because = reason::because(self.policy, self.sharing, ended, reason);
                Stopped::GivingUp {
                    failed: self.failed(ended),
                    end: format!(
                        "{} after {}{because}",
                        self.style.giving_up(),
                        Shown(ended.total)
                    ),
                }
            }
        }
    }
}

/// Returns the lowest verbosity at which this event is reported.
fn worth(event: &Event<'_>) -> Verbosity {
    match event {
        Event::Starting { .. }
        | Event::Forwarded(_)
        | Event::Ignored(_)
        | Event::LimitReached(_)
        | Event::Killed
        | Event::SlotTaken { .. }
        // A reader that has read enough is no cause for complaint.
        | Event::Ended(_, Decision::Stop(Reason::Signal(Signal::PIPE))) => Verbosity::Verbose,
        Event::Ended(ended, Decision::Succeed(_)) if ended.attempt == 1 => Verbosity::Verbose,
        _ => Verbosity::Normal,
    }
}
