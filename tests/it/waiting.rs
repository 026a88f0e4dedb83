//! Delays in real time, and that waiting costs nothing.

use std::time::Duration;

use libc::{SIGCONT, SIGSTOP, SIGTERM};
use rustix::process::Pid;

use crate::support::{AT_ONCE, Sandbox, let_pass};

#[test]
fn a_delay_is_never_cut_short() {
    let done = Sandbox::new()
        .retry_sh("--base 200ms --jitter none -a 2", "exit 1")
        .run();
    done.exits(1)
        .took_at_least(Duration::from_millis(200))
        .took_less_than(AT_ONCE);
}

#[test]
fn there_is_no_delay_after_the_last_attempt() {
    let done = Sandbox::new()
        .retry("--base 1s --factor 60 --cap 2m --jitter none --attempts 2 -- false")
        .run();
    done.exits(1)
        .took_at_least(Duration::from_secs(1))
        .took_less_than(AT_ONCE);
}

#[test]
fn a_time_out_is_followed_by_the_same_delay_as_a_failure() {
    let done = Sandbox::new()
        .retry("--base 1s --cap 1s --jitter none --timeout 200ms --attempts 2 -- sleep 30")
        .run();
    done.exits(124)
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
fn time_spent_stopped_counts_towards_a_limit() {
    let mut running = Sandbox::new()
        .retry_sh("-a 1 --timeout 4s", "echo ready; exec sleep 30")
        .spawn();
    running.await_stdout("ready").signal(SIGSTOP);
    let_pass("4.5");
    let before = std::time::Instant::now();
    running.signal(SIGCONT);
    let done = running.wait();
    done.exits(124);
    assert!(done.ended - before < Duration::from_secs(3), "{done:?}");
}

#[test]
fn time_spent_stopped_counts_towards_a_delay() {
    let mut running = Sandbox::new()
        .retry_sh("-a 2 --base 4s --jitter none", "exit 1")
        .spawn();
    running.await_stderr("next in 4.00s").signal(SIGSTOP);
    let_pass("4.5");
    let before = std::time::Instant::now();
    running.signal(SIGCONT);
    let done = running.wait();
    done.exits(1);
    assert!(done.ended - before < Duration::from_secs(3), "{done:?}");
}

/// How often a process gave up the processor of itself, and how long it has used it, in ticks.
#[cfg(target_os = "linux")]
fn activity(pid: Pid) -> (u64, u64) {
    let proc = format!("/proc/{}", pid.as_raw_nonzero());
    let status = std::fs::read_to_string(format!("{proc}/status")).expect("a process");
    let switches = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    let stat = std::fs::read_to_string(format!("{proc}/stat")).expect("a process");
    let times: Vec<u64> = stat
        .rsplit(')')
        .next()
        .expect("fields")
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|ticks| ticks.parse().expect("ticks"))
        .collect();
    (
        switches.expect("a count").trim().parse().expect("a count"),
        times.iter().sum(),
    )
}

#[cfg(target_os = "linux")]
fn threads(pid: Pid) -> usize {
    std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()))
        .expect("a process")
        .count()
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_wakes_us_while_the_command_runs() {
    let script = "sleep 0.5; echo ready; sleep 2; echo done; exec sleep 30";
    let mut running = Sandbox::new()
        .retry_sh("-a 1 --timeout 20s", script)
        .spawn();
    running.await_stdout("ready");
    let before = activity(running.pid());
    assert_eq!(threads(running.pid()), 1);
    running.await_stdout("done");
    assert_eq!(activity(running.pid()), before);
    running.signal(SIGTERM);
    running.wait().dies_of(SIGTERM);
}

#[cfg(target_os = "linux")]
#[test]
fn members_that_have_ended_do_not_keep_us_busy_while_the_others_have_their_grace() {
    let script = "trap 'echo asked' TERM; sleep 100 & while :; do sleep 0.3; done";
    let mut running = Sandbox::new()
        .retry_sh("-a 1 --timeout 300ms -k 5s", script)
        .spawn();
    running.await_stdout("asked");
    let (before, _) = activity(running.pid());
    let_pass("1");
    let (after, ticks) = activity(running.pid());
    assert!(
        after - before < 50 && ticks < 20,
        "{} wake-ups, {ticks} ticks",
        after - before
    );
    running.wait().exits(124);
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_wakes_us_during_a_delay() {
    let mut running = Sandbox::new()
        .retry("-a 2 --base 20s --jitter none -- false")
        .spawn();
    running.await_stderr("next in 20.0s");
    let_pass("0.5");
    let before = activity(running.pid());
    assert_eq!(threads(running.pid()), 1);
    let_pass("2");
    assert_eq!(activity(running.pid()), before);
    running.signal(SIGTERM);
    running.wait().dies_of(SIGTERM);
}
