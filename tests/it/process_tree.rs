//! The processes that a limit ends and a signal reaches: all that the command has started and that
//! are still linked to it by parents, in any group or session.

use std::fs;
use std::time::Duration;

use libc::SIGTERM;

use crate::support::terminal::Terminal;
use crate::support::{AT_ONCE, Call, FAST, Sandbox, end};

/// Ways in which a command puts what it starts into a group or a session of its own.
const APART: [&str; 6] = [
    "timeout 60 sleep 77; :",
    "timeout 60 sh -c 'timeout 50 sleep 77; :'; :",
    "set -m; sleep 77 & wait",
    "setsid -w sleep 77; :",
    "retry -a 9 -- sleep 77; :",
    "(setsid bash -c 'set -m; sleep 77 & wait' & wait); :",
];

/// A script that says so when it runs beside an earlier run of itself, all of whose processes hold
/// the lock.
fn alone(script: &str) -> String {
    format!("exec 9>>lock; flock -n 9 || echo OVERLAP; {script}")
}

/// Whether a process is there, and no zombie.
fn lives(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// `retry` with these options around `bash -c SCRIPT`.
fn around_bash(sandbox: &Sandbox, options: &str, script: &str) -> Call {
    let call = sandbox.retry(options);
    call.args(["--", "bash", "-c"]).arg(script)
}

#[test]
fn a_limit_ends_what_the_command_has_put_into_groups_of_its_own() {
    for group in ["new", "inherit"] {
        for script in APART {
            let options = format!("-a 2 {FAST} --process-group {group} --timeout 700ms");
            let done = around_bash(&Sandbox::new(), &options, &alone(script)).run();
            done.exits(124).stdout_is("");
            assert_eq!(done.failures(), 2, "{script}: {done:?}");
        }
    }
}

#[test]
fn every_kind_of_limit_ends_them() {
    for limit in ["--idle-timeout 700ms", "--deadline 700ms"] {
        let options = format!("-a 2 {FAST} {limit}");
        let done = around_bash(&Sandbox::new(), &options, &alone(APART[0])).run();
        done.exits(124).stdout_is("");
    }
}

#[test]
fn a_limit_ends_what_the_hook_has_put_into_groups_of_its_own() {
    for limit in ["--timeout 700ms", "--deadline 700ms"] {
        let sandbox = Sandbox::new();
        let call = sandbox.retry(&format!("{FAST} {limit} --before-retry"));
        let done = call.arg(APART[0]).args(["--", "sh", "-c", "exit 7"]).run();
        done.exits(7).stdout_is("");
        assert!(
            done.stderr.contains("--before-retry failed: timed out"),
            "{done:?}"
        );
    }
}

#[test]
fn on_a_terminal_a_limit_ends_them_too() {
    let mut terminal = Terminal::new();
    for (round, script) in APART.iter().enumerate() {
        fs::write(terminal.path("script"), alone(script)).expect("a script");
        terminal
            .enter(&format!(
                "retry -a 2 $FAST --timeout 700ms -- bash script; echo round {round} rc=$?"
            ))
            .await_text(&format!("round {round} rc=124"));
        terminal
            .enter("flock -n lock echo al''l gone || echo so''me left")
            .await_count("all gone", round + 1);
    }
    let printed = terminal.printed();
    assert!(
        !printed.contains("OVERLAP") && !printed.contains("some left"),
        "{printed}"
    );
}

/// A process in a session of its own that does this at TERM.
fn apart_at_term(action: &str) -> String {
    format!("setsid -w sh -c 'trap \"{action}\" TERM; while :; do sleep 0.05; done'; :")
}

#[test]
fn they_have_their_grace_although_the_command_is_gone() {
    let script = apart_at_term("sleep 0.5; echo cleaned; exit 0");
    let done = around_bash(&Sandbox::new(), "-a 1 --timeout 500ms -k 30s", &script).run();
    done.exits(124)
        .stdout_is("cleaned\n")
        .took_less_than(AT_ONCE);
}

#[test]
fn after_the_grace_kill_ends_what_is_left_of_them() {
    for group in ["new", "inherit"] {
        let options = format!("-a 2 {FAST} --process-group {group} --timeout 500ms -k 500ms");
        let script = alone(&apart_at_term(""));
        let done = around_bash(&Sandbox::new(), &options, &script).run();
        done.exits(124)
            .stdout_is("")
            .took_at_least(Duration::from_secs(2));
        assert_eq!(done.failures(), 2, "{done:?}");
    }
}

#[test]
fn of_a_retry_within_a_retry_nothing_is_left() {
    let script = alone("trap '' TERM; echo ready; sleep 30; :");
    let options = format!("-a 2 {FAST} --timeout 1s -k 300ms -- retry -a 9 -- bash -c");
    let done = Sandbox::new().retry(&options).arg(script).run();
    done.exits(124).stdout_is("ready\nready\n");
}

#[test]
fn what_was_handed_to_another_parent_before_the_limit_has_left() {
    for group in ["new", "inherit"] {
        let sandbox = Sandbox::new();
        let daemon = "setsid sh -c 'echo $$ >pid; exec sleep 30' >/dev/null 2>&1 &";
        let script = format!("({daemon}); while [ ! -s pid ]; do sleep 0.05; done; sleep 30; :");
        let options = format!("-a 1 --process-group {group} --timeout 1s");
        let mut running = around_bash(&sandbox, &options, &script).spawn();
        let (status, _) = running.wait_for_exit();
        assert_eq!(status.code(), Some(124));
        let pid = sandbox.text("pid").trim().parse().expect("a pid");
        assert!(lives(pid));
        end(pid);
    }
}

#[test]
fn what_they_start_at_the_last_moment_is_ended_too() {
    let script = alone("trap 'setsid sleep 73 & exit 1' TERM; while :; do sleep 0.05; done");
    for group in ["new", "inherit"] {
        let options = format!("-a 2 --base 0 --process-group {group} --timeout 500ms -k 1s");
        let done = around_bash(&Sandbox::new(), &options, &script).run();
        done.exits(124).stdout_is("");
        assert_eq!(done.failures(), 2, "{done:?}");
    }
}

#[test]
fn what_executes_one_program_after_the_other_is_ended_too() {
    let sandbox = Sandbox::new();
    // In the middle of an exec a process has no environment that could be read.
    let chain = "my $n = shift; $n ? exec($^X, $0, $n - 1) : exec('sleep', 74)";
    fs::write(sandbox.path("chain"), chain).expect("a script");
    let script = alone("trap 'setsid perl chain 100 & exit 1' TERM; while :; do sleep 0.01; done");
    let options = "-a 60 --base 0 --timeout 50ms -k 30ms";
    let done = around_bash(&sandbox, options, &script).run();
    done.exits(124).stdout_is("");
    assert_eq!(done.failures(), 60, "{done:?}");
}

#[test]
fn what_keeps_forking_into_groups_of_its_own_is_ended_too() {
    let script = "$SIG{TERM} = 'IGNORE'; $SIG{CHLD} = 'IGNORE';
        for (1 .. 150) { if (fork == 0) { setpgrp; exec 'sleep', 40 } select undef, undef, undef, 0.004 } sleep 40";
    for group in ["new", "inherit"] {
        let options = format!("-a 1 --process-group {group} --timeout 200ms -k 200ms -- perl -e");
        let done = Sandbox::new().retry(&options).arg(script).run();
        done.exits(124).stdout_is("").took_less_than(AT_ONCE);
        assert!(!done.stderr.contains("left behind"), "{done:?}");
    }
}

/// Says `ready`, and at its end how often it was told to end; it waits a moment for more.
const COUNTER: &str = "$| = 1; $SIG{TERM} = sub { $n++ }; print qq(ready\\n);
    select undef, undef, undef, 0.05 until $n; select undef, undef, undef, 0.3 for 1, 2;
    print qq(terms=$n\\n)";

#[test]
fn a_signal_reaches_once_what_the_command_has_left_without_a_parent() {
    for script in [
        "set -m; perl count & wait",
        "setsid -w perl count; :",
        "retry -a 1 -- perl count; :",
        // The shell between ends when it likes, and not before the command.
        "(setsid -w perl count; :); :",
    ] {
        let sandbox = Sandbox::new();
        fs::write(sandbox.path("count"), COUNTER).expect("a script");
        let mut running = around_bash(&sandbox, "-a 3", script).spawn();
        running.await_stdout("ready").signal(SIGTERM);
        let done = running.wait();
        done.dies_of(SIGTERM).stdout_is("ready\nterms=1\n");
    }
}

#[test]
fn a_signal_reaches_timeout_which_passes_it_on() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("count"), COUNTER).expect("a script");
    let mut running = around_bash(&sandbox, "-a 3", "timeout 60 perl count; :").spawn();
    running.await_stdout("ready").signal(SIGTERM);
    let done = running.wait();
    // To its child and to its group, which may make one of two.
    done.dies_of(SIGTERM);
    assert!(
        ["ready\nterms=1\n", "ready\nterms=2\n"].contains(&&*done.stdout),
        "{done:?}"
    );
}

#[test]
fn a_signal_does_not_reach_what_the_command_still_looks_after() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("count"), COUNTER).expect("a script");
    // The command passes it on later, waits, and counts what its child was told.
    let script =
        "set -m; perl count & trap 'sleep 0.3; kill $!; wait $!; exit 3' TERM; wait; wait; exit 4";
    let mut running = around_bash(&sandbox, "-a 3", script).spawn();
    running.await_stdout("ready").signal(SIGTERM);
    running.wait().exits(3).stdout_is("ready\nterms=1\n");
}

#[test]
fn a_signal_does_not_reach_what_had_left_the_command_before() {
    let sandbox = Sandbox::new();
    let daemon = "setsid sh -c 'echo $$ >pid; exec sleep 30' >/dev/null 2>&1 &";
    let script =
        format!("({daemon}); while [ ! -s pid ]; do sleep 0.05; done; echo ready; sleep 30; :");
    let mut running = around_bash(&sandbox, "-a 1", &script).spawn();
    running.await_stdout("ready").signal(SIGTERM);
    running.wait().dies_of(SIGTERM).stdout_is("ready\n");
    let pid = sandbox.text("pid").trim().parse().expect("a pid");
    assert!(lives(pid));
    end(pid);
}
