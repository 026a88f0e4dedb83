//! Clients that share a budget, or a server that serves only so many.

use super::*;
use crate::plan::contention::{Tally, simulate};

/// What becomes of these clients, and when their retries are.
fn simulated_with(flags: &str, clients: u32) -> (Tally, Vec<Duration>) {
    let (job, crowd) = asked(&format!("{flags} --clients {clients}"));
    let bounds = Bounds {
        budget: job.budget(),
        capacity: crowd.and_then(|crowd| crowd.capacity),
    };
    let mut at = Vec::new();
    let draws = |client| crate::draws(7, client);
    let policy = simulated(&job.policy, u64::MAX);
    let done = simulate(&policy, (clients, &draws), bounds, &mut |time| {
        at.push(time);
    });
    (done, at)
}

#[test]
fn without_a_bound_the_retries_are_those_of_runs_of_their_own() {
    for flags in [
        "-a 6",
        "-a 9 --deadline 20s",
        "-a 7 --jitter decorrelated",
        "-a 4 --jitter 20%",
    ] {
        let (done, times) = simulated_with(flags, 50);
        let (job, _) = asked(flags);
        let mut expected: Vec<Duration> = (0..50)
            .flat_map(|client| {
                let delays = run(&job.policy, 99, &mut crate::draws(7, client));
                delays.into_iter().scan(Duration::ZERO, |at, delay| {
                    *at += delay;
                    Some(*at)
                })
            })
            .collect();
        expected.sort_unstable();
        assert_eq!(times, expected, "{flags}");
        assert_eq!((done.served, done.gave_up), (0, 50), "{flags}");
        assert_eq!(done.attempts, 50 + expected.len() as u64, "{flags}");
    }
}

#[test]
fn a_shared_budget_is_kept() {
    for (tokens, clients) in [(0, 9), (5, 9), (20, 9), (1000, 9)] {
        let flags = format!("-a 5 --shared b --budget {tokens}");
        let (done, times) = simulated_with(&flags, clients);
        assert_eq!(
            times.len() as u64,
            u64::from(tokens.min(4 * clients)),
            "{flags}"
        );
        assert_eq!(done.gave_up, clients);
    }
    // Time gives back: a run that asks for two retries a second is refused by one, and not by ten.
    let refilled = |rate: &str| {
        let options = "-a inf --base 1s --cap 1s --deadline 1m --shared b --budget 10";
        simulated_with(&format!("{options} --budget-refill {rate}/1s"), 1).1
    };
    let (few, many) = (refilled("1"), refilled("10"));
    let last = few.last().expect("retries").as_secs();
    assert!((10..=11 + last).contains(&(few.len() as u64)), "{few:?}");
    assert!(many.len() > 80, "{}", many.len());
}

#[test]
fn a_plan_says_what_the_budget_leaves_of_the_herd() {
    let text = text("-a 5 --shared b --budget 20 --clients 1000");
    let counted: u64 = text
        .lines()
        .filter(|line| line.contains('#'))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
        .sum();
    assert_eq!(counted, 20, "{text}");
    assert!(
        text.contains("with full jitter, 20 with no jitter"),
        "{text}"
    );
    assert!(
        text.contains("attempts of all clients: at most 1020"),
        "{text}"
    );
}

#[test]
fn those_that_are_served_give_back_to_the_budget_as_a_run_does() {
    // At 1 s, ten of twenty are served and give back one token. It pays for one retry at 3 s.
    let flags = "-a 5 --jitter none --shared b --budget 20 --capacity 10/1s";
    let (done, _) = simulated_with(flags, 30);
    assert_eq!((done.served, done.gave_up, done.attempts), (11, 19, 51));
    assert_eq!(done.last, Some(Duration::from_secs(3)));
}

/// The same without jitter, counted another way: all wait for the same instants.
fn in_waves(clients: u32, each: u32, waves: &[u64], window_ms: u64) -> (u32, u64) {
    let (mut left, mut attempts) = (clients, u64::from(clients));
    let mut in_window = std::collections::BTreeMap::new();
    for wave in waves {
        let used = in_window.entry(wave / window_ms).or_insert(0);
        attempts += u64::from(left);
        let served = left.min(each - *used);
        *used += served;
        left -= served;
    }
    (clients - left, attempts)
}

#[test]
fn a_server_serves_the_first_in_each_window_of_the_waves() {
    let waves = [1000, 3000, 7000, 15_000];
    for (each, window_ms) in [(1, 1000), (30, 1000), (100, 500), (10, 10_000), (200, 1000)] {
        let flags = format!("-a 5 --jitter none --capacity {each}/{window_ms}ms");
        let (done, _) = simulated_with(&flags, 100);
        let (served, attempts) = in_waves(100, each, &waves, window_ms);
        assert_eq!(
            (done.served, done.gave_up),
            (served, 100 - served),
            "{flags}"
        );
        assert_eq!(done.attempts, attempts, "{flags}");
    }
}

#[test]
fn jitter_has_a_server_serve_more_with_fewer_attempts() {
    let (with, _) = simulated_with("-a 10 --capacity 100/1s", 10_000);
    let (without, _) = simulated_with("-a 10 --jitter none --capacity 100/1s", 10_000);
    assert!(with.served > 3 * without.served, "{with:?} {without:?}");
    assert!(with.attempts < without.attempts, "{with:?} {without:?}");
}

#[test]
fn a_server_that_can_serve_all_serves_all_at_their_first_retry() {
    let (done, times) = simulated_with("-a 5 --capacity 1000/1m", 1000);
    assert_eq!((done.served, done.gave_up, done.attempts), (1000, 0, 2000));
    assert_eq!(done.last, times.last().copied());
}

proptest! {
    #[test]
    fn every_client_is_served_or_gives_up(
        policy in any_policy(), clients in 1..30_u32, attempts in 1..5_u32, millis in 1..5000_u64,
    ) {
        let policy = Policy { attempts: Attempts::AtMost(6), ..policy };
        let capacity = job::Capacity { attempts, window: Duration::from_millis(millis) };
        let bounds = Bounds { capacity: Some(capacity), budget: None };
        let draws = |client| crate::chance::draws(7, client);
        let mut times = Vec::new();
        let done = simulate(&policy, (clients, &draws), bounds, &mut |at| times.push(at));
        prop_assert_eq!(done.served + done.gave_up, clients);
        prop_assert!(times.is_sorted());
        prop_assert_eq!(done.attempts, u64::from(clients) + times.len() as u64);
        prop_assert!(!done.is_cut);
    }
}
