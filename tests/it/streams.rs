//! Streams: what is inherited, and that no state of stderr changes a status.

use std::os::fd::OwnedFd;

use crate::support::{AT_ONCE, FAST, Sandbox, let_pass, open_to_write};

const R: &str = "--attempts 3 --base 10ms --cap 10ms --jitter none";

#[test]
fn a_closed_stderr_changes_nothing() {
    let sandbox = Sandbox::new();
    let done = sandbox
        .bash("retry $FAST -a 3 -- sh -c 'echo x; exit 1' 2>&-; echo $?")
        .run();
    done.stdout_is("x\nx\nx\n1\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stderr_changes_nothing() {
    let call = Sandbox::new()
        .retry_sh(R, "echo x; exit 1")
        .stderr(open_to_write("/dev/full"));
    call.run().exits(1).stdout_is("x\nx\nx\n");
}

#[test]
fn a_stderr_that_nobody_reads_any_more_changes_nothing() {
    let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
    drop(reader);
    let call = Sandbox::new().retry_sh(R, "echo x; exit 1").stderr(writer);
    call.run().exits(1).stdout_is("x\nx\nx\n");
}

#[test]
fn a_stderr_that_nobody_reads_for_now_does_not_keep_us_from_ending() {
    // The pipe is full before we say a word, and its reader never reads.
    let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
    fill(&writer);
    let mut running = Sandbox::new()
        .retry_sh(R, "echo x; exit 1")
        .stderr(writer)
        .spawn();
    running.await_stdout("x");
    let_pass("0.3");
    running.signal(libc::SIGTERM);
    running.wait().dies_of(libc::SIGTERM).stdout_is("x\n");
    drop(reader);
}

/// Writes until a pipe takes no more.
fn fill(pipe: &OwnedFd) {
    rustix::io::ioctl_fionbio(pipe, true).expect("a pipe");
    while rustix::io::write(pipe, &[b'x'; 4096]).is_ok() {}
    while rustix::io::write(pipe, b"x").is_ok() {}
    rustix::io::ioctl_fionbio(pipe, false).expect("a pipe");
}

#[test]
fn streams_that_are_all_closed_change_nothing() {
    Sandbox::new()
        .bash("retry -a 1 -- sh -c 'exit 4' <&- >&- 2>&-; echo $?")
        .run()
        .stdout_is("4\n");
}

#[test]
fn a_command_that_cannot_write_to_a_closed_stdout_fails_as_without_us() {
    let done = Sandbox::new()
        .bash("retry -a 1 -- sh -c 'echo x' >&-; echo $?; retry -a 1 -- sh -c 'echo x >&2; exit' 2>&-; echo $?; retry -h >&-; echo $?")
        .run();
    assert_eq!(done.stdout.lines().last(), Some("125"), "{done:?}");
    assert!(!done.stdout.lines().any(|code| code == "0"), "{done:?}");
}

#[test]
fn a_working_directory_that_is_gone_changes_nothing() {
    let done = Sandbox::new()
        .bash("mkdir d; cd d; rmdir ../d; retry -a 1 -- sh -c 'exit 8'; echo $?")
        .run();
    done.stdout_is("8\n");
}

#[cfg(target_os = "linux")]
#[test]
fn help_on_a_full_stdout_is_an_error_and_no_panic() {
    let sandbox = Sandbox::new();
    for option in ["-h", "--help", "--version"] {
        let done = sandbox
            .retry(option)
            .stdout(open_to_write("/dev/full"))
            .run();
        done.exits(125);
        assert_eq!(done.stderr.lines().count(), 1, "{done:?}");
    }
}

#[test]
fn quiet_says_nothing_whatever_happens() {
    let sandbox = Sandbox::new();
    for command in ["false", "nosuchprogram", "true"] {
        let done = sandbox.retry(&format!("-q {FAST} -- {command}")).run();
        assert_eq!(done.stderr, "", "{done:?}");
    }
}

#[test]
fn nothing_of_ours_goes_to_stdout() {
    let done = Sandbox::new()
        .retry_sh(&format!("-v {R}"), "echo $RETRY_ATTEMPT; exit 1")
        .run();
    done.exits(1).stdout_is("1\n2\n3\n");
    assert!(done.stderr.contains("sh: attempt 1/3 starts"), "{done:?}");
}

#[test]
fn only_the_programs_name_is_said_and_never_its_arguments() {
    let secret = "hunter2";
    let sandbox = Sandbox::new();
    let commands = [
        vec!["sh", "-c", "exit 3", secret],
        vec!["nosuchprogram", secret],
        vec!["nosuchprogram --password hunter2"],
        vec!["/no/such/hunter2~/curl"],
        vec!["TOKEN=hunter2/curl"],
    ];
    for command in commands {
        let done = sandbox.retry(&format!("-v {R} --")).args(&command).run();
        assert!(
            !done.stderr.contains(secret) && !done.stderr.is_empty(),
            "{done:?}"
        );
    }
}

#[test]
fn each_line_is_one_write_so_that_lines_of_parallel_runs_stay_whole() {
    let sandbox = Sandbox::new();
    let done = sandbox
        .bash("seq 40 | xargs -P20 -n1 sh -c 'retry $FAST -a 3 -- false; :' 2>all; grep -c . all; grep -vcE '^retry\\[[0-9]+\\]: false: attempt [123]/3 failed: exit 1 after [0-9.]+m?s; (next in 10ms|giving up after [0-9.]+m?s)$' all")
        .run();
    done.stdout_is("120\n0\n");
}

#[cfg(target_os = "linux")]
#[test]
fn the_command_gets_the_very_stdin_that_we_have() {
    let sandbox = Sandbox::new();
    sandbox
        .retry_sh("-a 1", "readlink /proc/self/fd/0; cat; echo END")
        .run()
        .exits(0)
        .stdout_is("/dev/null\nEND\n");
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
    done.stdout_is("1\n2\n3\n");
}

#[cfg(target_os = "linux")]
#[test]
fn the_command_inherits_no_descriptor_of_ours() {
    let script =
        "ls /proc/self/fd >plain; retry -a 1 -- ls /proc/self/fd >wrapped; diff plain wrapped";
    Sandbox::new().bash(script).run().exits(0).stdout_is("");
}

#[test]
fn a_limit_on_the_size_of_files_loses_lines_and_changes_nothing() {
    let script = "ulimit -f 0; retry $FAST -a 2 -- false 2>said; echo $?";
    Sandbox::new().bash(script).run().stdout_is("1\n");
}

#[test]
fn a_long_list_does_not_make_a_long_line() {
    let list = vec!["7"; 5000].join(",");
    let done = Sandbox::new()
        .retry("--retry-on")
        .arg(&list)
        .args(["--", "false"])
        .run();
    done.exits(1);
    assert!(done.stderr.len() < 400, "{done:?}");
}

#[test]
fn a_wrong_call_ends_although_nobody_reads_what_is_wrong() {
    let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
    fill(&writer);
    Sandbox::new()
        .retry("--bogus")
        .stderr(writer)
        .run()
        .exits(125)
        .took_less_than(AT_ONCE);
    drop(reader);
}
