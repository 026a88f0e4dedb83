//! `--retry-on`, `--stop-on`, `--success-on`: which outcomes are retried.

use crate::support::{AT_ONCE, FAST, Sandbox, check, check_failn};

/// Three attempts without waiting.
const R: &str = "--attempts 3 --base 10ms --cap 10ms --jitter none";

#[test]
fn a_code_above_128_in_retry_on_also_means_death_by_that_signal() {
    let script = "case $RETRY_ATTEMPT in 1) kill -9 $$;; 2) exit 137;; esac";
    let done = Sandbox::new()
        .retry_sh(&format!("{FAST} -a 3 --retry-on 137"), script)
        .run();
    done.exits(0).stdout_is("").says(&[
        "sh: attempt 1/3 failed: killed by SIGKILL after …; next in …",
        "sh: attempt 2/3 failed: exit 137 after …; next in …",
        "sh: succeeded on attempt 3/3 after …",
    ]);
}

#[test]
fn a_time_out_that_retry_on_does_not_list_ends_the_run_and_the_line_says_which_word_is_missing() {
    for list in ["2", "1-99", "1-255"] {
        let options = format!("{FAST} -a 3 --timeout 200ms --retry-on {list}");
        let done = Sandbox::new()
            .retry(&format!("{options} -- sleep 30"))
            .run();
        done.exits(124).stdout_is("").took_less_than(AT_ONCE).says(&[&format!(
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
    done.exits(124).stdout_is("").took_less_than(AT_ONCE);
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
    done.exits(0).stdout_is("7\n").says(&[
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
fn death_by_what_the_user_or_a_closed_pipe_sent_is_not_tried_again() {
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGPIPE] {
        let sandbox = Sandbox::new();
        let done = sandbox
            .retry_sh(R, &format!("echo x >>k; ulimit -c 0; kill -{signal} $$"))
            .run();
        done.dies_of(signal).stdout_is("");
        assert_eq!(sandbox.lines("k"), 1, "{done:?}");
    }
}
