//! A plan for people, at most 80 columns wide but for the sample at its end.

use std::fmt::Write as _;

use super::rows::{Allowed, Row};
use super::rows::{cell, describe_attempts, describe_backoff};
use super::schedule::LastAttempts;
use super::totals::{notes, totals};
use super::{Plan, Sample, chart};
use crate::backoff::Backoff;
use crate::duration::{Shown, from_nanos};
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
            .flat_map(|herd| chart::render(herd, policy.backoff.jitter)),
    );
    let folded = lines.iter().map(|line| folded(line));
    folded.chain([sample(&plan.sample)]).collect()
}

/// Renders the rows, each column as wide as necessary.
fn table(plan: &Plan, backoff: &Backoff) -> Vec<String> {
    let heading = [
        "retry",
        "before jitter",
        "from",
        "to",
        "mean",
        "worst total",
        "",
    ];
    let mut rows = vec![heading.map(String::from)];
    let is_near = backoff.jitter.follows_previous_delay();
    rows.extend(merged(plan).iter().map(|row| {
        let near = if is_near { "≈" } else { "" };
        [
            numbered(row),
            if is_near {
                String::new()
            } else {
                cell(row.ceiling)
            },
            cell(row.from),
            cell(row.to),
            format!("{near}{}", cell(row.mean)),
            row.worst_total
                .map_or_else(|| "unbounded".into(), |total| cell(from_nanos(total))),
            marks(row, plan),
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

/// Returns the rows, with those that repeat as one.
fn merged(plan: &Plan) -> Vec<Row> {
    let mut merged: Vec<Row> = Vec::new();
    for row in plan.rows.iter().chain(&plan.rest) {
        let has_mark = |row: &Row| plan.cap_from == Some(row.retry);
        let looks = |row: &Row| {
            let times = [row.ceiling, row.from, row.to, row.mean].map(cell);
            (times, row.allowed)
        };
        match merged.last_mut() {
            Some(last) if !has_mark(row) && looks(last) == looks(row) => {
                (last.until, last.worst_total) = (row.until, row.worst_total);
            }
            _ => merged.push(*row),
        }
    }
    merged
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
fn marks(row: &Row, plan: &Plan) -> String {
    let is_within = |from: &u64| *from >= row.retry && row.until.is_none_or(|to| *from <= to);
    let cap = plan.cap_from.filter(is_within).map(|_| "cap".into());
    // Where every run makes the same attempts, the first retry after them is attempt number last + 1.
    let last = plan.last.filter(LastAttempts::are_certain);
    let late = match (row.allowed, last.and_then(|last| last.at_worst)) {
        (Allowed::Always, _) => None,
        (Allowed::Perhaps, Some(first_late)) => Some(format!("late from {first_late} on")),
        (Allowed::Perhaps, None) => Some("late?".into()),
        (Allowed::Never, _) => Some("late".into()),
    };
    let marks: Vec<String> = cap.into_iter().chain(late).collect();
    marks.join(" ")
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
