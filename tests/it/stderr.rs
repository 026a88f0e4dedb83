//! No state of our stderr changes a status, or keeps us from ending.

use std::os::fd::OwnedFd;

#[cfg(target_os = "linux")]
use crate::support::open_to_write;
use crate::support::{AT_ONCE, Sandbox};

const R: &str = "--attempts 3 --base 10ms --cap 10ms --jitter none";

#[test]
fn a_closed_stderr_changes_nothing() {
    let sandbox = Sandbox::new();
    let done = sandbox
        .bash("retry $FAST -a 3 -- sh -c 'echo x; exit 1' 2>&-; echo $?")
        .run();
    done.exits(0).stdout_is("x\nx\nx\n1\n");
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
    // By then it is stuck with its line.
    running.await_alone().signal(libc::SIGTERM);
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
fn each_line_is_one_write_so_that_lines_of_parallel_runs_stay_whole() {
    let sandbox = Sandbox::new();
    let done = sandbox
        .bash("seq 40 | xargs -P20 -n1 sh -c 'retry $FAST -a 3 -- false; :' 2>all; grep -c . all; grep -vcE '^retry\\[[0-9]+\\]: false: attempt [123]/3 failed: exit 1 after [0-9.]+m?s; (next in 10ms|giving up after [0-9.]+m?s)$' all")
        .run();
    done.exits(1).stdout_is("120\n0\n");
}

#[test]
fn a_limit_on_the_size_of_files_loses_lines_and_changes_nothing() {
    let script = "ulimit -f 0; retry $FAST -a 2 -- false 2>said; echo $?";
    Sandbox::new().bash(script).run().exits(0).stdout_is("1\n");
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
        .stdout_is("")
        .took_less_than(AT_ONCE);
    drop(reader);
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_ends_nothing_does_not_end_the_wait_for_a_slow_reader_either() {
    // retry waits for a reader for at most a second, which a busy machine may take. So there are
    // several rounds.
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
        running.await_alone();
        for signal in [libc::SIGCHLD, libc::SIGCONT, libc::SIGUSR1, libc::SIGUSR2] {
            running.signal(signal);
        }
        // It has looked at them when it waits again.
        running.await_alone();
        let mut read = String::new();
        std::io::Read::read_to_string(&mut reader, &mut read).expect("text");
        running.wait().exits(3);
        read.contains("attempt 1/1 failed: exit 3")
    });
    assert!(shown, "the line was lost each time");
}
