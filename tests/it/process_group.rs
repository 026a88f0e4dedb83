//! `--process-group`: the group of an attempt, and the processes that a limit ends there.

#[cfg(target_os = "linux")]
use crate::support::limited;
use crate::support::{AT_ONCE, FAST, Sandbox, limited_by};

#[test]
fn in_our_own_group_a_time_limit_ends_the_child_and_its_descendants() {
    let script = "sleep 31 & (sleep 31; :) & sleep 31; :";
    let done = Sandbox::new()
        .retry_sh(
            "-a 1 --process-group inherit --timeout 300ms --kill-after 300ms",
            script,
        )
        .run();
    done.exits(124).stdout_is("").took_less_than(AT_ONCE);
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
#[cfg(target_os = "linux")]
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
fn in_our_own_group_what_keeps_forking_is_ended_too() {
    let script = "$SIG{TERM} = 'IGNORE'; $SIG{CHLD} = 'IGNORE'; $| = 1; print qq(ready\n);
        for (1 .. 150) { if (fork == 0) { exec 'sleep', 40 } select undef, undef, undef, 0.004 } sleep 40";
    let (_, done) = limited_by(1, |limit| {
        let options = format!("-a 1 --process-group inherit --timeout {limit} -k 200ms --");
        Sandbox::new().retry(&options).args(["perl", "-e", script])
    });
    done.exits(124).stdout_is("");
    assert!(!done.stderr.contains("left behind"), "{done:?}");
}
