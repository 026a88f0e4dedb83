//! `--retry-after`: waits that a server asks for, in heads as they are printed.

use std::thread;
use std::time::Duration;

use libc::SIGTERM;
#[cfg(target_os = "linux")]
use rustix::process::getuid;

use crate::support::{AT_ONCE, Done, FAST, Sandbox};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Runs two attempts with these options of a script that prints this head (a format of printf) and
/// fails.
#[track_caller]
fn answered(options: &str, head: &str) -> Done {
    let options = format!("{FAST} -a 2 --retry-after output {options}");
    let script = format!("printf '{head}'; exit 22");
    let done = Sandbox::new().retry_sh(&options, &script).run();
    done.exits(22);
    done
}

/// The delays that were announced, with what is said of them.
fn announced(done: &Done) -> Vec<&str> {
    let said = done.said().into_iter();
    said.filter_map(|line| Some(line.split_once("next in ")?.1))
        .collect()
}

/// Checks that such a head makes us wait this long, by our own clock, and that this delay is
/// announced.
#[track_caller]
fn waits(options: &str, head: &str, milliseconds: u64, shown: &str) {
    let done = answered(options, head);
    done.took_at_least(ms(milliseconds));
    assert_eq!(announced(&done), [shown], "{done:?}");
}

/// Checks that such a head makes us give up at once, and that the line names the reason.
#[track_caller]
fn gives_up(options: &str, head: &str, wait: &str, limit: &str) {
    let done = answered(options, head);
    done.took_less_than(AT_ONCE);
    assert_eq!(done.failures(), 1, "{done:?}");
    let asked = format!(": retry-after: the server asks for {wait}");
    let said = done.said()[0];
    assert!(said.contains(&asked) && said.contains(limit), "{done:?}");
}

#[test]
fn the_wait_of_a_head_is_slept_and_announced() {
    let skewed = r"HTTP/1.1 503 X\nDate: Mon, 30 Nov 2026 12:00:00 GMT\nRetry-After: Mon, 30 Nov 2026 12:00:01 GMT\n\n";
    let heads = [
        (r"HTTP/1.1 429 X\r\nRetry-After: 1\r\n\r\n", 1000, "1.00s"),
        (r"HTTP/2 429 \r\nretry-after: 1\r\n\r\n", 1000, "1.00s"),
        (r"HTTP/1.1 429 X\nRetry-After: 1\n", 1000, "1.00s"),
        (r"HTTP/1.1 429 X\nRetry-After: 2\n\n", 2000, "2.00s"),
        (r"HTTP/1.1 429 X\nRetry-After: 0.4\n\n", 400, "400ms"),
        (skewed, 1000, "1.00s"),
    ];
    thread::scope(|scope| {
        for (head, milliseconds, shown) in heads {
            let shown = format!("{shown} (the server asks for {shown})");
            scope.spawn(move || waits("", head, milliseconds, &shown));
        }
    });
}

/// curl's meter as it stands on the line when something else comes.
const METER: &str =
    r"\r  0     0    0     0    0     0      0      0 --:--:--  0:00:02 --:--:--     0";

#[test]
fn a_head_begins_and_goes_on_behind_what_stands_unfinished_on_the_line() {
    let marked = r"< HTTP/1.1 429 X\r\n< Retry-After: 7\r\n< \r\n";
    let heads = [
        format!("{METER}{marked}"),
        format!(r"< HTTP/1.1 429 X\r\n{METER}< Retry-After: 7\r\n< \r\n"),
        format!(r"\r####                  20.0%%{marked}"),
        r"12:00:00.000001 [0-0] < HTTP/1.1 429 X\r\n12:00:00.000002 [0-0] < Retry-After: 7\r\n"
            .into(),
        r"fetching ... HTTP/1.1 429 X\r\nRetry-After: 7\r\n\r\n".into(),
        r"fetching ...   HTTP/1.1 429 X\n  Retry-After: 7\n".into(),
    ];
    for head in heads {
        let limit = "more than --retry-after-max 1ms";
        gives_up("--retry-after-max 1ms", &head, "7.00s", limit);
    }
}

#[test]
fn a_line_that_quotes_a_status_is_no_head() {
    let head = r"HTTP/1.1 429 X\r\nRetry-After: 0.3\r\nContent-Length: 0\r\n\r\n";
    let quote = r"upstream said HTTP/1.1 200 OK\ndone\n";
    let shown = "300ms (the server asks for 300ms)";
    waits("", &format!("{head}{quote}"), 300, shown);
    waits("", &format!("{quote}Retry-After: 7\\n"), 10, "10ms");
}

#[test]
fn a_leap_second_is_a_second() {
    let head = r"HTTP/1.1 503 X\nDate: Thu, 31 Dec 2026 23:59:50 GMT\nRetry-After: Thu, 31 Dec 2026 23:59:60 GMT\n\n";
    let limit = "more than --retry-after-max 1ms";
    gives_up("--retry-after-max 1ms", head, "10.0s", limit);
}

#[test]
fn where_the_wait_fits_in_the_deadline_the_random_part_is_cut_to_what_is_left() {
    // Our own delay is drawn from a minute, of which only five seconds fit. With these seeds it
    // would be about six.
    let spawn = |seed: u64| {
        let options = format!(
            "-a 2 --base 60s --cap 60s --seed {seed} --deadline 60s --reserve 55s --retry-after output"
        );
        let script = "printf 'HTTP/1.1 429 X\\nRetry-After: 0.2\\n\\n'; exit 22";
        Sandbox::new().retry_sh(&options, script).spawn()
    };
    for running in [102, 104].map(spawn) {
        let done = running.wait();
        done.exits(22).took_at_least(ms(200));
        assert_eq!(done.failures(), 2, "{done:?}");
    }
}

#[test]
fn a_date_without_that_of_the_response_is_compared_with_our_clock() {
    let script = "date=$(LC_ALL=C date -u -d '+3 seconds' '+%a, %d %b %Y %H:%M:%S GMT')
        printf 'HTTP/1.1 503 X\\nRetry-After: %s\\n\\n' \"$date\"; exit 22";
    let options = format!("{FAST} -a 2 --retry-after stdout");
    let done = Sandbox::new().retry_sh(&options, script).run();
    // Dates have whole seconds.
    done.exits(22).took_at_least(ms(2000));
}

#[test]
fn what_is_no_wait_is_ignored() {
    for value in [
        "-5",
        "\\302\\262",
        "0x10",
        "1e3",
        "10 seconds",
        "2026-11-30T12:36:00Z",
        "",
    ] {
        let head = format!("HTTP/1.1 429 X\\nRetry-After: {value}\\n\\n");
        waits("", &head, 10, "10ms");
    }
    let text =
        "rateLimited :: too many certificates, retry after 2026-11-30 12:36:00 UTC: see docs\\n";
    waits("", text, 10, "10ms");
    waits("", r"{}\n\nRetry-After: 99\n", 10, "10ms");
}

#[test]
fn the_wait_is_a_floor_that_the_cap_does_not_lower_and_our_own_delay_may_exceed() {
    waits(
        "--base 1s --cap 1s",
        r"HTTP/1.1 429 X\nRetry-After: 0\n\n",
        1000,
        "1.00s",
    );
    let head = r"HTTP/1.1 429 X\nRetry-After: 0.5\n\n";
    waits("--base 1s --cap 1s", head, 1000, "1.00s");
    waits("--cap 1ms", head, 500, "500ms (the server asks for 500ms)");
}

#[test]
fn jitter_comes_on_top_and_a_seed_makes_it_the_same_again() {
    let spawn = |seed: &str| {
        let options = format!("-a 2 --base 500ms --jitter full --retry-after output {seed}");
        let script = "printf 'HTTP/1.1 429 X\\nRetry-After: 1\\n\\n'; exit 22";
        Sandbox::new().retry_sh(&options, script).spawn()
    };
    let seeds = ["--seed 7", "--seed 7", "--seed 8", "", "", ""];
    let runs = seeds.map(spawn).map(|running| {
        let done = running.wait();
        done.exits(22).took_at_least(ms(1000));
        announced(&done)[0].to_owned()
    });
    assert_eq!(runs[0], runs[1]);
    assert_ne!(runs[0], runs[2]);
    assert!(runs[3] != runs[4] || runs[4] != runs[5], "{runs:?}");
}

#[test]
fn a_wait_is_obeyed_once() {
    let options = format!("{FAST} -a 3 --retry-after output");
    let script =
        "[ $RETRY_ATTEMPT != 1 ] || printf 'HTTP/1.1 429 X\\nRetry-After: 1\\n\\n'; exit 22";
    let done = Sandbox::new().retry_sh(&options, script).run();
    done.exits(22);
    assert_eq!(
        announced(&done),
        ["1.00s (the server asks for 1.00s)", "10ms"]
    );
}

#[test]
fn a_head_counts_only_on_the_stream_that_is_named() {
    let asked = ["300ms (the server asks for 300ms)"];
    for (to, stream, delays) in [
        (">&2", "output", asked),
        (">&2", "stderr", asked),
        (">&2", "stdout", ["10ms"]),
        ("", "stdout", asked),
        ("", "stderr", ["10ms"]),
        ("", "stdout --stdout once", asked),
    ] {
        let options = format!("{FAST} -a 2 --retry-after {stream}");
        let script = format!("printf 'HTTP/1.1 429 X\\nRetry-After: 0.3\\n\\n' {to}; exit 22");
        let done = Sandbox::new().retry_sh(&options, &script).run();
        assert_eq!(announced(done.exits(22)), delays, "{stream} {to}");
    }
}

#[test]
fn a_wait_that_does_not_fit_ends_the_run_at_once() {
    let day = r"HTTP/1.1 503 X\nRetry-After: 86400\n\n";
    gives_up(
        "--deadline 5s",
        day,
        "24h 0m",
        "left of the deadline of 5.00s",
    );
    let skewed = r"HTTP/1.1 503 X\nDate: Mon, 30 Nov 2026 12:00:00 GMT\nRetry-After: Mon, 30 Nov 2026 12:00:20 GMT\n\n";
    gives_up(
        "--deadline 5s",
        skewed,
        "20.0s",
        "left of the deadline of 5.00s",
    );
    let absurd = r"HTTP/1.1 429 X\nRetry-After: 99999999999999999999\n\n";
    gives_up("--deadline 2s", absurd, "", "left of the deadline of 2.00s");
    gives_up("", absurd, "", "more than --retry-after-max 5m 0s");
}

#[test]
fn a_wait_above_the_longest_that_is_allowed_ends_the_run_at_once() {
    let head = r"HTTP/1.1 429 X\nRetry-After: 9\n\n";
    gives_up(
        "--retry-after-max 8s",
        head,
        "9.00s",
        "more than --retry-after-max 8.00s",
    );
    gives_up(
        "--retry-after-max 0",
        head,
        "9.00s",
        "more than --retry-after-max 0ms",
    );
    let none = r"HTTP/1.1 429 X\nRetry-After: 0\n\n";
    waits("--retry-after-max 0", none, 10, "10ms");
    let half = r"HTTP/1.1 429 X\nRetry-After: 0.5\n\n";
    waits(
        "--retry-after-max 500ms",
        half,
        500,
        "500ms (the server asks for 500ms)",
    );
    // Our own delay is longer.
    waits(
        "--retry-after-max 400ms --base 1s --cap 1s",
        half,
        1000,
        "1.00s",
    );
}

#[test]
fn in_quiet_we_wait_in_silence() {
    let done = answered("-q", r"HTTP/1.1 429 X\nRetry-After: 1\n\n");
    done.took_at_least(ms(1000));
    assert_eq!(done.stderr, "");
}

#[test]
fn a_signal_ends_the_wait_for_a_server() {
    let options = format!("{FAST} --retry-after output");
    let script = "printf 'HTTP/1.1 429 X\\nRetry-After: 60\\n\\n'; exit 22";
    let mut running = Sandbox::new().retry_sh(&options, script).spawn();
    running.await_stderr("next in 1m 0s").signal(SIGTERM);
    running.wait().dies_of(SIGTERM).took_less_than(AT_ONCE);
}

/// The delays of three attempts at a script, with heads looked for in the file `head`, in which
/// there is one that asks for twice as long already.
#[track_caller]
fn delays_by_file(script: &str) -> Vec<String> {
    let sandbox = Sandbox::new();
    let stale = "HTTP/1.1 429 X\nRetry-After: 0.6\n\n";
    std::fs::write(sandbox.path("head"), stale).expect("a file");
    let options = format!("{FAST} -a 3 --retry-after @head");
    let prelude = "asks() { printf 'HTTP/1.1 429 X\\r\\nRetry-After: %s\\r\\n\\r\\n' $1; }";
    let script = format!("{prelude}; {script}; exit 22");
    let done = sandbox.retry_sh(&options, &script).run();
    done.exits(22);
    let delays = announced(&done).into_iter();
    delays
        .map(|delay| delay.split(' ').next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_head_in_a_file_counts_if_the_attempt_has_written_it() {
    let first =
        |script: &str| delays_by_file(&format!("[ $RETRY_ATTEMPT != 1 ] || {{ {script}; }}"));
    assert_eq!(first(":"), ["10ms", "10ms"]);
    assert_eq!(first("asks 0.3 >head"), ["300ms", "10ms"]);
    assert_eq!(first("asks 0.3 >new; mv new head"), ["300ms", "10ms"]);
    assert_eq!(first("cat head >new; cat new >head"), ["600ms", "10ms"]);
    assert_eq!(first("asks 0.3 >>head"), ["300ms", "10ms"]);
    // Only the end of a long one is read.
    assert_eq!(
        first("{ asks 0.3; head -c 2000000 /dev/zero; } >head"),
        ["10ms", "10ms"]
    );
    assert_eq!(
        first("{ head -c 2000000 /dev/zero; echo; asks 0.3; } >head"),
        ["300ms", "10ms"]
    );
    assert_eq!(first("rm head"), ["10ms", "10ms"]);
}

#[test]
fn what_becomes_of_the_file_meanwhile_never_keeps_us_waiting() {
    assert_eq!(delays_by_file("rm -f head; mkfifo head"), ["10ms", "10ms"]);
    assert_eq!(delays_by_file("rm -rf head; mkdir head"), ["10ms", "10ms"]);
    assert_eq!(delays_by_file("ln -sf /dev/zero head"), ["10ms", "10ms"]);
}

/// Checks that a file which is not regular, or which `user` cannot read, is an error, and that
/// nothing is run.
#[track_caller]
fn check_no_file(prepare: &str, user: &str) {
    let script = format!("{prepare}; {user} retry --retry-after @head -- echo ran; echo $?");
    let done = Sandbox::new().bash(&script).run();
    done.stdout_is("125\n").took_less_than(AT_ONCE);
    assert_eq!(done.said().len(), 1, "{done:?}");
    assert!(done.said()[0].contains("'@head'"), "{done:?}");
}

#[test]
fn what_is_no_file_is_an_error_and_never_keeps_us_waiting() {
    check_no_file("mkdir head", "");
    check_no_file("mkfifo head", "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_read_is_an_error_and_not_if_it_comes_to_be_so() {
    // Root can read everything.
    let user = if getuid().is_root() {
        "setpriv --reuid=65534 --regid=65534 --clear-groups"
    } else {
        ""
    };
    check_no_file("chmod 755 .; echo >head; chmod 0 head", user);
    let script = format!(
        "chmod 777 .; {user} retry $FAST -a 2 --retry-after @head -- sh -c 'echo >head; chmod 0 head; exit 7'; echo $?"
    );
    let done = Sandbox::new().bash(&script).run();
    done.exits(0).stdout_is("7\n");
    assert_eq!(announced(&done), ["10ms"]);
    assert!(
        done.stderr.contains("cannot read the --retry-after file"),
        "{done:?}"
    );
}
