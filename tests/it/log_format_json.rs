//! `--log-format json`: every line on stderr is an object.

use std::fs;

use serde_json::{Value, json};

use crate::log_records::{all, last, on_stderr};
use crate::schema;
#[cfg(target_os = "linux")]
use crate::support::open_to_write;
use crate::support::terminal::Terminal;
use crate::support::{FAST, Sandbox};

#[test]
fn every_line_on_stderr_is_an_object_and_the_same_as_in_the_file() {
    let sandbox = Sandbox::new();
    let options = format!("{FAST} -a 3 --log-format json --log l");
    for (more, code) in [
        ("", 7),
        ("-v", 7),
        ("--deadline 60s --base 99s --cap 99s", 7),
        ("--stop-on 7", 7),
    ] {
        fs::write(sandbox.path("l"), "").expect("a file");
        let done = sandbox
            .retry_sh(&format!("{options} {more}"), "exit 7")
            .run();
        let lines = on_stderr(done.exits(code).stdout_is(""));
        assert_eq!(done.stderr, sandbox.text("l"));
        assert_eq!(last(&lines)["exit_status"], code);
        if more.is_empty() || more == "-v" {
            assert_eq!(lines.len(), 7, "{done:?}");
        }
    }
}

#[test]
fn a_terminal_sees_objects_and_no_countdown() {
    let mut terminal = Terminal::new();
    let retry = "env TERM=xterm retry -a 2 --base 1200ms --jitter none --log-format json";
    terminal.enter(&format!("{retry} -- false; echo rc=$?"));
    terminal.await_text("rc=1");
    let printed = terminal.printed();
    assert!(!printed.contains("retry: next attempt in "), "{printed}");
    let printed = printed.replace('\r', "");
    let own = printed.split_inclusive('\n');
    let own: String = own.filter(|line| line.starts_with('{')).collect();
    assert_eq!(schema::lines(&own).len(), 5, "{printed}");
}

#[test]
fn warnings_are_objects_too() {
    let sandbox = Sandbox::new();
    let script = "RETRY_ATTEMPT=1 retry $FAST -a 3 --log-format json --log no/such/log \
        --shared no/such/budget --retry-after @h -- sh -c 'ln -sf h h; exit 1'";
    let done = sandbox.bash(script).run();
    let lines = on_stderr(done.exits(1).stdout_is(""));
    assert_eq!(lines[0]["event"], "start");
    let mut kinds = all(&lines, "warning", "kind");
    kinds.sort_by_key(Value::to_string);
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "budget_unusable",
            "heads_unreadable",
            "log_unusable",
            "nested"
        ]
    );
    let lost = kinds_of(&lines, "log_unusable");
    assert_eq!((lost, kinds_of(&lines, "nested")), (1, 1));
}

fn kinds_of(lines: &[Value], kind: &str) -> usize {
    lines.iter().filter(|line| line["kind"] == kind).count()
}

#[test]
fn the_quiet_say_no_objects_either() {
    let sandbox = Sandbox::new();
    let options = format!("{FAST} -q -a 2 --log-format json --log no/such/log");
    let done = sandbox.retry_sh(&options, "exit 7").run();
    assert_eq!(done.exits(7).stdout_is("").stderr, "");
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_our_own_fault_is_the_last_line() {
    let sandbox = Sandbox::new();
    for (options, count) in [("--log-format json", 2), ("-q --log-format json", 1)] {
        let options = format!("{options} --log l --stdout once");
        let done = sandbox
            .retry_sh(&options, "echo x")
            .stdout(open_to_write("/dev/full"))
            .run();
        let lines = on_stderr(done.exits(125));
        assert_eq!(lines.len(), count, "{done:?}");
        let end = last(&lines);
        assert_eq!(
            (&end["reason"], &end["exit_status"]),
            (&json!("error"), &json!(125))
        );
        let error = end["error"].as_str().expect("a text");
        assert!(error.ends_with("no space left on device"), "{error}");
        assert_eq!(last(&sandbox.log()), end);
    }
}

/// Returns the only object on stderr after an error before the run.
#[track_caller]
fn refusal(script: &str) -> Value {
    let done = Sandbox::new().bash(script).run();
    done.exits(125).stdout_is("");
    let lines = schema::lines(&done.stderr);
    assert_eq!(lines.len(), 1, "{done:?}");
    let end = last(&lines).clone();
    assert_eq!(
        [
            &end["outcome"],
            &end["reason"],
            &end["exit_status"],
            &end["attempts"]
        ],
        [&json!("error"), &json!("error"), &json!(125), &json!(0)],
        "{done:?}"
    );
    end
}

#[test]
fn an_error_before_the_run_and_a_wrong_call_are_objects_too() {
    for (script, says) in [
        (
            "retry --log-format json --retry-after @/etc -- true",
            "'@/etc' is not a regular file",
        ),
        (
            "retry --log-format=json --attempts 0 -- true",
            "0 attempts would never run",
        ),
        (
            "retry --attempts 0 --log-format json -- true",
            "0 attempts would never run",
        ),
        (
            "retry -q --log-format json --no-such-option -- true",
            "--no-such-option",
        ),
        ("retry -t 5 --log-format json -- true", "-t"),
        ("retry --tries 5 --log-format json true", "--tries"),
        ("retry --log-format json", "there is no command to run"),
        (
            "retry --factor 3 -vk 1s --backoff linear --log-format json true",
            "--factor has no effect",
        ),
        (
            "retry --log-format text --log-format json --budget 3 true",
            "--budget needs --shared",
        ),
        (
            "retry --log-format json --policy /no/such -- true",
            "policy file '/no/such'",
        ),
        (
            "echo log-format = json >p; RETRY_POLICY=p retry -a 0 -- true",
            "0 attempts",
        ),
        (
            "printf 'log-format json\nbase x\n' >p; retry --policy p -- true",
            "policy file 'p', line 2",
        ),
        (
            "echo log-format json >p; retry --policy=p --retry-after @/etc -- true",
            "'@/etc' is not a regular file",
        ),
        ("(ulimit -n 4; retry --log-format json -- true)", "cannot "),
    ] {
        let end = refusal(script);
        let error = end["error"].as_str().expect("text");
        assert!(error.contains(says), "{script}: {error}");
    }
}

#[test]
fn an_error_before_the_run_is_text_where_nobody_asked_for_objects() {
    for script in [
        "retry --attempts 0 -- true",
        "retry --attempts 0 -- true --log-format json",
        "retry --attempts 0 env --log-format json",
        "retry --log-format json --log-format text --attempts 0 -- true",
        "retry --log-format jsn --attempts 0 -- true",
        "retry --attempts 0 --log-format",
        "echo log-format json >p; retry --policy p --log-format text -a 0 -- true",
        "retry --log-format github --retry-after @/etc -- true",
    ] {
        let done = Sandbox::new().bash(script).run();
        done.exits(125).stdout_is("");
        assert_eq!(done.said().len(), 1, "{script}: {done:?}");
    }
}
