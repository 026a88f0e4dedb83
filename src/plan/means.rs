//! The mean delays of decorrelated jitter, computed from their distribution.
//!
//! A delay is uniform between the base and three times the one before it, or the cap. Once the cap
//! cuts some of these ranges and not others, the mean delay no longer follows from the mean before
//! it: drawing from the mean range overestimates it by a factor of up to 2.2.

use super::extrapolation::{DrawnDelay, end};
use super::extrapolation::{float, whole};
use crate::backoff::Backoff;
use crate::duration::{from_nanos, nanos};

/// How many cells divide the range from base to cap, by equal ratios. With this many, means are
/// accurate to a thousandth for a cap of a year and a base of a millisecond, and to a
/// hundred-thousandth for 30 seconds and one.
const CELLS: usize = 500;

/// The relative change below which a mean counts as constant.
const STILL: f64 = 1e-9;

/// Sets each delay to the mean of all possible delays in its place.
pub(super) fn set(backoff: &Backoff, delays: &mut [DrawnDelay]) {
    // A range without width has no distribution.
    if !backoff.jitter.follows_previous_delay()
        || delays
            .first()
            .is_none_or(|drawn| drawn.range.width.is_zero())
    {
        return;
    }
    let mut spread = Spread::new(backoff);
    let mut longest = backoff.start();
    let mut last = None;
    for drawn in delays {
        let range = backoff.range(longest);
        let end = end(&range);
        backoff.advance(&mut longest, end);
        let mean = match last {
            Some((mean, true)) => mean,
            _ => spread.mean(),
        };
        let is_still =
            last.is_some_and(|(before, _): (f64, bool)| (mean - before).abs() <= STILL * mean);
        if !is_still {
            spread.advance();
        }
        last = Some((mean, is_still));
        drawn.delay = from_nanos(whole(mean)).clamp(range.fixed, end);
    }
}

/// The distribution of a delay in nanoseconds.
struct Spread {
    base: f64,
    cap: f64,
    /// The lower edge of each cell, then the upper edge of the last.
    edges: Vec<f64>,
    cells: Vec<Cell>,
}

/// The delays in one cell: their probability, and their mean times that.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    mass: f64,
    moment: f64,
}

impl Spread {
    /// The distribution of the first delay.
    fn new(backoff: &Backoff) -> Self {
        let (base, cap) = (float(nanos(backoff.base)), float(nanos(backoff.cap)));
        let growth = libm::log(cap / base);
        let share = |edge: usize| float(edge as u128) / float(CELLS as u128);
        let mut edges: Vec<f64> = (0..=CELLS)
            .map(|edge| base * libm::exp(growth * share(edge)))
            .collect();
        edges[CELLS] = cap;
        let mut first = Self {
            base,
            cap,
            edges,
            cells: Vec::new(),
        };
        first.cells = first.after(&[Cell {
            mass: 1.0,
            moment: base,
        }]);
        first
    }

    /// Returns the mean.
    fn mean(&self) -> f64 {
        let sum = |of: fn(&Cell) -> f64| self.cells.iter().map(of).sum::<f64>();
        sum(|cell| cell.moment) / sum(|cell| cell.mass)
    }

    /// Advances to the next delay.
    fn advance(&mut self) {
        self.cells = self.after(&self.cells);
    }

    /// Returns the distribution of the delays that follow these, which are in order.
    fn after(&self, cells: &[Cell]) -> Vec<Cell> {
        let mut next = vec![Cell::default(); CELLS];
        // The probability per nanosecond, in all cells before each, from the ranges that end there.
        let mut before = vec![0.0; CELLS];
        let mut index = 0;
        for cell in cells.iter().filter(|cell| cell.mass > 0.0) {
            let end = (3.0 * cell.moment / cell.mass).min(self.cap);
            while index + 1 < CELLS && self.edges[index + 1] < end {
                index += 1;
            }
            let each = cell.mass / (end - self.base);
            next[index].add(each, self.edges[index], end);
            before[index] += each;
        }
        let mut each = 0.0;
        for index in (0..CELLS).rev() {
            next[index].add(each, self.edges[index], self.edges[index + 1]);
            each += before[index];
        }
        next
    }
}

impl Cell {
    /// Adds delays spread evenly between two, with this probability per nanosecond.
    fn add(&mut self, each: f64, from: f64, to: f64) {
        let mass = each * (to - from);
        self.mass += mass;
        self.moment += mass * f64::midpoint(from, to);
    }
}
