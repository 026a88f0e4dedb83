//! A step that is cancelled, which a runner does by INT and, if that does not help, TERM.

use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use libc::{SIGINT, SIGTERM};

use super::{check_left, replace_program, step, wrote};
use crate::support::{Sandbox, rounds};

/// Cancels the step by these signals as soon as this is written; returns its status, what the
/// command wrote, and the outputs.
fn cancelled(
    inputs: &[(&str, &str)],
    text: &str,
    signals: &[i32],
) -> (Option<i32>, String, String) {
    let sandbox = Sandbox::new();
    let mut running = step(inputs, &sandbox).spawn();
    running.await_stdout(text);
    for signal in signals {
        running.signal(*signal);
    }
    let done = running.wait();
    done.stderr_is("");
    check_left(&sandbox, &done);
    let wrote = wrote(&done).join("\n");
    (done.status.code(), wrote, sandbox.text("outputs"))
}

#[test]
fn the_command_is_told_and_its_status_kept() {
    // Its own shell would report on its children.
    let command = "exec 2>/dev/null; trap 'echo got; exit 3' INT TERM; echo ready
        while :; do sleep 0.05; done";
    for signal in [SIGINT, SIGTERM] {
        let (status, wrote, outputs) = cancelled(&[("command", command)], "ready", &[signal]);
        assert_eq!((status, wrote.as_str()), (Some(3), "ready\ngot"));
        let expected = "total_attempts=1\nexit_code=3\nexit_error=exit 3\n";
        assert_eq!(outputs, expected);
    }
}

/// Fails unless the step, cancelled by these signals, says that it was interrupted.
#[track_caller]
fn is_interrupted(command: &str, text: &str, signals: &[i32], name: &str) {
    let inputs = [("command", command), ("retry_wait_seconds", "60")];
    let (status, wrote, outputs) = cancelled(&inputs, text, signals);
    let code = if name == "SIGINT" { 130 } else { 143 };
    assert_eq!((status, wrote.as_str()), (Some(code), "ready"));
    let expected =
        format!("total_attempts=1\nexit_code={code}\nexit_error=interrupted by {name}\n");
    assert_eq!(outputs, expected);
}

#[test]
fn an_interruption_is_called_that_during_an_attempt_and_during_a_delay() {
    for (command, text) in [
        ("echo ready; exec sleep 60", "ready"),
        ("echo ready; exit 4", "next in 1m 0s"),
    ] {
        is_interrupted(command, text, &[SIGINT], "SIGINT");
        is_interrupted(command, text, &[SIGTERM], "SIGTERM");
    }
}

#[test]
fn a_command_that_ignores_the_first_signal_gets_the_second() {
    let command = "trap '' INT; echo ready; exec sleep 60";
    is_interrupted(command, "ready", &[SIGINT, SIGTERM], "SIGTERM");
}

#[test]
fn an_interruption_before_the_program_has_written_anything_is_called_that_too() {
    let sandbox = Sandbox::new();
    // A program that has not come so far as to handle signals.
    replace_program(&sandbox, "echo ready; exec sleep 60");
    let mut running = step(&[("command", "true")], &sandbox).spawn();
    running.await_stdout("ready").signal(SIGINT);
    let done = running.wait();
    done.exits(130).stdout_is("ready\n").stderr_is("");
    let outputs = "total_attempts=0\nexit_code=130\nexit_error=interrupted by SIGINT\n";
    assert_eq!(sandbox.text("outputs"), outputs);
}

#[test]
fn an_interruption_at_any_instant_ends_the_step_and_is_called_that() {
    for round in 0..40 * rounds() {
        let sandbox = Sandbox::new();
        let mut running = step(&[("command", "exec sleep 60")], &sandbox).spawn();
        let later = Duration::from_micros(round * 7919 % 40_000);
        let seen = Instant::now();
        while seen.elapsed() < later {
            std::hint::spin_loop();
        }
        running.signal(SIGINT);
        let done = running.wait();
        check_left(&sandbox, &done);
        assert!(wrote(&done).is_empty(), "round {round}: {done:?}");
        assert!(!done.stdout.contains("itself"), "round {round}: {done:?}");
        done.stderr_is("");
        let outputs = sandbox.text("outputs");
        // Before the script has begun, the signal ends its shell.
        let died = done.status.signal() == Some(SIGINT) && outputs.is_empty();
        let told = outputs.ends_with("exit_code=130\nexit_error=interrupted by SIGINT\n");
        assert!(
            died || told && done.status.code() == Some(130),
            "round {round}: {outputs} {done:?}"
        );
    }
}
