//! The mean delays of decorrelated jitter, whose distribution is carried along.
//!
//! A delay is uniform between the base and three times the one before it, or the cap. Once the cap
//! cuts some of these ranges and not others, the mean delay no longer follows from the mean before
//! it: what is drawn from the mean range is up to 2.2 times too long.

use super::extrapolation::{DrawnDelay, end};
use super::extrapolation::{float, whole};
use crate::backoff::{Backoff, Jitter};
use crate::duration::{from_nanos, nanos};

/// How many parts the range from base to cap is cut into, by equal ratios. With so many, means are
/// right to a thousandth where the cap is a year and the base a millisecond, and to a hundred
/// thousandth where it is 30 seconds and one.
const CELLS: usize = 500;

/// By how much of itself a mean changes when it no longer changes.
const STILL: f64 = 1e-9;

/// Gives each leg the mean of all delays that there may be in its place.
pub(super) fn set(backoff: &Backoff, delays: &mut [DrawnDelay]) {
    // A range without width has nothing to be distributed over.
    if backoff.jitter != Jitter::Decorrelated
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

/// How likely each delay is, in nanoseconds.
struct Spread {
    base: f64,
    cap: f64,
    /// Where the cells begin, and where the last one ends.
    edges: Vec<f64>,
    cells: Vec<Cell>,
}

/// The delays of one cell: how likely they are, and their mean times that.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    mass: f64,
    moment: f64,
}

impl Spread {
    /// That of the first delay.
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

    /// The mean.
    fn mean(&self) -> f64 {
        let sum = |of: fn(&Cell) -> f64| self.cells.iter().map(of).sum::<f64>();
        sum(|cell| cell.moment) / sum(|cell| cell.mass)
    }

    /// Goes on to the next delay.
    fn advance(&mut self) {
        self.cells = self.after(&self.cells);
    }

    /// The delays that come after these, which are in order.
    fn after(&self, cells: &[Cell]) -> Vec<Cell> {
        let mut next = vec![Cell::default(); CELLS];
        // How likely a nanosecond of all cells before this one is, by the ranges that end here.
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
    /// Adds what lies evenly between two delays, each nanosecond so likely.
    fn add(&mut self, each: f64, from: f64, to: f64) {
        let mass = each * (to - from);
        self.mass += mass;
        self.moment += mass * f64::midpoint(from, to);
    }
}
