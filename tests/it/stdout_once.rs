//! `--stdout once`: stdout holds what the successful attempt has written, once, and nothing else.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use libc::{SIGPIPE, SIGTERM};

#[cfg(target_os = "linux")]
use crate::support::open_to_write;
use crate::support::{AT_ONCE, Done, Sandbox, check, end, pipe};

const ONCE: &str = "--base 10ms --cap 10ms --jitter none --stdout once";

/// Which lines stderr has, with FAILED for each that tells of a failed attempt.
fn stderr(done: &Done) -> Vec<&str> {
    let lines = done.stderr.lines();
    let short = |line| {
        if str::contains(line, " failed: ") {
            "FAILED"
        } else {
            line
        }
    };
    lines.map(short).collect()
}

#[test]
fn stdout_has_the_success_alone_and_stderr_the_rest_before_the_line_about_it() {
    let script = "echo out$RETRY_ATTEMPT; [ $RETRY_ATTEMPT = 3 ]";
    let done = Sandbox::new().retry_sh(ONCE, script).run();
    done.exits(0).stdout_is("out3\n");
    assert_eq!(stderr(&done)[..4], ["out1", "FAILED", "out2", "FAILED"]);
    assert_eq!(done.stderr.lines().count(), 5, "{done:?}");
}

#[test]
fn when_all_attempts_fail_nothing_is_on_stdout() {
    let script = "echo out$RETRY_ATTEMPT; exit 9";
    let done = Sandbox::new()
        .retry_sh(&format!("{ONCE} -a 2"), script)
        .run();
    done.exits(9).stdout_is("");
    assert_eq!(stderr(&done), ["out1", "FAILED", "out2", "FAILED"]);
}

#[test]
fn a_success_at_first_leaves_stderr_to_the_command() {
    let done = Sandbox::new()
        .retry_sh(ONCE, "echo out; echo err >&2")
        .run();
    done.exits(0).stdout_is("out\n");
    assert_eq!(done.stderr, "err\n");
}

#[test]
fn a_listed_status_is_a_success_here_too() {
    let done = Sandbox::new()
        .retry_sh(&format!("{ONCE} --success-on 24"), "echo out; exit 24")
        .run();
    done.exits(0).stdout_is("out\n");
    assert_eq!(done.stderr, "");
}

#[test]
fn what_reads_our_stdout_sees_one_whole_answer() {
    check(
        "retry $FAST -a 3 --stdout once -- failn 1 1 | cat",
        "out2\n",
    );
    check(
        "v=$(retry -v $FAST -a 3 --stdout once -- sh -c 'failn 1 1 >/dev/null; echo VAL; [ $(cat n) -gt 1 ]'); echo \"[$v]\"",
        "[VAL]\n",
    );
    check(
        "retry $FAST -a 3 --stdout once -- sh -c 'printf HALF; [ -f ok ] || { touch ok; exit 18; }; printf WHOLE' | cat",
        "HALFWHOLE",
    );
    check(
        "retry $FAST -a 2 --retry-on 22 --stdout once -- sh -c '[ -f k ] || { touch k; echo ERRPAGE; exit 22; }; echo PAYLOAD'",
        "PAYLOAD\n",
    );
}

#[test]
fn what_our_stdout_is_and_holds_already_is_left_as_it_is() {
    check(
        "retry $FAST -a 2 --stdout once -- failn 1 22 >/dev/null; echo $?",
        "0\n",
    );
    check(
        "echo first >f; retry $FAST -a 2 --stdout once -- failn 1 22 >>f; cat f",
        "first\nout2\n",
    );
    check(
        "{ echo first; retry $FAST -a 2 --stdout once -- failn 1 22; echo last; } >f; cat f",
        "first\nout2\nlast\n",
    );
}

#[test]
fn a_socket_gets_it_too() {
    let (mut ours, theirs) = UnixStream::pair().expect("two sockets");
    let call = Sandbox::new().retry_sh(ONCE, "seq 100000");
    let running = call.stdout(OwnedFd::from(theirs)).spawn();
    let mut text = String::new();
    ours.read_to_string(&mut text).expect("numbers");
    ours.shutdown(Shutdown::Both).expect("a socket");
    running.wait().exits(0).stderr_is("");
    assert!(text.len() == 588_895 && text.ends_with("\n100000\n"));
}

#[test]
fn what_is_held_back_is_the_same_byte_for_byte() {
    check(
        "head -c 300000 /dev/urandom >b; retry $FAST --stdout once -- cat b | cmp b - && retry $FAST --stdout once -- cat b >c && cmp b c && echo SAME",
        "SAME\n",
    ).stderr_is("");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_stdout_is_an_error_and_never_a_success() {
    let sandbox = Sandbox::new();
    let call = sandbox.retry_sh(ONCE, "echo x >>runs; echo out");
    let done = call.stdout(open_to_write("/dev/full")).run();
    done.exits(125);
    assert_eq!(
        (done.said().len(), sandbox.lines("runs")),
        (1, 1),
        "{done:?}"
    );
    assert!(done.stderr.contains("stdout"), "{done:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_stderr_changes_nothing() {
    let script = "echo out$RETRY_ATTEMPT; [ $RETRY_ATTEMPT = 2 ]";
    let call = Sandbox::new().retry_sh(ONCE, script);
    call.stderr(open_to_write("/dev/full"))
        .run()
        .exits(0)
        .stdout_is("out2\n");
}

#[test]
fn a_reader_that_is_gone_is_a_death_by_sigpipe_in_silence_and_no_retry() {
    let (reader, stdout) = pipe();
    drop(reader);
    let sandbox = Sandbox::new();
    let call = sandbox.retry_sh(ONCE, "echo x >>runs; echo out");
    let done = call.stdout(stdout).run();
    done.dies_of(SIGPIPE);
    assert_eq!((&*done.stderr, sandbox.lines("runs")), ("", 1));
    for reader in ["head -c1", "sh -c 'exit 0'"] {
        let script = format!(
            "retry $FAST --stdout once -- sh -c 'echo x >>y; seq 2000000' | {reader} >/dev/null; echo ${{PIPESTATUS[0]}} $(wc -l <y)"
        );
        assert_eq!(check(&script, "141 1\n").stderr, "");
    }
}

#[test]
fn output_that_has_nowhere_to_go_is_no_success() {
    check(
        "retry $FAST -a 1 --stdout once -- echo out >&-; [ $? != 0 ] && echo FAILED",
        "FAILED\n",
    );
    check("retry $FAST -a 1 --stdout once -- true >&-; echo $?", "0\n").stderr_is("");
}

#[test]
fn a_slow_reader_gets_everything() {
    check(
        "retry $FAST --stdout once -- seq 500000 | { read x; sleep 0.5; tail -n1; }; echo ${PIPESTATUS[0]}",
        "500000\n0\n",
    ).stderr_is("");
}

#[test]
fn a_signal_ends_us_although_nobody_reads_the_rest() {
    let (mut reader, stdout) = pipe();
    let call = Sandbox::new().retry_sh(ONCE, "seq 500000");
    let mut running = call.stdout(stdout).spawn();
    // The command is done, and we have begun to hand on what it has written.
    reader.read_exact(&mut [0]).expect("a first byte");
    running.signal(SIGTERM);
    running.wait().dies_of(SIGTERM).took_less_than(AT_ONCE);
    drop(reader);
}

#[test]
fn a_signal_ends_us_although_nobody_reads_what_failed() {
    let (mut reader, stderr) = pipe();
    let call = Sandbox::new().retry_sh(ONCE, "seq 500000; exit 1");
    let mut running = call.stderr(stderr).spawn();
    reader.read_exact(&mut [0]).expect("a first byte");
    running.signal(SIGTERM);
    running
        .wait()
        .dies_of(SIGTERM)
        .stdout_is("")
        .took_less_than(AT_ONCE);
    drop(reader);
}

#[test]
fn the_deadline_ends_us_although_nobody_reads_the_rest() {
    let options = format!("{ONCE} -a 1 --deadline 1s");
    let (reader, stderr) = pipe();
    let call = Sandbox::new().retry_sh(&options, "seq 500000; exit 7");
    let done = call.stderr(stderr).run();
    done.exits(7).took_less_than(AT_ONCE);
    drop(reader);
    let (reader, stdout) = pipe();
    let call = Sandbox::new().retry_sh(&options, "seq 500000");
    let done = call.stdout(stdout).run();
    assert!(!done.status.success(), "{done:?}");
    done.took_less_than(AT_ONCE);
    drop(reader);
}

#[test]
fn a_background_job_that_holds_stdout_is_not_waited_for() {
    let sandbox = Sandbox::new();
    let script = "sleep 30 2>/dev/null & echo $! >pid; echo up";
    let done = sandbox.retry_sh(ONCE, script).run();
    done.exits(0)
        .stdout_is("up\n")
        .stderr_is("")
        .took_less_than(AT_ONCE);
    end(sandbox.text("pid").trim().parse().expect("a pid"));
}

#[test]
fn what_a_background_job_of_one_attempt_writes_is_not_taken_for_anothers() {
    let script = "case $RETRY_ATTEMPT in
        1) { until [ -e go ]; do sleep 0.01; done; echo LATE; echo >gone; } 2>/dev/null & exit 1;;
        2) echo >go; until [ -e gone ]; do sleep 0.01; done; echo out2;;
        esac";
    let done = Sandbox::new().retry_sh(ONCE, script).run();
    done.exits(0).stdout_is("out2\n");
}

#[test]
fn what_an_interrupted_attempt_has_written_goes_to_stderr() {
    let script = "echo partial; echo ready >&2; exec sleep 30";
    let mut running = Sandbox::new().retry_sh(ONCE, script).spawn();
    running.await_stderr("ready").signal(SIGTERM);
    let done = running.wait();
    done.dies_of(SIGTERM).stdout_is("");
    assert_eq!(stderr(&done)[..2], ["ready", "partial"], "{done:?}");
    assert!(done.said()[0].contains("interrupted (SIGTERM)"), "{done:?}");
}

#[test]
fn what_an_attempt_has_written_until_its_time_limit_goes_to_stderr() {
    let options = format!("{ONCE} -a 1 --timeout 300ms");
    let done = Sandbox::new()
        .retry_sh(&options, "echo partial; sleep 30")
        .run();
    done.exits(124).stdout_is("");
    assert_eq!(stderr(&done), ["partial", "FAILED"]);
}

#[test]
fn the_output_of_a_child_that_ends_well_at_a_signal_goes_where_status_0_says_it_is() {
    let script = "trap 'exit 0' TERM; echo partial; echo ready >&2; while :; do sleep 0.05; done";
    let mut running = Sandbox::new().retry_sh(ONCE, script).spawn();
    running.await_stderr("ready").signal(SIGTERM);
    let done = running.wait();
    done.exits(0).stdout_is("partial\n");
    assert!(!done.stderr.contains("partial\n"), "{done:?}");
}

#[test]
fn without_a_place_for_it_nothing_is_run() {
    let script = "TMPDIR=/no/such retry $FAST --stdout once -- sh -c 'echo >ran'; echo $?; ls";
    let done = check(script, "125\n");
    assert_eq!(done.said().len(), 1, "{done:?}");
    assert!(done.stderr.contains("TMPDIR"), "{done:?}");
}

/// Checks a command whose output does not fit where it is kept. It runs to its end, but there is no
/// success, whatever its status, and no retry.
#[track_caller]
fn check_no_room(call: &str, options: &str) {
    let sandbox = Sandbox::new();
    let script = "echo >>runs; seq 100000; echo ended >&2; exit $1";
    for status in ["0", "7"] {
        let script = format!(
            "{call} retry $FAST -a 3 --stdout once --log log {options} -- sh -c '{script}' sh {status}"
        );
        let done = sandbox.bash(&script).run();
        done.exits(125).stdout_is("");
        assert!(done.stderr.contains("\nended\n") || done.stderr.starts_with("ended\n"));
        let kept = done
            .stderr
            .lines()
            .filter(|line| line.parse::<u32>().is_ok());
        assert!(kept.count() > 1000, "what there is of it is not lost");
        let last = done.stderr.lines().last().expect("a line");
        assert!(last.contains("set TMPDIR"), "{last}");
        let log = sandbox.text("log");
        assert!(log.contains(r#""reason":"error""#), "{log}");
    }
    assert_eq!(sandbox.lines("runs"), 2);
}

#[test]
fn output_that_finds_no_room_is_never_a_success() {
    check_no_room("ulimit -f 200; exec", "");
    check_no_room("ulimit -f 200; exec", "--fail-if zzz");
    check_no_room("ulimit -f 200; exec", "--idle-timeout 30s");
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_fills_the_disk_is_never_a_success() {
    let user = if rustix::process::getuid().is_root() {
        ""
    } else {
        "--user --map-root-user"
    };
    let mount = "mkdir m; mount -t tmpfs -o size=200k none m; export TMPDIR=$PWD/m; exec";
    let call = format!("rm -rf m; exec unshare {user} --mount bash -c '{mount} \"$@\"' bash");
    check_no_room(&call, "");
    check_no_room(&call, "--retry-if zzz");
}

#[test]
fn a_command_that_opens_its_stdout_anew_keeps_what_it_has_written() {
    for (script, stdout) in [
        (
            "echo header; echo body >/dev/stdout; echo footer",
            "header\nbody\nfooter\n",
        ),
        (
            "echo one; echo two | tee /dev/stdout; echo three",
            "one\ntwo\ntwo\nthree\n",
        ),
    ] {
        let done = Sandbox::new().retry_sh(ONCE, script).run();
        done.exits(0).stdout_is(stdout).stderr_is("");
    }
}

#[test]
fn the_command_sees_a_pipe_whatever_our_stdout_is() {
    check(
        "retry $FAST --stdout once -- sh -c '[ -p /dev/stdout ] && echo pipe' >f; cat f",
        "pipe\n",
    )
    .stderr_is("");
}

#[test]
fn what_is_left_in_the_background_may_write_while_we_are_there_and_is_told_when_we_are_gone() {
    // More than a pipe holds, and nobody is stuck.
    let script = "[ $RETRY_ATTEMPT = 2 ] && {
            until [ -e gone ]; do sleep 0.01; done; echo out2; exit; }
        { head -c 1000000 /dev/zero && echo >gone; until [ -e over ]; do sleep 0.01; done
          trap '' PIPE; echo late 2>/dev/null || echo >told; } 2>/dev/null & exit 1";
    let sandbox = Sandbox::new();
    let call = format!(
        "retry {ONCE} -a 2 -- sh -c \"$0\"; echo >over; until [ -e told ]; do sleep 0.01; done"
    );
    let done = sandbox.bash(&call).arg(script).run();
    done.exits(0).stdout_is("out2\n");
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_held_back_can_be_read_by_nobody_else() {
    let sandbox = Sandbox::new();
    let script = "umask 0; mkdir tmp; TMPDIR=$T/tmp retry $FAST --stdout once -- sh -c '
        for fd in /proc/$PPID/fd/*; do
            case $(readlink $fd) in $TMPDIR/*deleted*) stat -L -c %a $fd;; esac
        done; ls -A tmp'";
    sandbox
        .bash(script)
        .run()
        .exits(0)
        .stdout_is("600\n")
        .stderr_is("");
}

#[test]
fn a_filter_in_a_pipeline_delivers_what_its_successful_attempt_has_made_of_all() {
    check(
        "seq 300000 | retry $FAST -a 3 --stdin replay --stdout once -- sh -c 'if [ $RETRY_ATTEMPT = 1 ]; then head -n 1000; exit 1; fi; sed s/^/x/; [ $RETRY_ATTEMPT = 3 ]' 2>/dev/null | cmp - <(seq 300000 | sed s/^/x/) && echo SAME ${PIPESTATUS[*]}",
        "SAME 0 0 0\n",
    ).stderr_is("");
}

#[test]
fn what_is_written_to_stderr_is_there_while_the_command_still_runs() {
    let (stdin, mut writer) = pipe();
    let call = Sandbox::new().retry_sh(ONCE, "echo err >&2; read x; echo out");
    let mut running = call.stdin(stdin).spawn();
    running.await_stderr("err\n");
    writer.write_all(b"\n").expect("a reader");
    running.wait().exits(0).stdout_is("out\n");
}
