//! The command inherits signals, descriptors and the directory as we found them.

use std::process::Stdio;

use libc::{SIGCHLD, SIGHUP};
#[cfg(target_os = "linux")]
use libc::{SIGCONT, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGXFSZ};

#[cfg(target_os = "linux")]
use crate::support::Call;
use crate::support::Sandbox;

const R: &str = "--attempts 3 --base 10ms --cap 10ms --jitter none";

#[test]
fn streams_that_are_all_closed_change_nothing() {
    Sandbox::new()
        .bash("retry -a 1 -- sh -c 'exit 4' <&- >&- 2>&-; echo $?")
        .run()
        .exits(0)
        .stdout_is("4\n");
}

#[test]
fn a_command_that_cannot_write_to_a_closed_stdout_fails_as_without_us() {
    let done = Sandbox::new()
        .bash("retry -a 1 -- sh -c 'echo x' >&-; echo $?; retry -a 1 -- sh -c 'echo x >&2; exit' 2>&-; echo $?; retry -h >&-; echo $?")
        .run();
    assert_eq!(done.stdout.lines().last(), Some("125"), "{done:?}");
    assert!(!done.stdout.lines().any(|code| code == "0"), "{done:?}");
}

#[test]
fn a_working_directory_that_is_gone_changes_nothing() {
    let done = Sandbox::new()
        .bash("mkdir d; cd d; rmdir ../d; retry -a 1 -- sh -c 'exit 8'; echo $?")
        .run();
    done.exits(0).stdout_is("8\n");
}

#[cfg(target_os = "linux")]
#[test]
fn the_command_inherits_no_descriptor_of_ours() {
    let script =
        "ls /proc/self/fd >plain; retry -a 1 -- ls /proc/self/fd >wrapped; diff plain wrapped";
    Sandbox::new()
        .bash(script)
        .run()
        .exits(0)
        .stdout_is("")
        .stderr_is("");
}

#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let script = "echo ready; read line; exit 0";
    let call = Sandbox::new()
        .retry_sh(R, script)
        .ignoring(SIGHUP)
        .stdin(Stdio::piped());
    let mut running = call.spawn();
    running.await_stdout("ready").signal(SIGHUP).close_stdin();
    running.wait().exits(0).stdout_is("ready\n").stderr_is("");
}

/// A mask of signals as a program finds it in /proc/self/status, with and without us before it.
#[cfg(target_os = "linux")]
fn masks(name: &str, prepare: impl Fn(Call) -> Call) -> (u64, u64) {
    let sandbox = Sandbox::new();
    let mask = |call: Call| {
        let done = prepare(call).args([name, "/proc/self/status"]).run();
        done.exits(0);
        let mask = done.stdout.split_whitespace().last().map(ToOwned::to_owned);
        u64::from_str_radix(&mask.expect("a mask"), 16).expect("a mask")
    };
    (
        mask(sandbox.program("grep")),
        mask(sandbox.retry("-a 1 -- grep")),
    )
}

#[cfg(target_os = "linux")]
#[test]
fn signals_that_were_ignored_at_the_start_are_ignored_in_the_command_and_no_others() {
    for ignored in [
        &[][..],
        &[SIGHUP, SIGINT, SIGQUIT],
        &[SIGPIPE],
        &[SIGTERM, SIGUSR1, SIGPIPE],
        &[SIGCHLD, SIGCONT, SIGTSTP, SIGXFSZ],
    ] {
        let ignoring = |call| {
            ignored
                .iter()
                .fold(call, |call: Call, signal| call.ignoring(*signal))
        };
        let (plain, wrapped) = masks("SigIgn", ignoring);
        assert_eq!(wrapped, plain, "{ignored:?}");
        assert!(
            ignored.iter().all(|signal| plain >> (signal - 1) & 1 == 1),
            "{ignored:?}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn signals_that_were_blocked_at_the_start_are_blocked_in_the_command_and_no_others() {
    for blocked in [&[][..], &[SIGUSR1, SIGTERM], &[SIGCHLD]] {
        let blocking = |call| {
            blocked
                .iter()
                .fold(call, |call: Call, signal| call.blocking(*signal))
        };
        let (plain, wrapped) = masks("SigBlk", blocking);
        assert_eq!(wrapped, plain, "{blocked:?}");
        assert!(
            blocked.iter().all(|signal| plain >> (signal - 1) & 1 == 1),
            "{blocked:?}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_blocked_sigchld_does_not_hide_the_childs_end() {
    Sandbox::new()
        .retry_sh("-a 1", "exit 5")
        .blocking(SIGCHLD)
        .run()
        .exits(5)
        .stdout_is("");
}

#[test]
fn an_ignored_sigchld_does_not_hide_the_childs_end() {
    Sandbox::new()
        .retry_sh("-a 1", "exit 5")
        .ignoring(SIGCHLD)
        .run()
        .exits(5)
        .stdout_is("");
}
