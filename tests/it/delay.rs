//! Delays in real time.

use std::time::Duration;

use libc::{SIGCONT, SIGSTOP};

use crate::support::{AT_ONCE, Sandbox, let_pass};

#[test]
fn a_delay_is_never_cut_short() {
    let done = Sandbox::new()
        .retry_sh("--base 200ms --jitter none -a 2", "exit 1")
        .run();
    done.exits(1)
        .stdout_is("")
        .took_at_least(Duration::from_millis(200))
        .took_less_than(AT_ONCE);
}

#[test]
fn there_is_no_delay_after_the_last_attempt() {
    let done = Sandbox::new()
        .retry("--base 1s --factor 60 --cap 2m --jitter none --attempts 2 -- false")
        .run();
    done.exits(1)
        .stdout_is("")
        .took_at_least(Duration::from_secs(1))
        .took_less_than(AT_ONCE);
}

#[test]
fn a_time_out_is_followed_by_the_same_delay_as_a_failure() {
    let done = Sandbox::new()
        .retry("--base 1s --cap 1s --jitter none --timeout 200ms --attempts 2 -- sleep 30")
        .run();
    done.exits(124)
        .stdout_is("")
        .took_at_least(Duration::from_millis(1400))
        .took_less_than(AT_ONCE);
}

/// The announced delays of a run.
fn delays(options: &str) -> Vec<String> {
    let done = Sandbox::new().retry_sh(options, "exit 1").run();
    let said = done.said();
    said.iter()
        .filter_map(|line| Some(line.split_once("next in ")?.1.to_owned()))
        .collect()
}

#[test]
fn two_runs_draw_different_delays_and_a_seed_makes_them_the_same() {
    let options = "--base 60ms --cap 60ms -a 9";
    let (one, other) = (delays(options), delays(options));
    assert_eq!((one.len(), other.len()), (8, 8));
    assert_ne!(one, other);
    let seeded = format!("{options} --seed 7");
    assert_eq!(delays(&seeded), delays(&seeded));
    assert_ne!(delays(&seeded), delays(&format!("{options} --seed 8")));
}

#[test]
fn time_spent_stopped_counts_towards_a_delay() {
    // Only real time can show it: we are stopped for longer than the delay, and then have less to
    // wait than the delay is. A busy machine may need so much by itself; hence the second round.
    let shown = [1, 8].into_iter().any(|seconds| {
        let options = format!("-a 2 --base {seconds}s --jitter none");
        let mut running = Sandbox::new().retry_sh(&options, "exit 1").spawn();
        running.await_stderr("; next in ").signal(SIGSTOP);
        let_pass(&format!("{seconds}.2"));
        let before = std::time::Instant::now();
        running.signal(SIGCONT);
        let done = running.wait();
        done.exits(1).stdout_is("");
        assert_eq!(done.failures(), 2, "{done:?}");
        done.ended - before < Duration::from_secs(seconds) * 3 / 4
    });
    assert!(shown, "the delay began anew each time");
}
