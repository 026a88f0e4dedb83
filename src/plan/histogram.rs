//! Counts of retries in slots of ten milliseconds, shown as the bars of a chart.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::duration::from_nanos;

/// The slot in which the busiest moment is searched for, in nanoseconds; no bar is narrower.
pub(super) const SLOT: u128 = 10_000_000;

/// The maximum number of bars.
const MOST_BARS: u64 = 20;

/// Widths of bars, in slots, up to a day.
const WIDTHS: [u64; 22] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 3_000, 6_000, 12_000, 30_000, 60_000,
    180_000, 360_000, 720_000, 2_160_000, 4_320_000, DAY,
];

/// A day, in slots.
const DAY: u64 = 8_640_000;

/// The retries that start within a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bar {
    pub(super) from: Duration,
    pub(super) retries: u64,
}

/// All bars, as narrow as their number allows.
#[derive(Clone, Debug)]
pub(super) struct Bars {
    /// The number of slots in a bar.
    width: u64,
    /// The number of the first bar, counted from the start of the run.
    first: u64,
    retries: Vec<u64>,
}

impl Bars {
    /// No bars.
    pub(super) fn none() -> Self {
        Self {
            width: 1,
            first: 0,
            retries: Vec::new(),
        }
    }

    /// Empty bars for everything from the first to the last of these slots.
    pub(super) fn between(first: u64, last: u64) -> Self {
        let is_wide_enough = |width: &u64| last / width - first / width < MOST_BARS;
        let width = widths().find(is_wide_enough).unwrap_or(u64::MAX);
        let bars = last / width - first / width + 1;
        Self {
            width,
            first: first / width,
            retries: vec![0; usize::try_from(bars).unwrap_or(0)],
        }
    }

    /// Adds retries that start in a slot.
    pub(super) fn add(&mut self, slot: u64, retries: u64) {
        let bar = (slot / self.width).checked_sub(self.first);
        let bar = bar.and_then(|bar| self.retries.get_mut(usize::try_from(bar).ok()?));
        if let Some(bar) = bar {
            *bar += retries;
        }
    }

    /// Returns the duration of a bar.
    pub(super) fn width(&self) -> Duration {
        self.time(1)
    }

    /// Returns the bars, in order.
    pub(super) fn all(&self) -> Vec<Bar> {
        let bars = (self.first..=u64::MAX).zip(&self.retries);
        let bars = bars.map(|(bar, retries)| Bar {
            from: self.time(bar),
            retries: *retries,
        });
        bars.collect()
    }

    /// Returns when a bar begins.
    fn time(&self, bar: u64) -> Duration {
        from_nanos(u128::from(bar) * u128::from(self.width) * SLOT)
    }
}

/// Returns round widths, ever wider.
fn widths() -> impl Iterator<Item = u64> {
    let days = (0..19).flat_map(|zeros| [2, 5, 10].map(|digit: u64| digit * 10_u64.pow(zeros)));
    let longer = days.map(|days| days.saturating_mul(DAY));
    WIDTHS.into_iter().chain(longer)
}

/// The number of values of a byte.
const ROUND: u64 = 1 << 8;

/// A count for each slot. Memory is used only up to the last slot with a count; a count that
/// exceeds a byte overflows into a map, which stays as small as such counts are rare.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    low: Vec<u8>,
    /// How often the byte has overflowed.
    high: BTreeMap<usize, u64>,
    /// The maximum number of slots.
    most: usize,
}

impl Counts {
    /// Zero counts for this many slots.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            low: Vec::new(),
            high: BTreeMap::new(),
            most: slots,
        }
    }

    /// Adds one to a slot, if it is one of these.
    pub(super) fn add(&mut self, slot: u64) {
        let index = usize::try_from(slot).unwrap_or(usize::MAX);
        if index >= self.low.len() {
            if index >= self.most {
                return;
            }
            let grown = (index + 1).next_power_of_two();
            self.low.resize(grown.min(self.most), 0);
        }
        let low = &mut self.low[index];
        *low = low.wrapping_add(1);
        if *low == 0 {
            *self.high.entry(index).or_default() += 1;
        }
    }

    /// Returns the slots up to `last` or the last one with a count, each with its count.
    pub(super) fn up_to(&self, last: u64) -> impl Iterator<Item = (u64, u64)> {
        let slots = usize::try_from(last).map_or(usize::MAX, |last| last.saturating_add(1));
        let mut high = self.high.iter().peekable();
        let low = self.low.iter().enumerate().take(slots);
        low.map(move |(index, low)| {
            let rounds = high.next_if(|(slot, _)| **slot == index);
            let rounds = rounds.map_or(0, |(_, rounds)| *rounds);
            (index as u64, rounds * ROUND + u64::from(*low))
        })
    }

    /// Returns the largest count.
    pub(super) fn most(&self) -> u64 {
        self.up_to(u64::MAX)
            .map(|(_, count)| count)
            .max()
            .unwrap_or(0)
    }
}
