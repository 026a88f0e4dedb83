//! Time limits: what they end, with which status, and that nothing is left of it.

use std::time::Duration;

use crate::support::{AT_ONCE, FAST, Sandbox, end, is_there};

#[test]
fn a_time_limit_ends_the_whole_group() {
    let done = Sandbox::new()
        .retry_sh(
            "-a 1 --timeout 300ms --kill-after 300ms",
            "sleep 31 & sleep 31; :",
        )
        .run();
    done.exits(124)
        .took_less_than(AT_ONCE)
        .says(&["sh: attempt 1/1 failed: timed out after …; giving up after …"]);
}

#[test]
fn a_child_that_exits_0_at_the_time_limit_has_timed_out_all_the_same() {
    let script = "trap 'exit 0' TERM; while :; do sleep 0.05; done";
    Sandbox::new()
        .retry_sh("-a 1 --timeout 300ms", script)
        .run()
        .exits(124);
}

#[test]
fn a_child_that_ignores_the_signal_is_killed_after_the_grace() {
    let done = Sandbox::new()
        .retry_sh(
            "-a 1 --timeout 300ms --kill-after 300ms",
            "trap '' TERM; while :; do sleep 0.05; done",
        )
        .run();
    done.exits(124)
        .took_at_least(Duration::from_millis(600))
        .took_less_than(AT_ONCE);
}

#[test]
fn without_a_grace_kill_comes_at_once() {
    let done = Sandbox::new()
        .retry_sh("-a 1 --timeout 300ms -k 0", "trap '' TERM; exec sleep 30")
        .run();
    done.exits(124).took_less_than(AT_ONCE);
}

#[test]
fn a_grandchild_that_ignores_the_signal_is_killed_although_its_parent_is_gone() {
    let script = "(trap '' TERM; exec sleep 30) & echo ready; sleep 30; :";
    let done = Sandbox::new()
        .retry_sh("-a 1 --timeout 300ms --kill-after 300ms", script)
        .run();
    done.exits(124)
        .took_at_least(Duration::from_millis(600))
        .took_less_than(AT_ONCE);
}

#[test]
fn a_grandchild_gets_its_grace_although_its_parent_is_gone() {
    let script =
        "(trap 'sleep 0.5; echo cleaned; exit 0' TERM; while :; do sleep 0.05; done) & sleep 30; :";
    let done = Sandbox::new()
        .retry_sh("-a 1 --timeout 300ms", script)
        .run();
    done.exits(124)
        .stdout_is("cleaned\n")
        .took_less_than(AT_ONCE);
}

#[test]
fn the_next_attempt_starts_only_when_the_last_one_is_gone() {
    let sandbox = Sandbox::new();
    let script = "mkdir lock || echo OVERLAP; trap 'sleep 0.3; rmdir lock; exit 1' TERM; while :; do sleep 0.05; done";
    let done = sandbox
        .retry_sh(&format!("-a 3 {FAST} --timeout 300ms"), script)
        .run();
    done.exits(124).stdout_is("");
    assert_eq!(done.failures(), 3, "{done:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_lock_that_one_attempt_held_is_free_for_the_next() {
    let sandbox = Sandbox::new();
    let done = sandbox
        .retry_sh(
            &format!("-a 3 {FAST} --timeout 200ms"),
            "flock -n lk sleep 30 || echo OVERLAP",
        )
        .run();
    done.exits(124).stdout_is("");
    assert_eq!(done.failures(), 3, "{done:?}");
}

#[test]
fn two_attempts_that_ignore_the_signal_never_run_together() {
    let sandbox = Sandbox::new();
    let options = format!("-a 2 {FAST} --timeout 300ms --kill-after 300ms");
    let script = "mkdir lock 2>/dev/null || { kill -0 $(cat pid) 2>/dev/null && echo OVERLAP; }; echo $$ >pid; trap '' TERM; while :; do sleep 0.05; done";
    let done = sandbox.retry_sh(&options, script).run();
    done.exits(124)
        .stdout_is("")
        .took_at_least(Duration::from_millis(1200));
    assert_eq!(done.failures(), 2, "{done:?}");
}

#[test]
fn a_background_process_of_a_success_is_left_alone_and_not_waited_for() {
    let sandbox = Sandbox::new();
    let mut running = sandbox
        .retry_sh("", "sleep 30 >/dev/null 2>&1 & echo $! >pid; exit 0")
        .spawn();
    let (status, _) = running.wait_for_exit();
    let pid: i32 = sandbox.text("pid").trim().parse().expect("a pid");
    assert!(status.success());
    assert!(is_there(pid));
    end(pid);
}

#[test]
fn a_background_process_that_holds_our_stdout_is_not_waited_for() {
    let sandbox = Sandbox::new();
    let mut running = sandbox
        .retry_sh("-a 1", "sleep 30 & echo $! >pid; echo hi")
        .spawn();
    let (status, ended) = running.wait_for_exit();
    assert!(status.success() && ended.elapsed() < AT_ONCE);
    end(sandbox.text("pid").trim().parse().expect("a pid"));
    running.await_stdout("hi\n");
}

#[test]
fn a_stopped_child_is_ended_without_kill() {
    let done = Sandbox::new()
        .retry_sh(
            "-a 1 --timeout 300ms --kill-after 30s",
            "kill -STOP $$; sleep 30",
        )
        .run();
    done.exits(124).took_less_than(AT_ONCE);
}

#[test]
fn a_time_limit_sends_the_signal_that_was_asked_for() {
    let script = "trap 'echo int; exit 1' INT; trap '' TERM; while :; do sleep 0.05; done";
    let done = Sandbox::new()
        .retry_sh("-a 1 --timeout 300ms --signal INT", script)
        .run();
    done.exits(124).stdout_is("int\n");
}

#[test]
fn the_deadline_ends_a_running_attempt() {
    let done = Sandbox::new()
        .retry_sh(&format!("{FAST} --deadline 500ms"), "sleep 30")
        .run();
    done.exits(124)
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
    done.exits(6).took_less_than(AT_ONCE).says(&[
        "sh: attempt 1/5 failed: exit 6 after …; giving up after …: a delay of 30.0s does not fit in the deadline of 10.0s, of which … is left",
    ]);
}

#[test]
fn the_time_for_one_attempt_is_not_the_time_for_all() {
    let done = Sandbox::new()
        .retry_sh(
            &format!("{FAST} --timeout 300ms --deadline 1s -a 99"),
            "sleep 30",
        )
        .run();
    done.exits(124)
        .took_at_least(Duration::from_millis(900))
        .took_less_than(AT_ONCE);
    assert!(done.failures() >= 2, "{done:?}");
}

#[test]
fn limits_of_any_length_are_no_danger() {
    let sandbox = Sandbox::new();
    for limit in ["99999999h", "99999999999999999999999w", "0", "inf"] {
        let options = format!("--deadline {limit} --timeout {limit} -k 99999999999w -- true");
        sandbox.retry(&options).run().exits(0);
    }
}

#[test]
fn an_exit_of_124_by_the_command_itself_is_no_time_out() {
    let done = Sandbox::new()
        .retry_sh("-a 1 --retry-on 124 --timeout 30s", "exit 124")
        .run();
    done.exits(124)
        .says(&["sh: attempt 1/1 failed: exit 124 after …; giving up after …"]);
}

#[test]
fn a_time_limit_stays_in_force_after_a_signal() {
    let script = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
    let mut running = Sandbox::new()
        .retry_sh("--timeout 1s -k 100ms", script)
        .spawn();
    running.await_stdout("ready").signal(libc::SIGTERM);
    let done = running.wait();
    done.exits(124).took_less_than(AT_ONCE);
    assert_eq!(done.said().len(), 1, "{done:?}");
}

#[test]
fn in_our_own_group_a_time_limit_ends_the_child_and_its_descendants() {
    let script = "sleep 31 & (sleep 31; :) & sleep 31; :";
    let done = Sandbox::new()
        .retry_sh(
            "-a 1 --process-group inherit --timeout 300ms --kill-after 300ms",
            script,
        )
        .run();
    done.exits(124).took_less_than(AT_ONCE);
}

#[test]
fn in_our_own_group_the_other_members_are_left_alone() {
    let done = Sandbox::new()
        .bash("(sleep 1; echo right) & retry -a 1 --process-group inherit --timeout 300ms -- sleep 30; echo $?; wait")
        .run();
    done.exits(0).stdout_is("124\nright\n");
}

#[test]
fn without_a_terminal_each_attempt_leads_a_group_of_its_own() {
    let done = Sandbox::new()
        .retry_sh(
            &format!("-a 2 {FAST}"),
            "ps -o pgid= -p $$; echo $$; exit 1",
        )
        .run();
    let numbers: Vec<&str> = done.stdout.split_whitespace().collect();
    assert_eq!(numbers.len(), 4, "{done:?}");
    assert_eq!(
        (numbers[0], numbers[2]),
        (numbers[1], numbers[3]),
        "{done:?}"
    );
    assert_ne!(numbers[0], numbers[2], "{done:?}");
}

/// A script that says so when it runs beside an earlier run of itself that still holds the lock.
fn alone(script: &str) -> String {
    format!("exec 9>lock; flock -n 9 || echo OVERLAP; {script}")
}

#[cfg(target_os = "linux")]
#[test]
fn in_our_own_group_what_is_started_at_the_last_moment_is_ended_too() {
    let options = "-a 2 --base 0 --process-group inherit --timeout 300ms -k 1s";
    for script in [
        "trap 'sleep 73 & exit 1' TERM; while :; do sleep 0.05; done",
        "(sleep 83 & ); exec sleep 83",
    ] {
        let done = Sandbox::new().retry_sh(options, &alone(script)).run();
        done.exits(124).stdout_is("");
        assert_eq!(done.failures(), 2, "{done:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn more_members_than_there_are_descriptors_are_all_ended() {
    let crowd = alone("for i in $(seq 40); do sleep 74 & done; wait");
    for group in ["inherit", "new"] {
        let sandbox = Sandbox::new();
        std::fs::write(sandbox.path("crowd"), &crowd).expect("a script");
        let script = format!(
            "ulimit -n 24; exec retry -a 2 --base 0 --process-group {group} --timeout 500ms -k 500ms -- sh crowd"
        );
        let done = sandbox.bash(&script).run();
        done.exits(124).stdout_is("");
        assert_eq!(done.failures(), 2, "{done:?}");
    }
}

#[test]
fn a_child_that_has_left_its_group_is_ended_all_the_same() {
    let script = "setpgrp(0, getpgrp(getppid())); $| = 1; print \"ready\\n\"; sleep 40";
    let options = "--timeout 1s -k 1s -a 1 --";
    let call = || Sandbox::new().retry(options).args(["perl", "-e", script]);
    call().run().exits(124).took_less_than(AT_ONCE);
    let mut running = call().spawn();
    running.await_stdout("ready").signal(libc::SIGTERM);
    running.wait().dies_of(libc::SIGTERM);
}

#[test]
fn a_limit_that_was_passed_during_a_delay_allows_no_further_attempt() {
    let options = "-a 3 --deadline 2s --base 1s --jitter none";
    let sandbox = Sandbox::new();
    let mut running = sandbox.retry_sh(options, "echo x >>runs; exit 6").spawn();
    running.await_stderr("next in 1.00s").signal(libc::SIGSTOP);
    crate::support::let_pass("2.2");
    running.signal(libc::SIGCONT);
    let done = running.wait();
    done.exits(6);
    assert_eq!(sandbox.lines("runs"), 1, "{done:?}");
    assert!(
        done.said()[1].contains("giving up after attempt 1/3"),
        "{done:?}"
    );
}

#[test]
fn in_our_own_group_what_keeps_forking_is_ended_too() {
    let script = "$SIG{TERM} = 'IGNORE'; $SIG{CHLD} = 'IGNORE';
        for (1 .. 150) { if (fork == 0) { exec 'sleep', 40 } select undef, undef, undef, 0.004 } sleep 40";
    let options = "-a 1 --process-group inherit --timeout 200ms -k 200ms -- perl -e";
    let done = Sandbox::new().retry(options).arg(script).run();
    done.exits(124).took_less_than(AT_ONCE);
    assert!(!done.stderr.contains("left behind"), "{done:?}");
}
