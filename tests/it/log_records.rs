//! The content of the lines of `--log`.

use serde_json::{Value, json};

use crate::schema;
use crate::support::{Done, Sandbox};

const SIGTERM: i32 = 15;

impl Sandbox {
    /// The lines of the file `l`, each of which is valid.
    pub(crate) fn log(&self) -> Vec<Value> {
        schema::lines(&self.text("l"))
    }

    /// Runs a script that logs to `$T/l`, and reads that.
    #[track_caller]
    pub(crate) fn logged(&self, script: &str, code: i32) -> Vec<Value> {
        self.bash(script).run().exits(code);
        self.log()
    }
}

/// A field of every line of this kind.
pub(crate) fn all(lines: &[Value], event: &str, field: &str) -> Vec<Value> {
    let lines = lines.iter().filter(|line| line["event"] == event);
    lines.map(|line| line[field].clone()).collect()
}

pub(crate) fn last(lines: &[Value]) -> &Value {
    let last = lines.last().expect("a line");
    assert_eq!(last["event"], "end");
    last
}

#[test]
fn death_by_a_signal_is_told_as_one() {
    let sandbox = Sandbox::new();
    let script = "retry $FAST --attempts 2 --log $T/l -- sh -c 'kill -9 $$'; exit $?";
    let log = sandbox.logged(script, 137);
    assert_eq!(all(&log, "attempt", "signal"), [json!(9), json!(9)]);
    assert_eq!(
        all(&log, "attempt", "signal_name"),
        [json!("SIGKILL"), json!("SIGKILL")]
    );
    assert!(!sandbox.text("l").contains("\"code\""));
    let end = last(&log);
    assert_eq!(
        (&end["exit_status"], &end["signal_name"]),
        (&json!(137), &json!("SIGKILL"))
    );
}

#[test]
fn only_what_we_ended_is_timed_out() {
    let sandbox = Sandbox::new();
    let script = "retry $FAST --attempts 1 --log $T/l -- sh -c 'exit 124'";
    let log = sandbox.logged(script, 124);
    assert_eq!(all(&log, "attempt", "outcome"), ["exit"]);
    assert!(!sandbox.text("l").contains("timed_out"));
    let script = "retry $FAST -a 1 --timeout 50ms --log $T/l -- sleep 60";
    let log = sandbox.logged(script, 124);
    assert_eq!(last(&log)["outcome"], "timed_out");
    assert_eq!(log.len(), 6);
}

#[test]
fn the_delay_that_is_told_is_the_one_that_is_slept() {
    let sandbox = Sandbox::new();
    let script = r#"retry $FAST --attempts 2 --retry-after output --log $T/l -- sh -c 'printf "HTTP/1.1 429 X\nRetry-After: 1\n\n"; failn 1 22 >/dev/null'"#;
    let log = sandbox.logged(script, 0);
    assert_eq!(all(&log, "delay", "delay_ms"), [1000]);
    assert_eq!(all(&log, "delay", "source"), ["retry-after"]);
    assert_eq!(last(&log)["server_waits"], 1);
    assert_eq!(
        all(&log, "attempt", "http_status"),
        [json!(429), json!(429)]
    );
    let slept = last(&log)["slept_ms"].as_u64().expect("a number");
    assert!((950..6_000).contains(&slept), "{slept}");
}

#[test]
fn a_servers_wait_is_told_once() {
    let sandbox = Sandbox::new();
    let script = r#"retry --base 10ms --cap 10ms --jitter none --attempts 3 --retry-after output --log $T/l -- sh -c 'n=$(failn 9 1 >/dev/null; cat $T/n); [ $n != 1 ] || printf "HTTP/1.1 429 X\nRetry-After: 1\n\n"; exit 22'"#;
    let log = sandbox.logged(script, 22);
    assert_eq!(all(&log, "delay", "delay_ms"), [1000, 10]);
    assert_eq!(
        all(&log, "attempt", "server_wait_ms"),
        [json!(1000), Value::Null, Value::Null]
    );
}

#[test]
fn a_wait_is_told_even_if_it_is_too_long() {
    let sandbox = Sandbox::new();
    let script = r#"retry $FAST --attempts 2 --deadline 5s --retry-after output --log $T/l -- sh -c 'printf "HTTP/1.1 503 X\nDate: Mon, 30 Nov 2026 12:00:00 GMT\nRetry-After: Mon, 30 Nov 2026 12:00:20 GMT\n\n"; exit 22'"#;
    let log = sandbox.logged(script, 22);
    assert_eq!(all(&log, "attempt", "server_wait_ms"), [20_000]);
    assert_eq!(all(&log, "attempt", "http_status"), [503]);
    assert_eq!(last(&log)["server_waits"], 1);
    assert_eq!(all(&log, "delay", "delay_ms"), [0; 0]);
    let end = last(&log);
    assert_eq!(
        (&end["reason"], &end["deadline_exhausted"]),
        (&json!("deadline"), &json!(true))
    );
}

#[test]
fn a_pass_after_failures_does_not_look_like_a_clean_pass() {
    let sandbox = Sandbox::new();
    let script = "retry $FAST --attempts 3 --log $T/l -- failn 2 7 >/dev/null 2>&1";
    let log = sandbox.logged(script, 0);
    let events: Vec<&Value> = log.iter().map(|line| &line["event"]).collect();
    let expected = [
        "start", "attempt", "delay", "attempt", "delay", "attempt", "end",
    ];
    assert_eq!(events, expected);
    assert_eq!(all(&log, "attempt", "code"), [7, 7, 0]);
    assert_eq!(
        all(&log, "attempt", "reason"),
        ["retry", "retry", "success"]
    );
    assert_eq!(all(&log, "delay", "delay_ms"), [10, 10]);
    assert_eq!(all(&log, "start", "max_retries"), [2]);
    let end = last(&log);
    assert_eq!(
        (&end["outcome"], &end["attempts"]),
        (&json!("success"), &json!(3))
    );
    let slept = end["slept_ms"].as_u64().expect("a number");
    assert!(slept >= 18, "{slept}");
    for line in &log {
        assert_eq!(
            (&line["run_id"], &line["pid"]),
            (&end["run_id"], &end["pid"])
        );
    }
}

#[test]
fn the_log_names_the_run_as_the_command_knows_it() {
    let sandbox = Sandbox::new();
    let done = sandbox
        .retry_sh("--log l", "echo $RETRY_RUN_ID $PPID")
        .run();
    let start = &sandbox.log()[0];
    let run_id = start["run_id"].as_str().expect("a text");
    done.exits(0)
        .stdout_is(&format!("{run_id} {}\n", start["pid"]))
        .stderr_is("");
}

/// The lines on stderr, all of which must be valid.
#[track_caller]
pub(crate) fn on_stderr(done: &Done) -> Vec<Value> {
    schema::lines(&done.stderr)
}

#[test]
fn the_same_seed_is_told_with_the_same_delays() {
    let sandbox = Sandbox::new();
    let delays: Vec<Vec<Value>> = ["a", "b", "c"]
        .into_iter()
        .zip([7, 7, 8])
        .map(|(file, seed)| {
            let options = format!("-q -a 6 --base 4ms --cap 64ms --seed {seed} --log {file}");
            sandbox
                .retry_sh(&options, "exit 1")
                .run()
                .exits(1)
                .stdout_is("")
                .stderr_is("");
            let log = schema::lines(&sandbox.text(file));
            assert_eq!(log[0]["policy"]["seed"], seed.to_string());
            all(&log, "delay", "delay_ms")
        })
        .collect();
    assert_eq!(delays[0].len(), 5);
    assert_eq!(delays[0], delays[1]);
    assert_ne!(delays[0], delays[2]);
}

#[test]
fn a_signal_during_a_delay_is_why_the_run_ends() {
    let sandbox = Sandbox::new();
    let mut running = sandbox
        .retry_sh(
            "--base 60s --jitter none --log-format json --log l",
            "exit 7",
        )
        .spawn();
    running.await_stderr("\"event\":\"delay\"");
    running.signal(SIGTERM);
    let done = running.wait();
    let lines = on_stderr(done.dies_of(SIGTERM).stdout_is(""));
    assert_eq!(done.stderr, sandbox.text("l"));
    assert_eq!(all(&lines, "delay", "delay_ms"), [60_000]);
    let end = last(&lines);
    assert_eq!(
        (&end["reason"], &end["outcome"]),
        (&json!("signal"), &json!("exit"))
    );
    assert_eq!(
        (&end["exit_status"], &end["signal_name"]),
        (&json!(143), &json!("SIGTERM"))
    );
    let slept = end["slept_ms"].as_u64().expect("a number");
    assert!(slept < 30_000, "{slept}");
}

#[test]
fn a_signal_during_an_attempt_is_why_there_is_no_other() {
    let sandbox = Sandbox::new();
    let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 1; done";
    let mut running = sandbox.retry_sh("--log l", script).spawn();
    running.await_stdout("ready").signal(SIGTERM);
    running.wait().exits(9);
    let log = sandbox.log();
    assert_eq!(all(&log, "attempt", "code"), [9]);
    assert_eq!((&last(&log)["reason"], log.len()), (&json!("signal"), 3));
}

#[test]
fn no_secret_gets_into_a_log() {
    let sandbox = Sandbox::new();
    let script = "mkdir s3cr3t; printf '#!/bin/sh\\nexit 1\\n' >s3cr3t/x; chmod +x s3cr3t/x
        TOKEN=s3cr3t retry $FAST -a 2 --log s3cr3t/l --log-format json --before-retry ': s3cr3t' \
        --stop-if s3cr3t --retry-after @s3cr3t/h --shared s3cr3t/b -- s3cr3t/x s3cr3t";
    let done = sandbox.bash(script).run();
    let lines = on_stderr(done.exits(1).stdout_is(""));
    assert_eq!((lines.len(), &lines[0]["program"]), (5, &json!("x")));
    assert!(!done.stderr.contains("s3cr3t"), "{done:?}");
    assert!(!sandbox.text("s3cr3t/l").contains("s3cr3t"));
}
