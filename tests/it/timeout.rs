//! `--timeout` and `--kill-after`: what they end, with which status, and that no process is left.

use std::time::Duration;

use libc::{SIGCONT, SIGSTOP};

use crate::support::{AT_ONCE, FAST, Sandbox, let_pass, limited};

#[test]
fn a_time_limit_ends_the_whole_group() {
    let done = Sandbox::new()
        .retry_sh(
            "-a 1 --timeout 300ms --kill-after 300ms",
            "sleep 31 & sleep 31; :",
        )
        .run();
    done.exits(124)
        .stdout_is("")
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
        .stdout_is("")
        .took_at_least(limit + Duration::from_millis(300));
}

#[test]
fn without_a_grace_kill_comes_at_once() {
    let script = "trap '' TERM; echo ready; exec sleep 60";
    let (limit, done) = limited("-a 1 --timeout LIMIT -k 0", 1, script);
    done.exits(124)
        .stdout_is("")
        .took_less_than(limit + AT_ONCE);
}

#[test]
fn a_grandchild_that_ignores_the_signal_is_killed_although_its_parent_is_gone() {
    let script = "(trap '' TERM; echo ready; exec sleep 60) & sleep 60; :";
    let (limit, done) = limited("-a 1 --timeout LIMIT --kill-after 300ms", 1, script);
    done.exits(124)
        .stdout_is("")
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
fn a_stopped_child_is_ended_without_kill() {
    let script = "echo ready; kill -STOP $$; sleep 60";
    let (limit, done) = limited("-a 1 --timeout LIMIT --kill-after 60s", 1, script);
    done.exits(124)
        .stdout_is("")
        .took_less_than(limit + AT_ONCE);
}

#[test]
fn a_time_limit_sends_the_signal_that_was_asked_for() {
    let script =
        "trap 'echo int; exit 1' INT; trap '' TERM; echo ready; while :; do sleep 0.05; done";
    let (_, done) = limited("-a 1 --timeout LIMIT --signal INT -k 60s", 1, script);
    done.exits(124).stdout_is("int\n");
}

#[test]
fn limits_of_any_length_are_no_danger() {
    let sandbox = Sandbox::new();
    for limit in ["99999999h", "99999999999999999999999w", "0", "inf"] {
        let options = format!("--deadline {limit} --timeout {limit} -k 99999999999w -- true");
        sandbox
            .retry(&options)
            .run()
            .exits(0)
            .stdout_is("")
            .stderr_is("");
    }
}

#[test]
fn an_exit_of_124_by_the_command_itself_is_no_time_out() {
    let done = Sandbox::new()
        .retry_sh("-a 1 --retry-on 124 --timeout 30s", "exit 124")
        .run();
    done.exits(124)
        .stdout_is("")
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
                .is_some_and(|line| line.ends_with("SIGTERM forwarded"))
        {
            done.exits(124);
            assert_eq!(said.len(), 5, "{done:?}");
            return;
        }
    }
    panic!("the limit always comes first");
}

#[test]
fn without_a_time_limit_nothing_is_called_a_time_out() {
    for code in [124, 137] {
        let done = Sandbox::new()
            .retry_sh("-a 1", &format!("exit {code}"))
            .run();
        done.exits(code).stdout_is("").says(&[&format!(
            "sh: attempt 1/1 failed: exit {code} after …; giving up after …"
        )]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_of_a_timed_out_pipeline_is_alive_when_the_next_attempt_starts() {
    let sandbox = Sandbox::new();
    let script = "
        for pid in $(cat pids); do
            read -r _ _ state _ </proc/$pid/stat && [ $state != Z ] && echo ALIVE
        done 2>/dev/null
        sh -c 'echo $$ >>pids; exec sleep 31' | sh -c 'echo $$ >>pids; exec sleep 31'; :";
    let options = format!("{FAST} -a 2 --timeout 1s");
    let done = sandbox.retry_sh(&options, script).run();
    done.exits(124).stdout_is("").took_less_than(2 * AT_ONCE);
    assert_eq!((done.failures(), sandbox.lines("pids")), (2, 4), "{done:?}");
}

#[test]
fn time_spent_stopped_counts_towards_a_limit() {
    // As with a delay: only real time can show it, and a busy machine may need a second round.
    let shown = [1, 8].into_iter().any(|seconds| {
        let options = format!("-a 1 --timeout {seconds}s");
        let script = "echo ready; exec sleep 30";
        let mut running = Sandbox::new().retry_sh(&options, script).spawn();
        if !running.comes_to_write("ready") {
            return false;
        }
        running.signal(SIGSTOP);
        let_pass(&format!("{seconds}.2"));
        let before = std::time::Instant::now();
        running.signal(SIGCONT);
        let done = running.wait();
        done.exits(124)
            .says(&["sh: attempt 1/1 failed: timed out after …; giving up after …"]);
        done.ended - before < Duration::from_secs(seconds) * 3 / 4
    });
    assert!(shown, "the limit began anew each time");
}
