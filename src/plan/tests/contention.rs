//! The reason for jitter: clients that contend for a row, in virtual time, with our schedules.
//!
//! The experiment is that of "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015). N
//! clients start at the same time, and each must commit once to one row: it reads the row's
//! version, and its commit succeeds if nobody has committed since. If not, it retries after a
//! delay. Messages take a time of their own, about 10 ms. The result is the number of commits tried
//! until all have succeeded. (There, the first delay is 10 ms too: it counts from one.)

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::backoff::{Backoff, Curve, Jitter, State};
use crate::numbers::Factor;

/// How often each experiment is made.
const SEEDS: u64 = 50;

/// A message that has arrived at the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Message {
    /// A client asks for the version.
    Read(usize),
    /// A client commits, if the version is still this one.
    Commit(usize, u64),
}

/// A random generator.
struct Chance(u64);

impl Chance {
    /// `SplitMix64`.
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A uniform number in [0, 1).
    fn unit(&mut self) -> f64 {
        let upper = u32::try_from(self.bits() >> 32).expect("32 bits");
        f64::from(upper) / 2.0_f64.powi(32)
    }

    /// How long a message takes: normally distributed with a mean of 10 ms and a deviation of 2.
    fn travel(&mut self) -> Duration {
        // Twelve uniform numbers together have a variance of 1.
        const ONE: u64 = 1 << 16;
        let twelve = (0..3).flat_map(|_| {
            let bits = self.bits();
            [0, 16, 32, 48].map(|place| (bits >> place) % ONE)
        });
        let above = 10_000_000 + twelve.sum::<u64>() * 2_000_000 / ONE;
        Duration::from_nanos(above.abs_diff(12_000_000))
    }
}

/// Returns how many commits this many clients try.
fn calls(clients: usize, backoff: &Backoff, seed: u64) -> u64 {
    let mut chance = Chance(seed);
    let mut state: Vec<State> = vec![backoff.start(); clients];
    let mut under_way = BinaryHeap::new();
    for client in 0..clients {
        under_way.push(Reverse((chance.travel(), Message::Read(client))));
    }
    let (mut version, mut calls) = (0, 0);
    while let Some(Reverse((now, message))) = under_way.pop() {
        match message {
            Message::Read(client) => {
                let arrives = now + chance.travel() + chance.travel();
                under_way.push(Reverse((arrives, Message::Commit(client, version))));
            }
            Message::Commit(client, read) => {
                calls += 1;
                if read == version {
                    version += 1;
                    continue;
                }
                let at = &mut state[client];
                let delay = backoff.range(*at).at(chance.unit());
                backoff.advance(at, delay);
                let arrives = now + chance.travel() + delay + chance.travel();
                under_way.push(Reverse((arrives, Message::Read(client))));
            }
        }
    }
    calls
}

/// Returns how many commits this many clients try, over all seeds.
fn all_calls(clients: usize, jitter: Jitter) -> u64 {
    let backoff = Backoff {
        base: Duration::from_millis(10),
        cap: Duration::from_secs(2),
        curve: Curve::Exponential(Factor::TWO),
        jitter,
    };
    (0..SEEDS).map(|seed| calls(clients, &backoff, seed)).sum()
}

#[test]
fn the_more_of_a_delay_is_drawn_the_fewer_calls_it_takes_to_serve_all() {
    for clients in [20, 40, 60, 80, 100] {
        let [none, equal, full, decorrelated] = [
            Jitter::None,
            Jitter::Equal,
            Jitter::Full,
            Jitter::Decorrelated,
        ]
        .map(|jitter| all_calls(clients, jitter));
        assert!(
            none > equal && equal > full,
            "{clients} clients: {none}, {equal}, {full}"
        );
        assert!(
            decorrelated < none,
            "{clients} clients: {decorrelated} decorrelated, {none} without jitter"
        );
    }
}
