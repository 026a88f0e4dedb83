//! `--output last` and `--output on-failure`: which output is shown, and when.

use std::io::Read as _;

use libc::{SIGINT, SIGTERM};

use crate::support::{AT_ONCE, Done, Sandbox, check, pipe};

const LAST: &str = "--base 10ms --cap 10ms --jitter none --output last";

const ON_FAILURE: &str = "--base 10ms --cap 10ms --jitter none --output on-failure";

/// Writes to both streams, with the number of the attempt.
const BOTH: &str = "echo out$RETRY_ATTEMPT; echo err$RETRY_ATTEMPT >&2;";

/// The lines of a text, with a word for each of ours.
fn lines(text: &str) -> Vec<&str> {
    let short = |line| match line {
        line if !str::starts_with(line, "retry") => line,
        line if line.contains("; giving up") => "GIVING UP",
        line if line.contains("; next in") => "FAILED",
        line if line.contains(": succeeded") => "SUCCEEDED",
        line => line.split_once(": ").map_or(line, |(_, said)| said),
    };
    text.lines().map(short).collect()
}

/// Returns the output of both streams, when they are one pipe.
#[track_caller]
fn together(options: &str, script: &str) -> (Done, String) {
    let (mut reader, writer) = pipe();
    let other = writer.try_clone().expect("a descriptor");
    let call = Sandbox::new().retry_sh(options, script);
    let done = call.stdout(writer).stderr(other).run();
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("text");
    (done, text)
}

#[test]
fn on_failure_shows_nothing_of_a_run_that_succeeds_in_the_end() {
    for options in ["", "-q", "-v", "--log-format json", "--log-format github"] {
        for succeeds_at in ["1", "3"] {
            let script = format!("{BOTH} [ $RETRY_ATTEMPT = {succeeds_at} ]");
            let call = Sandbox::new().retry_sh(&format!("{ON_FAILURE} {options}"), &script);
            call.run().exits(0).stdout_is("").stderr_is("");
        }
    }
}

#[test]
fn on_failure_shows_all_of_a_run_that_fails_each_stream_on_its_own() {
    let done = Sandbox::new()
        .retry_sh(&format!("{ON_FAILURE} -a 2"), &format!("{BOTH} exit 7"))
        .run();
    done.exits(7).stdout_is("out1\nout2\n");
    assert_eq!(
        lines(&done.stderr),
        ["err1", "FAILED", "err2", "GIVING UP"],
        "{done:?}"
    );
    let done = Sandbox::new()
        .retry_sh(&format!("{ON_FAILURE} -q -a 2"), &format!("{BOTH} exit 7"))
        .run();
    done.exits(7)
        .stdout_is("out1\nout2\n")
        .stderr_is("err1\nerr2\n");
}

#[test]
fn on_failure_keeps_the_order_of_everything_where_both_streams_are_one() {
    let script = format!("{BOTH} printf more; exit 7");
    let (done, text) = together(&format!("{ON_FAILURE} -a 2"), &script);
    done.exits(7);
    // Our lines begin on a line of their own, although the command leaves one unfinished.
    assert_eq!(
        lines(&text),
        [
            "out1",
            "err1",
            "more",
            "FAILED",
            "out2",
            "err2",
            "more",
            "GIVING UP"
        ]
    );
}

#[test]
fn last_shows_the_last_attempt_alone_before_our_last_line() {
    for (exits, last, stdout) in [
        ("[ $RETRY_ATTEMPT = 3 ]", "SUCCEEDED", "out3\n"),
        ("exit 7", "GIVING UP", "out3\n"),
    ] {
        let script = format!("{BOTH} {exits}");
        let done = Sandbox::new()
            .retry_sh(&format!("{LAST} -a 3"), &script)
            .run();
        done.stdout_is(stdout);
        assert_eq!(
            lines(&done.stderr),
            ["FAILED", "FAILED", "err3", last],
            "{done:?}"
        );
    }
}

#[test]
fn last_shows_the_attempt_after_which_there_was_no_other_for_whatever_reason() {
    let budget = "--shared budget --budget 0";
    for (options, script, exit) in [
        ("--deadline 5s --base 10s --cap 10s", "exit 7", 7),
        (budget, "exit 7", 7),
        ("--stop-on 7", "exit 7", 7),
        ("--before-retry false", "exit 7", 7),
        ("--timeout 300ms -a 1", "exec sleep 60", 124),
    ] {
        for output in ["last", "on-failure"] {
            let options = format!("-q --base 10ms --jitter none {options} --output {output}");
            let call = Sandbox::new().retry_sh(&options, &format!("{BOTH} {script}"));
            call.run()
                .exits(exit)
                .stdout_is("out1\n")
                .stderr_is("err1\n");
        }
    }
}

#[test]
fn what_is_held_back_is_the_same_byte_for_byte() {
    for output in ["last", "on-failure"] {
        for looking in ["", "--stop-if ZZZ --idle-timeout 60s"] {
            let script = format!(
                "head -c 3000000 /dev/urandom >a; head -c 3000000 /dev/urandom >b
                 retry -q -a 1 --output {output} {looking} -- sh -c 'cat a; cat b >&2; cat b; cat a >&2; exit 3' >out 2>err
                 echo $?; cat a b | cmp - out; cat b a | cmp - err"
            );
            check(&script, "3\n").stderr_is("");
        }
    }
}

#[test]
fn streams_that_alternate_ten_thousand_times_take_no_memory() {
    let script = "retry -q -a 1 --output on-failure -- sh -c '
            i=0; while [ $i -lt 10000 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done
            awk \"/VmHWM/ { print \\$2 }\" /proc/$PPID/status >peak; exit 1' >out 2>err; wc -l <out; wc -l <err; cat peak";
    let done = Sandbox::new().bash(script).run();
    let numbers: Vec<u32> = done
        .stdout
        .lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect();
    assert_eq!(numbers[..2], [10_000, 10_000]);
    assert!(numbers[2] < 8192, "{done:?}");
}

#[test]
fn much_output_takes_little_memory() {
    for output in ["last", "on-failure"] {
        let script = format!(
            "retry -q -a 1 --output {output} -- sh -c '
                head -c 100000000 /dev/zero; head -c 10000000 /dev/zero >&2
                awk \"/VmHWM/ {{ print \\$2 }}\" /proc/$PPID/status >peak; exit 1' 2>err | wc -c; wc -c <err; cat peak"
        );
        let done = Sandbox::new().bash(&script).run();
        let numbers: Vec<u32> = done
            .stdout
            .lines()
            .filter_map(|line| line.trim().parse().ok())
            .collect();
        assert_eq!(numbers[..2], [100_000_000, 10_000_000], "{done:?}");
        assert!(numbers[2] < 8192, "{done:?}");
    }
}

#[test]
fn a_signal_during_an_attempt_is_a_failure_even_if_the_command_ends_well() {
    let script =
        "trap 'echo bye; exit 0' TERM; echo out; echo ready >ready; while :; do sleep 0.05; done";
    let sandbox = Sandbox::new();
    let script = format!(
        "mkfifo f; retry $FAST --output on-failure -- sh -c '{}' & sh -c 'until [ -s ready ]; do sleep 0.01; done'; kill $!; wait $!; echo $?",
        script.replace('\'', "'\\''")
    );
    let done = sandbox.bash(&script).run();
    assert!(done.stdout.starts_with("out\nbye\n"), "{done:?}");
    assert!(done.stderr.contains("SIGTERM"), "{done:?}");
}

#[test]
fn a_signal_during_a_delay_shows_what_is_held_and_ends_us() {
    for (output, expected) in [
        ("last", vec!["FAILED", "err1"]),
        ("on-failure", vec!["err1", "FAILED"]),
    ] {
        let sandbox = Sandbox::new();
        let options = format!("--base 60s --cap 60s --jitter none --output {output} --log log");
        let mut running = sandbox
            .retry_sh(&options, &format!("{BOTH} exit 7"))
            .spawn();
        while !sandbox.text("log").contains(r#""event":"delay""#) {
            std::thread::yield_now();
        }
        running.await_alone();
        running.signal(SIGINT);
        let done = running.wait();
        done.dies_of(SIGINT)
            .stdout_is("out1\n")
            .took_less_than(AT_ONCE);
        let said = lines(&done.stderr);
        assert_eq!(said[..2], expected, "{done:?}");
        assert!(said[2].contains("SIGINT"), "{done:?}");
    }
}

#[test]
fn a_second_signal_ends_us_although_nobody_reads_what_is_held() {
    let sandbox = Sandbox::new();
    let (reader, writer) = pipe();
    let script = "head -c 1000000 /dev/zero; echo >ready; exit 7";
    let call = sandbox.retry_sh(&format!("{ON_FAILURE} -q -a 1"), script);
    let mut running = call.stdout(writer).spawn();
    while !sandbox.path("ready").exists() {
        std::thread::yield_now();
    }
    running.await_alone();
    running.signal(SIGTERM);
    let done = running.wait();
    done.dies_of(SIGTERM).took_less_than(AT_ONCE);
    drop(reader);
}

#[test]
fn a_failed_run_keeps_its_status_although_its_output_cannot_be_written() {
    for output in ["last", "on-failure"] {
        let script = format!(
            "retry $FAST -q -a 2 --output {output} -- sh -c 'echo out; echo err >&2; exit 7' 2>err >/dev/full; echo $?; sort -u err
             retry $FAST -q -a 2 --output {output} -- sh -c 'seq 100000; echo err >&2; exit 7' 2>err | true; echo ${{PIPESTATUS[0]}}; sort -u err
             retry $FAST -q -a 2 --output {output} -- sh -c 'echo err >&2; exit 7' 2>err >&-; echo $?; sort -u err"
        );
        check(&script, "7\nerr\n7\nerr\n7\nerr\n");
    }
}

#[test]
fn a_failed_run_says_that_a_part_of_its_output_is_lost_and_keeps_its_status() {
    let fails = "sh -c 'seq 100000; exit 7'";
    for output in ["last", "on-failure"] {
        let call = format!("retry -a 1 --output {output} --log log");
        // The reader takes nothing until we are gone, which it learns from the end of the fifo.
        let done = check(
            &format!(
                "mkfifo gone
                 {{ {call} --deadline 500ms -- {fails}; echo $? >status; : >gone; }} 2>err | {{ : <gone; wc -l >read; }}
                 cat status; [ $(cat read) -lt 100000 ]; cat err >&2"
            ),
            "7\n",
        );
        done.says(&[
            "sh: some of the command's output is lost (it was not read in time)",
            "sh: attempt 1/1 failed: exit 7 after …; giving up after …",
        ]);
        let done = check(
            &format!(
                "{call} -- {fails} 2>err >/dev/full; echo $?; cat err >&2; grep -c output_lost log"
            ),
            "7\n1\n",
        );
        done.says(&[
            "sh: some of the command's output is lost (no space left on device)",
            "sh: attempt 1/1 failed: exit 7 after …; giving up after …",
        ]);
    }
}

#[test]
fn a_success_whose_output_cannot_be_written_is_none_with_last() {
    let done = check(
        "retry $FAST --output last -- echo out >/dev/full; echo $?",
        "125\n",
    );
    assert!(done.stderr.contains("no space left on device"), "{done:?}");
    check(
        "retry $FAST -q --output last -- seq 100000 | true; echo ${PIPESTATUS[0]}",
        "141\n",
    );
}

#[test]
fn the_output_of_the_hook_is_held_back_with_ours() {
    let options = format!("{ON_FAILURE} -a 2");
    let hook = "echo hook out; echo hook err >&2";
    let call = |script: &str| {
        let sandbox = Sandbox::new();
        let call = sandbox.retry(&options).arg("--before-retry").arg(hook);
        call.arg("--").arg("sh").arg("-c").arg(script).run()
    };
    let done = call(&format!("{BOTH} exit 7"));
    done.exits(7).stdout_is("out1\nout2\n");
    assert_eq!(
        lines(&done.stderr),
        [
            "err1",
            "FAILED",
            "hook out",
            "hook err",
            "err2",
            "GIVING UP"
        ],
        "{done:?}"
    );
    call("[ $RETRY_ATTEMPT = 2 ]")
        .exits(0)
        .stdout_is("")
        .stderr_is("");
}

/// Runs a script in which $TMPDIR has room for 200 kB, and the command `writes` writes more than that
/// and a pipe hold.
#[cfg(target_os = "linux")]
fn on_a_small_disk(script: &str) -> Done {
    let user = if rustix::process::getuid().is_root() {
        ""
    } else {
        "--user --map-root-user"
    };
    let sandbox = Sandbox::new();
    let writes = "#!/bin/sh\nseq 300000; echo err >&2; seq 300000; exit $1\n";
    let mounted =
        format!("mkdir m; mount -t tmpfs -o size=200k none m; export TMPDIR=$PWD/m\n{script}\n");
    std::fs::write(sandbox.path("writes"), writes).expect("a file");
    std::fs::write(sandbox.path("mounted"), mounted).expect("a file");
    let call = sandbox.bash(&format!("exec unshare {user} --mount bash mounted"));
    call.run()
}

#[cfg(target_os = "linux")]
#[test]
fn on_failure_shows_what_it_holds_and_passes_the_rest_on_where_the_disk_is_full() {
    for status in [0, 7] {
        for looking in ["", "--stop-if zzz"] {
            let done = on_a_small_disk(&format!(
                r#"retry $FAST -a 2 --output on-failure {looking} -- sh writes {status} >out; echo $?
                   seq 300000 >once; cat once once >all; test {status} = 0 || cat once once >>all; cmp all out"#
            ));
            done.stdout_is(&format!("{status}\n"));
            let warnings = done
                .stderr
                .matches("cannot hold back more output (no space left on device)")
                .count();
            assert_eq!(warnings, 1, "{done:?}");
            assert!(done.stderr.contains("err\n"), "{done:?}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_comes_when_the_disk_is_full_and_its_pipe_too_gets_everything() {
    let done = on_a_small_disk(
        r#"mkfifo f; (
            # The disk is full, and what is then passed on has filled the pipe.
            until [ "$(df --output=avail m | tail -n 1 | tr -d ' ')" = 0 ]; do sleep 0.02; done; sleep 0.5; cat >out
        ) <f &
        retry $FAST -a 2 --output on-failure -- sh writes 7 >f; echo $?; wait
        seq 300000 >once; cat once once once once | cmp - out"#,
    );
    done.stdout_is("7\n").took_less_than(AT_ONCE);
}

#[cfg(target_os = "linux")]
#[test]
fn last_exits_125_where_the_disk_is_full_and_shows_what_there_is_of_it() {
    for status in [0, 7] {
        let done = on_a_small_disk(&format!(
            r#"retry $FAST -a 2 --output last -- sh writes {status} >out; echo $?; wc -l <out >lines; test $(cat lines) -gt 1000 && echo shown"#
        ));
        done.stdout_is("125\nshown\n");
        assert!(done.stderr.contains("set TMPDIR"), "{done:?}");
    }
}

#[test]
fn without_a_place_for_it_nothing_is_run() {
    for output in ["last", "on-failure"] {
        let script = format!(
            "TMPDIR=/no/such retry $FAST --output {output} -- sh -c 'echo >ran'; echo $?; ls"
        );
        let done = check(&script, "125\n");
        assert!(done.stderr.contains("TMPDIR"), "{done:?}");
    }
}

#[test]
fn the_log_and_usage_errors_are_never_held_back() {
    let sandbox = Sandbox::new();
    let options = format!("{ON_FAILURE} --log log");
    let script = "[ $RETRY_ATTEMPT = 2 ]";
    sandbox
        .retry_sh(&options, script)
        .run()
        .exits(0)
        .stderr_is("");
    assert!(sandbox.text("log").contains(r#""output":"on-failure""#));
    assert_eq!(
        sandbox.text("log").matches(r#""event":"attempt""#).count(),
        2
    );
    let done = sandbox.retry("--output on-failure --attempts 0 true").run();
    done.exits(125);
    assert!(done.stderr.contains("0 attempts"), "{done:?}");
}

#[test]
fn output_is_held_back_in_one_way_only() {
    let done = Sandbox::new()
        .retry("--stdout once --output last true")
        .run();
    done.exits(125).stdout_is("");
    assert!(done.stderr.contains("use one of them"), "{done:?}");
}

#[test]
fn what_a_background_job_writes_later_is_part_of_a_run_that_fails() {
    let script = "
        if [ $RETRY_ATTEMPT = 1 ]; then { read x <go; echo late; echo >gone; } & echo first; exit 7; fi
        echo x >go; read x <gone; echo second; exit 7";
    let sandbox = Sandbox::new();
    let script = format!(
        "mkfifo go gone; retry $FAST -q -a 2 --output on-failure -- sh -c '{script}'; echo $?"
    );
    let done = sandbox.bash(&script).run();
    done.stdout_is("first\nlate\nsecond\n7\n");
}

#[test]
fn a_slow_reader_gets_everything_although_the_deadline_is_over() {
    let script = "retry -q --deadline 300ms --output on-failure -- sh -c 'seq 200000; exec sleep 60' | { sleep 1; cat; } >out; echo ${PIPESTATUS[0]}; seq 200000 | cmp - out";
    check(script, "124\n");
}

#[test]
fn the_command_sees_a_pipe_and_patterns_and_headers_are_found_in_it() {
    let script = "retry $FAST -q -a 3 --output on-failure --stop-if fatal -- sh -c 'echo >>runs; [ -p /dev/stdout ] && echo fatal; exit 7'; echo $?; wc -l <runs";
    check(script, "fatal\n7\n1\n");
    let script = "retry -a 2 --base 0 --output on-failure --retry-after output --log log -- sh -c 'printf \"HTTP/1.1 429 x\\r\\nRetry-After: 0\\r\\n\\r\\n\"; exit 7' >/dev/null 2>&1; echo $?; grep -c \"server_wait_ms.:0\" log";
    check(script, "7\n2\n");
}

#[test]
fn a_cron_job_mails_the_final_failure_and_nothing_else() {
    // cron runs `sh -c` with both streams on one pipe, and mails whatever comes out of it.
    let script = r#"
        cron() { env -i PATH="$PATH" HOME=/ SHELL=/bin/sh LOGNAME=x sh -c "$1" 2>&1 </dev/null | cat; }
        cron 'retry -q --base 10ms -a 3 --output on-failure -- sh -c "echo trying; echo no >&2; [ \$RETRY_ATTEMPT = 3 ]"'
        echo --
        cron 'retry -q --base 10ms -a 2 --output on-failure -- sh -c "echo trying; echo no >&2; exit 7"'"#;
    check(script, "--\ntrying\nno\ntrying\nno\n");
}
