//! `--before-retry`: the hook that is run after a delay, before the next attempt.

#[cfg(target_os = "linux")]
use std::process::Stdio;

use libc::SIGTERM;

#[cfg(target_os = "linux")]
use crate::support::check;
use crate::support::{AT_ONCE, Call, FAST, Sandbox, end};

/// `retry` with these options and this hook around a script.
pub(crate) fn hooked(sandbox: &Sandbox, options: &str, hook: &str, script: &str) -> Call {
    let call = sandbox.retry(&format!("{FAST} {options}"));
    call.arg("--before-retry")
        .arg(hook)
        .args(["--", "sh", "-c", script])
}

#[test]
fn it_is_run_before_each_retry_and_neither_before_the_first_attempt_nor_after_the_last() {
    let sandbox = Sandbox::new();
    let hook = "echo hook $RETRY_ATTEMPT after $RETRY_LAST_STATUS >>log";
    let script = "echo attempt $RETRY_ATTEMPT >>log; exit $((6 + RETRY_ATTEMPT))";
    let done = hooked(&sandbox, "-a 3", hook, script).run();
    done.exits(9).stdout_is("");
    let expected = "attempt 1\nhook 2 after 7\nattempt 2\nhook 3 after 8\nattempt 3\n";
    assert_eq!(sandbox.text("log"), expected);
    assert_eq!(done.failures(), 3, "{done:?}");
}

#[test]
fn without_a_retry_it_is_not_run() {
    for (options, exit) in [
        ("", 0),
        ("-a 1", 1),
        ("--stop-on 1", 1),
        ("--deadline 1s --base 9s --cap 9s", 1),
    ] {
        let sandbox = Sandbox::new();
        let script = format!("exit {exit}");
        let done = hooked(&sandbox, options, "echo x >ran", &script).run();
        done.exits(exit).stdout_is("");
        assert_eq!(sandbox.lines("ran"), 0, "{options}");
    }
}

#[test]
fn it_is_run_after_the_delay() {
    let sandbox = Sandbox::new();
    let (hook, script) = ("date +%s%N >>times", "date +%s%N >>times; exit 1");
    let options = "-a 2 --base 400ms --cap 400ms";
    hooked(&sandbox, options, hook, script)
        .run()
        .exits(1)
        .stdout_is("");
    let times = sandbox.text("times");
    let times: Vec<u64> = times
        .lines()
        .map(|time| time.parse().expect("a time"))
        .collect();
    assert_eq!(times.len(), 3);
    assert!(times[1] - times[0] >= 400_000_000, "{times:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn it_reads_nothing_and_what_it_writes_goes_to_stderr() {
    for options in ["-a 2", "-a 2 --stdout once", "-a 2 --stdin replay"] {
        let sandbox = Sandbox::new();
        let hook = "readlink /proc/self/fd/0; cat; echo said";
        let script = "[ $RETRY_ATTEMPT = 2 ] && cat";
        let call = hooked(&sandbox, options, hook, script).stdin(Stdio::piped());
        let mut running = call.spawn();
        running.await_stderr("said").close_stdin();
        let done = running.wait();
        done.exits(0).stdout_is("");
        assert!(done.stderr.contains("/dev/null\nsaid\n"), "{done:?}");
    }
    check(
        "echo data | retry $FAST -a 2 --before-retry 'cat; echo said' -- sh -c '[ $RETRY_ATTEMPT = 2 ] && cat'",
        "data\n",
    );
}

#[test]
fn it_is_a_line_for_the_shell() {
    let sandbox = Sandbox::new();
    let hook = r#"printf '%s|' 'a  b' "c'd" "$((1 + 1))" 'e"f' $0 >said && [ -s said ]"#;
    hooked(&sandbox, "-a 2", hook, "exit 1")
        .run()
        .exits(1)
        .stdout_is("");
    assert_eq!(sandbox.text("said"), "a  b|c'd|2|e\"f|sh|");
}

#[test]
fn if_it_fails_the_last_attempts_status_stands_and_the_line_says_why() {
    for (hook, how) in [
        ("exit 3", "exit 3"),
        ("kill -KILL $$", "killed by SIGKILL"),
        ("nosuchprogram", "exit 127"),
    ] {
        let sandbox = Sandbox::new();
        let script = "echo x >>runs; exit 7";
        let done = hooked(&sandbox, "-a 3", hook, script).run();
        done.exits(7).stdout_is("");
        let said = done.said();
        assert!(
            said.len() == 2
                && said[1].starts_with("sh: giving up after attempt 1/3 and ")
                && said[1].ends_with(&format!(": --before-retry failed: {how}")),
            "{done:?}"
        );
        assert_eq!(sandbox.lines("runs"), 1);
    }
}

#[test]
fn if_it_fails_after_a_death_by_a_signal_we_die_of_that() {
    let sandbox = Sandbox::new();
    let done = hooked(&sandbox, "", "false", "kill -KILL $$").run();
    done.dies_of(libc::SIGKILL).stdout_is("");
}

#[test]
fn a_time_limit_ends_all_of_it_and_the_last_attempts_status_stands() {
    for limit in ["--timeout 500ms", "--deadline 500ms"] {
        let sandbox = Sandbox::new();
        let hook = "sleep 30 & sleep 30; :";
        let done = hooked(&sandbox, limit, hook, "echo x >>runs; exit 7").run();
        done.exits(7).stdout_is("").took_less_than(AT_ONCE);
        assert_eq!(sandbox.lines("runs"), 1, "{done:?}");
        let last = *done.said().last().expect("a line");
        assert!(
            last.contains("--before-retry failed: timed out"),
            "{done:?}"
        );
    }
}

#[test]
fn its_silence_is_no_reason_to_end_it() {
    let sandbox = Sandbox::new();
    let options = "-a 2 --idle-timeout 200ms";
    let script = "echo $RETRY_ATTEMPT; exit 7";
    let done = hooked(&sandbox, options, "sleep 0.6", script).run();
    done.exits(7).stdout_is("1\n2\n");
}

#[test]
fn a_signal_during_it_is_passed_on_and_ends_us_by_that_signal() {
    for (trap, heard) in [
        ("", ""),
        ("trap 'echo heard >heard; exit 0' TERM;", "heard\n"),
    ] {
        let sandbox = Sandbox::new();
        let hook = format!("{trap} echo ready; while :; do sleep 0.05; done");
        let call = hooked(&sandbox, "", &hook, "echo x >>runs; exit 7");
        let mut running = call.spawn();
        running.await_stderr("ready").signal(SIGTERM);
        let done = running.wait();
        done.dies_of(SIGTERM).stdout_is("").took_less_than(AT_ONCE);
        assert_eq!(sandbox.lines("runs"), 1, "{done:?}");
        assert_eq!(sandbox.text("heard"), heard);
    }
}

#[test]
fn a_background_job_of_it_is_not_waited_for() {
    let sandbox = Sandbox::new();
    let hook = "sleep 30 >/dev/null 2>&1 & echo $! >pid";
    let done = hooked(&sandbox, "-a 2", hook, "exit 7").run();
    done.exits(7).stdout_is("").took_less_than(AT_ONCE);
    end(sandbox.text("pid").trim().parse().expect("a pid"));
}

#[test]
fn its_text_is_never_told() {
    for options in ["-v -a 3", "-v -a 3 --timeout 200ms"] {
        let sandbox = Sandbox::new();
        let hook = ": hunter2; [ $RETRY_ATTEMPT = 2 ] || { sleep 0.5; exit 1; }";
        let done = hooked(&sandbox, options, hook, "exit 7").run();
        done.exits(7).stdout_is("");
        assert!(!done.stderr.contains("hunter2"), "{done:?}");
        assert!(done.stderr.contains("--before-retry"), "{done:?}");
    }
}

#[test]
fn an_empty_one_is_an_error() {
    let sandbox = Sandbox::new();
    let done = hooked(&sandbox, "", "", "echo x >ran").run();
    done.exits(125).stdout_is("");
    assert_eq!(
        (done.said().len(), sandbox.lines("ran")),
        (1, 0),
        "{done:?}"
    );
    assert!(done.stderr.contains("--before-retry"), "{done:?}");
}
