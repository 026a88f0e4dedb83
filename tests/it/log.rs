//! The log for programs: in a file, and on stderr.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::getuid;
use serde_json::{Value, json};

use crate::schema;
use crate::support::{AT_ONCE, Done, FAST, Sandbox, open_to_write};
use crate::terminal::Terminal;

const SIGTERM: i32 = 15;

impl Sandbox {
    /// The lines of the file `l`, each of which is valid.
    fn log(&self) -> Vec<Value> {
        schema::lines(&self.text("l"))
    }

    /// Runs a script that logs to `$T/l`, and reads that.
    #[track_caller]
    fn logged(&self, script: &str, code: i32) -> Vec<Value> {
        self.bash(script).run().exits(code);
        self.log()
    }
}

/// A field of every line of this kind.
fn all(lines: &[Value], event: &str, field: &str) -> Vec<Value> {
    let lines = lines.iter().filter(|line| line["event"] == event);
    lines.map(|line| line[field].clone()).collect()
}

fn last(lines: &[Value]) -> &Value {
    let last = lines.last().expect("a line");
    assert_eq!(last["event"], "end");
    last
}

#[test]
fn death_by_a_signal_is_told_as_one() {
    // F013
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
    // F016
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
    // F112
    let sandbox = Sandbox::new();
    let script = r#"retry $FAST --attempts 2 --retry-after output --log $T/l -- sh -c 'printf "HTTP/1.1 429 X\nRetry-After: 1\n\n"; failn 1 22 >/dev/null'"#;
    let log = sandbox.logged(script, 0);
    assert_eq!(all(&log, "delay", "delay_ms"), [1000]);
    assert_eq!(all(&log, "delay", "source"), ["retry-after"]);
    assert_eq!(last(&log)["server_waits"], 1);
    let slept = last(&log)["slept_ms"].as_u64().expect("a number");
    assert!((950..6_000).contains(&slept), "{slept}");
}

#[test]
fn a_servers_wait_is_told_once() {
    // F113
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
    // F123
    let sandbox = Sandbox::new();
    let script = r#"retry $FAST --attempts 2 --deadline 5s --retry-after output --log $T/l -- sh -c 'printf "HTTP/1.1 503 X\nDate: Mon, 30 Nov 2026 12:00:00 GMT\nRetry-After: Mon, 30 Nov 2026 12:00:20 GMT\n\n"; exit 22'"#;
    let log = sandbox.logged(script, 22);
    assert_eq!(all(&log, "attempt", "server_wait_ms"), [20_000]);
    assert_eq!(all(&log, "delay", "delay_ms"), [0; 0]);
    let end = last(&log);
    assert_eq!(
        (&end["reason"], &end["deadline_exhausted"]),
        (&json!("deadline"), &json!(true))
    );
}

#[test]
fn a_pass_after_failures_does_not_look_like_a_clean_pass() {
    // F134, F135
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
        .stdout_is(&format!("{run_id} {}\n", start["pid"]));
}

#[test]
fn many_runs_may_write_to_one_log() {
    let sandbox = Sandbox::new();
    let script = "seq 200 | xargs -P20 -I{} retry -q $FAST -a 2 --log $T/l -- false";
    sandbox.bash(script).run().exits(123);
    let log = sandbox.log();
    assert_eq!(log.len(), 200 * 5);
    for end in log.iter().filter(|line| line["event"] == "end") {
        let run = log.iter().filter(|line| line["run_id"] == end["run_id"]);
        let events: Vec<&Value> = run.map(|line| &line["event"]).collect();
        assert_eq!(events, ["start", "attempt", "delay", "attempt", "end"]);
    }
}

#[test]
fn a_log_is_appended_to_and_made_as_the_umask_says() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("old"), "what was there\n").expect("a file");
    sandbox.retry("--log old -- true").run().exits(0);
    let log = sandbox.text("old");
    let ours = log.strip_prefix("what was there\n").expect("it is there");
    assert_eq!(schema::lines(ours).len(), 3);
    for (umask, mode) in [("022", 0o644), ("077", 0o600)] {
        let script = format!("umask {umask}; retry --log $T/{umask} -- true");
        sandbox.bash(&script).run().exits(0);
        let file = fs::metadata(sandbox.path(umask)).expect("a file");
        assert_eq!(file.permissions().mode() & 0o777, mode);
    }
}

/// Has a run that fails log to this file, which cannot be; that is said once and changes nothing.
#[track_caller]
fn goes_on_without(sandbox: &Sandbox, file: &str, reason: &str) {
    let lost = format!("sh: the file of --log cannot be written: {reason}");
    let options = format!("{FAST} -a 2 --log {file}");
    let done = sandbox.retry_sh(&options, "echo x; exit 7").run();
    done.exits(7).stdout_is("x\nx\n").says(&[
        &lost,
        "sh: attempt 1/2 failed: exit 7 after …; next in …",
        "sh: attempt 2/2 failed: exit 7 after …; giving up after …",
    ]);
    done.took_less_than(AT_ONCE);
    let done = sandbox.retry(&format!("-q --log {file} -- true")).run();
    assert_eq!(done.exits(0).stderr, "");
}

#[test]
fn a_log_that_cannot_be_written_is_said_once_and_changes_nothing() {
    let sandbox = Sandbox::new();
    goes_on_without(&sandbox, ".", "is a directory");
    goes_on_without(&sandbox, "no/such/log", "no such file or directory");
    let fifo = sandbox.path("fifo");
    sandbox.program("mkfifo").arg(&fifo).run().exits(0);
    let unread = "it is a FIFO or a socket, and nobody reads it";
    goes_on_without(&sandbox, "fifo", unread);
    if cfg!(target_os = "linux") {
        goes_on_without(&sandbox, "/dev/full", "no space left on device");
    }
    assert!(
        sandbox
            .bash("exec 9<>fifo; retry --log fifo -- true")
            .run()
            .stderr
            .is_empty()
    );
}

#[test]
fn a_log_of_somebody_elses_is_left_alone() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("l"), "").expect("a file");
    fs::set_permissions(sandbox.path("l"), PermissionsExt::from_mode(0o444)).expect("it is ours");
    let nobody: &[&str] = if getuid().is_root() {
        &[
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
        ]
    } else {
        &["env"]
    };
    let options = "retry -a 1 --log l -- false".split(' ');
    let done = sandbox
        .program(nobody[0])
        .args(&nobody[1..])
        .args(options)
        .run();
    done.exits(1).says(&[
        "false: the file of --log cannot be written: permission denied",
        "false: attempt 1/1 failed: exit 1 after …; giving up after …",
    ]);
    assert_eq!(sandbox.text("l"), "");
}

#[test]
fn a_log_that_must_not_grow_ends_nothing() {
    let sandbox = Sandbox::new();
    let script = "ulimit -f 0; retry $FAST -a 2 --log l -- false";
    let done = sandbox.bash(script).run();
    assert!(
        done.exits(1).said()[0].ends_with("cannot be written: file too large"),
        "{done:?}"
    );
    assert_eq!((done.said().len(), done.failures()), (3, 2));
}

#[test]
fn a_reader_that_does_not_read_holds_nothing_up() {
    let sandbox = Sandbox::new();
    let fifo = sandbox.path("fifo");
    sandbox.program("mkfifo").arg(&fifo).run().exits(0);
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let reader = open(&fifo, flags, Mode::empty()).expect("a reader");
    while rustix::io::write(&reader, &[b'x'; 4096]).is_ok() {}
    goes_on_without(&sandbox, "fifo", "resource temporarily unavailable");
}

#[test]
fn a_reader_that_has_read_enough_ends_nothing() {
    let sandbox = Sandbox::new();
    let script = "mkfifo fifo; sh -c 'exec 8<>fifo; echo $$ >reader; read line <&8' &
        until [ -s reader ]; do sleep .01; done
        while_read='while kill -0 $(cat reader); do sleep .01; done; exit 7'
        retry -a 1 --log fifo -- sh -c \"$while_read\" 2>&1 | grep '^retry'; exit ${PIPESTATUS[0]}";
    let done = sandbox.bash(script).run();
    let said: Vec<&str> = done.exits(7).stdout.lines().collect();
    assert_eq!(said.len(), 2, "{done:?}");
    assert!(said[0].contains("failed: exit 7 after"), "{done:?}");
    let lost = "sh: the file of --log cannot be written: broken pipe";
    assert!(said[1].ends_with(lost), "{done:?}");
}

#[test]
fn a_fifo_is_read_line_by_line() {
    let sandbox = Sandbox::new();
    let script =
        "mkfifo fifo; cat fifo >l & exec 9>fifo; retry --log fifo -- true; exec 9>&-; wait";
    assert_eq!(sandbox.logged(script, 0).len(), 3);
}

#[test]
#[cfg(target_os = "linux")]
fn the_command_does_not_get_the_log() {
    let sandbox = Sandbox::new();
    let done = sandbox
        .retry_sh("--log l", "readlink /proc/$$/fd/*; true")
        .run();
    assert!(!done.exits(0).stdout.contains("/l\n"), "{done:?}");
}

/// The lines on stderr, all of which must be valid.
#[track_caller]
fn on_stderr(done: &Done) -> Vec<Value> {
    schema::lines(&done.stderr)
}

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
        let lines = on_stderr(done.exits(code));
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
    let lines = on_stderr(done.exits(1));
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
    assert_eq!(done.exits(7).stderr, "");
}

#[test]
fn a_wrong_call_is_no_run_and_leaves_the_log_alone() {
    let sandbox = Sandbox::new();
    let done = sandbox
        .retry("--log-format json --log l --factor 1 --backoff linear true")
        .run();
    assert_eq!(on_stderr(done.exits(125)).len(), 1);
    assert_eq!(sandbox.text("l"), "");
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

#[test]
fn the_same_seed_is_told_with_the_same_delays() {
    let sandbox = Sandbox::new();
    let delays: Vec<Vec<Value>> = ["a", "b", "c"]
        .into_iter()
        .zip([7, 7, 8])
        .map(|(file, seed)| {
            let options = format!("-q -a 6 --base 4ms --cap 64ms --seed {seed} --log {file}");
            sandbox.retry_sh(&options, "exit 1").run().exits(1);
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
    let lines = on_stderr(done.dies_of(SIGTERM));
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
    let lines = on_stderr(done.exits(1));
    assert_eq!((lines.len(), &lines[0]["program"]), (5, &json!("x")));
    assert!(!done.stderr.contains("s3cr3t"), "{done:?}");
    assert!(!sandbox.text("s3cr3t/l").contains("s3cr3t"));
}

#[test]
fn a_line_that_another_run_has_not_ended_takes_no_line_of_ours_with_it() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("l"), "{\"event\":\"sta").expect("a file");
    sandbox.retry("-q --log l -- true").run().exits(0);
    let text = sandbox.text("l");
    let starts = text
        .lines()
        .filter(|line| line.starts_with("{\"event\":\"start\""));
    assert_eq!(starts.count(), 1, "{text}");
}

#[test]
fn the_name_of_the_file_may_be_any_bytes() {
    let script = "retry -a 1 --log=$'\\xff' -- true; ls | od -An -tx1 | tr -d ' '";
    let done = Sandbox::new().bash(script).run();
    done.exits(0).stdout_is("ff0a\n");
}

/// What an error before the run says on stderr: one object, and nothing else.
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
            "'@/etc' is no regular file",
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
            "--factor means nothing",
        ),
        (
            "retry --log-format text --log-format json --budget 3 true",
            "--budget means nothing",
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
            "'@/etc' is no regular file",
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
        done.exits(125);
        assert_eq!(done.said().len(), 1, "{script}: {done:?}");
    }
}
