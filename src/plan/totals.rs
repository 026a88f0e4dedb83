//! The lines below the table, for people: totals, limits, and what a plan cannot know.

use std::fmt::Write as _;
use std::time::Duration;

use super::Plan;
use super::chart::counted_retries;
use super::expected::Expected;
use super::rows::Allowed;
use super::schedule::LastAttempts;
use crate::duration::{Shown, from_nanos};
use crate::escape::{escaped, shortened};
use crate::job::Job;

/// Returns the lines below the table.
pub(super) fn totals(job: &Job, plan: &Plan) -> Vec<String> {
    let cut = |is_cut| {
        if is_cut { ", cut by the deadline" } else { "" }
    };
    let total = match (estimated(&plan.expected), plan.worst) {
        (Some(expected), Some(worst)) => format!(
            "total: {expected} expected, {} at worst{}",
            Shown(from_nanos(worst)),
            cut(plan.is_cut)
        ),
        _ => "total: unbounded".into(),
    };
    let mut lines = vec![total];
    lines.extend(compared(plan));
    if let (Some(timeout), Some(worst)) = (job.policy.timeout, plan.worst_with_timeout) {
        lines.push(format!(
            "total if every attempt takes its --timeout of {}: {} at worst{}",
            Shown(timeout),
            Shown(from_nanos(worst)),
            cut(plan.is_cut_with_timeout)
        ));
    }
    let cap = Shown(job.policy.backoff.cap);
    lines.push(plan.cap_from.map_or_else(
        || format!("the cap of {cap} is never reached"),
        |retry| format!("the cap of {cap} applies from retry {retry} on"),
    ));
    if let (Some(deadline), Some(last)) = (job.policy.deadline, &plan.last) {
        lines.extend(last_attempts(deadline, last, plan));
    }
    lines
}

/// Returns an expected total, marked if it is approximate.
fn estimated(expected: &Expected) -> Option<String> {
    let near = if expected.is_rough { "≈" } else { "" };
    let total = Shown(from_nanos(expected.total?));
    Some(format!("{near}{total}"))
}

/// Returns the line that compares the expected totals with other jitters.
fn compared(plan: &Plan) -> Option<String> {
    let totals = plan.by_jitter.iter().map(|(jitter, expected)| {
        let total = estimated(expected)?;
        let cut = if expected.is_cut { " (cut)" } else { "" };
        Some(format!("{jitter} {total}{cut}"))
    });
    let totals: Option<Vec<String>> = totals.collect();
    let totals = totals.filter(|_| plan.retries != Some(0))?;
    Some(format!("expected total by jitter: {}", totals.join(", ")))
}

/// Returns the lines about the deadline.
fn last_attempts(deadline: Duration, last: &LastAttempts, plan: &Plan) -> Vec<String> {
    let named =
        |attempt: Option<u64>| attempt.map_or_else(|| "any".into(), |last| last.to_string());
    let mut line = format!(
        "attempts that the deadline of {} allows: {}",
        Shown(deadline),
        named(last.at_worst)
    );
    if !last.are_certain() {
        // Writing to a string cannot fail.
        let _ = write!(line, " at worst, {} at best", named(last.at_best));
    }
    if last.with_timeouts != last.at_worst {
        let more = named(last.with_timeouts);
        let _ = write!(line, "; {more} if each takes its --timeout");
    }
    let mut lines = vec![line];
    let rows = || plan.rows.iter().chain(&plan.rest);
    let has = |allowed| rows().any(|row| row.allowed == allowed);
    if has(Allowed::Never) || (last.are_certain() && has(Allowed::Perhaps)) {
        lines.push("late: after the deadline".into());
    }
    if !last.are_certain() && has(Allowed::Perhaps) {
        lines.push("late?: after the deadline if delays are long".into());
    }
    lines
}

/// Returns the lines about what the plan cannot know.
pub(super) fn notes(job: &Job) -> Vec<String> {
    let mut lines = Vec::new();
    if job.policy.backoff.jitter.follows_previous_delay() {
        lines.push(
            "each decorrelated delay depends on the previous one; widest ranges shown".into(),
        );
    }
    if job.streams.heads.is_some() {
        lines.push("waits that a server asks for may make these delays longer".into());
    }
    if let Some(sharing) = &job.sharing {
        let path = shortened(&escaped(sharing.path.as_os_str()));
        if let Some(budget) = sharing.budget {
            let retries = counted_retries(budget.tokens.into());
            let back = budget.refill.map_or("", |_| ", plus refills");
            lines.push(format!(
                "if all fail, all runs that share {path} make at most {retries} together{back}"
            ));
        }
        if let Some(most) = sharing.concurrency {
            lines.push(format!(
                "waits for one of the {most} slots of {path} may make the run longer"
            ));
        }
    }
    lines
}
