//! Events as lines of JSON, for programs.
//!
//! Nothing here knows arguments, patterns, the environment or the `--before-retry` command: they
//! hold secrets, and logs go to many places.

mod lines;
mod start;

use std::time::Duration;

use serde::Serialize;

use crate::event::{Ended, Event};
use crate::job::Job;
use crate::policy::Decision;
use crate::report::Warning;
use crate::status::Exit;
use lines::{
    AttemptLine, Codes, DelayLine, EndLine, Line, SlotLine, WarningLine, count, deadline_left,
    millis,
};
use start::Start;

/// The version of the lines. A field may be added without a new version; none is removed or changes
/// its meaning.
const SCHEMA: u32 = 1;

/// The outcome and reason of a run in which `retry` itself failed.
const ERROR: &str = "error";

/// The time of an event.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    /// By the wall clock: RFC 3339, UTC, with milliseconds.
    pub(crate) time: String,
    /// Since the start of the run, which never goes back.
    pub(crate) elapsed: Duration,
}

/// The log of one run.
pub(crate) struct Json<'a> {
    job: &'a Job,
    run_id: &'a str,
    pid: u32,
    tally: Tally,
}

/// The totals of a run, for its last line.
#[derive(Default)]
struct Tally {
    attempts: u64,
    /// How the last attempt ended, if that is known.
    outcome: Option<&'static str>,
    /// Why no attempt follows it.
    reason: Option<&'static str>,
    is_out_of_time: bool,
    slept: Duration,
    server_waits: u64,
    nap: Option<Nap>,
}

/// A delay in progress.
struct Nap {
    begun: Duration,
    planned: Duration,
}

impl<'a> Json<'a> {
    /// The log of this job, written by the process `pid` under a unique run id.
    pub(crate) fn new(job: &'a Job, run_id: &'a str, pid: u32) -> Self {
        Self {
            job,
            run_id,
            pid,
            tally: Tally::default(),
        }
    }

    /// Returns the first line: the job, with its rules.
    pub(crate) fn start(&self, stamp: &Stamp) -> String {
        self.written("start", stamp, Start::of(self.job))
    }

    /// Returns the lines for this event, each with its newline; none if it is only counted, or not
    /// logged.
    pub(crate) fn line(&mut self, event: &Event<'_>, stamp: &Stamp) -> Option<String> {
        match event {
            Event::Starting { attempt, .. } => {
                self.wake(stamp);
                self.tally.attempts = *attempt;
                self.tally.outcome = None;
            }
            Event::Ended(ended, decision) => return Some(self.ended(ended, decision, stamp)),
            Event::HookFailed { total, .. } => self.stop("before-retry", *total, stamp),
            Event::TooLate { total, .. } => self.stop("deadline", *total, stamp),
            Event::NoSlot { total, .. } => self.stop("concurrency", *total, stamp),
            Event::SlotTaken { attempt, waited } => {
                let rest = SlotLine {
                    attempt: count(*attempt),
                    waited_ms: millis(*waited),
                };
                return Some(self.written("slot", stamp, rest));
            }
            Event::Interrupted { total, .. } => self.stop("signal", *total, stamp),
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
            | Event::NotExpanded(_) => {
                let Warning { kind, said } = Warning::of(event)?;
                let message = &said;
                return Some(self.written("warning", stamp, WarningLine { kind, message }));
            }
            Event::Forwarded(_)
            | Event::Ignored(_)
            | Event::LimitReached(_)
            | Event::Killed
            | Event::SlotAwaited(_)
            | Event::Waiting(_)
            | Event::Waited => {}
        }
        None
    }

    /// Returns the last line. `exit` is how the run exits, or the error with which `retry` itself
    /// failed.
    pub(crate) fn end(&mut self, exit: Result<Exit, &str>, stamp: &Stamp) -> String {
        self.wake(stamp);
        let rest = EndLine::of(&self.tally, exit, stamp);
        self.written("end", stamp, rest)
    }

    fn ended(&mut self, ended: &Ended<'_>, decision: &Decision, stamp: &Stamp) -> String {
        let policy = &self.job.policy;
        self.tally.outcome = Some(lines::outcome(&ended.ending.outcome, decision));
        self.stop(
            Codes::of(policy, ended.ending, decision).reason,
            ended.total,
            stamp,
        );
        let has_failed = !matches!(decision, Decision::Succeed(_));
        let is_asked = has_failed && ended.ending.server_wait.is_some();
        self.tally.server_waits += u64::from(is_asked);
        let attempt = self.written("attempt", stamp, AttemptLine::of(policy, ended, decision));
        let Decision::Retry {
            delay,
            range,
            server_wait,
        } = decision
        else {
            return attempt;
        };
        self.tally.nap = Some(Nap {
            begun: stamp.elapsed,
            planned: *delay,
        });
        let rest = DelayLine {
            attempt: count(ended.attempt),
            delay_ms: millis(*delay),
            ceiling_ms: millis(range.ceiling),
            source: server_wait.map_or("local", |_| "retry-after"),
            deadline_left_ms: deadline_left(policy, ended.total),
        };
        attempt + &self.written("delay", stamp, rest)
    }

    /// Records why the run ends at this time, if it does.
    fn stop(&mut self, reason: &'static str, total: Duration, stamp: &Stamp) {
        self.wake(stamp);
        let deadline = self.job.policy.deadline;
        let is_over = deadline.is_some_and(|deadline| total >= deadline);
        let is_limited = matches!(reason, "deadline" | "undelivered" | "concurrency");
        self.tally.is_out_of_time = is_limited || is_over && reason != "success";
        self.tally.reason = Some(reason);
    }

    /// Ends the delay in progress, if any. The wait for a slot and the `--before-retry` command follow
    /// a delay without an event of their own, so with these it counts as at most its planned length.
    fn wake(&mut self, stamp: &Stamp) {
        if let Some(nap) = self.tally.nap.take() {
            let passed = stamp.elapsed.saturating_sub(nap.begun);
            let has_more = self.job.before_retry.is_some() || self.job.concurrency().is_some();
            let slept = if has_more {
                passed.min(nap.planned)
            } else {
                passed
            };
            self.tally.slept = self.tally.slept.saturating_add(slept);
        }
    }

    /// Formats a line of this kind at this time.
    fn written(&self, event: &'static str, stamp: &Stamp, rest: impl Serialize) -> String {
        written(&Line {
            event,
            schema: (event == "start").then_some(SCHEMA),
            time: &stamp.time,
            elapsed_ms: millis(stamp.elapsed),
            run_id: Some(self.run_id),
            pid: self.pid,
            rest,
        })
    }
}

/// Returns the only line of a call that never became a run, because of this error.
pub(crate) fn refusal(error: &str, run_id: Option<&str>, pid: u32, stamp: &Stamp) -> String {
    let rest = EndLine::of(&Tally::default(), Err(error), stamp);
    written(&Line {
        event: "end",
        schema: Some(SCHEMA),
        time: &stamp.time,
        elapsed_ms: millis(stamp.elapsed),
        run_id,
        pid,
        rest,
    })
}

/// Formats a line, with its newline.
fn written(line: &Line<'_, impl Serialize>) -> String {
    // Nothing in it can fail to be serialized: names are text and numbers finite.
    serde_json::to_string(line).map_or_else(|_| String::new(), |line| line + "\n")
}

#[cfg(test)]
mod tests;
