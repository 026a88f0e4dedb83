//! The cost of waiting, of much output and of many attempts: wake-ups, memory, descriptors.

use std::io::Read as _;

use libc::SIGTERM;
use rustix::process::Pid;

use crate::support::{Sandbox, let_pass, pipe, rounds};

/// An option that looks at everything and finds nothing.
const LOOKING: &str = "--base 10ms --cap 10ms --jitter none --stop-if ZZZ";

const ONCE: &str = "--base 10ms --cap 10ms --jitter none --stdout once";

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
        call.stdin(stdin).run().exits(0).stdout_is("").stderr_is("");
        drop(writer);
        let cost = sandbox.text("cost");
        let cost: Vec<u64> = cost.lines().filter_map(|line| line.parse().ok()).collect();
        assert!(cost.len() == 2 && cost[0] < 20 && cost[1] < 50, "{cost:?}");
    }
}

#[test]
fn descriptors_do_not_pile_up() {
    let options = format!("{LOOKING} -a 40 --stdin replay --stdout once --idle-timeout 30s");
    let script = "ls /proc/$PPID/fd | wc -l >>counts; exit 1";
    let sandbox = Sandbox::new();
    let (stdin, writer) = pipe();
    let call = sandbox.retry_sh(&options, script).stdin(stdin);
    call.run().exits(1).stdout_is("");
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
fn much_output_takes_little_memory() {
    const LENGTH: usize = 64 * 1024 * 1024;
    let (mut reader, stdout) = pipe();
    let script = format!("seq 100000000 110000000 | head -c {LENGTH}");
    let running = Sandbox::new()
        .retry_sh(ONCE, &script)
        .stdout(stdout)
        .spawn();
    // All but what fits in a pipe, so that there still is a process to look at.
    let mut text = vec![0; LENGTH - 100_000];
    reader.read_exact(&mut text).expect("numbers");
    let proc = format!("/proc/{}/status", running.pid().as_raw_nonzero());
    let status = std::fs::read_to_string(proc).expect("a process");
    reader.read_to_end(&mut text).expect("the rest");
    running.wait().exits(0).stderr_is("");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse::<u32>().ok());
    assert!(peak.expect("a size") < 8192, "{status}");
    let is_right = |(line, number): (&[u8], u32)| line == number.to_string().as_bytes();
    let lines = text.split(|byte| *byte == b'\n');
    let whole = LENGTH / 10;
    assert!(text.len() == LENGTH && lines.take(whole).zip(100_000_000..).all(is_right));
}

#[test]
fn after_many_attempts_memory_and_descriptors_are_what_they_were_after_few() {
    let last = 400 * rounds();
    let script = "case $RETRY_ATTEMPT in 20|LAST) awk '/^VmRSS/ { print $2 }' /proc/$PPID/status; ls /proc/$PPID/fd | wc -l;; esac; exit 3";
    let script = script.replace("LAST", &last.to_string());
    let done = Sandbox::new()
        .retry_sh(&format!("-q -a {last} --base 0 --timeout 30s"), &script)
        .run();
    done.exits(3).stderr_is("");
    let readings: Vec<u64> = done
        .stdout
        .split_whitespace()
        .map(|n| n.parse().expect("a number"))
        .collect();
    assert_eq!(readings.len(), 4, "{done:?}");
    assert!(
        readings[2] <= readings[0] + 128,
        "kB resident, then and now: {readings:?}"
    );
    assert_eq!(readings[3], readings[1], "descriptors, then and now");
}

#[test]
fn a_quarter_of_a_gigabyte_is_replayed_in_little_memory() {
    // No two lines are alike, so that nothing can change its place unseen.
    let script = "numbers() { seq 100000000 130000000 | head -c 268435456; }
        numbers | cksum >whole
        numbers | retry $FAST -a 3 --stdin replay -- sh -c '
            cksum | cmp whole - || echo OTHER
            awk \"/VmHWM/ { print \\$2 }\" /proc/$PPID/status >>peak
            exit 1'
        echo $?";
    let sandbox = Sandbox::new();
    sandbox.bash(script).run().exits(0).stdout_is("1\n");
    let peaks = sandbox.text("peak");
    assert_eq!(peaks.lines().count(), 3);
    for peak in peaks.lines() {
        assert!(peak.parse::<u32>().expect("a size") < 8192, "{peaks}");
    }
}

/// Returns how often a process gave up the processor by itself, and how long it used it, in ticks.
fn activity(pid: Pid) -> (u64, u64) {
    let proc = format!("/proc/{}", pid.as_raw_nonzero());
    let status = std::fs::read_to_string(format!("{proc}/status")).expect("a process");
    let switches = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    let stat = std::fs::read_to_string(format!("{proc}/stat")).expect("a process");
    let times: Vec<u64> = stat
        .rsplit(')')
        .next()
        .expect("fields")
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|ticks| ticks.parse().expect("ticks"))
        .collect();
    (
        switches.expect("a count").trim().parse().expect("a count"),
        times.iter().sum(),
    )
}

fn threads(pid: Pid) -> usize {
    std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()))
        .expect("a process")
        .count()
}

#[test]
fn nothing_wakes_us_while_the_command_runs() {
    let script = "sleep 0.5; echo ready; sleep 2; echo done; exec sleep 30";
    let mut running = Sandbox::new()
        .retry_sh("-a 1 --timeout 20s", script)
        .spawn();
    running.await_stdout("ready");
    let before = activity(running.pid());
    assert_eq!(threads(running.pid()), 1);
    running.await_stdout("done");
    assert_eq!(activity(running.pid()), before);
    running.signal(SIGTERM);
    running.wait().dies_of(SIGTERM);
}

#[test]
fn members_that_have_ended_do_not_keep_us_busy_while_the_others_have_their_grace() {
    let script = "trap 'echo asked' TERM; sleep 100 & while :; do sleep 0.3; done";
    let mut running = Sandbox::new()
        .retry_sh("-a 1 --timeout 300ms -k 5s", script)
        .spawn();
    running.await_stdout("asked");
    let (before, _) = activity(running.pid());
    // Time has to pass for us to be idle in.
    let_pass("1");
    let (after, ticks) = activity(running.pid());
    assert!(
        after - before < 50 && ticks < 20,
        "{} wake-ups, {ticks} ticks",
        after - before
    );
    running.wait().exits(124);
}

#[test]
fn nothing_wakes_us_during_a_delay() {
    let mut running = Sandbox::new()
        .retry("-a 2 --base 20s --jitter none -- false")
        .spawn();
    running.await_stderr("next in 20.0s");
    let before = activity(running.await_alone().pid());
    assert_eq!(threads(running.pid()), 1);
    // Longer than a second, after which a countdown would go on.
    let_pass("1.5");
    assert_eq!(activity(running.pid()), before);
    running.signal(SIGTERM);
    running.wait().dies_of(SIGTERM).stdout_is("");
}
