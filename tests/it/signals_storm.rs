//! Signals at any instant of a run. A fixed number of rounds is part of the suite; more are run by
//! hand:
//!
//! ```sh
//! RETRY_ROUNDS=100 cargo test --release storm -- --nocapture
//! ```

#[cfg(target_os = "linux")]
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use libc::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
#[cfg(target_os = "linux")]
use rustix::process::Pid;

#[cfg(target_os = "linux")]
use crate::support::send;
use crate::support::{AT_ONCE, Sandbox, rounds};

/// Numbers that look random and are the same in every run.
fn scatter(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

/// Runs `retry` with these options around this script again and again. Each time sends a signal at
/// the start, or when one of these texts is on stderr, or up to four milliseconds later.
fn storm(options: &str, script: &str, texts: &[&str]) {
    for round in 0..60 * rounds() {
        let sandbox = Sandbox::new();
        let script = format!("ulimit -c 0; {script}");
        let mut running = sandbox.retry_sh(&format!("-v {options}"), &script).spawn();
        let number = usize::try_from(round).expect("small");
        if let Some(text) = texts.get(number / 4 % (texts.len() + 1)) {
            running.await_stderr(text);
        }
        let later = Duration::from_micros(scatter(round) % 4_000);
        let seen = Instant::now();
        while seen.elapsed() < later {
            std::hint::spin_loop();
        }
        let signal = [SIGTERM, SIGINT, SIGHUP, SIGQUIT][number % 4];
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
            .find("interrupted (SIG")
            .unwrap_or(done.stderr.len());
        assert!(
            !done.stderr[stopped..].contains("starts"),
            "round {round}: {done:?}"
        );
    }
}

#[test]
fn a_signal_at_any_instant_of_a_run_ends_everything() {
    let script = "echo ready >&2; exec sleep 30";
    storm("--base 1ms", script, &["attempt 1/5 starts", "ready"]);
}

#[test]
fn a_signal_at_any_instant_before_or_during_a_delay_ends_everything() {
    let options = "--base 30s --cap 30s --jitter none";
    storm(
        options,
        "exit 1",
        &["attempt 1/5 starts", "; next in 30.0s"],
    );
}

#[test]
fn a_signal_at_any_instant_of_a_run_of_quick_attempts_ends_everything() {
    let options = "-a inf --base 1ms --cap 1ms";
    storm(options, "exit 1", &["attempt 1 starts", "attempt 3 failed"]);
}

#[test]
fn a_signal_at_any_instant_of_attempts_that_time_out_ends_everything() {
    let options = "-a inf --base 1ms --cap 1ms --timeout 3ms";
    let texts = ["attempt 1 starts", "attempt 1 failed", "attempt 3 starts"];
    storm(options, "exec sleep 30", &texts);
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
