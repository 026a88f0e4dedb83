//! What the attempts read when nothing is kept of it: the very stdin that we have, or nothing.

use std::fs::File;
use std::io::Write as _;

use rustix::pipe::{PipeFlags, pipe_with};

use crate::support::{Done, FAST, Sandbox};

/// What a script prints; it ends well itself.
#[track_caller]
pub(crate) fn check(script: &str, stdout: &str) -> Done {
    let done = Sandbox::new().bash(script).run();
    done.exits(0).stdout_is(stdout);
    done
}

/// A pipe that nobody else has: the way to read from it, and the way to write to it.
pub(crate) fn pipe() -> (File, File) {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).expect("a pipe");
    (File::from(reader), File::from(writer))
}

#[test]
fn a_file_is_read_by_every_attempt_from_where_it_stood() {
    for mode in ["inherit", "replay"] {
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
        check(&format!(": >f; {call}; cat f"), output);
    }
}

#[test]
fn a_file_is_rewound_although_it_is_also_written_elsewhere_or_at_its_end() {
    let reads = "sh -c 'read line; echo got $line; exit 1'";
    check(
        &format!("printf '1\n2\n' >f; retry -q -a 2 --base 0 {reads} <f >>f; cat f"),
        "1\n2\ngot 1\ngot 1\n",
    );
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

#[test]
fn null_is_nothing_to_read_and_leaves_the_input_alone() {
    check(
        "printf '1\\n2\\n' | { retry --stdin null -- sh -c 'cat; echo END'; cat; }",
        "END\n1\n2\n",
    );
}

/// How often the loss of the input is told by a run with these options around this script, with
/// `data` in a pipe on stdin whose writer is still there.
fn warnings(options: &str, script: &str) -> usize {
    let (stdin, mut writer) = pipe();
    writer.write_all(b"data\n").expect("a reader");
    let call = Sandbox::new().retry_sh(&format!("{FAST} {options}"), script);
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
        "echo data | retry $FAST -a 4 -- sh -c 'cat >/dev/null; exit 1'; echo $?",
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
