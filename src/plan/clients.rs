//! The retries of many clients that failed at the same time.

use std::time::Duration;

use super::census::{Busiest, Crowd, most_of_one};
use super::contention::{Bounds, Tally, simulate};
use super::histogram::Bar;
use super::schedule::simulated;
use crate::backoff::{Backoff, Jitter};
use crate::job::Capacity;
use crate::policy::Policy;

/// How many retries of each client are counted.
const MOST_RETRIES: u64 = 20;

/// The retries of all clients together.
#[derive(Debug)]
pub(super) struct Herd {
    pub(super) clients: u32,
    /// How many retries of each client were counted, if there are more.
    pub(super) first_retries: Option<u64>,
    pub(super) bars: Vec<Bar>,
    /// The duration of a bar.
    pub(super) width: Duration,
    /// The most retries that start in the same ten milliseconds.
    pub(super) busiest: Busiest,
    /// The same without jitter.
    pub(super) busiest_without_jitter: u64,
    /// The most attempts of all clients together; none means unbounded.
    pub(super) most_attempts: Option<u128>,
    /// Their fate at a server of limited capacity, if there is one.
    pub(super) capacities: Option<Capacities>,
}

impl Herd {
    /// The herd of this many clients, each of which makes at most this many attempts.
    pub(super) fn new<D: FnMut() -> f64>(
        policy: &Policy,
        attempts: Option<u64>,
        (clients, draws): (u32, &impl Fn(u32) -> D),
        bounds: Bounds,
    ) -> Self {
        let looked_at = simulated(policy, MOST_RETRIES);
        let crowd = Crowd {
            policy: &looked_at,
            clients,
            draws,
            budget: bounds.budget,
        };
        let census = crowd.counted();
        let without = without_jitter(&looked_at);
        let most = attempts.map(|each| u128::from(each) * u128::from(clients));
        let shared = bounds.budget.filter(|budget| budget.refill.is_none());
        let shared = shared.map(|budget| u128::from(clients) + u128::from(budget.tokens));
        Self {
            clients,
            first_retries: Some(MOST_RETRIES)
                .filter(|most| attempts.is_none_or(|all| all - 1 > *most)),
            bars: census.bars.all(),
            width: census.bars.width(),
            busiest: census.busiest,
            busiest_without_jitter: match bounds.budget {
                None => most_of_one(&without, &mut || 0.0) * u64::from(clients),
                Some(_) => Crowd {
                    policy: &without,
                    ..crowd
                }
                .counted()
                .busiest
                .retries(),
            },
            most_attempts: most.into_iter().chain(shared).min(),
            capacities: bounds
                .capacity
                .map(|capacity| Capacities::new(policy, capacity, (clients, draws), bounds)),
        }
    }
}

/// The fate of the clients of a server of limited capacity.
#[derive(Debug)]
pub(super) struct Capacities {
    pub(super) capacity: Capacity,
    pub(super) with_jitter: Tally,
    pub(super) without_jitter: Tally,
}

impl Capacities {
    fn new<D: FnMut() -> f64>(
        policy: &Policy,
        capacity: Capacity,
        clients: (u32, &impl Fn(u32) -> D),
        bounds: Bounds,
    ) -> Self {
        let policy = simulated(policy, u64::MAX);
        let served = |policy| simulate(policy, clients, bounds, &mut |_| {});
        Self {
            capacity,
            with_jitter: served(&policy),
            without_jitter: served(&without_jitter(&policy)),
        }
    }
}

/// Returns this policy without jitter.
fn without_jitter(policy: &Policy) -> Policy {
    Policy {
        backoff: Backoff {
            jitter: Jitter::None,
            ..policy.backoff.clone()
        },
        ..simulated(policy, u64::MAX)
    }
}
