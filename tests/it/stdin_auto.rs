//! `--stdin auto`: a file is rewound for each attempt, and input that was read from a pipe ends the
//! retrying.

use std::io::{Read as _, Write as _};

use crate::schema;
use crate::support::{FAST, Sandbox, check, pipe};

#[test]
fn a_file_is_read_by_every_attempt_from_where_it_stood() {
    for mode in ["auto", "inherit", "replay"] {
        check(
            &format!(
                "printf 'a\\nb\\nc\\n' >f; {{ read x; retry $FAST -a 3 --stdin {mode} -- sh -c 'cat; exit 1'; cat; }} <f"
            ),
            "b\nc\nb\nc\nb\nc\n",
        );
    }
}

#[test]
fn a_file_that_is_written_from_the_same_place_is_not_rewound() {
    let command = "sh -c 'echo attempt $RETRY_ATTEMPT; exit $((RETRY_ATTEMPT < 3))'";
    let all = "attempt 1\nattempt 2\nattempt 3\n";
    for (call, output) in [
        (format!("retry -q -a 3 --base 0 {command} 0<>f 1>&0"), all),
        (
            format!("retry -q -a 3 --base 0 {command} 0<>f 2>&0 >&2"),
            all,
        ),
        (
            format!("retry -q -a 3 --base 0 --retry-if . {command} 0<>f 1>&0"),
            all,
        ),
    ] {
        check(&format!(": >f; {call}; cat f"), output).stderr_is("");
    }
}

#[test]
fn a_file_is_rewound_although_it_is_also_written_elsewhere_or_at_its_end() {
    let reads = "sh -c 'read line; echo got $line; exit 1'";
    check(
        &format!("printf '1\n2\n' >f; retry -q -a 2 --base 0 {reads} <f >>f; cat f"),
        "1\n2\ngot 1\ngot 1\n",
    )
    .stderr_is("");
    check(
        &format!(
            "printf '1\n2\n' >f; exec 3<>f; cat <&3 >&2; retry -q -a 2 --base 0 {reads} <f >&3; cat f"
        ),
        "1\n2\ngot 1\ngot 1\n",
    );
}

#[test]
fn a_large_file_is_read_again_and_not_kept() {
    let script = "head -c 5000000 /dev/urandom >b; TMPDIR=/no/such retry $FAST -a 3 --stdin replay -- sh -c 'cat >c; failn 2 1 >/dev/null' <b; cmp b c && echo SAME";
    check(script, "SAME\n");
}

/// Returns how often a run with these options around this script warns that input is lost. A pipe
/// on stdin holds `data`, and its writer is still there.
fn warnings(options: &str, script: &str) -> usize {
    let (stdin, mut writer) = pipe();
    writer.write_all(b"data\n").expect("a reader");
    let call = Sandbox::new().retry_sh(&format!("{FAST} --stdin inherit {options}"), script);
    let done = call.stdin(stdin).run();
    drop(writer);
    done.stderr.matches("--stdin replay").count()
}

#[test]
fn input_that_a_failed_attempt_has_read_is_missed_aloud_and_once() {
    let reads = "[ $RETRY_ATTEMPT != 1 ] || read x; exit 1";
    assert_eq!(warnings("-a 4", reads), 1);
    let reads_late = "[ $RETRY_ATTEMPT != 2 ] || read x; exit 1";
    assert_eq!(warnings("-a 4", reads_late), 1);
    let done = check(
        "echo data | retry $FAST -a 4 --stdin inherit -- sh -c 'cat >/dev/null; exit 1'; echo $?",
        "1\n",
    );
    assert_eq!(done.stderr.matches("--stdin replay").count(), 1, "{done:?}");
}

#[test]
fn input_that_is_not_missed_is_no_reason_to_speak() {
    let reads = "[ $RETRY_ATTEMPT != 1 ] || read x; exit 1";
    for (options, script) in [
        ("-a 3", "exit 1"),
        ("-a 3 -q", reads),
        ("-a 3", "read x"),
        ("-a 3 --stdin replay", reads),
        ("-a 3 --stdin null", reads),
    ] {
        assert_eq!(warnings(options, script), 0, "{options} {script}");
    }
    let done = check(
        "echo data >f; for f in f /dev/null; do retry $FAST -a 3 -- sh -c 'cat; exit 1' <$f; done; printf data | retry $FAST -a 3 -- false; echo $?",
        "data\ndata\ndata\n1\n",
    );
    assert_eq!(done.failures(), 9, "{done:?}");
    assert!(!done.stderr.contains("replay"), "{done:?}");
}

/// A part of the line when there is no retry because input is lost.
const LOST: &str = "stdin: input already read from the pipe is lost; use --stdin replay to repeat it, --stdin null to send none, or --stdin inherit to retry without it";

/// Runs with `data` in a pipe on stdin, whose writer is still there unless `ended`. Returns how
/// often the script ran, and whether lost input ended the run.
#[track_caller]
fn eaten(ended: bool, options: &str, script: &str) -> (usize, bool) {
    let (stdin, mut writer) = pipe();
    writer.write_all(b"one\ntwo\nthree\n").expect("a reader");
    let writer = Some(writer).filter(|_| !ended);
    let sandbox = Sandbox::new();
    let script = format!("echo >>runs; {script}");
    let call = sandbox.retry_sh(&format!("{FAST} -a 3 --log log {options}"), &script);
    let done = call.stdin(stdin).run();
    drop(writer);
    done.exits(7);
    let log = sandbox.text("log");
    let is_logged = log.contains(r#""reason":"stdin","exit_status":7"#);
    assert_eq!(is_logged, done.stderr.contains(LOST), "{done:?} {log}");
    schema::lines(&log);
    (sandbox.lines("runs"), is_logged)
}

#[test]
fn there_is_no_retry_once_a_failed_attempt_has_read_from_the_pipe() {
    for (ended, reads) in [
        (false, "read line"),
        (true, "read line"),
        (true, "head -c 1 >/dev/null"),
        (true, "cat >/dev/null"),
    ] {
        let first = format!("{reads}; exit 7");
        assert_eq!(eaten(ended, "", &first), (1, true));
        let second = format!("[ $RETRY_ATTEMPT = 1 ] || {reads}; exit 7");
        assert_eq!(eaten(ended, "", &second), (2, true));
    }
}

#[test]
fn a_pipe_that_no_attempt_has_read_from_is_no_reason_to_stop() {
    for ended in [false, true] {
        assert_eq!(eaten(ended, "", "exit 7"), (3, false));
        assert_eq!(eaten(ended, "", "exec <&-; exit 7"), (3, false));
    }
}

#[test]
fn what_was_asked_for_is_done_with_the_pipe_whatever_was_read() {
    for options in ["--stdin inherit", "--stdin replay", "--stdin null"] {
        assert_eq!(eaten(true, options, "read line; exit 7"), (3, false));
    }
    assert_eq!(
        eaten(true, "-a 1", "read line; exit 7"),
        (1, false),
        "the attempts are used up, too"
    );
}

#[test]
fn a_script_in_a_short_here_document_is_not_taken_for_a_success_when_it_is_used_up() {
    let sandbox = Sandbox::new();
    let script = "retry $FAST -a 3 -- sh <<E\necho step; exit 7\nE\necho rc=$?";
    let done = sandbox.bash(script).run();
    done.exits(0).stdout_is("step\nrc=7\n");
    assert!(done.stderr.contains(LOST), "{done:?}");
}

#[test]
fn a_success_may_have_read_what_it_wants() {
    let done = check("echo data | retry $FAST -- cat; echo $?", "data\n0\n");
    assert_eq!(done.stderr, "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_that_was_filled_again_is_known_by_what_it_begins_with() {
    let (stdin, mut writer) = pipe();
    writer.write_all(b"one\ntwo\n").expect("a reader");
    let sandbox = Sandbox::new();
    let call = sandbox.retry_sh(
        FAST,
        "read line; echo $line; until [ -e go ]; do :; done; exit 7",
    );
    let mut running = call.stdin(stdin).spawn();
    running.await_stdout("one\n");
    writer.write_all(b"three\nfour\n").expect("a reader");
    std::fs::write(sandbox.path("go"), "").expect("a file");
    let done = running.wait();
    drop(writer);
    done.exits(7).stdout_is("one\n");
    assert!(done.stderr.contains(LOST), "{done:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_that_was_empty_at_first_is_known_to_be_read_once_it_is_at_its_end() {
    let (stdin, mut writer) = pipe();
    let call = Sandbox::new().retry_sh(&format!("{FAST} -a 3"), "echo ready; cat; exit 7");
    let mut running = call.stdin(stdin).spawn();
    running.await_stdout("ready\n");
    writer.write_all(b"data\n").expect("a reader");
    drop(writer);
    let done = running.wait();
    done.exits(7).stdout_is("ready\ndata\n");
    assert!(done.stderr.contains(LOST), "{done:?}");
}

#[test]
fn that_a_writer_has_ended_is_no_reason_to_stop() {
    // What the command finds is the end, each time.
    let (stdin, writer) = pipe();
    let call = Sandbox::new().retry_sh(&format!("{FAST} -a 3"), "echo ready; cat; exit 7");
    let mut running = call.stdin(stdin).spawn();
    running.await_stdout("ready\n");
    drop(writer);
    let done = running.wait();
    done.exits(7).stdout_is("ready\nready\nready\n");
    check(
        "printf '1\n2\n' | while read l; do retry -q $FAST -a 3 -- sh -c 'echo $1; exit 1' sh $l; done; true",
        "1\n1\n1\n2\n2\n2\n",
    ).stderr_is("");
}

#[test]
fn what_is_written_to_a_pipe_that_stdin_can_only_write_to_is_not_ours_to_miss() {
    let (mut reader, writer) = pipe();
    let sandbox = Sandbox::new();
    let call = sandbox.retry_sh(
        &format!("{FAST} -a 2"),
        "echo $RETRY_ATTEMPT >&0; echo ready; until [ -e go$RETRY_ATTEMPT ]; do :; done; exit 7",
    );
    let mut running = call.stdin(writer).spawn();
    running.await_stdout("ready\n");
    let mut read = [0; 2];
    reader.read_exact(&mut read).expect("what was written");
    for go in ["go1", "go2"] {
        std::fs::write(sandbox.path(go), "").expect("a file");
    }
    running.wait().exits(7).stdout_is("ready\nready\n");
}
