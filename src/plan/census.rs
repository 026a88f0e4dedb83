//! A count of the retries of many clients, over time and in the busiest moment.

use std::time::Duration;

use super::contention::{Bounds, simulate};
use super::histogram::{Bars, Counts, SLOT};
use super::schedule::{walk, walk_until};
use crate::bucket::Budget;
use crate::duration::from_nanos;
use crate::policy::Policy;

/// How many slots are counted one by one at the same time: nearly twelve hours.
const WINDOW: u64 = 1 << 22;

/// How many such windows are counted one after the other: a week.
const MOST_WINDOWS: u64 = 16;

/// How many retries may be stored for sorting.
const MOST_KEPT: u64 = 1 << 18;

impl Busiest {
    /// Returns the number.
    pub(super) fn retries(self) -> u64 {
        match self {
            Self::Exactly(retries) | Self::AtMost(retries) => retries,
        }
    }
}

/// Many clients.
#[derive(Clone, Copy)]
pub(super) struct Crowd<'a, F> {
    /// The policy of every client.
    pub(super) policy: &'a Policy,
    pub(super) clients: u32,
    /// The draws of each client.
    pub(super) draws: &'a F,
    /// The retries that they share.
    pub(super) budget: Option<Budget>,
}

/// The result of a count.
#[derive(Clone, Debug)]
pub(super) struct Census {
    pub(super) bars: Bars,
    pub(super) busiest: Busiest,
}

/// The most retries that start in the same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Busiest {
    Exactly(u64),
    /// An upper bound: too many retries, over too long a time, to be exact.
    AtMost(u64),
}

impl<D: FnMut() -> f64, F: Fn(u32) -> D> Crowd<'_, F> {
    /// Counts all retries.
    pub(super) fn counted(&self) -> Census {
        let mut range = empty();
        let (mut first, mut last, mut number) = (u64::MAX, 0, 0);
        self.each(Duration::MAX, &mut |slot| {
            first = first.min(slot);
            last = last.max(slot);
            number += 1;
            range.add(slot);
        });
        let mut bars = match number {
            0 => Bars::none(),
            _ => Bars::between(first, last),
        };
        let busiest = if last < WINDOW {
            let mut most = 0;
            for (slot, retries) in range.up_to(last) {
                bars.add(slot, retries);
                most = most.max(retries);
            }
            Busiest::Exactly(most)
        } else if number <= MOST_KEPT {
            drop(range);
            Busiest::Exactly(self.kept(&mut bars))
        } else {
            let most = range.most();
            drop(range);
            self.spread(most, last, &mut bars)
        };
        Census { bars, busiest }
    }

    /// Calls `tell` with the slot of each retry of each client; of a client's retries after `end`,
    /// with the first at most.
    fn each(&self, end: Duration, tell: &mut impl FnMut(u64)) {
        let budget = self.budget.filter(|budget| self.may_exceed(budget));
        if budget.is_some() {
            let bounds = Bounds {
                budget,
                capacity: None,
            };
            let clients = (self.clients, self.draws);
            simulate(self.policy, clients, bounds, &mut |at| tell(slot_of(at)));
            return;
        }
        for client in 0..self.clients {
            let mut draw = (self.draws)(client);
            walk_until(end, self.policy, &mut draw, &mut |_, at| tell(slot_of(at)));
        }
    }

    /// Whether these clients may want more retries than a budget has. If not, each goes on alone,
    /// which takes neither time nor memory for the order of all.
    fn may_exceed(&self, budget: &Budget) -> bool {
        let attempts = self.policy.attempts.most();
        let retries = attempts.map(|most| (most - 1).saturating_mul(self.clients.into()));
        retries.is_none_or(|retries| retries > budget.tokens.into())
    }

    /// Counts retries that are few enough to be sorted; returns the most in one slot.
    fn kept(&self, bars: &mut Bars) -> u64 {
        let mut slots = Vec::new();
        self.each(Duration::MAX, &mut |slot| slots.push(slot));
        for slot in &slots {
            bars.add(*slot, 1);
        }
        most_of(slots)
    }

    /// Counts many retries whose last slot is far away; `most` is the highest count of a slot in
    /// the first window.
    fn spread(&self, mut most: u64, last: u64, bars: &mut Bars) -> Busiest {
        // All later windows on top of each other: no single slot of theirs holds more.
        let mut all = empty();
        self.each(Duration::MAX, &mut |slot| {
            bars.add(slot, 1);
            if slot >= WINDOW {
                all.add(slot % WINDOW);
            }
        });
        let bound = all.most();
        drop(all);
        let later = 1..=last / WINDOW;
        if bound > most && *later.end() >= MOST_WINDOWS {
            return Busiest::AtMost(bound);
        }
        for range in later {
            if bound <= most {
                break;
            }
            let start = range * WINDOW;
            let mut counts = empty();
            self.each(start_of(start + WINDOW), &mut |slot| {
                if let Some(slot) = slot.checked_sub(start) {
                    counts.add(slot);
                }
            });
            most = most.max(counts.most());
        }
        Busiest::Exactly(most)
    }
}

/// Returns the most retries of one client that start in the same slot.
pub(super) fn most_of_one(policy: &Policy, draw: &mut dyn FnMut() -> f64) -> u64 {
    let mut slots = Vec::new();
    walk(policy, draw, &mut |_, at| slots.push(slot_of(at)));
    most_of(slots)
}

/// Returns the size of the largest group of equal slots.
fn most_of(mut slots: Vec<u64>) -> u64 {
    slots.sort_unstable();
    let crowds = slots.chunk_by(|a, b| a == b);
    crowds.map(|crowd| crowd.len() as u64).max().unwrap_or(0)
}

/// An empty count of one window.
fn empty() -> Counts {
    Counts::new(usize::try_from(WINDOW).unwrap_or(0))
}

/// Returns when a slot begins.
fn start_of(slot: u64) -> Duration {
    from_nanos(u128::from(slot) * SLOT)
}

/// Returns the slot of ten milliseconds that a time falls in.
fn slot_of(at: Duration) -> u64 {
    const A_SECOND: u64 = 100;
    let rest = u64::from(at.subsec_millis()) * A_SECOND / 1000;
    at.as_secs().saturating_mul(A_SECOND).saturating_add(rest)
}
