//! The first line of a log: the job, without anything that may be a secret.

use std::ffi::OsStr;

use serde::Serialize;

use crate::escape;
use crate::job::{Input, Job, Output};
use crate::policy::Policy;
use crate::report::json::lines::{count, millis};

/// A number of attempts or retries, which may be unlimited.
#[derive(Serialize)]
#[serde(untagged)]
enum Most {
    Number(u64),
    Word(&'static str),
}

impl From<Option<u64>> for Most {
    fn from(most: Option<u64>) -> Self {
        most.map_or(Self::Word("inf"), |most| Self::Number(count(most)))
    }
}

/// The fields of the first line.
#[derive(Serialize)]
pub(super) struct Start<'a> {
    program: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    max_attempts: Most,
    max_retries: Most,
    policy: Rules<'a>,
}

impl<'a> Start<'a> {
    pub(super) fn of(job: &'a Job) -> Self {
        let program = job.command.first().map_or(OsStr::new(""), |word| word);
        let most = job.policy.attempts.most();
        Self {
            program: escape::program_name(program),
            name: job.name.as_deref(),
            max_attempts: most.into(),
            max_retries: most.map(|most| most - 1).into(),
            policy: Rules::of(job),
        }
    }
}

/// The effective options.
#[derive(Serialize)]
struct Rules<'a> {
    backoff: String,
    factor: Option<String>,
    base_ms: u64,
    cap_ms: u64,
    jitter: String,
    deadline_ms: Option<u64>,
    timeout_ms: Option<u64>,
    idle_timeout_ms: Option<u64>,
    reserve_ms: u64,
    retry_on: Option<&'a str>,
    stop_on: Option<&'a str>,
    success_on: Option<&'a str>,
    patterns: PatternCounts,
    retry_after: bool,
    retry_after_max_ms: Option<u64>,
    stdin: &'static str,
    stdout: &'static str,
    output: &'static str,
    budget: Option<u32>,
    concurrency: Option<u32>,
    before_retry: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<String>,
}

/// The number of patterns of each option. Their text is left out: it may hold a secret, such as a
/// token.
#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the options are called so")]
struct PatternCounts {
    retry_if: usize,
    stop_if: usize,
    success_if: usize,
    fail_if: usize,
}

impl<'a> Rules<'a> {
    fn of(job: &'a Job) -> Self {
        let Policy {
            backoff,
            deadline,
            reserve,
            timeout,
            retry_on,
            stop_on,
            success_on,
            patterns,
            retry_after_max,
            ..
        } = &job.policy;
        let obeys_servers = job.streams.heads.is_some();
        Self {
            backoff: backoff.curve.to_string(),
            factor: backoff.curve.factor().map(|factor| factor.to_string()),
            base_ms: millis(backoff.base),
            cap_ms: millis(backoff.cap),
            jitter: backoff.jitter.to_string(),
            deadline_ms: deadline.map(millis),
            timeout_ms: timeout.map(millis),
            idle_timeout_ms: job.supervision.idle_timeout.map(millis),
            reserve_ms: millis(*reserve),
            retry_on: retry_on.as_ref().map(|list| list.written.as_str()),
            stop_on: stop_on.as_ref().map(|list| list.written.as_str()),
            success_on: success_on.as_ref().map(|list| list.written.as_str()),
            patterns: PatternCounts {
                retry_if: patterns.retry_if.len(),
                stop_if: patterns.stop_if.len(),
                success_if: patterns.success_if.len(),
                fail_if: patterns.fail_if.len(),
            },
            retry_after: obeys_servers,
            retry_after_max_ms: obeys_servers.then(|| millis(*retry_after_max)),
            stdin: match job.streams.stdin {
                Input::Auto => "auto",
                Input::Inherit => "inherit",
                Input::Replay => "replay",
                Input::Null => "null",
            },
            stdout: match job.streams.output {
                Output::Once => "once",
                Output::Stream | Output::Last | Output::OnFailure => "stream",
            },
            output: match job.streams.output {
                Output::Stream | Output::Once => "stream",
                Output::Last => "last",
                Output::OnFailure => "on-failure",
            },
            budget: job.budget().map(|budget| budget.tokens),
            concurrency: job.concurrency(),
            before_retry: job.before_retry.is_some(),
            seed: job.seed.map(|seed| seed.to_string()),
        }
    }
}
