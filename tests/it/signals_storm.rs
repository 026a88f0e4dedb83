//! Signals at any instant of a run. A fixed number of rounds is part of the suite; more are run by
//! hand:
//!
//! ```sh
//! RETRY_ROUNDS=100 cargo test --release storm -- --nocapture
//! ```

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::thread;
use std::time::{Duration, Instant};

use libc::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use rustix::process::Pid;

use crate::support::{AT_ONCE, Sandbox, rounds, send};

/// Numbers that look random and are the same in every run.
fn scatter(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

/// Sends a signal at a random instant of the first 30 ms, again and again, to `retry` with these
/// options around this script.
fn storm(options: &str, script: &str) {
    for round in 0..60 * rounds() {
        let sandbox = Sandbox::new();
        let script = format!("ulimit -c 0; {script}");
        let mut running = sandbox.retry_sh(&format!("-v {options}"), &script).spawn();
        thread::sleep(Duration::from_micros(scatter(round) % 30_000));
        let signal = [SIGTERM, SIGINT, SIGHUP, SIGQUIT][usize::try_from(round % 4).expect("small")];
        let sent = Instant::now();
        running.signal(signal);
        let done = running.wait();
        // A disk that others keep busy may hold up a process that has just begun for as long as its
        // journal is written, five seconds, and no signal ends that.
        assert!(
            done.ended.saturating_duration_since(sent) < AT_ONCE * 2,
            "{done:?}"
        );
        // A command that fails or times out in the very same instant is reported as that.
        let died_of_it = done.status.signal() == Some(signal);
        let failed = matches!(done.status.code(), Some(1 | 124));
        assert!(died_of_it || failed, "round {round}: {done:?}");
        let stopped = done
            .stderr
            .find("stopped by SIG")
            .unwrap_or(done.stderr.len());
        assert!(
            !done.stderr[stopped..].contains("starts"),
            "round {round}: {done:?}"
        );
    }
}

#[test]
fn a_signal_at_any_instant_of_a_run_ends_everything() {
    storm("--base 1ms", "exec sleep 30");
}

#[test]
fn a_signal_at_any_instant_before_or_during_a_delay_ends_everything() {
    storm("--base 30s --cap 30s --jitter none", "exit 1");
}

#[test]
fn a_signal_at_any_instant_of_a_run_of_quick_attempts_ends_everything() {
    storm("-a inf --base 1ms --cap 1ms", "exit 1");
}

#[test]
fn a_signal_at_any_instant_of_attempts_that_time_out_ends_everything() {
    storm("-a inf --base 1ms --cap 1ms --timeout 3ms", "exec sleep 30");
}

/// The first child that a process has, unless it ends before it has any.
#[cfg(target_os = "linux")]
fn first_child(pid: Pid) -> Option<Pid> {
    let pid = pid.as_raw_nonzero();
    loop {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        let first = children.split(' ').next().unwrap_or_default();
        if let Some(child) = first.parse().ok().and_then(Pid::from_raw) {
            return Some(child);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn many_signals_to_a_command_that_is_about_to_start_are_its_own_affair() {
    // Each ends it, none of them is one that somebody asks for, and all are pending at once.
    let many = [SIGHUP, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM, SIGTERM];
    let many = many.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX());
    for round in 0..60 * rounds() {
        let sandbox = Sandbox::new();
        let options = "-q -a inf --base 0 --stop-on 4 --process-group new";
        let call = sandbox.retry_sh(options, "[ -e over ] && exit 4; exit 3");
        let running = call.spawn();
        if let Some(child) = first_child(running.pid()) {
            for signal in many.clone() {
                // It may be gone already.
                let _ = send(child, signal);
            }
        }
        fs::write(sandbox.path("over"), "").expect("a file");
        let done = running.wait();
        assert_eq!(done.status.code(), Some(4), "round {round}: {done:?}");
    }
}
