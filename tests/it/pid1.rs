//! As PID 1, retry reaps orphans, obeys signals, and exits with 128 plus the number of a signal
//! that killed the command.

use crate::support::namespace::{call, unshare};
use crate::support::{AT_ONCE, Call, RETRY, Sandbox, send};

/// `retry` with these options as PID 1 around a script.
fn as_init(sandbox: &Sandbox, options: &str, script: &str) -> Call {
    let words = unshare(&["--pid", "--fork", "--mount-proc", "--kill-child"]);
    let options = options.split_whitespace();
    call(sandbox, &words)
        .arg(RETRY)
        .args(options)
        .args(["--", "sh", "-c", script])
}

#[test]
fn as_pid_1_a_death_by_signal_is_128_and_its_number() {
    for (signal, code) in [("SEGV", 139), ("TERM", 143), ("KILL", 137)] {
        as_init(&Sandbox::new(), "-a 1", &format!("kill -{signal} $$"))
            .run()
            .exits(code)
            .stdout_is("");
    }
}

/// Counts the zombies of PID 1 from within.
const ZOMBIES: &str = "ps -eo ppid=,stat= | awk '$1 == 1 && $2 ~ /Z/' | wc -l";

#[test]
fn as_pid_1_orphans_are_reaped_while_the_command_runs() {
    let orphans = "for i in 1 2 3 4; do (sleep 0.1 & ); done; sleep 0.5";
    let done = as_init(&Sandbox::new(), "-a 1", &format!("{orphans}; {ZOMBIES}")).run();
    done.exits(0).stdout_is("0\n").stderr_is("");
}

#[test]
fn as_pid_1_orphans_are_reaped_during_a_delay() {
    let watcher = format!(
        "(setsid sh -c \"sleep 0.6; {} >zombies\" & )",
        ZOMBIES.replace('$', "\\$")
    );
    let script = format!(
        "[ $RETRY_ATTEMPT = 1 ] || exit 0; for i in 1 2 3 4; do (sleep 0.2 & ); done; {watcher}; exit 1"
    );
    let sandbox = Sandbox::new();
    as_init(&sandbox, "-a 2 --base 1500ms --jitter none", &script)
        .run()
        .exits(0)
        .stdout_is("");
    assert_eq!(sandbox.text("zombies"), "0\n");
}

#[test]
fn as_pid_1_a_time_limit_ends_the_group_and_reaps_it() {
    let script = format!(
        "[ $RETRY_ATTEMPT = 1 ] || {{ {ZOMBIES}; exit 0; }}; sleep 31 & sleep 31 & sleep 31; :"
    );
    // Our own group and session have their leaders outside the namespace.
    for group in ["new", "inherit"] {
        let options = format!("-a 2 --timeout 1s --base 10ms --process-group {group}");
        let done = as_init(&Sandbox::new(), &options, &script).run();
        done.exits(0).stdout_is("0\n");
    }
}

/// The process that the only child of `parent` is, as seen from here.
fn only_child(parent: rustix::process::Pid) -> i32 {
    let parent = parent.as_raw_nonzero();
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    children
        .expect("a list of children")
        .trim()
        .parse()
        .expect("one child")
}

fn signal(pid: i32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
    rustix::process::kill_process(pid, signal).expect("the process is there");
}

#[test]
fn as_pid_1_a_signal_from_outside_ends_a_delay_at_once() {
    let sandbox = Sandbox::new();
    let mut running = as_init(&sandbox, "--base 60s --cap 60s --jitter none", "exit 1").spawn();
    running.await_stderr("next in 1m 0s");
    signal(only_child(running.pid()), rustix::process::Signal::TERM);
    running
        .wait()
        .exits(143)
        .stdout_is("")
        .took_less_than(AT_ONCE);
}

#[test]
fn as_pid_1_a_signal_from_outside_reaches_the_command() {
    let script = "trap 'echo cleaned; exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    let sandbox = Sandbox::new();
    let mut running = as_init(&sandbox, "--process-group inherit", script).spawn();
    running.await_stdout("ready");
    signal(only_child(running.pid()), rustix::process::Signal::TERM);
    running.wait().exits(7).stdout_is("ready\ncleaned\n");
}

#[test]
fn as_pid_1_a_real_time_signal_is_passed_on_like_any_other() {
    let script = "exec bash -c \"trap 'echo got; exit 9' RTMIN+1; echo ready; while :; do sleep 0.05; done\"";
    for group in ["new", "inherit"] {
        let options = format!("-a 3 --base 10ms --process-group {group}");
        let sandbox = Sandbox::new();
        let mut running = as_init(&sandbox, &options, script).spawn();
        running.await_stdout("ready");
        let init = rustix::process::Pid::from_raw(only_child(running.pid())).expect("a pid");
        assert!(send(init, libc::SIGRTMIN() + 1));
        running.wait().exits(9).stdout_is("ready\ngot\n");
    }
}

#[test]
fn the_first_process_of_a_new_namespace_is_run_like_any_other() {
    let sandbox = Sandbox::new();
    let words = unshare(&["--pid"]);
    call(&sandbox, &words)
        .args([RETRY, "-a", "1", "--", "sh", "-c", "exit 3"])
        .run()
        .exits(3)
        .stdout_is("");
}
