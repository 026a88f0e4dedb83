//! What the command has written gets where it belongs, whole and in order, or it is no success.

use std::io::Read as _;

use crate::input::pipe;
use crate::schema;
use crate::support::{AT_ONCE, FAST, Sandbox};
use crate::terminal::open_terminal;

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

#[test]
fn input_that_cannot_be_kept_is_not_given_twice() {
    let script = "seq 1000000 >all; (ulimit -f 1024; (cat all; sleep 1) |
        retry -q -a 1 --kill-after 300ms --stdin replay -- sh -c 'trap \"\" TERM; cat | wc -c >&2'; echo $?) 2>&1 >status | tail -n1
        cat status";
    let done = Sandbox::new().bash(script).run();
    let read: u64 = done
        .stdout
        .lines()
        .next()
        .map_or(0, |line| line.trim().parse().unwrap_or(0));
    assert!(read <= 6_888_896, "{done:?}");
    assert!(done.stdout.ends_with("125\n"), "{done:?}");
}

#[test]
fn what_an_attempt_has_left_goes_before_what_the_next_one_writes() {
    let script = "retry $FAST -a 3 --timeout 400ms --fail-if zzz -- sh -c 'yes $RETRY_ATTEMPT | head -c 100000; exec sleep 9' 2>/dev/null | (sleep 0.9; uniq -c)";
    let done = Sandbox::new().bash(script).run();
    let order: Vec<&str> = done.stdout.split_whitespace().skip(1).step_by(2).collect();
    assert_eq!(order, ["1", "2", "3"], "{done:?}");
}

#[test]
fn the_other_end_of_a_terminal_gets_it_too() {
    let (keys, line) = open_terminal();
    let call = Sandbox::new()
        .retry("-a 1 --fail-if zzz -- echo hello")
        .stdout(keys.try_clone().expect("a descriptor"));
    call.run().exits(0);
    let mut typed = [0; 6];
    std::fs::File::from(line)
        .read_exact(&mut typed)
        .expect("what was written");
    assert_eq!(&typed, b"hello\n");
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

/// What `retry` says and logs of a command that has ended at once, but whose output nobody reads
/// until a deadline.
#[track_caller]
fn says_of_what_is_not_read(options: &str, status: u8) {
    let sandbox = Sandbox::new();
    let (reader, stdout) = pipe();
    let options = format!("{FAST} --deadline 3s --log log {options}");
    let call = sandbox.retry_sh(&options, &format!("seq 20000; exit {status}"));
    let done = call.stdout(stdout).run();
    drop(reader);
    done.exits(124).says(&[&format!(
        "sh: attempt 1/5 failed: exit {status} after …; giving up after …: undelivered: not all of its output was read by the deadline of 3.00s"
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
