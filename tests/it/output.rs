//! Output that an option looks at: what it decides.

use libc::{SIGKILL, SIGTERM};

use crate::input::check;
use crate::support::{Call, Done, FAST, Sandbox};
#[cfg(target_os = "linux")]
use crate::terminal::Terminal;
#[cfg(target_os = "linux")]
use std::{io::Read as _, os::fd::OwnedFd};

/// `retry` with these options, each with its value, around a script that counts its runs.
fn counted(sandbox: &Sandbox, options: &[&str], script: &str) -> Call {
    let call = sandbox.retry(FAST).args(options);
    call.args([
        "-a",
        "3",
        "--",
        "sh",
        "-c",
        &format!("echo x >>runs; {script}"),
    ])
}

/// What such a run exits with, and after how many runs of the script.
#[track_caller]
fn decides(options: &[&str], script: &str, exit: i32, runs: usize) -> Done {
    let sandbox = Sandbox::new();
    let done = counted(&sandbox, options, script).run();
    done.exits(exit);
    assert_eq!(sandbox.lines("runs"), runs, "{done:?}");
    done
}

#[test]
fn a_failure_is_retried_only_if_a_pattern_of_retry_if_is_found() {
    let ssh = "Connection (refused|reset|timed out)|kex_exchange";
    let ssh = ["--retry-on", "255", "--retry-if", ssh];
    decides(&ssh, "echo app failed >&2; exit 255", 255, 1);
    decides(&ssh, "echo Connection reset by peer >&2; exit 255", 255, 3);
    decides(&ssh, "echo Connection reset by peer >&2; exit 1", 1, 1);
    let two = [
        "--retry-if",
        "no more archived files",
        "--retry-if",
        "Connection reset",
    ];
    decides(
        &two,
        "echo 'error[E0308]: mismatched types' >&2; exit 101",
        101,
        1,
    );
    decides(&two, "echo no more archived files; exit 101", 101, 3);
    decides(&two, "echo Connection reset; exit 101", 101, 3);
    let lock = ["--retry-if", "Error acquiring the state lock"];
    decides(&lock, "echo Error: Unsupported argument >&2; exit 1", 1, 1)
        .says(&["sh: attempt 1/3 failed: exit 1 after …; giving up after …: not retryable: no line of the output matches --retry-if"]);
}

#[test]
fn a_failure_is_not_retried_if_a_pattern_of_stop_if_is_found() {
    let apt = ["--retry-on", "100", "--stop-if", "Unable to locate package"];
    decides(&apt, "echo E: Unable to locate package zz >&2; exit 100", 100, 1)
        .says(&["sh: attempt 1/3 failed: exit 100 after …; giving up after …: not retryable: the output matches --stop-if 'Unable to locate package'"]);
    decides(&apt, "echo E: Failed to fetch >&2; exit 100", 100, 3);
    let npm = ["--retry-if", "ECONNRESET", "--stop-if", "ERESOLVE"];
    decides(&npm, "echo ECONNRESET; echo ERESOLVE; exit 1", 1, 1);
    decides(&["--fail-if", "bad", "--stop-if", "bad"], "echo bad", 1, 1);
    decides(&["--stop-if", "x"], "echo x", 0, 1);
}

#[test]
fn a_pattern_of_fail_if_makes_a_failure_that_needs_no_list() {
    let apt = [
        "--fail-if",
        "^(W|E|Err): ?.*(Failed to fetch|Some index files)",
    ];
    let script = "[ $RETRY_ATTEMPT = 3 ] || echo W: Failed to fetch http://x >&2";
    let done = decides(&apt, script, 0, 3);
    assert_eq!(done.said().len(), 3, "{done:?}");
    for options in [
        &["--fail-if", "bad"][..],
        &["--fail-if", "bad", "--retry-on", "9"],
        &["--fail-if", "bad", "--retry-if", "nothing"],
        &["--fail-if", "bad", "--success-if", "bad"],
        &["--fail-if", "bad", "--success-on", "3"],
    ] {
        decides(options, "echo bad", 1, 3);
        decides(options, "echo bad; exit 3", 3, 3);
    }
}

#[test]
fn a_pattern_of_success_if_makes_a_success() {
    let npm = ["--success-if", "previously published|EPUBLISHCONFLICT"];
    let script = "[ $RETRY_ATTEMPT = 1 ] && { echo 503; exit 1; }; echo '403 cannot publish over the previously published versions'; exit 1";
    decides(&npm, script, 0, 2);
    decides(&["--success-if", "fine"], "echo fine; kill -KILL $$", 0, 1);
}

#[test]
fn what_was_ended_is_no_success_whatever_it_has_said() {
    let limit = ["--success-if", "fine", "--timeout", "300ms"];
    decides(&limit, "echo fine; sleep 30", 124, 3);
    let sandbox = Sandbox::new();
    let script = "echo fine; exec sleep 30";
    let mut running = counted(&sandbox, &["--success-if", "fine"], script).spawn();
    running.await_stdout("fine").signal(SIGTERM);
    running.wait().dies_of(SIGTERM);
    assert_eq!(sandbox.lines("runs"), 1);
}

#[test]
fn what_is_listed_by_its_word_or_name_needs_no_text() {
    let timeout = ["--retry-if", "x", "--timeout", "200ms"];
    decides(&timeout, "sleep 30", 124, 1);
    decides(
        &[&timeout[..], &["--retry-on", "timeout"]].concat(),
        "sleep 30",
        124,
        3,
    );
    for (list, runs) in [("KILL", 3), ("signal", 3), ("137", 1), ("any", 1)] {
        let sandbox = Sandbox::new();
        let options = ["--retry-if", "x", "--retry-on", list];
        let done = counted(&sandbox, &options, "kill -KILL $$").run();
        done.dies_of(SIGKILL);
        assert_eq!(sandbox.lines("runs"), runs, "{list}: {done:?}");
    }
}

#[test]
fn a_prefix_narrows_a_pattern_to_one_stream() {
    for (prefix, out, err) in [("", 3, 3), ("stdout:", 3, 1), ("stderr:", 1, 3)] {
        let pattern = format!("{prefix}^busy$");
        decides(&["--retry-if", &pattern], "echo busy; exit 1", 1, out);
        decides(&["--retry-if", &pattern], "echo busy >&2; exit 1", 1, err);
    }
}

#[test]
fn a_line_is_found_however_it_comes() {
    let found = |pattern: &str, script: &str| {
        decides(&["--stop-if", pattern], &format!("{script}; exit 1"), 1, 1);
    };
    found(
        "Connection broken",
        r"printf '\377Connec'; sleep 0.2; printf 'tion broken\n'",
    );
    found("^20% stalled$", r"printf '10%%\r20%% stalled\r30%%'");
    found("^the end$", "echo x; printf 'the end'");
    found(
        "needle",
        "head -c 3000000 /dev/zero; printf needle; head -c 3000000 /dev/zero",
    );
    found("^b$", r"printf 'a\r\nb\r\nc\r\n'");
    found("(?i-u)a.b", r"printf 'A\000B\n'");
    decides(&["--stop-if", "a.*b"], "echo a; echo b; exit 1", 1, 3);
    let script = r#"retry $FAST -a 2 --retry-if 'Connection broken' -- sh -c 'printf "\377Connec"; sleep 0.2; printf "tion broken\r"; head -c 3000000 /dev/zero; [ -f w ] || { touch w; exit 1; }' >/dev/null; echo $?"#;
    assert_eq!(check(script, "0\n").failures(), 1);
}

#[test]
fn what_one_attempt_has_said_does_not_count_for_the_next() {
    let script = "[ $RETRY_ATTEMPT != 1 ] || echo flaky; exit 1";
    decides(&["--retry-if", "flaky"], script, 1, 2);
    let late = "case $RETRY_ATTEMPT in
        1) { until [ -e go ]; do sleep 0.01; done; echo LATE; echo >gone; } & exit 1;;
        2) echo >go; until [ -e gone ]; do sleep 0.01; done; sleep 0.2; exit 1;;
        3) exit 1;;
        esac";
    decides(&["--stop-if", "LATE"], late, 1, 3).stdout_is("LATE\n");
}

#[test]
fn a_pattern_that_is_none_is_an_error_and_nothing_is_run() {
    for option in ["--retry-if", "--stop-if", "--success-if", "--fail-if"] {
        for pattern in ["(", "", "stdout:", "stderr:[", "a{9999999}"] {
            let done = decides(&[option, pattern], ":", 125, 0);
            assert_eq!(done.said().len(), 1, "{done:?}");
            assert!(done.stderr.contains(option), "{done:?}");
        }
    }
}

/// A script that prints this, as printf has it, and fails, is stopped by the pattern, and what it
/// has printed is passed on untouched.
#[track_caller]
fn is_stopped(pattern: &str, printed: &str, passed_on: &str) {
    let script = format!("printf '{printed}'; exit 1");
    let done = decides(&["--stop-if", pattern], &script, 1, 1);
    done.stdout_is(passed_on);
}

#[test]
fn colours_are_no_part_of_what_is_matched_and_are_passed_on() {
    let (printed, passed_on) = (
        r"\033[31merror\033[0m: 404\n",
        "\x1b[31merror\x1b[0m: 404\n",
    );
    is_stopped("error: 404", printed, passed_on);
    is_stopped("^error: 404$", printed, passed_on);
    is_stopped("stdout:^error", printed, passed_on);
    // A link, ended in either way, and a title that is not ended.
    is_stopped(
        "^see here$",
        r"see \033]8;;http://x/\033\134here\033]8;;\007\n",
        "see \x1b]8;;http://x/\x1b\\here\x1b]8;;\x07\n",
    );
    is_stopped("^end$", r"\033]0;build\nend\n", "\x1b]0;build\nend\n");
    // Written bit by bit.
    let script = "for part in er '\\033' '[3' '1' 'mror' '\\033[' '0m: ' 404; do
            printf \"$part\"; sleep 0.01; done; exit 1";
    decides(&["--stop-if", "^error: 404$"], script, 1, 1).stdout_is("er\x1b[31mror\x1b[0m: 404");
}

/// Whether a process waits, with no child to wait for.
#[cfg(target_os = "linux")]
fn waits_alone(pid: rustix::process::Pid) -> bool {
    let proc = format!("/proc/{}", pid.as_raw_nonzero());
    let read = |name: &str| std::fs::read_to_string(format!("{proc}/{name}")).unwrap_or_default();
    let children = read(&format!("task/{}/children", pid.as_raw_nonzero()));
    children.is_empty() && read("stat").contains(") S ")
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_ends_nothing_does_not_end_the_wait_for_a_slow_reader_either() {
    // Nobody waits for it for longer than a second, which a busy machine may take; hence the rounds.
    let shown = (0..5).any(|_| {
        let sandbox = Sandbox::new();
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        let mut reader = std::fs::File::from(reader);
        rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).expect("a pipe");
        while rustix::io::write(&writer, &[b'x'; 4096]).is_ok() {}
        rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::empty()).expect("a pipe");
        let call = sandbox.retry_sh("-a 1", "echo ready; exit 3");
        let mut running = call.stderr(writer).spawn();
        running.await_stdout("ready");
        while !waits_alone(running.pid()) {}
        for signal in [libc::SIGCHLD, libc::SIGCONT, libc::SIGUSR1, libc::SIGUSR2] {
            running.signal(signal);
        }
        crate::support::let_pass("0.1");
        let mut read = String::new();
        std::io::Read::read_to_string(&mut reader, &mut read).expect("text");
        running.wait().exits(3);
        read.contains("attempt 1/1 failed: exit 3")
    });
    assert!(shown, "the line was lost each time");
}

/// A script that writes to stdout and stderr in turn, and what it writes, in order.
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
            check(&call, ORDER);
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

#[test]
fn what_matches_in_either_stream_of_a_log_is_found() {
    for stream in ["", " >&2"] {
        let script = format!(
            "retry $FAST -q -a 3 --stop-if '^bad$' -- sh -c 'echo x; echo y >&2; echo bad{stream}; echo >>runs; exit 7' >/dev/null 2>&1; echo $?; wc -l <runs"
        );
        check(&script, "7\n1\n");
    }
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
        check(&call, &format!("{pipes}\n"));
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

#[test]
fn a_group_in_a_job_begins_a_line_without_an_empty_one_before_it() {
    let call =
        "retry --log-format github --retry-if . -a 1 -- sh -c 'printf unfinished >&2; exit 1'";
    let done = Sandbox::new().bash(call).run();
    assert!(done.stderr.contains("unfinished\n::endgroup::"), "{done:?}");
}
