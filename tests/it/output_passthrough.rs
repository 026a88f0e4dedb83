//! Output that an option looks at still passes through unchanged.

use std::io::{Read as _, Write as _};

use libc::{SIGPIPE, SIGTERM};

#[cfg(target_os = "linux")]
use crate::support::open_to_write;
use crate::support::terminal::open_terminal;
use crate::support::{AT_ONCE, Sandbox, check, pipe};

/// An option that looks at everything and finds nothing.
const LOOKING: &str = "--base 10ms --cap 10ms --jitter none --stop-if ZZZ";

#[test]
fn what_is_looked_at_is_there_while_the_command_still_runs() {
    for (to, options) in [("", LOOKING), (">&2", LOOKING), ("", "--idle-timeout 30s")] {
        let (stdin, mut writer) = pipe();
        let call = Sandbox::new().retry_sh(options, &format!("echo a {to}; read x; echo b {to}"));
        let mut running = call.stdin(stdin).spawn();
        match to {
            "" => running.await_stdout("a\n"),
            _ => running.await_stderr("a\n"),
        };
        writer.write_all(b"\n").expect("a reader");
        let done = running.wait();
        done.exits(0);
        assert_eq!(format!("{}{}", done.stdout, done.stderr), "a\nb\n");
    }
}

#[test]
fn what_is_looked_at_stays_the_same_byte_for_byte() {
    let script = "head -c 3000000 /dev/urandom >b
        retry --stop-if '(?-u)\\xff\\x00ZZZ' -- sh -c 'cat b & cat b >&2; wait' >o 2>e; cmp b o && cmp b e && echo SAME
        retry --stop-if '(?-u)\\xff\\x00ZZZ' -- cat b | cmp b - && echo SAME";
    check(script, "SAME\nSAME\n").stderr_is("");
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_not_looked_at_is_the_very_descriptor_that_we_have() {
    let script = "exec >out 2>err
        tell='exec 3>&1 4>&2; for fd in 3 4; do readlink /proc/self/fd/$fd; done >>seen'
        for options in '' '--retry-if stdout:x' '--fail-if stderr:x' '--retry-after stderr' '--retry-if x'; do
            retry $options -- sh -c \"$tell\"
        done
        sed -i 's/pipe:.*/a pipe/; s/.*\\///' seen";
    let sandbox = Sandbox::new();
    sandbox
        .bash(script)
        .run()
        .exits(0)
        .stdout_is("")
        .stderr_is("");
    let seen = sandbox.text("seen");
    let seen: Vec<&str> = seen.lines().collect();
    let (out, err, tap) = ("out", "err", "a pipe");
    assert_eq!(seen, [out, err, tap, err, out, tap, out, tap, tap, tap]);
}

#[test]
fn a_stream_that_is_not_looked_at_still_is_a_terminal() {
    for (options, seen) in [
        ("", "yy"),
        ("--stop-if stderr:x", "yn"),
        ("--stop-if stdout:x", "ny"),
    ] {
        let (keys, line) = open_terminal();
        let sandbox = Sandbox::new();
        let script = "is() { [ -t $1 ] && printf y || printf n; }
            exec 3>&1 4>&2; { is 3; is 4; } >seen";
        let call = sandbox.retry_sh(options, script);
        let line_too = line.try_clone().expect("a descriptor");
        call.stdout(line).stderr(line_too).run().exits(0);
        assert_eq!(sandbox.text("seen"), seen);
        drop(keys);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn our_stdout_and_that_of_the_command_make_writers_wait() {
    // O_NONBLOCK is an octal 4000.
    let script = "w() { grep -q '^flags:.*[4-7]...$' /proc/self/fdinfo/1 && echo never waits || echo waits; }
        export -f w; { w; retry --stop-if x -- bash -c w; w; } | cat";
    check(script, "waits\nwaits\nwaits\n").stderr_is("");
}

#[test]
fn a_command_whose_reader_is_gone_learns_of_it_and_is_not_run_again() {
    let done = check(
        "retry $FAST --stop-if ZZZ -- sh -c 'echo x >>k; exec yes' | head -n 1; echo ${PIPESTATUS[0]} $(wc -l <k)",
        "y\n141 1\n",
    );
    done.took_less_than(AT_ONCE);
    let script = "echo x >>runs; trap '' PIPE; echo out; exit 0";
    let (reader, stdout) = pipe();
    drop(reader);
    let sandbox = Sandbox::new();
    let done = sandbox.retry_sh(LOOKING, script).stdout(stdout).run();
    done.dies_of(SIGPIPE);
    assert_eq!(sandbox.lines("runs"), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_behind_stdout_and_nothing_behind_stderr() {
    let sandbox = Sandbox::new();
    let call = sandbox.retry_sh(LOOKING, "echo x >>runs; echo out");
    let done = call.stdout(open_to_write("/dev/full")).run();
    done.exits(125);
    assert_eq!(
        (done.said().len(), sandbox.lines("runs")),
        (1, 1),
        "{done:?}"
    );
    let call = sandbox.retry_sh(LOOKING, "echo err >&2; echo out");
    let done = call.stderr(open_to_write("/dev/full")).run();
    done.exits(0).stdout_is("out\n");
}

#[test]
fn signals_and_limits_work_although_nobody_reads_the_output() {
    let script = "echo ready >&2; exec yes";
    let (reader, stdout) = pipe();
    let call = Sandbox::new().retry_sh(LOOKING, script);
    let mut running = call.stdout(stdout).spawn();
    running.await_stderr("ready").signal(SIGTERM);
    running.wait().dies_of(SIGTERM).took_less_than(AT_ONCE);
    drop(reader);
    let (reader, stdout) = pipe();
    let options = format!("{LOOKING} -a 2 --timeout 400ms -k 60s");
    let done = Sandbox::new()
        .retry_sh(&options, script)
        .stdout(stdout)
        .run();
    done.exits(124).took_less_than(AT_ONCE);
    assert_eq!(done.failures(), 2, "{done:?}");
    drop(reader);
}

#[test]
fn the_other_end_of_a_terminal_gets_it_too() {
    let (keys, line) = open_terminal();
    let call = Sandbox::new()
        .retry("-a 1 --fail-if zzz -- echo hello")
        .stdout(keys.try_clone().expect("a descriptor"));
    call.run().exits(0).stderr_is("");
    let mut typed = [0; 6];
    std::fs::File::from(line)
        .read_exact(&mut typed)
        .expect("what was written");
    assert_eq!(&typed, b"hello\n");
}
