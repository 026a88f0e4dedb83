//! The part of a plan about many clients, as JSON.

use serde::Serialize;

use super::millis;
use crate::plan::census::Busiest;
use crate::plan::{clients, contention};

#[derive(Serialize)]
pub(super) struct Herd {
    clients: u32,
    first_retries: Option<u64>,
    bar_ms: u64,
    bars: Vec<Bar>,
    busiest_10ms: u64,
    busiest_10ms_is_upper_bound: bool,
    busiest_10ms_without_jitter: u64,
    most_attempts: Option<u128>,
    capacity: Option<Capacity>,
}

#[derive(Serialize)]
struct Capacity {
    attempts: u32,
    window_ms: u64,
    with_jitter: Tally,
    without_jitter: Tally,
}

#[derive(Serialize)]
struct Tally {
    served: u32,
    gave_up: u32,
    attempts: u64,
    last_served_ms: Option<u64>,
    is_cut: bool,
}

#[derive(Serialize)]
struct Bar {
    from_ms: u64,
    retries: u64,
}

impl From<&clients::Herd> for Herd {
    fn from(herd: &clients::Herd) -> Self {
        let bars = herd.bars.iter().map(|bar| Bar {
            from_ms: millis(bar.from),
            retries: bar.retries,
        });
        let (busiest, is_bound) = match herd.busiest {
            Busiest::Exactly(retries) => (retries, false),
            Busiest::AtMost(retries) => (retries, true),
        };
        Self {
            clients: herd.clients,
            first_retries: herd.first_retries,
            bar_ms: millis(herd.width),
            bars: bars.collect(),
            busiest_10ms: busiest,
            busiest_10ms_is_upper_bound: is_bound,
            busiest_10ms_without_jitter: herd.busiest_without_jitter,
            most_attempts: herd.most_attempts,
            capacity: herd.capacities.as_ref().map(Capacity::from),
        }
    }
}

impl From<&clients::Capacities> for Capacity {
    fn from(all: &clients::Capacities) -> Self {
        Self {
            attempts: all.capacity.attempts,
            window_ms: millis(all.capacity.window),
            with_jitter: Tally::from(&all.with_jitter),
            without_jitter: Tally::from(&all.without_jitter),
        }
    }
}

impl From<&contention::Tally> for Tally {
    fn from(done: &contention::Tally) -> Self {
        Self {
            served: done.served,
            gave_up: done.gave_up,
            attempts: done.attempts,
            last_served_ms: done.last.map(millis),
            is_cut: done.is_cut,
        }
    }
}
