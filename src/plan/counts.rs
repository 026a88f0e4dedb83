//! How many retries start in each slot of a range of time, in a byte a slot.

use std::collections::BTreeMap;

/// What a byte can hold, and one more.
const ROUND: u64 = 1 << 8;

/// How often something was counted in each slot. There is no more memory than up to the last slot in
/// which there was something; that a slot has more than a byte can hold is noted beside it, and as
/// rare as that many retries are.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    low: Vec<u8>,
    /// How often the byte has gone round.
    high: BTreeMap<usize, u64>,
    /// How many slots there can be.
    most: usize,
}

impl Counts {
    /// Nothing yet, in so many slots.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            low: Vec::new(),
            high: BTreeMap::new(),
            most: slots,
        }
    }

    /// One more in a slot, if it is one of these.
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

    /// The slots up to the last one that matters, in order, each with its number.
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

    /// The largest number.
    pub(super) fn most(&self) -> u64 {
        self.up_to(u64::MAX)
            .map(|(_, count)| count)
            .max()
            .unwrap_or(0)
    }
}
