//! What many clients do that have failed at the same time.

use std::time::Duration;

use super::bars::Bar;
use super::crowd::{Busiest, Crowd, most_of_one};
use super::path::simulated;
use crate::backoff::{Backoff, Jitter};
use crate::policy::Policy;

/// How many retries of each client are looked at.
const MOST_RETRIES: u64 = 20;

/// The retries of all clients together.
#[derive(Debug)]
pub(super) struct Herd {
    pub(super) clients: u32,
    /// How many retries of each were looked at, if there are more.
    pub(super) first_retries: Option<u64>,
    pub(super) bars: Vec<Bar>,
    /// How long a bar lasts.
    pub(super) width: Duration,
    /// The most retries that start in the same ten milliseconds.
    pub(super) busiest: Busiest,
    /// The same if nothing were drawn at random.
    pub(super) busiest_without_jitter: u64,
    /// The most attempts that all can make together; none is without bound.
    pub(super) most_attempts: Option<u128>,
}

impl Herd {
    /// The same if all share a budget of so many retries, which time does not give back.
    pub(super) fn sharing(mut self, retries: u32) -> Self {
        let most = u128::from(self.clients) + u128::from(retries);
        self.most_attempts = Some(self.most_attempts.map_or(most, |all| all.min(most)));
        self
    }

    /// So many clients, each of which can make at most so many attempts.
    pub(super) fn new<D: FnMut() -> f64>(
        policy: &Policy,
        clients: u32,
        attempts: Option<u64>,
        draws: &impl Fn(u32) -> D,
    ) -> Self {
        let looked_at = simulated(policy, MOST_RETRIES);
        let crowd = Crowd {
            policy: &looked_at,
            clients,
            draws,
        };
        let census = crowd.counted();
        let backoff = Backoff {
            jitter: Jitter::None,
            ..policy.backoff.clone()
        };
        let without = Policy {
            backoff,
            ..looked_at
        };
        Self {
            clients,
            first_retries: Some(MOST_RETRIES)
                .filter(|most| attempts.is_none_or(|all| all - 1 > *most)),
            bars: census.bars.all(),
            width: census.bars.width(),
            busiest: census.busiest,
            busiest_without_jitter: most_of_one(&without, &mut || 0.0) * u64::from(clients),
            most_attempts: attempts.map(|each| u128::from(each) * u128::from(clients)),
        }
    }
}
