//! Many clients that affect each other: they share a budget, or a server that serves only so many.
//!
//! All of them have failed at t = 0. Each decides about its retries as a run does, by
//! [`Policy::decide`], and the retries of all are taken in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::bucket::{Bucket, Budget};
use crate::job::Capacity;
use crate::policy::{Decision, History, Policy};
use crate::status::{Ending, Outcome};

/// The maximum number of retries simulated at a server: clients that never give up would retry
/// forever.
const MOST_RETRIES: u64 = 10_000_000;

/// The bounds that the clients share.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    /// The retries that they share.
    pub(super) budget: Option<Budget>,
    /// The attempts that the server serves; without one, all fail.
    pub(super) capacity: Option<Capacity>,
}

/// How many clients are served, and at what cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// How many are served in the end.
    pub(super) served: u32,
    /// How many give up.
    pub(super) gave_up: u32,
    /// The attempts of all of them, with the first ones.
    pub(super) attempts: u64,
    /// When the last one is served.
    pub(super) last: Option<Duration>,
    /// Whether the simulation was cut off, so that some are neither.
    pub(super) is_cut: bool,
}

/// A client that waits for its next retry.
struct Client<D> {
    history: History,
    draw: D,
}

/// Simulates these clients; calls `tell` with the time of each retry, in order.
pub(super) fn simulate<D: FnMut() -> f64>(
    policy: &Policy,
    (clients, draws): (u32, &impl Fn(u32) -> D),
    bounds: Bounds,
    tell: &mut impl FnMut(Duration),
) -> Tally {
    let failure: Ending = Outcome::Exited(1).into();
    let mut purse = bounds.budget.map(Purse::full);
    let mut done = Tally {
        attempts: u64::from(clients),
        ..Tally::default()
    };
    let mut waiting = BinaryHeap::new();
    let mut all: Vec<Client<D>> = Vec::new();
    let next = |client: &mut Client<D>, purse: &mut Option<Purse>, now: Duration| {
        let u = (client.draw)();
        let mut is_paid = || purse.as_mut().is_none_or(|purse| purse.takes(now));
        match policy.decide(&mut client.history, &failure, now, u) {
            Decision::Retry { delay, .. } if is_paid() => Some(now.saturating_add(delay)),
            _ => None,
        }
    };
    for number in 0..clients {
        let mut client = Client {
            history: History::new(policy),
            draw: draws(number),
        };
        match next(&mut client, &mut purse, Duration::ZERO) {
            Some(at) => {
                waiting.push(Reverse((at, all.len())));
                // Those that give up at once take no room.
                all.push(client);
            }
            None => done.gave_up += 1,
        }
    }
    let mut server = Server::default();
    let mut retries = 0;
    while let Some(Reverse((at, index))) = waiting.pop() {
        if bounds.capacity.is_some() && retries == MOST_RETRIES {
            done.is_cut = true;
            return done;
        }
        retries += 1;
        done.attempts += 1;
        tell(at);
        if bounds
            .capacity
            .is_some_and(|capacity| server.serves(&capacity, at))
        {
            done.served += 1;
            done.last = Some(at);
            if let Some(purse) = &mut purse {
                purse.gets_back(at);
            }
        } else if let Some(again) = next(&mut all[index], &mut purse, at) {
            waiting.push(Reverse((again, index)));
        } else {
            done.gave_up += 1;
        }
    }
    done
}

/// A budget and what is left of it.
struct Purse {
    budget: Budget,
    bucket: Bucket,
}

impl Purse {
    /// With nothing spent.
    fn full(budget: Budget) -> Self {
        Self {
            budget,
            bucket: Bucket::new(Duration::ZERO),
        }
    }

    /// Whether a token is left for a retry, which takes it.
    fn takes(&mut self, now: Duration) -> bool {
        self.bucket.take(&self.budget, now)
    }

    /// Refunds a success.
    fn gets_back(&mut self, now: Duration) {
        self.bucket.reward(&self.budget, now);
    }
}

/// A server that serves the first attempts in each window of time.
#[derive(Default)]
struct Server {
    window: u128,
    served: u32,
}

impl Server {
    /// Whether it serves an attempt at this time, which is never before the last.
    fn serves(&mut self, capacity: &Capacity, at: Duration) -> bool {
        let window = at.as_nanos() / capacity.window.as_nanos().max(1);
        if window != self.window {
            *self = Self { window, served: 0 };
        }
        let is_served = self.served < capacity.attempts;
        self.served += u32::from(is_served);
        is_served
    }
}
