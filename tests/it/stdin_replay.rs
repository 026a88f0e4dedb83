//! `--stdin replay`: every attempt reads all that comes through a pipe.

use std::fs::File;
use std::io::Write as _;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread;

use libc::{SIGKILL, SIGTERM};
#[cfg(target_os = "linux")]
use rustix::fs::{Mode, OFlags};

use crate::support::terminal::open_terminal;
use crate::support::{AT_ONCE, Sandbox, check, pipe};

const REPLAY: &str = "--base 10ms --cap 10ms --jitter none --stdin replay";

/// Writes for as long as somebody reads.
fn flood(mut writer: File) -> thread::JoinHandle<()> {
    thread::spawn(move || while writer.write_all(&[b'x'; 4096]).is_ok() {})
}

#[test]
fn every_attempt_reads_all_of_a_pipe() {
    check(
        "printf data | retry $FAST -a 3 --stdin replay -- sh -c 'cat; exit 1'; echo \" $?\"",
        "datadatadata 1\n",
    );
    check(
        "echo hi | retry $FAST -a 2 --stdin replay --stdout once -- sh -c 'cat; [ $RETRY_ATTEMPT = 2 ]'",
        "hi\n",
    );
}

#[test]
fn every_attempt_reads_all_of_a_named_pipe() {
    check(
        "mkfifo p; { echo a; sleep 0.2; echo b; } >p & retry $FAST -a 2 --stdin replay -- sh -c 'cat; exit 1' <p; echo $?",
        "a\nb\na\nb\n1\n",
    );
}

/// A named pipe that holds these pieces and whose last writer has gone.
#[cfg(target_os = "linux")]
fn named_pipe_of(sandbox: &Sandbox, pieces: &[usize]) -> OwnedFd {
    let path = sandbox.path("pipe");
    let made = sandbox.command("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo runs").success());
    let open = |flags| {
        let flags = flags | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::open(&path, flags, Mode::empty()).expect("a named pipe")
    };
    let reader = open(OFlags::RDONLY);
    let writer = open(OFlags::WRONLY);
    rustix::pipe::fcntl_setpipe_size(&writer, 1 << 20).expect("room");
    for piece in pieces {
        let written = rustix::io::write(&writer, &vec![b'x'; *piece]);
        assert_eq!(written, Ok(*piece));
    }
    rustix::io::ioctl_fionbio(&reader, false).expect("a pipe");
    reader
}

/// Two attempts read these pieces from a named pipe.
#[cfg(target_os = "linux")]
#[track_caller]
fn check_named_pipe(pieces: &[usize]) {
    let sandbox = Sandbox::new();
    let stdin = named_pipe_of(&sandbox, pieces);
    let call = sandbox.retry_sh(&format!("{REPLAY} -q -a 2"), "wc -c; exit 1");
    let done = call.stdin(stdin).run();
    let counted: Vec<&str> = done.stdout.split_whitespace().collect();
    let length = pieces.iter().sum::<usize>().to_string();
    assert_eq!(counted, [&length, &length], "{done:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_named_pipe_that_just_fills_the_one_to_the_command_comes_to_its_end() {
    for length in [
        8192, 65_535, 65_536, 65_537, 1_044_480, 1_044_481, 1_048_575, 1_048_576,
    ] {
        check_named_pipe(&[length]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_named_pipe_of_many_small_pieces_comes_to_its_end() {
    // Each takes a page of the pipe, however short it is.
    for pieces in [16, 255, 256] {
        check_named_pipe(&vec![4095; pieces]);
    }
}

#[test]
fn every_attempt_reads_all_of_a_socket() {
    let (ours, theirs) = UnixStream::pair().expect("two sockets");
    let call = Sandbox::new().retry_sh(&format!("{REPLAY} -a 3"), "cat; exit 1");
    let mut running = call.stdin(OwnedFd::from(theirs)).spawn();
    (&ours).write_all(b"a\n").expect("a reader");
    running.await_stdout("a\n");
    (&ours).write_all(b"b\n").expect("a reader");
    ours.shutdown(Shutdown::Write).expect("a socket");
    running.wait().exits(1).stdout_is("a\nb\na\nb\na\nb\n");
}

#[cfg(target_os = "linux")]
#[test]
fn every_attempt_reads_all_of_a_pipe_that_is_another_users() {
    // We cannot open it anew.
    let user = if rustix::process::getuid().is_root() {
        "setpriv --reuid=65534 --regid=65534 --clear-groups"
    } else {
        ""
    };
    let script = format!(
        "seq 300000 | {user} retry $FAST -a 3 --stdin replay --idle-timeout 30s -- sh -c 'cat; exit 1' | cksum; for i in 1 2 3; do seq 300000; done | cksum"
    );
    let done = Sandbox::new().bash(&script).run();
    let sums: Vec<&str> = done.stdout.lines().collect();
    assert!(sums.len() == 2 && sums[0] == sums[1], "{done:?}");
}

#[test]
fn what_is_replayed_is_the_same_byte_for_byte() {
    // Just below, at and above what is kept in memory, and far above.
    for length in [1, 1_048_575, 1_048_576, 1_048_577, 5_000_000] {
        check(
            &format!(
                "head -c {length} /dev/urandom >b; cat b | retry $FAST -a 3 --stdin replay -- sh -c 'cmp b - && echo SAME; exit 1'; echo $?"
            ),
            "SAME\nSAME\nSAME\n1\n",
        );
    }
}

#[test]
fn the_first_attempt_reads_what_comes_as_it_comes() {
    let (stdin, mut writer) = pipe();
    let script = "read a; echo got $a; read b; echo got $b; exit 1";
    let call = Sandbox::new().retry_sh(&format!("{REPLAY} -a 2"), script);
    let mut running = call.stdin(stdin).spawn();
    writer.write_all(b"1\n").expect("a reader");
    running.await_stdout("got 1\n");
    writer.write_all(b"2\n").expect("a reader");
    // The second attempt does not wait for the end either.
    running
        .wait()
        .exits(1)
        .stdout_is("got 1\ngot 2\ngot 1\ngot 2\n");
    drop(writer);
}

#[test]
fn a_command_that_needs_little_does_not_wait_for_a_writer_that_goes_on_for_ever() {
    for (command, stdout) in [("true", ""), ("head -c1", "x")] {
        for writes in [false, true] {
            let (stdin, mut writer) = pipe();
            writer.write_all(b"x").expect("a reader");
            let held = writer.try_clone().expect("a descriptor");
            let writer = writes.then(|| flood(writer));
            let call = Sandbox::new().retry(&format!("{REPLAY} -- {command}"));
            call.stdin(stdin)
                .run()
                .exits(0)
                .stdout_is(stdout)
                .stderr_is("")
                .took_less_than(AT_ONCE);
            // With us the last reader is gone.
            if let Some(writer) = writer {
                writer.join().expect("it has ended");
            }
            drop(held);
        }
    }
}

#[test]
fn a_command_that_reads_little_of_much_succeeds_and_its_writer_is_told() {
    check(
        "yes | retry $FAST --stdin replay -- head -c 2; echo ${PIPESTATUS[*]}",
        "y\n141 0\n",
    )
    .stderr_is("");
    check(
        "yes | head -c 5M | retry -a 1 --stdin replay -- head -c 1; echo $?",
        "y0\n",
    )
    .stderr_is("");
}

#[test]
fn what_one_attempt_left_unread_and_what_came_later_is_read_by_the_next() {
    let (stdin, mut writer) = pipe();
    let script = "[ $RETRY_ATTEMPT = 1 ] || exec cat; read x; echo got $x; exit 1";
    let call = Sandbox::new().retry_sh(&format!("{REPLAY} -a 3"), script);
    let mut running = call.stdin(stdin).spawn();
    writer.write_all(b"1\n2\n3").expect("a reader");
    running
        .await_stdout("got 1\n")
        .await_stderr("attempt 1/3 failed");
    writer.write_all(b"4\n").expect("a reader");
    drop(writer);
    running.wait().exits(0).stdout_is("got 1\n1\n2\n34\n");
}

#[test]
fn a_command_that_closes_its_input_early_goes_on_and_the_next_attempt_reads_all() {
    let script = "seq 500000 | retry $FAST -a 2 --stdin replay -- sh -c '
        [ $RETRY_ATTEMPT = 1 ] || exec tail -n1
        read x; exec <&-; sleep 0.3; echo read $x; exit 1'; echo ${PIPESTATUS[*]}";
    check(script, "read 1\n500000\n0 0\n");
}

#[test]
fn a_slow_writer_is_waited_for() {
    let script = "for i in 1 2 3 4; do echo $i; sleep 0.1; done | retry $FAST -a 2 --stdin replay -- sh -c 'cat; exit 1'; echo $?";
    check(script, "1\n2\n3\n4\n1\n2\n3\n4\n1\n");
}

#[cfg(target_os = "linux")]
#[test]
fn with_nothing_to_replay_there_is_nothing_to_read() {
    let read = "-- sh -c 'cat; echo END; exit 1'; echo $?";
    for stdin in ["printf '' |", "</dev/null", "<&-"] {
        let (before, after) = match stdin.strip_suffix('|') {
            Some(writer) => (format!("{writer}|"), ""),
            None => (String::new(), stdin),
        };
        check(
            &format!("{before} retry $FAST -a 2 --stdin replay {after} {read}"),
            "END\nEND\n1\n",
        );
    }
    check(
        "retry --stdin replay -- readlink /proc/self/fd/0 </dev/null",
        "/dev/null\n",
    )
    .stderr_is("");
}

#[test]
fn a_terminal_cannot_be_replayed_and_nothing_is_run() {
    let (keys, line) = open_terminal();
    let sandbox = Sandbox::new();
    let call = sandbox.retry_sh("--stdin replay", "echo x >ran");
    let done = call.stdin(line).run();
    drop(keys);
    done.exits(125).stdout_is("");
    assert_eq!(
        (done.said().len(), sandbox.lines("ran")),
        (1, 0),
        "{done:?}"
    );
    assert!(done.stderr.contains("--stdin replay"), "{done:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_kept_has_no_name_while_we_run_and_nothing_is_left_when_we_are_killed() {
    let sandbox = Sandbox::new();
    // Both what is kept of stdin and what is held back of stdout is in files there. The ends that the
    // command was given are closed as soon as we go on, which a busy machine may put off.
    let script = "mkdir tmp; export TMPDIR=$T/tmp
        seq 500000 | retry $FAST -a 2 --stdin replay --stdout once -- sh -c '
            cat >/dev/null; echo x; ls -A tmp >>seen
            for try in $(seq 500); do
                open=$(readlink /proc/$PPID/fd/* | grep -c \"^$TMPDIR/.*deleted\")
                [ $open = 2 ] && break
            done
            echo $open >>seen
            [ $RETRY_ATTEMPT = 2 ] || exit 1
            stat -L -c %a /proc/self/fd/0 >>seen
            echo ready >&2; kill -KILL $PPID'
        ls -A tmp; echo END";
    let done = sandbox.bash(script).run();
    done.exits(0).stdout_is("END\n");
    assert_eq!(sandbox.text("seen"), "2\n2\n600\n", "{done:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_fits_in_memory_needs_no_directory() {
    let done = check(
        "echo hi | TMPDIR=/no/such retry $FAST -a 2 --stdin replay -- sh -c 'cat; readlink /proc/$PPID/fd/* | grep -c ^/memfd: >&2; exit 1'; echo $?",
        "hi\nhi\n1\n",
    );
    assert!(done.stderr.starts_with("1\n"), "{done:?}");
}

/// Checks this call with a writer that never ends, a command that reads everything, and no room to
/// store the input.
#[track_caller]
fn check_no_place(call: &str) {
    let (stdin, writer) = pipe();
    let writer = flood(writer);
    let sandbox = Sandbox::new();
    let script = format!(
        "{call} retry $FAST -a 3 --stdin replay -- sh -c 'echo x >>runs; cat >/dev/null; sleep 30; :'"
    );
    let done = sandbox.bash(&script).stdin(stdin).run();
    writer.join().expect("it has ended");
    done.exits(125).took_less_than(AT_ONCE);
    assert_eq!(
        (done.said().len(), sandbox.lines("runs")),
        (1, 1),
        "{done:?}"
    );
    assert!(done.stderr.contains("TMPDIR"), "{done:?}");
}

#[test]
fn without_a_place_for_what_does_not_fit_in_memory_all_ends_with_one_sentence() {
    check_no_place("TMPDIR=/no/such exec");
}

#[test]
fn when_the_place_is_full_all_ends_with_one_sentence() {
    check_no_place("ulimit -f 2000; exec");
}

#[test]
fn one_who_still_reads_for_an_earlier_attempt_takes_nothing_from_a_later_one() {
    // Of the first attempt what comes just now, and of the third what is all there.
    let script = "seq 300000 >all; cat all | retry $FAST -a 4 --stdin replay -- sh -c '
        case $RETRY_ATTEMPT in
        1 | 3)
            exec 3<&0
            { read -r line; echo >reads$RETRY_ATTEMPT; while read -r line; do :; done; } <&3 2>/dev/null &
            echo $! >>readers
            until [ -e reads$RETRY_ATTEMPT ]; do sleep 0.01; done; exit 1;;
        2) cmp all - && echo SAME; exit 1;;
        4) cmp all - && echo SAME; kill $(cat readers) 2>/dev/null; exit 0;;
        esac'; echo $?";
    check(script, "SAME\nSAME\n0\n");
}

#[test]
fn a_signal_ends_a_command_that_waits_for_input() {
    let (stdin, mut writer) = pipe();
    let call = Sandbox::new().retry_sh(REPLAY, "echo ready; cat; echo END");
    let mut running = call.stdin(stdin).spawn();
    writer.write_all(b"1\n").expect("a reader");
    running.await_stdout("ready\n1\n").signal(SIGTERM);
    running.wait().dies_of(SIGTERM).took_less_than(AT_ONCE);
    drop(writer);
}

#[test]
fn a_time_limit_ends_a_command_that_waits_for_input_or_does_not_read_it() {
    for command in ["cat", "sleep 30"] {
        let (stdin, writer) = pipe();
        let held = writer.try_clone().expect("a descriptor");
        let writer = (command == "sleep 30").then(|| flood(writer));
        let options = format!("{REPLAY} -a 2 --timeout 300ms -k 60s -- {command}");
        let done = Sandbox::new().retry(&options).stdin(stdin).run();
        done.exits(124).stdout_is("").took_less_than(AT_ONCE);
        assert_eq!(done.failures(), 2, "{done:?}");
        if let Some(writer) = writer {
            writer.join().expect("it has ended");
        }
        drop(held);
    }
}

#[test]
fn if_we_are_killed_a_command_that_waits_for_input_ends_too() {
    let (stdin, writer) = pipe();
    let call = Sandbox::new().retry_sh(REPLAY, "echo ready; cat");
    let mut running = call.stdin(stdin).spawn();
    running.await_stdout("ready").signal(SIGKILL);
    running.wait().dies_of(SIGKILL).stderr_is("");
    drop(writer);
}

#[cfg(target_os = "linux")]
#[test]
fn the_pipe_that_we_were_given_and_the_one_that_the_command_gets_make_readers_wait() {
    // O_NONBLOCK is an octal 4000.
    let script = "w() { grep -q '^flags:.*[4-7]...$' /proc/self/fdinfo/0 && echo never waits || echo waits; }
        export -f w; sleep 0.3 | { w; retry --stdin replay -- bash -c w; w; }";
    check(script, "waits\nwaits\nwaits\n").stderr_is("");
}

#[cfg(target_os = "linux")]
#[test]
fn the_command_inherits_no_descriptor_of_those_that_are_kept() {
    let script = "o='--stdin replay --stdout once --idle-timeout 30s'
        printf x | ls /proc/self/fd >plain
        printf x | retry $o -- ls /proc/self/fd >wrapped; diff plain wrapped";
    check(script, "").stderr_is("");
}

#[test]
fn input_that_cannot_be_kept_is_not_given_twice() {
    let script = "seq 1000000 >all; (ulimit -f 1024; (cat all; sleep 1) |
        retry -q -a 1 --kill-after 300ms --stdin replay -- sh -c 'trap \"\" TERM; cat | wc -c >&2'; echo $?) 2>&1 >status | tail -n1
        cat status";
    let done = Sandbox::new().bash(script).run();
    let read: u64 = done
        .stdout
        .lines()
        .next()
        .map_or(0, |line| line.trim().parse().unwrap_or(0));
    assert!(read <= 6_888_896, "{done:?}");
    assert!(done.stdout.ends_with("125\n"), "{done:?}");
}
