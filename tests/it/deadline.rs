//! `--deadline`: the time for all attempts and delays.

use std::time::Duration;

use crate::support::{AT_ONCE, FAST, Sandbox, let_pass};

#[test]
fn the_deadline_ends_a_running_attempt() {
    let done = Sandbox::new()
        .retry_sh(&format!("{FAST} --deadline 500ms"), "sleep 30")
        .run();
    done.exits(124)
        .stdout_is("")
        .took_at_least(Duration::from_millis(500))
        .took_less_than(AT_ONCE);
    assert_eq!(done.failures(), 1, "{done:?}");
}

#[test]
fn a_delay_that_would_pass_the_deadline_is_not_begun() {
    let done = Sandbox::new()
        .retry_sh(
            "--deadline 10s --base 30s --cap 30s --jitter none",
            "exit 6",
        )
        .run();
    done.exits(6).stdout_is("").took_less_than(AT_ONCE).says(&[
        "sh: attempt 1/5 failed: exit 6 after …; giving up after …: a delay of 30.0s does not fit in the … left of the deadline of 10.0s",
    ]);
}

#[test]
fn the_time_for_one_attempt_is_not_the_time_for_all() {
    let done = Sandbox::new()
        .retry_sh(
            &format!("{FAST} --timeout 300ms --deadline 4s -a 99"),
            "sleep 30",
        )
        .run();
    done.exits(124)
        .stdout_is("")
        .took_at_least(Duration::from_millis(3900))
        .took_less_than(AT_ONCE);
    assert!(done.failures() >= 2, "{done:?}");
}

#[test]
fn a_limit_that_was_passed_during_a_delay_allows_no_further_attempt() {
    // Real time has to pass while we are stopped in a delay that fits in the deadline. On a busy
    // machine the attempt may take too long for that; hence the second round.
    let shown = [2, 9].into_iter().any(|seconds| {
        let options = format!("-a 3 --deadline {seconds}s --base 1s --jitter none");
        let sandbox = Sandbox::new();
        let mut running = sandbox.retry_sh(&options, "echo x >>runs; exit 6").spawn();
        if !running.comes_to_say("; next in 1.00s\n") {
            return false;
        }
        running.signal(libc::SIGSTOP);
        let_pass(&format!("{seconds}.1"));
        running.signal(libc::SIGCONT);
        let done = running.wait();
        done.exits(6).stdout_is("");
        assert_eq!(sandbox.lines("runs"), 1, "{done:?}");
        let end = done.said()[1];
        assert!(end.contains("giving up after attempt 1/3"), "{done:?}");
        true
    });
    assert!(shown, "no delay was begun");
}
