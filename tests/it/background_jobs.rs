//! Processes that a command leaves in the background are neither waited for nor ended.

use std::fs;

use libc::SIGTERM;

use crate::support::{AT_ONCE, FAST, Sandbox, end, is_there, open_to_write};

/// An option that looks at everything and finds nothing.
const LOOKING: &str = "--base 10ms --cap 10ms --jitter none --stop-if ZZZ";

#[test]
fn a_background_job_that_holds_the_output_is_not_waited_for() {
    let sandbox = Sandbox::new();
    let script = "sleep 30 & echo $! >pid; echo hi";
    let done = sandbox.retry_sh(LOOKING, script).run();
    done.exits(0)
        .stdout_is("hi\n")
        .stderr_is("")
        .took_less_than(AT_ONCE);
    end(sandbox.text("pid").trim().parse().expect("a pid"));
}

#[test]
fn a_background_job_that_writes_for_ever_does_not_keep_us() {
    let script = "yes & exit 7";
    for options in [
        "--stop-if ZZZ",
        "--idle-timeout 30s",
        "--stdout once --stop-if ZZZ",
    ] {
        let options = format!("{FAST} -a 2 {options}");
        let call = Sandbox::new().retry_sh(&options, script);
        let done = call.stdout(open_to_write("/dev/null")).run();
        done.exits(7).took_less_than(AT_ONCE);
    }
}

#[test]
fn what_a_background_job_writes_during_the_delay_is_passed_on() {
    let sandbox = Sandbox::new();
    let script = "{ until [ -e go ]; do sleep 0.01; done; echo LATE; } & exit 1";
    let options = "--base 30s --cap 30s --jitter none --stop-if ZZZ";
    let mut running = sandbox.retry_sh(options, script).spawn();
    running.await_stderr("next in 30.0s");
    fs::write(sandbox.path("go"), "").expect("a file");
    running.await_stdout("LATE\n").signal(SIGTERM);
    running.wait().dies_of(SIGTERM);
}

#[test]
fn background_jobs_of_many_attempts_leave_room_for_the_next() {
    let script = "ulimit -n 64; retry -q --base 0 -a 60 --retry-if . -- sh -c 'echo x; sleep 30 & echo $! >>jobs; exit 1' | wc -l
        echo ${PIPESTATUS[0]}; kill $(cat jobs)";
    let done = Sandbox::new().bash(script).run();
    done.took_less_than(AT_ONCE * 4);
    let lines: Vec<&str> = done.stdout.lines().map(str::trim).collect();
    assert_eq!(lines, ["60", "1"], "{done:?}");
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
