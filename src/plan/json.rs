//! A plan as a JSON object for programs, with times in whole milliseconds.

mod herd;

use std::time::Duration;

use serde::Serialize;

use super::Plan;
use super::rows::factor_number;
use super::rows::{Allowed, Row};
use super::schedule::LastAttempts;
use crate::duration::{nanos, whole_millis};
use crate::job::Job;
use herd::Herd;

/// The version of the object, raised when a field changes its meaning.
const SCHEMA: u32 = 1;

/// Renders the whole plan, with a line end.
pub(super) fn render(job: &Job, plan: &Plan) -> String {
    let json = serde_json::to_string(&Object::new(job, plan));
    // Strings and numbers can always be written.
    json.unwrap_or_default() + "\n"
}

#[derive(Serialize)]
struct Object {
    schema: u32,
    max_attempts: Option<u64>,
    max_retries: Option<u64>,
    backoff: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    factor: Option<f64>,
    base_ms: u64,
    cap_ms: u64,
    jitter: String,
    retries: Vec<Retry>,
    rest: Option<Rest>,
    expected_ms: Option<u64>,
    expected_is_approximate: bool,
    worst_ms: Option<u64>,
    worst_with_timeout_ms: Option<u64>,
    totals_are_cut_by_deadline: bool,
    expected_by_jitter_ms: ByJitter<Option<u64>>,
    expected_by_jitter_is_cut_by_deadline: ByJitter<bool>,
    cap_from_retry: Option<u64>,
    last_attempt_by_deadline: Option<Last>,
    shared_budget: Option<u32>,
    herd: Option<Herd>,
    sample: Sample,
}

#[derive(Serialize)]
struct ByJitter<T> {
    none: T,
    equal: T,
    full: T,
}

impl<T> From<[T; 3]> for ByJitter<T> {
    fn from([none, equal, full]: [T; 3]) -> Self {
        Self { none, equal, full }
    }
}

#[derive(Serialize)]
struct Retry {
    retry: u64,
    #[serde(flatten)]
    delay: Delay,
}

#[derive(Serialize)]
struct Rest {
    from_retry: u64,
    to_retry: Option<u64>,
    #[serde(flatten)]
    delay: Delay,
}

#[derive(Serialize)]
struct Delay {
    ceiling_ms: u64,
    from_ms: u64,
    to_ms: u64,
    mean_ms: u64,
    worst_total_ms: Option<u64>,
    capped: bool,
    within_deadline: &'static str,
}

#[derive(Serialize)]
struct Last {
    at_worst: Option<u64>,
    at_best: Option<u64>,
    with_timeouts: Option<u64>,
}

#[derive(Serialize)]
struct Sample {
    seed: u64,
    delays_ms: Vec<u64>,
    goes_on: bool,
}

impl Object {
    fn new(job: &Job, plan: &Plan) -> Self {
        let backoff = &job.policy.backoff;
        let expected = plan.by_jitter.map(|(_, expected)| expected);
        Self {
            schema: SCHEMA,
            max_attempts: super::attempts(plan.retries),
            max_retries: plan.retries,
            backoff: backoff.curve.to_string(),
            factor: backoff.curve.factor().map(factor_number),
            base_ms: millis(backoff.base),
            cap_ms: millis(backoff.cap),
            jitter: backoff.jitter.to_string(),
            retries: plan.rows.iter().map(Retry::from).collect(),
            rest: plan.rest.as_ref().map(Rest::from),
            expected_ms: plan.expected.total.map(rounded),
            expected_is_approximate: plan.expected.is_rough,
            worst_ms: plan.worst.map(rounded),
            worst_with_timeout_ms: plan.worst_with_timeout.map(rounded),
            totals_are_cut_by_deadline: plan.is_cut,
            expected_by_jitter_ms: expected.map(|expected| expected.total.map(rounded)).into(),
            expected_by_jitter_is_cut_by_deadline: expected.map(|expected| expected.is_cut).into(),
            cap_from_retry: plan.cap_from,
            last_attempt_by_deadline: plan.last.as_ref().map(Last::from),
            shared_budget: job.budget().map(|budget| budget.tokens),
            herd: plan.herd.as_ref().map(Herd::from),
            sample: Sample {
                seed: plan.sample.seed,
                delays_ms: plan.sample.delays.iter().copied().map(millis).collect(),
                goes_on: plan.sample.goes_on,
            },
        }
    }
}

impl From<&Row> for Delay {
    fn from(row: &Row) -> Self {
        Self {
            ceiling_ms: millis(row.ceiling),
            from_ms: millis(row.from),
            to_ms: millis(row.to),
            mean_ms: millis(row.mean),
            worst_total_ms: row.worst_total.map(rounded),
            capped: row.is_capped,
            within_deadline: match row.allowed {
                Allowed::Always => "always",
                Allowed::Perhaps => "perhaps",
                Allowed::Never => "never",
            },
        }
    }
}

impl From<&Row> for Retry {
    fn from(row: &Row) -> Self {
        Self {
            retry: row.retry,
            delay: row.into(),
        }
    }
}

impl From<&Row> for Rest {
    fn from(row: &Row) -> Self {
        Self {
            from_retry: row.retry,
            to_retry: row.until,
            delay: row.into(),
        }
    }
}

impl From<&LastAttempts> for Last {
    fn from(last: &LastAttempts) -> Self {
        Self {
            at_worst: last.at_worst,
            at_best: last.at_best,
            with_timeouts: last.with_timeouts,
        }
    }
}

/// Converts to whole milliseconds, saturating.
fn rounded(nanos: u128) -> u64 {
    u64::try_from(whole_millis(nanos)).unwrap_or(u64::MAX)
}

fn millis(time: Duration) -> u64 {
    rounded(nanos(time))
}
