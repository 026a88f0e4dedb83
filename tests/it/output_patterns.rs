//! `--retry-if`, `--stop-if`, `--success-if`, `--fail-if`: what the output decides.

use libc::{SIGKILL, SIGTERM};

use crate::support::{Call, Done, FAST, Sandbox, check};

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

/// Checks how such a run exits, and how often the script has run.
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
        done.dies_of(SIGKILL).stdout_is("");
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

/// Checks that the pattern stops a script that prints this text (a format of printf) and fails, and
/// that the text is passed on unchanged.
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

#[test]
fn what_matches_in_either_stream_of_a_log_is_found() {
    for stream in ["", " >&2"] {
        let script = format!(
            "retry $FAST -q -a 3 --stop-if '^bad$' -- sh -c 'echo x; echo y >&2; echo bad{stream}; echo >>runs; exit 7' >/dev/null 2>&1; echo $?; wc -l <runs"
        );
        check(&script, "7\n1\n").stderr_is("");
    }
}
