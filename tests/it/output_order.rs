//! Both streams and our own lines keep the order in which they were written.

#[cfg(target_os = "linux")]
use std::io::Read as _;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;

#[cfg(target_os = "linux")]
use crate::support::terminal::Terminal;
use crate::support::{Sandbox, check};

/// An option that looks at everything and finds nothing.
const LOOKING: &str = "--base 10ms --cap 10ms --jitter none --stop-if ZZZ";

#[test]
fn what_a_failed_attempt_has_written_stands_before_the_line_about_it() {
    let script = "seq 2000 >&2; echo end$RETRY_ATTEMPT >&2; exit 1";
    let done = Sandbox::new()
        .retry_sh(&format!("{LOOKING} -a 2"), script)
        .run();
    let lines: Vec<&str> = done.stderr.lines().collect();
    assert_eq!(
        (lines.len(), lines[2000], lines[4002]),
        (4004, "end1", "end2")
    );
    assert!(
        lines[2001].contains("attempt 1/2 failed"),
        "{}",
        lines[2001]
    );
}

#[test]
fn what_an_attempt_has_left_goes_before_what_the_next_one_writes() {
    let script = "retry $FAST -a 3 --timeout 400ms --fail-if zzz -- sh -c 'yes $RETRY_ATTEMPT | head -c 100000; exec sleep 9' 2>/dev/null | (sleep 0.9; uniq -c)";
    let done = Sandbox::new().bash(script).run();
    let order: Vec<&str> = done.stdout.split_whitespace().skip(1).step_by(2).collect();
    assert_eq!(order, ["1", "2", "3"], "{done:?}");
}

/// A script that writes to stdout and stderr in turn, and its output in order.
const IN_TURN: &str = "for i in 1 2 3; do echo o$i; printf . >&2; echo e$i >&2; done";

const ORDER: &str = "o1\n.e1\no2\n.e2\no3\n.e3\n";

#[test]
fn a_log_keeps_the_order_in_which_both_streams_were_written() {
    for options in [
        "--fail-if zzz",
        "--idle-timeout 30s",
        "--retry-after output",
        "--fail-if zzz --retry-after @head",
    ] {
        let retry = format!("retry -q -a 1 {options} -- sh -c '{IN_TURN}'");
        for call in [
            format!("{retry} 2>&1"),
            format!("{retry} 2>&1 | cat"),
            format!("{retry} >>f 2>&1; cat f"),
            format!("{retry} >>f 2>>f; cat f"),
            format!("{retry} >f 2>&1; cat f"),
        ] {
            check(&call, ORDER).stderr_is("");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_socket_and_a_terminal_keep_the_order_too() {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().expect("two sockets");
    let stderr = theirs.try_clone().expect("a descriptor");
    let sandbox = Sandbox::new();
    let call = sandbox.retry_sh("-q -a 1 --fail-if zzz", IN_TURN);
    call.stdout(OwnedFd::from(theirs))
        .stderr(OwnedFd::from(stderr))
        .run()
        .exits(0);
    let mut text = String::new();
    (&ours).read_to_string(&mut text).expect("text");
    assert_eq!(text, ORDER);
    let mut terminal = Terminal::new();
    terminal.enter(&format!("retry -q -a 1 --fail-if zzz -- sh -c '{IN_TURN}'"));
    assert!(terminal.printed().contains(ORDER));
}

#[cfg(target_os = "linux")]
#[test]
fn streams_that_a_rule_tells_apart_or_that_lead_elsewhere_have_a_pipe_each() {
    let same = "[ $(readlink /proc/$$/fd/1) = $(readlink /proc/$$/fd/2) ] && echo one || echo two";
    let script = format!("sh -c '{same}'");
    let retry = "retry -q -a 1";
    for (options, streams, pipes) in [
        ("--fail-if zzz", "2>&1 | cat", "one"),
        ("--fail-if stdout:zzz --stop-if y", "2>&1 | cat", "two"),
        ("--fail-if zzz --stop-if stderr:y", "2>&1 | cat", "two"),
        ("--fail-if zzz --retry-after stderr", "2>&1 | cat", "two"),
        ("--fail-if zzz --stdout once", "2>&1 | cat", "two"),
        ("--fail-if zzz", "2>e | cat", "two"),
        ("--fail-if zzz", ">>f 2>>e; cat f", "two"),
    ] {
        let call = format!("{retry} {options} -- {script} {streams}");
        check(&call, &format!("{pipes}\n")).stderr_is("");
    }
}

#[test]
fn our_own_lines_begin_a_line_where_the_output_passes_through_us() {
    let said = "sh: attempt 1/1 failed: exit 1 after";
    for options in ["--retry-if .", "--stdout once", "--idle-timeout 30s"] {
        // Unfinished, finished, and nothing at all.
        for (script, written) in [
            ("printf unfinished", "unfinished\n"),
            ("echo finished", "finished\n"),
            (":", ""),
            (
                "printf err >&2; sleep 0.1; printf unfinished",
                "errunfinished\n",
            ),
        ] {
            let sandbox = Sandbox::new();
            let call = format!("retry {options} -a 1 -- sh -c '{script}; exit 1' 2>&1");
            let done = sandbox.bash(&call).run();
            let (before, ours) = done.stdout.split_once("retry[").expect("a line of ours");
            assert_eq!(before, written, "{options}: {done:?}");
            assert!(ours.contains(said), "{options}: {done:?}");
        }
    }
    let call = "retry --log-format json --retry-if . -a 1 -- sh -c 'printf unfinished >&2; exit 1'";
    let done = Sandbox::new().bash(call).run();
    let unfinished = |line: &&str| line.contains("unfinished");
    let lines = done.stderr.lines().filter(unfinished);
    assert_eq!(lines.collect::<Vec<_>>(), ["unfinished"], "{done:?}");
}
