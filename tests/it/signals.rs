//! Signals: during a run and during a delay.

use std::os::unix::process::ExitStatusExt as _;

#[cfg(target_os = "linux")]
use libc::SIGKILL;
use libc::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

#[cfg(target_os = "linux")]
use crate::support::check;
use crate::support::{AT_ONCE, Sandbox};

const R: &str = "--attempts 3 --base 10ms --cap 10ms --jitter none";

const SLOW: &str = "--attempts 3 --base 30s --cap 30s --jitter none";

#[test]
fn a_fatal_signal_during_a_delay_ends_us_at_once_by_that_signal() {
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM] {
        let sandbox = Sandbox::new();
        let mut running = sandbox.retry_sh(SLOW, "echo x; exit 1").spawn();
        running.await_stderr("next in 30.0s").signal(signal);
        let done = running.wait();
        done.dies_of(signal)
            .stdout_is("x\n")
            .took_less_than(AT_ONCE);
    }
}

#[test]
fn the_line_says_which_signal_ended_the_delay() {
    let mut running = Sandbox::new().retry_sh(SLOW, "exit 1").spawn();
    running.await_stderr("next in 30.0s").signal(SIGTERM);
    let done = running.wait();
    done.dies_of(SIGTERM).stdout_is("");
    assert!(
        done.said()[1].starts_with("sh: interrupted (SIGTERM) after attempt 1/3"),
        "{done:?}"
    );
}

/// A child that is `ready`, does this on the signal, and would go on for ever.
fn trapping(action: &str, signal: &str) -> String {
    format!("trap '{action}' {signal}; echo ready; while :; do sleep 0.05; done")
}

#[test]
fn a_child_that_handles_the_signal_decides_the_status_and_is_not_run_again() {
    for code in [7, 0, 9] {
        let mut running = Sandbox::new()
            .retry_sh(R, &trapping(&format!("exit {code}"), "TERM"))
            .spawn();
        running.await_stdout("ready").signal(SIGTERM);
        running.wait().exits(code).stdout_is("ready\n");
    }
}

#[test]
fn the_child_has_all_the_time_it_needs_to_clean_up() {
    let script = trapping("sleep 1; echo cleaned; exit 0", "TERM");
    let mut running = Sandbox::new().retry_sh(R, &script).spawn();
    running.await_stdout("ready").signal(SIGTERM);
    running.wait().exits(0).stdout_is("ready\ncleaned\n");
}

#[test]
fn a_signal_during_a_run_ends_the_child_and_us_and_leaves_nothing() {
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        // A shell has its background jobs ignore INT; a pipeline in the foreground it does not.
        let script = "sleep 30 | sleep 30 | { echo ready >&2; sleep 30; }; :";
        let mut running = Sandbox::new().retry_sh(R, script).spawn();
        running.await_stderr("ready").signal(signal);
        running.wait().dies_of(signal).stdout_is("");
    }
}

#[test]
fn every_repeat_of_a_signal_is_passed_on_and_none_is_escalated() {
    let script = trapping("n=$((n+1)); echo term $n; [ $n -lt 3 ] || exit 5", "TERM");
    let mut running = Sandbox::new()
        .retry_sh(R, &format!("n=0; {script}"))
        .spawn();
    running.await_stdout("ready").signal(SIGTERM);
    running.await_stdout("term 1").signal(SIGTERM);
    running.await_stdout("term 2").signal(SIGTERM);
    running
        .wait()
        .exits(5)
        .stdout_is("ready\nterm 1\nterm 2\nterm 3\n");
}

#[test]
fn a_message_is_passed_on_and_does_not_end_the_retrying() {
    let first = trapping("exit 9", "USR1");
    let script = format!("[ $RETRY_ATTEMPT = 1 ] || exit 3; {first}");
    let mut running = Sandbox::new().retry_sh("-a 2 --base 10ms", &script).spawn();
    running.await_stdout("ready").signal(SIGUSR1);
    running.wait().exits(3).stdout_is("ready\n");
}

#[test]
fn a_message_that_the_child_dies_of_ends_the_retrying() {
    let mut running = Sandbox::new()
        .retry_sh(R, "echo ready; exec sleep 30")
        .spawn();
    running.await_stdout("ready").signal(SIGUSR2);
    running.wait().dies_of(SIGUSR2).stdout_is("ready\n");
}

#[test]
fn a_message_during_a_delay_means_nothing() {
    let mut running = Sandbox::new()
        .retry_sh(&format!("-v {SLOW}"), "exit 1")
        .spawn();
    running.await_stderr("next in 30.0s").signal(SIGUSR1);
    running
        .await_stderr("SIGUSR1 ignored during the delay")
        .signal(SIGTERM);
    running.wait().dies_of(SIGTERM).stdout_is("");
}

#[cfg(target_os = "linux")]
#[test]
fn if_we_are_killed_the_command_ends_too() {
    let mut running = Sandbox::new()
        .retry_sh(R, "echo ready; exec sleep 41")
        .spawn();
    running.await_stdout("ready").signal(SIGKILL);
    running.wait().dies_of(SIGKILL).stderr_is("");
}

#[test]
fn a_core_file_is_the_commands_and_not_ours() {
    let script = "ulimit -c unlimited; exec retry -a 1 -- sh -c 'ulimit -c 0; kill -QUIT $$'";
    let done = Sandbox::new().bash(script).run();
    done.dies_of(SIGQUIT).stdout_is("");
    assert!(!done.status.core_dumped(), "{done:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_real_time_signal_ends_us_and_the_command_gets_term() {
    let real_time = libc::SIGRTMIN() + 1;
    let mut running = Sandbox::new()
        .retry_sh(R, &trapping("echo term; exit 9", "TERM"))
        .spawn();
    running.await_stdout("ready").signal(real_time);
    running
        .wait()
        .dies_of(real_time)
        .stdout_is("ready\nterm\n")
        .stderr_is("");
}

#[test]
fn an_alarm_is_passed_on_like_any_other() {
    let mut running = Sandbox::new()
        .retry_sh(R, &trapping("exit 9", "ALRM"))
        .spawn();
    running.await_stdout("ready").signal(SIGALRM);
    running.wait().exits(9).stdout_is("ready\n");
}

#[test]
fn a_stopped_child_can_take_the_signal() {
    let mut running = Sandbox::new()
        .retry_sh("-a 1", "echo ready; kill -STOP $$; sleep 30")
        .spawn();
    running.await_stdout("ready").signal(SIGTERM);
    running.wait().dies_of(SIGTERM).took_less_than(AT_ONCE);
}

#[test]
fn a_child_that_signals_us_is_not_run_again() {
    for script in [
        "echo x; sleep 0.3; kill -INT $PPID; exec sleep 30",
        "echo x; kill -INT $PPID; exec sleep 30",
    ] {
        Sandbox::new()
            .retry_sh(R, script)
            .run()
            .dies_of(SIGINT)
            .stdout_is("x\n");
    }
}

#[test]
fn a_signal_sent_to_the_child_alone_is_an_ordinary_failure() {
    let script = "[ $RETRY_ATTEMPT = 2 ] || kill -TERM $$";
    let done = Sandbox::new()
        .retry_sh(&format!("{R} --retry-on 143"), script)
        .run();
    done.exits(0).stdout_is("").says(&[
        "sh: attempt 1/3 failed: killed by SIGTERM after …; next in …",
        "sh: succeeded on attempt 2/3 after …",
    ]);
}

#[test]
fn under_timeout_everything_ends_and_nothing_is_left() {
    let done = Sandbox::new()
        .bash("timeout 0.4 retry -a 100 --base 10ms -- sh -c 'sleep 41 & sleep 41; :'; echo $?")
        .run();
    done.exits(0).stdout_is("124\n");
    assert!(done.took < AT_ONCE, "{done:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_stop_by_job_control_stops_us_and_the_status_is_there_after_we_go_on() {
    // In a group of its own within a session, as an interactive shell would put it: in an orphaned
    // group the kernel ignores this signal. The command is in yet another group and goes on.
    let script = "
        set -m
        retry -a 1 --timeout 30s -- sh -c 'echo >ready; until [ -e go ]; do sleep 0.05; done; exit 6' &
        set +m
        until [ -e ready ]; do sleep 0.05; done
        kill -TSTP $!
        for i in $(seq 200); do
            read -r _ _ state _ </proc/$!/stat
            [ $state != T ] || break
            sleep 0.05
        done
        echo $state; touch go; kill -CONT $!; wait $!; echo $?";
    check(script, "T\n6\n");
}
