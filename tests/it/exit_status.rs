//! The exit status is that of the last attempt.

use crate::support::Sandbox;

/// Three attempts without waiting.
const R: &str = "--attempts 3 --base 10ms --cap 10ms --jitter none";

#[test]
fn the_status_of_the_last_attempt_is_reported() {
    Sandbox::new()
        .retry_sh(R, "exit $((RETRY_ATTEMPT + 2))")
        .run()
        .exits(5)
        .stdout_is("");
}

#[test]
fn every_exit_code_comes_through_unchanged() {
    let sandbox = Sandbox::new();
    for code in [1, 2, 124, 125, 126, 127, 128, 137, 254, 255] {
        sandbox
            .retry_sh("-a 1", &format!("exit {code}"))
            .run()
            .exits(code)
            .stdout_is("");
    }
}

#[test]
fn a_success_after_failures_exits_0_and_says_so() {
    let sandbox = Sandbox::new();
    let done = sandbox.retry(R).args(["--", "failn", "2", "3"]).run();
    done.exits(0).stdout_is("out1\nout2\nout3\n").says(&[
        "failn: attempt 1/3 failed: exit 3 after …; next in …",
        "failn: attempt 2/3 failed: exit 3 after …; next in …",
        "failn: succeeded on attempt 3/3 after …",
    ]);
    assert_eq!(sandbox.text("n"), "3\n");
}

#[test]
fn a_success_at_first_says_nothing_and_exits_0() {
    let done = Sandbox::new().retry(R).args(["--", "echo", "hi"]).run();
    done.exits(0).stdout_is("hi\n");
    assert_eq!(done.stderr, "");
}

#[test]
fn a_shell_that_does_not_find_its_command_is_an_ordinary_failure() {
    let done = Sandbox::new().retry_sh(R, "nosuchprogram").run();
    done.exits(127).stdout_is("");
    assert_eq!(done.failures(), 3, "{done:?}");
}

#[test]
fn a_command_that_dies_of_a_signal_ends_us_with_the_same_signal() {
    let sandbox = Sandbox::new();
    for signal in [
        libc::SIGKILL,
        libc::SIGPIPE,
        libc::SIGSEGV,
        libc::SIGTERM,
        libc::SIGHUP,
        libc::SIGABRT,
        libc::SIGUSR1,
    ] {
        sandbox
            .retry_sh("-a 1", &format!("kill -{signal} $$"))
            .run()
            .dies_of(signal)
            .stdout_is("");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn death_by_a_signal_without_a_name_is_no_success() {
    let done = Sandbox::new()
        .retry(R)
        .args(["--", "bash", "-c", "kill -33 $$"])
        .run();
    done.dies_of(33).stdout_is("");
    assert_eq!(done.failures(), 3, "{done:?}");
}
