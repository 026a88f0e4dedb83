//! A plan for people, at most 80 columns wide but for the sample at its end.

use std::fmt::Write as _;
use std::time::Duration;

use super::rows::{Allowed, Row};
use super::rows::{cell, describe_attempts, describe_backoff, herd_chart};
use super::schedule::LastAttempts;
use super::{Plan, Sample};
use crate::backoff::Backoff;
use crate::duration::{Shown, from_nanos};
use crate::escape::{escaped, shortened};
use crate::job::Job;

/// The maximum width of a line.
const COLUMNS: usize = 80;

/// The largest number that fits a column of the table.
const LARGEST_SHOWN: u64 = 999_999;

/// Renders the whole plan.
pub(super) fn render(job: &Job, plan: &Plan) -> String {
    let policy = &job.policy;
    let mut lines = vec![
        describe_attempts(plan.retries),
        describe_backoff(&policy.backoff),
    ];
    if !plan.rows.is_empty() {
        lines.push(String::new());
        lines.extend(table(plan, &policy.backoff));
        lines.push(String::new());
    }
    lines.extend(totals(job, plan));
    lines.extend(notes(job));
    lines.extend(
        plan.herd
            .iter()
            .flat_map(|herd| herd_chart(herd, policy.backoff.jitter)),
    );
    let folded = lines.iter().map(|line| folded(line));
    folded.chain([sample(&plan.sample)]).collect()
}

/// Renders the rows, each column as wide as necessary.
fn table(plan: &Plan, backoff: &Backoff) -> Vec<String> {
    let heading = ["retry", "ceiling", "from", "to", "mean", "worst total", ""];
    let mut rows = vec![heading.map(String::from)];
    let is_near = backoff.jitter.follows_previous_delay();
    rows.extend(plan.rows.iter().chain(&plan.rest).map(|row| {
        let near = if is_near { "≈" } else { "" };
        [
            numbered(row),
            cell(row.ceiling),
            cell(row.from),
            cell(row.to),
            format!("{near}{}", cell(row.mean)),
            row.worst_total
                .map_or_else(|| "unbounded".into(), |total| cell(from_nanos(total))),
            marks(row, plan.cap_from),
        ]
    }));
    let widths: Vec<usize> = (0..heading.len() - 1)
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max())
        .map(Option::unwrap_or_default)
        .collect();
    let padded = rows.iter().map(|row| {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{cell:>width$}  ");
        }
        (line + &row[widths.len()]).trim_end().to_owned()
    });
    padded.collect()
}

/// Returns the retry, or the range of retries, of a row.
fn numbered(row: &Row) -> String {
    match row.until {
        Some(until) if until == row.retry => until.to_string(),
        Some(until) if until <= LARGEST_SHOWN => format!("{}–{until}", row.retry),
        _ => format!("{} on", row.retry),
    }
}

/// Returns the remarks on a row: whether the cap takes over, whether it is late.
fn marks(row: &Row, cap_from: Option<u64>) -> String {
    let cap =
        cap_from.is_some_and(|from| from >= row.retry && row.until.is_none_or(|to| from <= to));
    let late = match row.allowed {
        Allowed::Always => "",
        Allowed::Perhaps => "late?",
        Allowed::Never => "late",
    };
    match (cap, late) {
        (true, "") => "cap".into(),
        (true, late) => format!("cap {late}"),
        (false, late) => late.into(),
    }
}

/// Returns the lines below the table.
fn totals(job: &Job, plan: &Plan) -> Vec<String> {
    let near = if plan.is_rough { "≈" } else { "" };
    let total = match (plan.expected, plan.worst) {
        (Some(expected), Some(worst)) => format!(
            "total: {near}{} expected, {} at worst",
            Shown(from_nanos(expected)),
            Shown(from_nanos(worst))
        ),
        _ => "total: unbounded".into(),
    };
    let mut lines = vec![total];
    if let (Some(timeout), Some(worst)) = (job.policy.timeout, plan.worst_with_timeout) {
        lines.push(format!(
            "total if every attempt takes its --timeout of {}: {} at worst",
            Shown(timeout),
            Shown(from_nanos(worst))
        ));
    }
    let cap = Shown(job.policy.backoff.cap);
    lines.push(plan.cap_from.map_or_else(
        || format!("the cap of {cap} never takes over"),
        |retry| format!("the cap of {cap} takes over at retry {retry}"),
    ));
    if let (Some(deadline), Some(last)) = (job.policy.deadline, &plan.last) {
        lines.extend(last_attempts(deadline, last, plan));
    }
    lines
}

/// Returns the lines about the deadline.
fn last_attempts(deadline: Duration, last: &LastAttempts, plan: &Plan) -> Vec<String> {
    let named =
        |attempt: Option<u64>| attempt.map_or_else(|| "any".into(), |last| last.to_string());
    let mut line = format!(
        "last attempt within the deadline of {}: {}",
        Shown(deadline),
        named(last.at_worst)
    );
    if last.at_best != last.at_worst {
        // Writing to a string cannot fail.
        let _ = write!(line, " at worst, {} at best", named(last.at_best));
    }
    if last.with_timeouts != last.at_worst {
        let more = named(last.with_timeouts);
        let _ = write!(line, "; {more} if each takes its --timeout");
    }
    let mut lines = vec![line];
    let rows = || plan.rows.iter().chain(&plan.rest);
    if rows().any(|row| row.allowed == Allowed::Never) {
        lines.push("late: the deadline does not allow it".into());
    }
    if rows().any(|row| row.allowed == Allowed::Perhaps) {
        lines.push("late?: the deadline does not allow it if delays are long".into());
    }
    lines
}

/// Returns the lines about what the plan cannot know.
fn notes(job: &Job) -> Vec<String> {
    let mut lines = Vec::new();
    if job.policy.backoff.jitter.follows_previous_delay() {
        lines.push(
            "decorrelated delays follow each other, not the ceiling; ranges are the widest".into(),
        );
    }
    if job.streams.heads.is_some() {
        lines.push("a wait that a server asks for comes on top".into());
    }
    if let Some(sharing) = &job.sharing {
        let path = shortened(&escaped(sharing.path.as_os_str()));
        let (tokens, back) = (
            sharing.budget.tokens,
            sharing
                .budget
                .refill
                .map_or("", |_| ", but for what comes back"),
        );
        lines.push(format!(
            "and no more than {tokens} retries of all who share {path}{back}"
        ));
    }
    lines
}

/// Renders the sample on one line.
fn sample(sample: &Sample) -> String {
    let mut delays: Vec<String> = sample
        .delays
        .iter()
        .map(|delay| Shown(*delay).to_string())
        .collect();
    if sample.goes_on {
        delays.push("…".into());
    }
    if delays.is_empty() {
        delays.push("no retry".into());
    }
    format!(
        "sample with --seed {}: {}\n",
        sample.seed,
        delays.join(", ")
    )
}

/// Folds a line that is too wide.
fn folded(line: &str) -> String {
    let mut folded = String::new();
    let mut column = 0;
    for word in line.split_inclusive(' ') {
        let width = word.trim_end().chars().count();
        if column > 0 && column + width > COLUMNS {
            folded.truncate(folded.trim_end().len());
            folded.push_str("\n  ");
            column = 2;
        }
        folded.push_str(word);
        column += word.chars().count();
    }
    folded + "\n"
}
