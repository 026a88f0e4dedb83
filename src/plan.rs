//! A preview of a job's schedule: the table, the totals, a sample, the herd.
//!
//! All of it comes from the loop itself, in virtual time, with a command that always fails at once,
//! so it cannot disagree with a run. Delays are extrapolated where a run makes too many attempts to
//! be walked.

mod census;
mod chart;
mod clients;
mod contention;
mod expected;
mod extrapolation;
mod histogram;
mod json;
mod means;
mod rows;
mod schedule;
mod text;
mod totals;

use std::time::Duration;

use crate::backoff::Jitter;
use crate::duration::nanos;
use crate::job::{self, Format, Job};
use crate::policy::Policy;
use clients::Herd;
use contention::Bounds;
use expected::{COMPARED, Expected, available, bounded, expected, is_cut};
use extrapolation::cap_takes_over;
use rows::{Row, Table};
use schedule::{LONGEST, SHORTEST, Schedule, simulated, walk};
use schedule::{LastAttempts, attempts, last_retry};

/// The most retries with a row of their own, and the most delays in a sample.
const MOST_ROWS: u64 = 20;

/// Returns the plan for a job, in the format that the job asks for, with the herd of this many
/// clients. `draws` gives each client its own draws in [0, 1): always the same for the same seed and
/// client, and for client 0 those of a run with this seed.
pub(crate) fn shown<D: FnMut() -> f64>(
    job: &Job,
    crowd: Option<job::Crowd>,
    seed: u64,
    draws: &impl Fn(u64, u32) -> D,
) -> String {
    let mut plan = Plan::new(&job.policy, seed, draws);
    let budget = job.budget();
    plan.herd = crowd.map(|crowd| {
        let bounds = Bounds {
            budget,
            capacity: crowd.capacity,
        };
        Herd::new(
            &job.policy,
            plan.most_attempts(),
            (crowd.clients, &|client| draws(seed, client)),
            bounds,
        )
    });
    match job.format {
        Format::Json => json::render(job, &plan),
        Format::Text | Format::Github => text::render(job, &plan),
    }
}

/// A plan. Times are in nanoseconds where they are sums.
#[derive(Debug)]
struct Plan {
    /// The maximum number of retries; none means no limit.
    retries: Option<u64>,
    rows: Vec<Row>,
    /// All retries without a row of their own.
    rest: Option<Row>,
    expected: Expected,
    /// The longest run if attempts take no time; none means unbounded.
    worst: Option<u128>,
    /// The longest run if each attempt takes its time limit, if there is one.
    worst_with_timeout: Option<u128>,
    /// Whether the deadline makes the totals without time limits shorter.
    is_cut: bool,
    /// Whether it makes the one with them shorter.
    is_cut_with_timeout: bool,
    /// The expected totals with other jitters.
    by_jitter: [(Jitter, Expected); 3],
    /// The retry at which the cap takes over, if it ever does.
    cap_from: Option<u64>,
    last: Option<LastAttempts>,
    sample: Sample,
    herd: Option<Herd>,
}

/// One possible schedule.
#[derive(Debug)]
struct Sample {
    seed: u64,
    delays: Vec<Duration>,
    /// Whether there are more delays.
    goes_on: bool,
}

impl Plan {
    fn new<D: FnMut() -> f64>(policy: &Policy, seed: u64, draws: &impl Fn(u64, u32) -> D) -> Self {
        let retries = schedule::retries(policy.attempts);
        // The same options have the same totals, whatever the seed of the sample.
        let of_run = |run| draws(0, run);
        let free = Policy {
            deadline: None,
            ..simulated(policy, u64::MAX)
        };
        let [best, worst] = [SHORTEST, LONGEST].map(|u| Schedule::new(&free, retries, u));
        let mean = Schedule::mean(&free, retries);
        let timeout = policy.timeout.map(nanos);
        let with_timeouts = |attempts: u64, retries: u64| {
            let attempts = u128::from(attempts).saturating_mul(timeout.unwrap_or(0));
            worst.total(retries).saturating_add(attempts)
        };
        let last = |schedule: &Schedule| last_retry(policy, retries, |retry| schedule.total(retry));
        let (last_at_best, last_at_worst) = (last(&best), last(&worst));
        let last_attempts = policy.deadline.map(|_| LastAttempts {
            at_worst: attempts(last_at_worst),
            at_best: attempts(last_at_best),
            with_timeouts: attempts(last_retry(policy, retries, |retry| {
                with_timeouts(retry, retry)
            })),
        });
        let far_on = retries.unwrap_or(u64::MAX);
        // If every run makes the same number of retries, the longest delays make the longest run.
        // If not, a run with shorter delays may fit in one more retry and end later.
        let is_even = last_at_best == last_at_worst;
        let most = if is_even { last_at_worst } else { retries };
        let total = most.map(|retries| worst.total(retries));
        let total_with_timeouts =
            retries.map(|retries| with_timeouts(retries.saturating_add(1), retries));
        let table = Table {
            policy,
            retries,
            mean: &mean,
            worst: &worst,
            cap_from: cap_takes_over(&policy.backoff).filter(|retry| *retry <= far_on),
            last: last_attempts,
        };
        let by_jitter = COMPARED.map(|jitter| (jitter, expected(policy, jitter, &of_run)));
        let jitter = policy.backoff.jitter;
        let own = by_jitter.iter().find(|(one, _)| *one == jitter);
        let own = own.map(|(_, expected)| *expected);
        Self {
            retries,
            rows: table.rows(),
            rest: table.rest(),
            expected: own.unwrap_or_else(|| expected(policy, jitter, &of_run)),
            worst: bounded(total, available(policy)),
            worst_with_timeout: timeout.and_then(|_| bounded(total_with_timeouts, policy.deadline)),
            cap_from: table.cap_from,
            last: last_attempts,
            sample: Sample::new(policy, seed, &mut draws(seed, 0)),
            is_cut: is_cut(policy, last_at_worst),
            is_cut_with_timeout: policy
                .deadline
                .is_some_and(|all| total_with_timeouts.is_none_or(|total| total > nanos(all))),
            by_jitter,
            herd: None,
        }
    }

    /// Returns the most attempts that a run makes; none means any number.
    fn most_attempts(&self) -> Option<u64> {
        match self.last {
            Some(last) => last.at_best,
            None => attempts(self.retries),
        }
    }
}

impl Sample {
    fn new(policy: &Policy, seed: u64, draw: &mut dyn FnMut() -> f64) -> Self {
        let mut delays = Vec::new();
        walk(&simulated(policy, MOST_ROWS + 1), draw, &mut |drawn, _| {
            delays.push(drawn.delay);
        });
        let most = usize::try_from(MOST_ROWS).unwrap_or(usize::MAX);
        let goes_on = delays.len() > most;
        delays.truncate(most);
        Self {
            seed,
            delays,
            goes_on,
        }
    }
}

#[cfg(test)]
mod tests;
