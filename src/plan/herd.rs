//! What many clients do that have failed at the same time.

use std::time::Duration;

use super::path::{rehearsed, walk};
use crate::backoff::{Backoff, Jitter};
use crate::policy::Policy;
use crate::units::{duration, nanos};

/// The time in which the busiest moment is looked for, in nanoseconds; no bar is narrower.
const SLOT: u128 = 10_000_000;

/// How many bars there are at most.
const MOST_BARS: u64 = 20;

/// How many retries of each client are looked at.
const MOST_RETRIES: u64 = 20;

/// Widths of bars, in slots, up to a day.
const WIDTHS: [u64; 22] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 3_000, 6_000, 12_000, 30_000, 60_000,
    180_000, 360_000, 720_000, 2_160_000, 4_320_000, DAY,
];

/// A day, in slots.
const DAY: u64 = 8_640_000;

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
    pub(super) busiest: u64,
    /// The same if nothing were drawn at random.
    pub(super) busiest_without_jitter: u64,
    /// The most attempts that all can make together; none is without bound.
    pub(super) most_attempts: Option<u128>,
}

/// The retries that start in a certain time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bar {
    pub(super) from: Duration,
    pub(super) retries: u64,
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
        let looked_at = rehearsed(policy, MOST_RETRIES);
        let of_each = attempts.map_or(MOST_RETRIES, |all| MOST_RETRIES.min(all - 1));
        let mut slots = Vec::with_capacity(capacity(clients, of_each));
        for client in 0..clients {
            walk(&looked_at, &mut draws(client), &mut |_, at| {
                slots.push(slot_of(at));
            });
        }
        slots.sort_unstable();
        let backoff = Backoff {
            jitter: Jitter::None,
            ..policy.backoff.clone()
        };
        let mut slots_of_one = Vec::new();
        let without = Policy {
            backoff,
            ..looked_at
        };
        walk(&without, &mut || 0.0, &mut |_, at| {
            slots_of_one.push(slot_of(at));
        });
        let (width, bars) = bars(&slots);
        Self {
            clients,
            first_retries: Some(MOST_RETRIES)
                .filter(|most| attempts.is_none_or(|all| all - 1 > *most)),
            bars,
            width,
            busiest: busiest(&slots),
            busiest_without_jitter: busiest(&slots_of_one) * u64::from(clients),
            most_attempts: attempts.map(|each| u128::from(each) * u128::from(clients)),
        }
    }
}

/// How many retries there are to note.
fn capacity(clients: u32, of_each: u64) -> usize {
    usize::try_from(u64::from(clients) * of_each).unwrap_or(0)
}

/// The number of the ten milliseconds that a time falls in.
fn slot_of(at: Duration) -> u64 {
    u64::try_from(nanos(at) / SLOT).unwrap_or(u64::MAX)
}

/// The most that fall in the same slot; the slots are in order.
fn busiest(slots: &[u64]) -> u64 {
    let crowds = slots.chunk_by(|a, b| a == b);
    crowds.map(|crowd| crowd.len() as u64).max().unwrap_or(0)
}

/// Round widths, ever wider.
fn widths() -> impl Iterator<Item = u64> {
    let days = (0..19).flat_map(|zeros| [2, 5, 10].map(|digit: u64| digit * 10_u64.pow(zeros)));
    let longer = days.map(|days| days.saturating_mul(DAY));
    WIDTHS.into_iter().chain(longer)
}

/// Bars that hold all slots, as narrow as their number allows, and how long each lasts; the slots
/// are in order.
fn bars(slots: &[u64]) -> (Duration, Vec<Bar>) {
    let (Some(first), Some(last)) = (slots.first(), slots.last()) else {
        return (duration(SLOT), Vec::new());
    };
    let is_wide_enough = |width: &u64| last / width - first / width < MOST_BARS;
    let width = widths().find(is_wide_enough).unwrap_or(u64::MAX);
    let time = |bar: u64| duration(u128::from(bar) * u128::from(width) * SLOT);
    let mut rest = slots;
    let bars = (first / width..=last / width).map(|bar| {
        let (here, later) = rest.split_at(rest.partition_point(|slot| slot / width <= bar));
        rest = later;
        Bar {
            from: time(bar),
            retries: here.len() as u64,
        }
    });
    let bars = bars.collect();
    (time(1), bars)
}
