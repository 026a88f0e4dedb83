//! retry in scripts: errexit, pipelines, branches.

use crate::support::{Sandbox, check};

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
    )
    .stderr_is("");
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
    done.exits(0).stdout_is("1\n");
    let log = sandbox.text("log");
    assert!(
        log.lines().count() == 2
            && log.contains("attempt 1/2 failed: exit 1")
            && log.contains("attempt 2/2 failed: exit 1"),
        "{log}"
    );
}
