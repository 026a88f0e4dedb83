//! Time limits: what they end, with which status, and that nothing is left of it.

use std::time::Duration;

use crate::support::{AT_ONCE, Call, Done, FAST, Sandbox, end, is_there};

/// Runs `sh -c SCRIPT` as [`limited_by`] does, with `LIMIT` in the options for the limit.
#[track_caller]
fn limited(options: &str, attempts: usize, script: &str) -> (Duration, Done) {
    limited_by(attempts, |limit| {
        Sandbox::new().retry_sh(&options.replace("LIMIT", limit), script)
    })
}

/// Makes a call with a limit that is long enough, however busy the machine is, for each of so many
/// attempts to say `ready` on stdout, as it does when it has set its traps. Returns that limit, and
/// what came of it; on stdout, what else was said.
#[track_caller]
fn limited_by(attempts: usize, call: impl Fn(&str) -> Call) -> (Duration, Done) {
    for millis in [300, 1_000, 4_000, 16_000] {
        let mut done = call(&format!("{millis}ms")).run();
        if done.stdout.matches("ready\n").count() == attempts {
            done.stdout = done.stdout.replace("ready\n", "");
            return (Duration::from_millis(millis), done);
        }
    }
    panic!("no attempt is ever ready");
}

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
    let script = "trap 'echo trapped; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let (_, done) = limited("-a 1 --timeout LIMIT", 1, script);
    done.exits(124).stdout_is("trapped\n");
}

#[test]
fn a_child_that_ignores_the_signal_is_killed_after_the_grace() {
    let script = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
    let (limit, done) = limited("-a 1 --timeout LIMIT --kill-after 300ms", 1, script);
    done.exits(124)
        .took_at_least(limit + Duration::from_millis(300));
}

#[test]
fn without_a_grace_kill_comes_at_once() {
    let script = "trap '' TERM; echo ready; exec sleep 60";
    let (limit, done) = limited("-a 1 --timeout LIMIT -k 0", 1, script);
    done.exits(124).took_less_than(limit + AT_ONCE);
}

#[test]
fn a_grandchild_that_ignores_the_signal_is_killed_although_its_parent_is_gone() {
    let script = "(trap '' TERM; echo ready; exec sleep 60) & sleep 60; :";
    let (limit, done) = limited("-a 1 --timeout LIMIT --kill-after 300ms", 1, script);
    done.exits(124)
        .took_at_least(limit + Duration::from_millis(300))
        .took_less_than(limit + AT_ONCE);
}

#[test]
fn a_grandchild_gets_its_grace_although_its_parent_is_gone() {
    let script = "(trap 'sleep 0.5; echo cleaned; exit 0' TERM; echo ready; while :; do sleep 0.05; done) & sleep 60; :";
    let (limit, done) = limited("-a 1 --timeout LIMIT -k 60s", 1, script);
    done.exits(124)
        .stdout_is("cleaned\n")
        .took_less_than(limit + AT_ONCE);
}

#[test]
fn the_next_attempt_starts_only_when_the_last_one_is_gone() {
    let script = "mkdir lock || echo OVERLAP; trap 'sleep 0.3; rmdir lock; exit 1' TERM; echo ready; while :; do sleep 0.05; done";
    let options = format!("-a 3 {FAST} --timeout LIMIT -k 60s");
    let (_, done) = limited(&options, 3, script);
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
    let options = format!("-a 2 {FAST} --timeout LIMIT --kill-after 300ms");
    let script = "mkdir lock 2>/dev/null || { kill -0 $(cat pid) 2>/dev/null && echo OVERLAP; }; echo $$ >pid; trap '' TERM; echo ready; while :; do sleep 0.05; done";
    let (limit, done) = limited(&options, 2, script);
    done.exits(124)
        .stdout_is("")
        .took_at_least(2 * (limit + Duration::from_millis(300)));
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
    let script = "echo ready; kill -STOP $$; sleep 60";
    let (limit, done) = limited("-a 1 --timeout LIMIT --kill-after 60s", 1, script);
    done.exits(124).took_less_than(limit + AT_ONCE);
}

#[test]
fn a_time_limit_sends_the_signal_that_was_asked_for() {
    let script =
        "trap 'echo int; exit 1' INT; trap '' TERM; echo ready; while :; do sleep 0.05; done";
    let (_, done) = limited("-a 1 --timeout LIMIT --signal INT -k 60s", 1, script);
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
            &format!("{FAST} --timeout 300ms --deadline 4s -a 99"),
            "sleep 30",
        )
        .run();
    done.exits(124)
        .took_at_least(Duration::from_millis(3900))
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
    for seconds in [1, 4, 16] {
        let options = format!("-v --timeout {seconds}s -k 100ms");
        let mut running = Sandbox::new().retry_sh(&options, script).spawn();
        running.await_stdout("ready");
        let is_sent = crate::support::send(running.pid(), libc::SIGTERM);
        let done = running.wait();
        let said = done.said();
        // On a busy machine the limit may have come first.
        if is_sent
            && said
                .get(1)
                .is_some_and(|line| line.ends_with("SIGTERM passed on"))
        {
            done.exits(124);
            assert_eq!(said.len(), 5, "{done:?}");
            return;
        }
    }
    panic!("the limit always comes first");
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
        .bash("(until [ -e over ]; do sleep 0.05; done; echo right) & retry -a 1 --process-group inherit --timeout 300ms -- sleep 30; echo $?; >over; wait")
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
    let options = "-a 2 --base 0 --process-group inherit --timeout LIMIT -k 1s";
    for script in [
        "trap 'sleep 73 & exit 1' TERM; echo ready; while :; do sleep 0.05; done",
        "(sleep 83 & ); echo ready; exec sleep 83",
    ] {
        let (_, done) = limited(options, 2, &alone(script));
        done.exits(124).stdout_is("");
        assert_eq!(done.failures(), 2, "{done:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn more_members_than_there_are_descriptors_are_all_ended() {
    let crowd = alone("for i in $(seq 40); do sleep 74 & done; echo ready; wait");
    for group in ["inherit", "new"] {
        let (_, done) = limited_by(2, |limit| {
            let sandbox = Sandbox::new();
            std::fs::write(sandbox.path("crowd"), &crowd).expect("a script");
            sandbox.bash(&format!(
                "ulimit -n 24; exec retry -a 2 --base 0 --process-group {group} --timeout {limit} -k 500ms -- sh crowd"
            ))
        });
        done.exits(124).stdout_is("");
        assert_eq!(done.failures(), 2, "{done:?}");
    }
}

#[test]
fn a_child_that_has_left_its_group_is_ended_all_the_same() {
    let script = "setpgrp(0, getpgrp(getppid())); $| = 1; print \"ready\\n\"; sleep 40";
    let call = |limit: &str| {
        let options = format!("--timeout {limit} -k 60s -a 1 --");
        Sandbox::new().retry(&options).args(["perl", "-e", script])
    };
    let (limit, done) = limited_by(1, call);
    done.exits(124).took_less_than(limit + AT_ONCE);
    let mut running = call("60s").spawn();
    running.await_stdout("ready").signal(libc::SIGTERM);
    running.wait().dies_of(libc::SIGTERM);
}

#[test]
fn a_limit_that_was_passed_during_a_delay_allows_no_further_attempt() {
    let options = "-a 3 --deadline 6s --base 1s --jitter none";
    let sandbox = Sandbox::new();
    let mut running = sandbox.retry_sh(options, "echo x >>runs; exit 6").spawn();
    running.await_stderr("next in 1.00s").signal(libc::SIGSTOP);
    crate::support::let_pass("6.2");
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
    let script = "$SIG{TERM} = 'IGNORE'; $SIG{CHLD} = 'IGNORE'; $| = 1; print qq(ready\n);
        for (1 .. 150) { if (fork == 0) { exec 'sleep', 40 } select undef, undef, undef, 0.004 } sleep 40";
    let (_, done) = limited_by(1, |limit| {
        let options = format!("-a 1 --process-group inherit --timeout {limit} -k 200ms --");
        Sandbox::new().retry(&options).args(["perl", "-e", script])
    });
    done.exits(124);
    assert!(!done.stderr.contains("left behind"), "{done:?}");
}
