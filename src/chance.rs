//! The randomness of a run: its id, the draws of its delays.

use anyhow::{Context as _, Result};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng as _, SeedableRng as _};

use crate::job::Job;
use crate::policy::Policy;
use crate::sys;

/// Returns the seed of a run's delays, and its id. Everything random comes from a single system
/// call.
///
/// # Errors
/// When the system provides no random numbers.
pub(crate) fn seed_and_run_id(job: &Job) -> Result<(u64, String)> {
    if job.seed.is_none() && job.policy.draws() {
        let [seed, upper, lower] = entropy()?;
        return Ok((seed, name([upper, lower])));
    }
    Ok((job.seed.unwrap_or_default(), run_id()?))
}

/// Returns an id that no other run has.
///
/// # Errors
/// When the system provides no random numbers.
pub(crate) fn run_id() -> Result<String> {
    entropy().map(name)
}

fn name([upper, lower]: [u64; 2]) -> String {
    format!("{upper:016x}{lower:016x}")
}

/// Returns a random seed for a plan, short enough to type.
///
/// # Errors
/// When the system provides no random numbers, and the plan depends on them.
pub(crate) fn short_seed(policy: &Policy) -> Result<u64> {
    if policy.draws() {
        entropy().map(|[bits]| bits >> 44)
    } else {
        Ok(0)
    }
}

/// The error message when the system provides no random numbers.
const NO_CHANCE: &str =
    "the system gives no random numbers; allow getrandom, or make /dev/urandom readable";

/// Returns random bits from the system.
fn entropy<const WORDS: usize>() -> Result<[u64; WORDS]> {
    sys::entropy().context(NO_CHANCE)
}

/// Converts 64 random bits to a uniform number in [0, 1), by the upper 53 as Blackman and Vigna
/// advise.
fn unit(bits: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    let upper = (bits >> 11) as f64;
    upper * 2.0_f64.powi(-53)
}

/// Returns the draws of one client of many; client 0 is the run with this seed.
pub(crate) fn draws(seed: u64, client: u32) -> impl FnMut() -> f64 {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed_of(client, seed));
    move || unit(generator.next_u64())
}

/// Returns the seed of one client: the run's own for client 0, and for the others a strong mix of
/// both numbers. Seeds must not be a constant apart, or `SplitMix64` would give the generators the
/// same words, shifted.
fn seed_of(client: u32, seed: u64) -> u64 {
    match client {
        0 => seed,
        client => mixed(mixed(seed) ^ u64::from(client)),
    }
}

/// Pelle Evensen's moremur: a bijection that turns a counter into random numbers.
fn mixed(mut x: u64) -> u64 {
    x = (x ^ (x >> 27)).wrapping_mul(0x3c79_ac49_2ba7_b653);
    x = (x ^ (x >> 33)).wrapping_mul(0x1c69_b3f7_4ac4_ae35);
    x ^ (x >> 27)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SplitMix64` (Steele, Lea, Flood 2014), reimplemented from the paper.
    fn split_mix(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// xoshiro256++ (Blackman, Vigna 2019), reimplemented from the paper.
    fn xoshiro(s: &mut [u64; 4]) -> u64 {
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    #[test]
    fn a_seed_means_the_same_draws_on_every_platform_and_in_every_version() {
        for seed in [0, 1, 42, u64::MAX] {
            let mut mixer = seed;
            let mut state = [0; 4].map(|_: u64| split_mix(&mut mixer));
            let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
            for _ in 0..1000 {
                assert_eq!(generator.next_u64(), xoshiro(&mut state), "seed {seed}");
            }
        }
    }

    #[test]
    fn draws_are_from_zero_up_to_but_not_one() {
        assert!(unit(0).abs() < f64::MIN_POSITIVE);
        assert!(unit(u64::MAX) < 1.0);
        assert!((unit(1 << 63) - 0.5).abs() < f64::EPSILON);
    }
}
