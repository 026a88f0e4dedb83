//! What scripts do with a retry wrapper, and where such wrappers have let them down.

use std::process::Stdio;

use crate::support::{AT_ONCE, Done, FAST, Sandbox};

/// What a script prints; it ends well itself.
#[track_caller]
fn check(script: &str, stdout: &str) -> Done {
    let done = Sandbox::new().bash(script).run();
    done.exits(0).stdout_is(stdout);
    done
}

/// What `retry` with these options, around `failn N CODE`, ends with, and after how many runs.
#[track_caller]
fn check_failn(options: &str, n_and_code: &str, exit: i32, runs: usize) -> Done {
    let sandbox = Sandbox::new();
    let done = sandbox
        .retry(&format!("{FAST} {options} -- failn {n_and_code}"))
        .run();
    done.exits(exit);
    assert_eq!(sandbox.text("n"), format!("{runs}\n"), "{done:?}");
    done
}

#[test]
fn a_command_line_in_one_word_is_not_split_and_gets_a_hint() {
    let done = check(
        r#"retry $FAST -a 2 -- 'sh -c "exit 2"'; echo rc=$?"#,
        "rc=127\n",
    );
    assert_eq!(done.said().len(), 1, "{done:?}");
    assert!(
        done.stderr.contains(
            "one word with spaces: leave out its quotes, or to run a script: retry -- sh -c"
        ),
        "{done:?}"
    );
}

#[test]
fn a_shell_function_is_not_found_at_once_and_the_hint_shows_how_to_run_it() {
    let done = check("f() { true; }; retry -a 5 -- f; echo $?", "127\n");
    assert_eq!(done.said().len(), 1, "{done:?}");
    assert!(
        done.stderr
            .contains("export -f f; retry -- bash -c 'f \"$@\"' f ..."),
        "{done:?}"
    );
    check(
        "f() { echo \"ran $*\"; }; export -f f; retry -- bash -c 'f \"$@\"' f a b; echo $?",
        "ran a b\n0\n",
    );
}

#[test]
fn what_looks_like_our_options_behind_the_dashes_belongs_to_the_command() {
    check(
        "retry -a 1 -- printf '%s ' -b --base --jitter; echo",
        "-b --base --jitter \n",
    );
}

#[test]
fn empty_arguments_are_arguments() {
    check("retry -a 1 -- sh -c 'echo $#' _ '' 'b c' ''", "3\n");
}

#[test]
fn after_failures_alone_a_script_does_not_proceed() {
    check(
        "retry $FAST -a 3 -- false && echo PROCEED; echo done",
        "done\n",
    );
}

#[test]
fn after_failures_alone_the_else_branch_sees_the_status() {
    check(
        "if retry -a 1 -- false; then echo THEN; else echo rc=$?; fi",
        "rc=1\n",
    );
}

#[test]
fn the_last_failure_ends_a_script_that_runs_under_errexit() {
    let script = "set -e; retry $FAST -a 3 -- sh -c 'exit 7'; echo UNREACHED";
    let done = Sandbox::new().bash(script).run();
    done.exits(7).stdout_is("");
    assert_eq!(done.failures(), 3, "{done:?}");
}

#[test]
fn a_failure_that_is_made_good_does_not_end_a_script_under_errexit() {
    let thrice = "out1\nout2\nout3\n";
    check(
        "bash -ec 'retry $FAST -a 3 -- failn 2 1; echo AFTER'",
        &format!("{thrice}AFTER\n"),
    );
    check(
        "bash -euxo pipefail -c 'retry $FAST -a 4 -- failn 3 1' 2>/dev/null; echo $?",
        &format!("{thrice}out4\n0\n"),
    );
    check(
        "bash --noprofile --norc -eo pipefail -c 'retry $FAST -a 2 -- failn 1 65 | cat; echo NEXT'",
        "out1\nout2\nNEXT\n",
    );
}

#[test]
fn errexit_of_the_command_holds_although_its_caller_tests_the_status() {
    let script =
        "if retry $FAST -a 2 -- bash -ec 'false; echo WENT ON'; then :; else echo rc=$?; fi";
    let done = check(script, "rc=1\n");
    assert_eq!(done.failures(), 2, "{done:?}");
}

#[test]
fn a_script_fails_by_its_last_line_alone_and_under_errexit_by_any() {
    let of_three_lines = |shell: &str| {
        format!("retry $FAST -a 2 -- {shell} 'true\nnosuchprogram\ntrue'; echo rc=$?")
    };
    let done = check(&of_three_lines("sh -c"), "rc=0\n");
    assert!(done.said().is_empty(), "{done:?}");
    let done = check(&of_three_lines("sh -ec"), "rc=127\n");
    assert_eq!(done.failures(), 2, "{done:?}");
}

#[test]
fn wrapping_a_whole_script_repeats_the_step_of_it_that_fails() {
    check(
        "retry $FAST -a 4 -- sh -ec 'failn 2 22 >/dev/null; echo installed'; echo $? $(cat n)",
        "installed\n0 3\n",
    );
}

#[test]
fn in_a_pipeline_our_status_is_that_of_the_command_and_our_lines_can_go_along() {
    let sandbox = Sandbox::new();
    let done = sandbox
        .bash("retry $FAST -a 2 -- sh -c 'false' 2>&1 | tee log >/dev/null; echo ${PIPESTATUS[0]}")
        .run();
    done.stdout_is("1\n");
    let log = sandbox.text("log");
    assert!(
        log.lines().count() == 2
            && log.contains("attempt 1/2 failed: exit 1")
            && log.contains("attempt 2/2 failed: exit 1"),
        "{log}"
    );
}

#[test]
fn a_success_ends_the_run_with_0_whatever_came_before_it() {
    check_failn("-a 5", "2 3", 0, 3);
}

#[test]
fn ten_attempts_are_ten_runs_of_which_the_last_may_succeed() {
    let done = check_failn("-a 10", "9 1", 0, 10);
    assert_eq!(done.failures(), 9, "{done:?}");
    assert!(
        done.said()[9].starts_with("failn: succeeded on attempt 10/10 after "),
        "{done:?}"
    );
}

#[test]
fn attempts_counts_runs_and_every_line_names_the_same_total() {
    for n in [1, 2, 5] {
        let done = check_failn(&format!("-a {n}"), "99 1", 1, n);
        let said = done.said();
        assert_eq!(said.len(), n, "{done:?}");
        for (line, k) in said.iter().zip(1..) {
            assert!(
                line.starts_with(&format!("failn: attempt {k}/{n} failed: exit 1 after ")),
                "{done:?}"
            );
        }
    }
}

#[test]
fn each_line_says_which_attempt_failed_how_and_how_long_the_delay_is() {
    let done = check_failn("-a 3", "2 7", 0, 3);
    done.stdout_is("out1\nout2\nout3\n");
    let said = done.said();
    assert_eq!(said.len(), 3, "{done:?}");
    for (line, k) in said[..2].iter().zip(1..) {
        assert!(
            line.starts_with(&format!("failn: attempt {k}/3 failed: exit 7 after "))
                && line.ends_with("; next in 10ms"),
            "{done:?}"
        );
    }
    assert!(
        said[2].starts_with("failn: succeeded on attempt 3/3 after "),
        "{done:?}"
    );
}

#[test]
fn death_by_a_signal_is_a_failure_and_the_line_names_the_signal() {
    let done = check(
        "retry $FAST -a 2 -- sh -c 'kill -9 $$'; echo rc=$?",
        "rc=137\n",
    );
    done.says(&[
        "sh: attempt 1/2 failed: killed by SIGKILL after …; next in …",
        "sh: attempt 2/2 failed: killed by SIGKILL after …; giving up after …",
    ]);
}

#[test]
fn a_code_above_128_in_retry_on_also_means_death_by_that_signal() {
    let script = "case $RETRY_ATTEMPT in 1) kill -9 $$;; 2) exit 137;; esac";
    let done = Sandbox::new()
        .retry_sh(&format!("{FAST} -a 3 --retry-on 137"), script)
        .run();
    done.exits(0).says(&[
        "sh: attempt 1/3 failed: killed by SIGKILL after …; next in …",
        "sh: attempt 2/3 failed: exit 137 after …; next in …",
        "sh: succeeded on attempt 3/3 after …",
    ]);
}

#[test]
fn without_a_time_limit_nothing_is_called_a_time_out() {
    for code in [124, 137] {
        let done = Sandbox::new()
            .retry_sh("-a 1", &format!("exit {code}"))
            .run();
        done.exits(code).says(&[&format!(
            "sh: attempt 1/1 failed: exit {code} after …; giving up after …"
        )]);
    }
}

#[test]
fn a_time_out_that_retry_on_does_not_list_ends_the_run_and_the_line_says_which_word_is_missing() {
    for list in ["2", "1-99", "1-255"] {
        let options = format!("{FAST} -a 3 --timeout 200ms --retry-on {list}");
        let done = Sandbox::new()
            .retry(&format!("{options} -- sleep 30"))
            .run();
        done.exits(124).took_less_than(AT_ONCE).says(&[&format!(
            "sleep: attempt 1/3 failed: timed out after …; giving up after …: not retryable: a time-out is not in --retry-on {list}; add timeout to retry it"
        )]);
    }
}

#[test]
fn a_time_out_that_retry_on_lists_by_its_word_is_tried_again() {
    let done = Sandbox::new()
        .retry(&format!(
            "{FAST} -a 3 --timeout 200ms --retry-on 2,timeout -- sleep 30"
        ))
        .run();
    done.exits(124).took_less_than(AT_ONCE);
    assert_eq!(done.failures(), 3, "{done:?}");
}

#[test]
fn a_status_in_stop_on_ends_the_run_at_once() {
    check_failn("-a 5 --stop-on 2,64-78", "9 64", 64, 1).says(&[
        "failn: attempt 1/5 failed: exit 64 after …; giving up after …: not retryable: exit 64 is in --stop-on 2,64-78",
    ]);
}

#[test]
fn a_status_that_retry_on_does_not_list_ends_the_run_at_once() {
    check_failn("-a 3 --retry-on 2", "9 1", 1, 1).says(&[
        "failn: attempt 1/3 failed: exit 1 after …; giving up after …: not retryable: exit 1 is not in --retry-on 2",
    ]);
}

#[test]
fn a_status_in_success_on_is_a_success_although_retry_on_lists_it_too() {
    let lists = "--retry-on 10,12,23,24,30,35,255 --success-on 24";
    check_failn(&format!("-v -a 3 {lists}"), "9 24", 0, 1).says(&[
        "failn: attempt 1/3 starts",
        "failn: succeeded on attempt 1/3 after …: exit 24 is in --success-on 24",
    ]);
    check_failn(&format!("-a 3 {lists}"), "9 23", 23, 3);
}

#[test]
fn a_refused_connection_is_tried_again_by_curls_status_for_it() {
    let done = Sandbox::new()
        .bash(
            "retry $FAST -a 3 --retry-on 7 -- curl -q -sS --noproxy '*' http://127.0.0.1:9/; echo $?",
        )
        .run();
    done.stdout_is("7\n").says(&[
        "curl: attempt 1/3 failed: exit 7 after …; next in …",
        "curl: attempt 2/3 failed: exit 7 after …; next in …",
        "curl: attempt 3/3 failed: exit 7 after …; giving up after …",
    ]);
}

#[test]
fn what_a_command_prints_has_no_say_in_whether_it_is_tried_again() {
    check(
        "retry $FAST -a 3 --retry-on 7,28,52 -- sh -c 'printf 000; exit 7'; echo \" $?\"",
        "000000000 7\n",
    );
}

#[test]
fn a_command_can_do_something_else_after_a_certain_status() {
    check(
        "retry $FAST -a 2 --retry-on 33 -- sh -c '
            if [ $RETRY_ATTEMPT = 1 ]; then exit 33; fi
            echo plain after $RETRY_LAST_STATUS'",
        "plain after 33\n",
    );
}

#[test]
fn what_the_command_writes_is_there_while_it_still_runs() {
    let mut running = Sandbox::new()
        .retry_sh("-a 1", "echo a; read line; echo b")
        .stdin(Stdio::piped())
        .spawn();
    running.await_stdout("a\n").close_stdin();
    running.wait().exits(0).stdout_is("a\nb\n");
}

#[test]
fn what_our_stdout_holds_already_is_never_cut_off_before_a_retry() {
    check("retry $FAST -a 2 -- failn 1 22 >/dev/null; echo $?", "0\n");
    check(
        "echo first >f; retry $FAST -a 2 -- failn 1 22 >>f; cat f",
        "first\nout1\nout2\n",
    );
    check(
        "{ echo first; retry $FAST -a 2 -- failn 1 22; echo last; } >f; cat f",
        "first\nout1\nout2\nlast\n",
    );
}

#[test]
fn a_command_whose_reader_is_gone_is_not_run_again() {
    let done = check(
        "retry $FAST -a 5 -- sh -c 'echo x >>k; exec yes' | head -n 1; echo ${PIPESTATUS[0]} $(wc -l <k)",
        "y\n141 1\n",
    );
    done.took_less_than(AT_ONCE);
}

#[cfg(target_os = "linux")]
#[test]
fn a_stdin_that_is_closed_at_the_start_is_an_empty_one_for_the_command() {
    check(
        "retry -a 1 -- sh -c 'readlink /proc/self/fd/0; cat; echo END' <&-; echo $?",
        "/dev/null\nEND\n0\n",
    );
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_of_a_timed_out_pipeline_is_alive_when_the_next_attempt_starts() {
    let sandbox = Sandbox::new();
    let script = "
        for pid in $(cat pids); do
            read -r _ _ state _ </proc/$pid/stat && [ $state != Z ] && echo ALIVE
        done 2>/dev/null
        sh -c 'echo $$ >>pids; exec sleep 31' | sh -c 'echo $$ >>pids; exec sleep 31'; :";
    let options = format!("{FAST} -a 2 --timeout 1s");
    let done = sandbox.retry_sh(&options, script).run();
    done.exits(124).stdout_is("").took_less_than(2 * AT_ONCE);
    assert_eq!((done.failures(), sandbox.lines("pids")), (2, 4), "{done:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_stop_by_job_control_stops_us_and_the_status_is_there_after_we_go_on() {
    // In a group of its own within a session, as an interactive shell would put it: in an orphaned
    // group the kernel ignores this signal. The command is in yet another group and goes on.
    let script = "
        set -m
        retry -a 1 --timeout 30s -- sh -c 'echo >ready; until [ -e go ]; do sleep 0.05; done; exit 6' &
        set +m
        until [ -e ready ]; do sleep 0.05; done
        kill -TSTP $!
        for i in $(seq 200); do
            read -r _ _ state _ </proc/$!/stat
            [ $state != T ] || break
            sleep 0.05
        done
        echo $state; touch go; kill -CONT $!; wait $!; echo $?";
    check(script, "T\n6\n");
}
