//! `--stdin inherit` and `null`: the very stdin that we have, or nothing.

use crate::support::{Sandbox, check};

#[cfg(target_os = "linux")]
#[test]
fn the_command_gets_the_very_stdin_that_we_have() {
    let sandbox = Sandbox::new();
    sandbox
        .retry_sh("-a 1", "readlink /proc/self/fd/0; cat; echo END")
        .run()
        .exits(0)
        .stdout_is("/dev/null\nEND\n")
        .stderr_is("");
    let done = sandbox
        .bash("printf 'a\\nb\\n' | xargs -P2 -n1 retry -a 1 -- sh -c 'readlink /proc/self/fd/0'")
        .run();
    done.stdout_is("/dev/null\n/dev/null\n");
}

#[test]
fn a_loop_that_reads_its_input_keeps_its_lines() {
    let done = Sandbox::new()
        .bash("printf '1\\n2\\n3\\n' | while read l; do retry -a 1 -- true; echo $l; done")
        .run();
    done.exits(0).stdout_is("1\n2\n3\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_stdin_that_is_closed_at_the_start_is_an_empty_one_for_the_command() {
    check(
        "retry -a 1 -- sh -c 'readlink /proc/self/fd/0; cat; echo END' <&-; echo $?",
        "/dev/null\nEND\n0\n",
    )
    .stderr_is("");
}

#[test]
fn null_is_nothing_to_read_and_leaves_the_input_alone() {
    check(
        "printf '1\\n2\\n' | { retry --stdin null -- sh -c 'cat; echo END'; cat; }",
        "END\n1\n2\n",
    )
    .stderr_is("");
}
