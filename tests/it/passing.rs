//! Output that an option looks at passes through as if nobody did; and when it stays away.

use std::fs;
use std::io::{Read as _, Write as _};

use libc::{SIGPIPE, SIGTERM};

use crate::input::{check, pipe};
use crate::support::{AT_ONCE, FAST, Sandbox, end, let_pass, open_to_write};
use crate::terminal::open_terminal;

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
    check(script, "SAME\nSAME\n");
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
    sandbox.bash(script).run().exits(0);
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
    check(script, "waits\nwaits\nwaits\n");
}

#[test]
fn a_background_job_that_holds_the_output_is_not_waited_for() {
    let sandbox = Sandbox::new();
    let script = "sleep 30 & echo $! >pid; echo hi";
    let done = sandbox.retry_sh(LOOKING, script).run();
    done.exits(0).stdout_is("hi\n").took_less_than(AT_ONCE);
    end(sandbox.text("pid").trim().parse().expect("a pid"));
}

#[test]
fn a_background_job_that_writes_for_ever_does_not_keep_us() {
    let script = "yes & exit 7";
    for options in [
        "--stop-if ZZZ",
        "--idle-timeout 30s",
        "--stdout once --stop-if ZZZ",
    ] {
        let options = format!("{FAST} -a 2 {options}");
        let call = Sandbox::new().retry_sh(&options, script);
        let done = call.stdout(open_to_write("/dev/null")).run();
        done.exits(7).took_less_than(AT_ONCE);
    }
}

#[test]
fn what_a_background_job_writes_during_the_delay_is_passed_on() {
    let sandbox = Sandbox::new();
    let script = "{ until [ -e go ]; do sleep 0.01; done; echo LATE; } & exit 1";
    let options = "--base 30s --cap 30s --jitter none --stop-if ZZZ";
    let mut running = sandbox.retry_sh(options, script).spawn();
    running.await_stderr("next in 30.0s");
    fs::write(sandbox.path("go"), "").expect("a file");
    running.await_stdout("LATE\n").signal(SIGTERM);
    running.wait().dies_of(SIGTERM);
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
fn a_command_that_writes_now_and_then_is_not_silent() {
    let spawn = |(to, stdout)| {
        let script = format!("for i in 1 2 3 4 5; do echo $i {to}; sleep 0.4; done");
        let options = format!("{FAST} --idle-timeout 900ms --stdout {stdout}");
        Sandbox::new().retry_sh(&options, &script).spawn()
    };
    let cases = [
        ("", "stream"),
        (">&2", "stream"),
        ("", "once"),
        (">&2", "once"),
    ];
    for running in cases.map(spawn) {
        let done = running.wait();
        done.exits(0);
        assert_eq!(format!("{}{}", done.stdout, done.stderr), "1\n2\n3\n4\n5\n");
    }
}

#[test]
fn a_command_that_falls_silent_is_ended_and_the_line_says_why() {
    for options in ["", "--stdout once", "--timeout 90s"] {
        let options = format!("{FAST} -a 2 --idle-timeout 300ms {options}");
        let done = Sandbox::new()
            .retry_sh(&options, "echo x; sleep 30; :")
            .run();
        done.exits(124).took_less_than(AT_ONCE);
        assert_eq!(done.stderr.matches("silence").count(), 2, "{done:?}");
    }
    let options = format!("{FAST} -a 1 --idle-timeout 20s --timeout 300ms");
    let done = Sandbox::new().retry_sh(&options, "sleep 30").run();
    done.exits(124);
    assert!(!done.stderr.contains("silence"), "{done:?}");
}

#[test]
fn no_limit_is_no_limit_for_silence() {
    for none in ["0", "inf"] {
        let options = format!("--idle-timeout {none}");
        Sandbox::new()
            .retry_sh(&options, "sleep 0.5")
            .run()
            .exits(0);
    }
}

#[test]
fn a_command_that_waits_for_our_reader_is_not_silent() {
    let (mut reader, stdout) = pipe();
    let options = "-a 1 --idle-timeout 500ms";
    let call = Sandbox::new().retry_sh(options, "echo ready >&2; seq 300000");
    let mut running = call.stdout(stdout).spawn();
    running.await_stderr("ready");
    let_pass("1.5");
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("numbers");
    running.wait().exits(0);
    assert!(text.len() == 1_988_895 && text.ends_with("\n300000\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn long_lines_and_much_output_take_little_memory() {
    let script = "retry -a 1 --stop-if 'Z[^Z]*Y' --success-if '^ab+c$' --retry-after output --idle-timeout 30s -- sh -c '
            for i in 1 2 3 4 5 6 7 8 9 10; do head -c 3000000 /dev/zero; echo; done
            seq 100000000 130000000 | head -c 67108864
            awk \"/VmHWM/ { print \\$2 }\" /proc/$PPID/status >peak' >/dev/null; cat peak";
    let done = Sandbox::new().bash(script).run();
    let peak = done.stdout.trim().parse::<u32>().expect("a size");
    assert!(peak < 8192, "{done:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn waiting_for_a_command_that_has_closed_its_streams_or_does_not_use_them_costs_nothing() {
    for (options, closes) in [
        ("--stop-if ZZZ --idle-timeout 30s", "exec >&- 2>&-"),
        ("--stdin replay", "exec <&-"),
        ("--stdin replay --stop-if ZZZ", ":"),
    ] {
        // The ticks that we have used until the command ends, and how often we have waited.
        let script = format!(
            "{closes}; sleep 1; exec >cost 2>&1; awk '{{ print $14 + $15 }}' /proc/$PPID/stat; awk '/^vol/ {{ print $2 }}' /proc/$PPID/status"
        );
        let sandbox = Sandbox::new();
        let (stdin, writer) = pipe();
        let call = sandbox.retry_sh(&format!("-a 1 {options}"), &script);
        call.stdin(stdin).run().exits(0);
        drop(writer);
        let cost = sandbox.text("cost");
        let cost: Vec<u64> = cost.lines().filter_map(|line| line.parse().ok()).collect();
        assert!(cost.len() == 2 && cost[0] < 20 && cost[1] < 50, "{cost:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn descriptors_do_not_pile_up() {
    let options = format!("{LOOKING} -a 40 --stdin replay --stdout once --idle-timeout 30s");
    let script = "ls /proc/$PPID/fd | wc -l >>counts; exit 1";
    let sandbox = Sandbox::new();
    let (stdin, writer) = pipe();
    let call = sandbox.retry_sh(&options, script).stdin(stdin);
    call.run().exits(1);
    drop(writer);
    let counts = sandbox.text("counts");
    let counts: Vec<u64> = counts
        .lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect();
    assert!(
        counts.len() == 40 && counts[39] < counts[1] + 10,
        "{counts:?}"
    );
}

#[test]
fn what_a_failed_attempt_has_written_stands_before_the_line_about_it() {
    let script = "seq 2000 >&2; echo end$RETRY_ATTEMPT >&2; exit 1";
    let done = Sandbox::new()
        .retry_sh(&format!("{LOOKING} -a 2"), script)
        .run();
    let lines: Vec<&str> = done.stderr.lines().collect();
    assert_eq!(
        (lines.len(), lines[2000], lines[4002]),
        (4004, "end1", "end2")
    );
    assert!(
        lines[2001].contains("attempt 1/2 failed"),
        "{}",
        lines[2001]
    );
}
