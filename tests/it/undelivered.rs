//! A run whose output is not delivered is no success.

use crate::schema;
use crate::support::{FAST, Sandbox, pipe};

/// Runs a script, and compares what it prints, a line each.
#[track_caller]
fn prints(script: &str, expected: &[&str]) {
    let done = Sandbox::new().bash(script).run();
    let lines: Vec<&str> = done.stdout.lines().map(str::trim).collect();
    assert_eq!(lines, expected, "{done:?}");
}

#[test]
fn a_reader_that_is_slow_makes_no_time_out_of_a_success() {
    prints(
        "retry $FAST -a 2 --timeout 300ms --fail-if zzz -- sh -c 'seq 14000; echo >>runs' | (sleep 1; wc -c)
        echo ${PIPESTATUS[0]}; wc -l <runs",
        &["72894", "0", "1"],
    );
}

#[test]
fn a_signal_that_leaves_output_undelivered_is_no_success() {
    let script = "(retry --fail-if zzz -- sh -c 'seq 20000; echo ready >&2' & p=$!
        sleep 0.5; kill -TERM $p; wait $p; echo $? >status) 2>&1 | (sleep 2; wc -c >bytes); cat status";
    let done = Sandbox::new().bash(script).run();
    assert_eq!(done.stdout.trim(), "143", "{done:?}");
}

#[test]
fn no_rule_makes_a_success_of_output_that_nobody_read() {
    for options in [
        "--success-if ok",
        "--success-on 3 --retry-if x",
        "--fail-if zzz",
        "--retry-if .",
    ] {
        let script = format!(
            "retry $FAST -a 2 {options} -- sh -c 'echo >>runs; sleep 0.1; echo ok; exit 3' 2>/dev/null | true
            echo ${{PIPESTATUS[0]}}; wc -l <runs"
        );
        prints(&script, &["141", "1"]);
    }
}

/// Checks what `retry` reports and logs about a command that has ended at once, but whose output
/// nobody reads until a deadline.
#[track_caller]
fn says_of_what_is_not_read(options: &str, status: u8) {
    let sandbox = Sandbox::new();
    let (reader, stdout) = pipe();
    let options = format!("{FAST} --deadline 3s --log log {options}");
    let call = sandbox.retry_sh(&options, &format!("seq 20000; exit {status}"));
    let done = call.stdout(stdout).run();
    drop(reader);
    done.exits(124).says(&[&format!(
        "sh: attempt 1/5 failed: exit {status} after …; giving up after …: undelivered: its output was not fully read by the deadline of 3.00s"
    )]);
    let log = sandbox.text("log");
    for words in [
        &format!(r#""outcome":"exit","code":{status},"#),
        r#""retryable":false,"reason":"undelivered","rule":null,"#,
        r#""reason":"undelivered","exit_status":124,"#,
        r#""deadline_exhausted":true"#,
    ] {
        assert!(log.contains(words), "no {words} in {log}");
    }
    assert_eq!(schema::lines(&log).len(), 3);
}

#[test]
fn output_that_is_not_read_by_the_deadline_is_no_time_out_of_the_command() {
    says_of_what_is_not_read("--fail-if zzz", 0);
    says_of_what_is_not_read("--fail-if zzz", 3);
    says_of_what_is_not_read("--stdout once", 0);
}

#[test]
fn a_command_that_is_cut_short_by_our_deadline_has_not_succeeded() {
    let options = format!("{FAST} --deadline 500ms --fail-if zzz");
    let script = format!(
        "retry {options} -- seq 20000 2>/dev/null | (sleep 2; wc -c >/dev/null); echo ${{PIPESTATUS[0]}}"
    );
    prints(&script, &["124"]);
}
