use std::ffi::OsString;
use std::time::Duration;

use proptest::prelude::*;
use snapbox::prelude::*;
use snapbox::{assert_data_eq, str};

use super::*;
use crate::cli::{self, Request};
use crate::job::Job;
use crate::patterns::Matched;
use crate::rehearsal::{Rehearsal, Step};
use crate::report::text::Text;
use crate::status::{FaultClass, StartFault};
use crate::units::Shown;

// Transcripts: flags and what the command does go in, lines in virtual time come out.

fn step(outcome: Outcome, millis: u64) -> Step {
    Step {
        takes: Duration::from_millis(millis),
        ending: outcome.into(),
    }
}

fn exits(code: u8) -> Step {
    step(Outcome::Exited(code), 100)
}

fn dies_of(name: &str) -> Step {
    step(
        Outcome::Killed(Signal::from_name(name).expect("a signal")),
        100,
    )
}

fn hangs() -> Step {
    step(Outcome::Exited(0), u64::MAX)
}

fn cannot_start(class: FaultClass) -> Step {
    step(
        Outcome::NotStarted(StartFault {
            class,
            reason: "for a test".into(),
        }),
        0,
    )
}

impl Step {
    fn after(mut self, millis: u64) -> Self {
        self.takes = Duration::from_millis(millis);
        self
    }
}

fn job(flags: &str) -> Job {
    let words = ["retry", "-v"]
        .into_iter()
        .chain(flags.split_whitespace())
        .chain(["--", "cmd"]);
    match cli::alone(words.map(OsString::from)) {
        Ok(Request::Run(job)) => *job,
        other => panic!("{flags} is no job: {other:?}"),
    }
}

/// The lines of a run, each with its virtual time, and how the run exits. Every draw is a half.
fn transcript(flags: &str, mut world: Rehearsal) -> String {
    let job = job(flags);
    let text = Text::new(&job, String::new);
    let mut lines = Vec::new();
    let mut emit = |event: &Event<'_>| {
        let at = match event {
            Event::Starting { at, .. } => *at,
            Event::Ended(ended, _) => ended.total,
            Event::Interrupted { total, .. } => *total,
            _ => return,
        };
        let line = text.line(event).unwrap_or_default();
        let line = line.strip_prefix("cmd: ").unwrap_or(&line);
        let at = Shown(at).to_string();
        lines.push(format!("{at:>6}  {line}"));
    };
    let end = run(&job.policy, &mut world, &mut || 0.5, &mut emit).expect("a virtual world");
    lines.push(match end {
        Exit::Code(code) => format!("exit {code}\n"),
        Exit::Raise(signal) => format!("dies of {signal}\n"),
    });
    lines.concat()
}

#[track_caller]
fn check(flags: &str, steps: Vec<Step>, expected: impl IntoData) {
    assert_data_eq!(
        transcript(flags, Rehearsal::new(steps)),
        expected.into_data().raw()
    );
}

#[track_caller]
fn check_interrupted(flags: &str, steps: Vec<Step>, at_ms: u64, expected: impl IntoData) {
    let term = Signal::from_name("TERM").expect("a signal");
    let world = Rehearsal::new(steps).interrupted(Duration::from_millis(at_ms), term);
    assert_data_eq!(transcript(flags, world), expected.into_data().raw());
}

#[test]
fn a_success_at_first_needs_no_retry() {
    check(
        "",
        vec![exits(0)],
        str![[r#"
   0ms  attempt 1/5 starts
 100ms  succeeded on attempt 1/5 after 100ms
exit 0

"#]],
    );
}

#[test]
fn retries_until_the_command_succeeds() {
    check(
        "--base 1s --jitter none",
        vec![exits(7), exits(7), exits(0)],
        str![[r#"
   0ms  attempt 1/5 starts
 100ms  attempt 1/5 failed: exit 7 after 100ms; next in 1.00s
 1.10s  attempt 2/5 starts
 1.20s  attempt 2/5 failed: exit 7 after 100ms; next in 2.00s
 3.20s  attempt 3/5 starts
 3.30s  succeeded on attempt 3/5 after 3.30s
exit 0

"#]],
    );
}

#[test]
fn gives_up_when_all_attempts_are_made_and_does_not_wait_after_the_last() {
    check(
        "-a 3 --base 1s --jitter none",
        vec![exits(7)],
        str![[r#"
   0ms  attempt 1/3 starts
 100ms  attempt 1/3 failed: exit 7 after 100ms; next in 1.00s
 1.10s  attempt 2/3 starts
 1.20s  attempt 2/3 failed: exit 7 after 100ms; next in 2.00s
 3.20s  attempt 3/3 starts
 3.30s  attempt 3/3 failed: exit 7 after 100ms; giving up after 3.30s
exit 7

"#]],
    );
}

#[test]
fn delays_double_up_to_the_cap() {
    check(
        "-a 6 --base 1s --cap 5s --jitter none",
        vec![exits(1)],
        str![[r#"
   0ms  attempt 1/6 starts
 100ms  attempt 1/6 failed: exit 1 after 100ms; next in 1.00s
 1.10s  attempt 2/6 starts
 1.20s  attempt 2/6 failed: exit 1 after 100ms; next in 2.00s
 3.20s  attempt 3/6 starts
 3.30s  attempt 3/6 failed: exit 1 after 100ms; next in 4.00s
 7.30s  attempt 4/6 starts
 7.40s  attempt 4/6 failed: exit 1 after 100ms; next in 5.00s
 12.4s  attempt 5/6 starts
 12.5s  attempt 5/6 failed: exit 1 after 100ms; next in 5.00s
 17.5s  attempt 6/6 starts
 17.6s  attempt 6/6 failed: exit 1 after 100ms; giving up after 17.6s
exit 1

"#]],
    );
}

#[test]
fn delays_are_drawn_from_below_the_ceiling_by_default() {
    check(
        "-a 4 --base 1s",
        vec![exits(1)],
        str![[r#"
   0ms  attempt 1/4 starts
 100ms  attempt 1/4 failed: exit 1 after 100ms; next in 500ms
 600ms  attempt 2/4 starts
 700ms  attempt 2/4 failed: exit 1 after 100ms; next in 1.00s
 1.70s  attempt 3/4 starts
 1.80s  attempt 3/4 failed: exit 1 after 100ms; next in 2.00s
 3.80s  attempt 4/4 starts
 3.90s  attempt 4/4 failed: exit 1 after 100ms; giving up after 3.90s
exit 1

"#]],
    );
}

#[test]
fn one_attempt_means_no_retry() {
    check(
        "-a 1",
        vec![exits(3)],
        str![[r#"
   0ms  attempt 1/1 starts
 100ms  attempt 1/1 failed: exit 3 after 100ms; giving up after 100ms
exit 3

"#]],
    );
}

#[test]
fn unlimited_attempts_end_with_the_deadline() {
    check(
        "-a inf --base 1s --jitter none --deadline 5s",
        vec![exits(4)],
        str![[r#"
   0ms  attempt 1 starts
 100ms  attempt 1 failed: exit 4 after 100ms; next in 1.00s
 1.10s  attempt 2 starts
 1.20s  attempt 2 failed: exit 4 after 100ms; next in 2.00s
 3.20s  attempt 3 starts
 3.30s  attempt 3 failed: exit 4 after 100ms; giving up after 3.30s: a delay of 4.00s does not fit in the deadline of 5.00s, of which 1.70s is left
exit 4

"#]],
    );
}

#[test]
fn gives_up_at_once_when_the_next_delay_would_pass_the_deadline() {
    check(
        "--deadline 5s --base 2s --jitter none",
        vec![exits(1).after(1000)],
        str![[r#"
   0ms  attempt 1/5 starts
 1.00s  attempt 1/5 failed: exit 1 after 1.00s; next in 2.00s
 3.00s  attempt 2/5 starts
 4.00s  attempt 2/5 failed: exit 1 after 1.00s; giving up after 4.00s: a delay of 4.00s does not fit in the deadline of 5.00s, of which 1.00s is left
exit 1

"#]],
    );
}

#[test]
fn a_delay_that_ends_exactly_at_the_deadline_does_not_fit() {
    check(
        "--deadline 3s --base 2s --jitter none",
        vec![exits(1).after(1000)],
        str![[r#"
   0ms  attempt 1/5 starts
 1.00s  attempt 1/5 failed: exit 1 after 1.00s; giving up after 1.00s: a delay of 2.00s does not fit in the deadline of 3.00s, of which 2.00s is left
exit 1

"#]],
    );
}

#[test]
fn the_reserve_is_kept_for_the_attempt() {
    let flags = "--deadline 5s --reserve 2s --base 2s --backoff constant --jitter none";
    check(
        flags,
        vec![exits(1).after(500)],
        str![[r#"
   0ms  attempt 1/5 starts
 500ms  attempt 1/5 failed: exit 1 after 500ms; next in 2.00s
 2.50s  attempt 2/5 starts
 3.00s  attempt 2/5 failed: exit 1 after 500ms; giving up after 3.00s: a delay of 2.00s and the reserve of 2.00s do not fit in the deadline of 5.00s, of which 2.00s is left
exit 1

"#]],
    );
}

#[test]
fn the_deadline_ends_a_running_attempt() {
    check(
        "--deadline 5s",
        vec![hangs()],
        str![[r#"
   0ms  attempt 1/5 starts
 5.00s  attempt 1/5 failed: timed out after 5.00s; giving up after 5.00s: the deadline of 5.00s is over
exit 124

"#]],
    );
}

#[test]
fn a_time_out_is_retried_after_the_same_delay_as_a_failure() {
    check(
        "-a 2 --timeout 3s --base 1s --jitter none",
        vec![hangs()],
        str![[r#"
   0ms  attempt 1/2 starts
 3.00s  attempt 1/2 failed: timed out after 3.00s; next in 1.00s
 4.00s  attempt 2/2 starts
 7.00s  attempt 2/2 failed: timed out after 3.00s; giving up after 7.00s
exit 124

"#]],
    );
}

#[test]
fn the_shorter_of_both_time_limits_ends_an_attempt() {
    check(
        "--timeout 3s --deadline 5s --base 1s --jitter none",
        vec![hangs()],
        str![[r#"
   0ms  attempt 1/5 starts
 3.00s  attempt 1/5 failed: timed out after 3.00s; next in 1.00s
 4.00s  attempt 2/5 starts
 5.00s  attempt 2/5 failed: timed out after 1.00s; giving up after 5.00s: the deadline of 5.00s is over
exit 124

"#]],
    );
}

#[test]
fn only_listed_codes_are_retried() {
    check(
        "--retry-on 2,75 --base 1s --jitter none",
        vec![exits(75), exits(1)],
        str![[r#"
   0ms  attempt 1/5 starts
 100ms  attempt 1/5 failed: exit 75 after 100ms; next in 1.00s
 1.10s  attempt 2/5 starts
 1.20s  attempt 2/5 failed: exit 1 after 100ms; giving up after 1.20s: not retryable: exit 1 is not in --retry-on 2,75
exit 1

"#]],
    );
}

#[test]
fn stop_beats_retry() {
    check(
        "--retry-on any --stop-on 2,64-78",
        vec![exits(64)],
        str![[r#"
   0ms  attempt 1/5 starts
 100ms  attempt 1/5 failed: exit 64 after 100ms; giving up after 100ms: not retryable: exit 64 is in --stop-on 2,64-78
exit 64

"#]],
    );
}

#[test]
fn a_listed_success_exits_0() {
    check(
        "--success-on 24 --base 1s --jitter none",
        vec![exits(23), exits(24)],
        str![[r#"
   0ms  attempt 1/5 starts
 100ms  attempt 1/5 failed: exit 23 after 100ms; next in 1.00s
 1.10s  attempt 2/5 starts
 1.20s  succeeded on attempt 2/5 after 1.20s: exit 24 is in --success-on 24
exit 0

"#]],
    );
}

#[test]
fn success_beats_retry_when_both_list_the_status() {
    check(
        "--retry-on 23,24 --success-on 24",
        vec![exits(24)],
        str![[r#"
   0ms  attempt 1/5 starts
 100ms  succeeded on attempt 1/5 after 100ms: exit 24 is in --success-on 24
exit 0

"#]],
    );
}

#[test]
fn a_time_out_that_no_list_names_says_which_word_to_add() {
    check(
        "--timeout 1s --retry-on 1-255",
        vec![hangs()],
        str![[r#"
   0ms  attempt 1/5 starts
 1.00s  attempt 1/5 failed: timed out after 1.00s; giving up after 1.00s: not retryable: a time-out is not in --retry-on 1-255; add timeout to retry it
exit 124

"#]],
    );
}

#[test]
fn a_time_out_named_in_the_list_is_retried() {
    check(
        "-a 2 --timeout 1s --retry-on 2,timeout --base 1s --jitter none",
        vec![hangs()],
        str![[r#"
   0ms  attempt 1/2 starts
 1.00s  attempt 1/2 failed: timed out after 1.00s; next in 1.00s
 2.00s  attempt 2/2 starts
 3.00s  attempt 2/2 failed: timed out after 1.00s; giving up after 3.00s
exit 124

"#]],
    );
}

#[test]
fn a_time_out_is_never_a_success() {
    check(
        "-a 1 --timeout 1s --success-on 0-255",
        vec![hangs()],
        str![[r#"
   0ms  attempt 1/1 starts
 1.00s  attempt 1/1 failed: timed out after 1.00s; giving up after 1.00s
exit 124

"#]],
    );
}

#[test]
fn death_by_a_signal_is_retried_and_ends_in_the_same_signal() {
    check(
        "-a 2 --base 1s --jitter none",
        vec![dies_of("KILL")],
        str![[r#"
   0ms  attempt 1/2 starts
 100ms  attempt 1/2 failed: killed by SIGKILL after 100ms; next in 1.00s
 1.10s  attempt 2/2 starts
 1.20s  attempt 2/2 failed: killed by SIGKILL after 100ms; giving up after 1.20s
dies of SIGKILL

"#]],
    );
}

#[test]
fn what_the_user_or_a_closed_pipe_ended_is_not_retried() {
    for (name, status) in [("INT", "SIGINT"), ("QUIT", "SIGQUIT"), ("PIPE", "SIGPIPE")] {
        let lines = transcript("", Rehearsal::new(vec![dies_of(name)]));
        assert!(
            lines.contains(&format!(
                "death by {status} is retried only if --retry-on names it"
            )),
            "{lines}"
        );
        assert!(lines.ends_with(&format!("dies of {status}\n")), "{lines}");
        let lines = transcript(
            &format!("-a 2 --retry-on {name}"),
            Rehearsal::new(vec![dies_of(name)]),
        );
        assert!(lines.contains("attempt 2/2 starts"), "{lines}");
    }
}

#[test]
fn a_command_that_does_not_exist_is_tried_once_whatever_the_lists_say() {
    check(
        "--retry-on any,spawn",
        vec![cannot_start(FaultClass::NotFound)],
        str![[r#"
   0ms  attempt 1/5 starts
   0ms  cannot run: for a test (not in PATH; if it is a shell function: export -f cmd; retry -- bash -c 'cmd "$@"' cmd ...)
exit 127

"#]],
    );
}

#[test]
fn a_shortage_that_may_pass_is_retried() {
    check(
        "-a 2 --base 1s --jitter none",
        vec![cannot_start(FaultClass::Shortage)],
        str![[r#"
   0ms  attempt 1/2 starts
   0ms  attempt 1/2 failed: cannot run: for a test; next in 1.00s
 1.00s  attempt 2/2 starts
 1.00s  attempt 2/2 failed: cannot run: for a test; giving up after 1.00s
exit 125

"#]],
    );
}

#[test]
fn a_start_fault_that_no_list_names_says_which_word_to_add() {
    check(
        "--retry-on 125",
        vec![cannot_start(FaultClass::Shortage)],
        str![[r#"
   0ms  attempt 1/5 starts
   0ms  attempt 1/5 failed: cannot run: for a test; giving up after 0ms: not retryable: a failed start is not in --retry-on 125; add spawn to retry it
exit 125

"#]],
    );
}

#[test]
fn a_signal_during_a_delay_ends_everything() {
    check_interrupted(
        "--base 10s --jitter none",
        vec![exits(1)],
        3000,
        str![[r#"
   0ms  attempt 1/5 starts
 100ms  attempt 1/5 failed: exit 1 after 100ms; next in 10.0s
 3.00s  stopped by SIGTERM after attempt 1/5, 3.00s in
dies of SIGTERM

"#]],
    );
}

#[test]
fn a_signal_during_an_attempt_ends_the_retrying() {
    check_interrupted(
        "--base 1s --jitter none",
        vec![exits(1), hangs()],
        3000,
        str![[r#"
   0ms  attempt 1/5 starts
 100ms  attempt 1/5 failed: exit 1 after 100ms; next in 1.00s
 1.10s  attempt 2/5 starts
 3.00s  stopped by SIGTERM during attempt 2/5: killed by SIGTERM after 1.90s
dies of SIGTERM

"#]],
    );
}

#[test]
fn a_process_that_cannot_be_ended_has_no_attempt_beside_it() {
    let mut stuck = step(Outcome::TimedOut, 300);
    stuck.ending.left_behind = Some(4711);
    check(
        "",
        vec![stuck],
        str![[r#"
   0ms  attempt 1/5 starts
 300ms  attempt 1/5 failed: timed out after 300ms; giving up after 300ms: process 4711 could not be ended and is left behind, so no attempt may start beside it
exit 124

"#]],
    );
}

#[test]
fn input_that_is_lost_ends_the_retrying_when_nothing_else_does() {
    let eats = |step: Step| {
        let mut eats = step;
        eats.ending.input_eaten = true;
        eats
    };
    check(
        "-a 3 --base 0",
        vec![exits(7), eats(exits(8))],
        str![[r#"
   0ms  attempt 1/3 starts
 100ms  attempt 1/3 failed: exit 7 after 100ms; next in 0ms
 100ms  attempt 2/3 starts
 200ms  attempt 2/3 failed: exit 8 after 100ms; giving up after 200ms: stdin: input already read from the pipe is lost; use --stdin replay to repeat it, null if none is needed, or inherit to retry without it
exit 8

"#]],
    );
    for (flags, reason) in [
        ("-a 1", "giving up after 100ms\nexit 7\n"),
        (
            "--stop-on 7",
            ": not retryable: exit 7 is in --stop-on 7\nexit 7\n",
        ),
        (
            "--success-on 7",
            "succeeded on attempt 1/5 after 100ms: exit 7 is in --success-on 7\nexit 0\n",
        ),
    ] {
        let lines = transcript(flags, Rehearsal::new(vec![eats(exits(7))]));
        assert!(lines.ends_with(reason), "{flags}: {lines}");
    }
}

#[test]
fn output_that_could_not_be_delivered_ends_the_run_as_a_time_limit_does() {
    let mut stuck = exits(0);
    stuck.ending.undelivered = true;
    check(
        "--deadline 100ms",
        vec![stuck],
        str![[r#"
   0ms  attempt 1/5 starts
 100ms  attempt 1/5 failed: exit 0 after 100ms; giving up after 100ms: undelivered: not all of its output was read by the deadline of 100ms
exit 124

"#]],
    );
}

#[test]
fn a_child_that_handles_our_signal_decides_the_status_and_is_not_retried() {
    for (code, exit) in [(0, "exit 0\n"), (9, "exit 9\n")] {
        let mut handled = exits(code);
        handled.ending.interrupted = Signal::from_name("TERM");
        let lines = transcript("", Rehearsal::new(vec![handled]));
        assert!(
            lines.ends_with(exit) && !lines.contains("attempt 2"),
            "{lines}"
        );
    }
}

impl Step {
    /// The same, with a server that asks to wait.
    fn asked(mut self, wait: Duration) -> Self {
        self.ending.server_wait = Some(wait);
        self
    }

    /// The same, with output that holds the first pattern of these options.
    fn saying(mut self, options: &str) -> Self {
        let found = |option| options.contains(option).then_some(0);
        self.ending.matched = Matched {
            retry_if: found("retry"),
            stop_if: found("stop"),
            success_if: found("success"),
            fail_if: found("fail"),
        };
        self
    }
}

/// How the first attempt is judged, given these flags: what its line says behind the first `;`, or
/// behind the number, and how a run of two attempts exits.
#[track_caller]
fn judges(flags: &str, step: Step, expected: &str) {
    let lines = transcript(
        &format!("-a 2 --base 1s --jitter none {flags}"),
        Rehearsal::new(vec![step]),
    );
    let first = lines.lines().nth(1).unwrap_or_default();
    let verdict = if first.contains("succeeded") {
        first.split_once(": ").map_or("succeeded", |(_, why)| why)
    } else if first.contains("; next in") {
        "retried"
    } else {
        first
            .split_once("not retryable: ")
            .map_or(first, |(_, why)| why)
    };
    let exit = lines.lines().last().unwrap_or_default();
    assert_eq!(format!("{verdict}; {exit}"), expected, "{flags}: {lines}");
}

const RETRIED_1: &str = "retried; exit 1";

#[test]
fn output_makes_a_success_of_any_ending_of_the_command_itself() {
    let why = "exit 9, and the output matches --success-if 'x'; exit 0";
    judges("--success-if x", exits(9).saying("success"), why);
    let why = "death by SIGKILL, and the output matches --success-if 'x'; exit 0";
    judges("--success-if x", dies_of("KILL").saying("success"), why);
    judges("--success-if x", exits(9), "retried; exit 9");
    judges(
        "--timeout 1s --success-if x",
        hangs().saying("success"),
        "retried; exit 124",
    );
    judges("--success-if x", exits(0), "succeeded; exit 0");
}

#[test]
fn output_makes_a_failure_of_any_status_and_needs_no_list() {
    judges("--fail-if x", exits(0).saying("fail"), RETRIED_1);
    judges("--fail-if x", exits(3).saying("fail"), "retried; exit 3");
    judges(
        "--fail-if x --retry-on 9",
        exits(0).saying("fail"),
        RETRIED_1,
    );
    judges(
        "--fail-if x --retry-if y",
        exits(0).saying("fail"),
        RETRIED_1,
    );
    judges(
        "--fail-if x --success-on 24",
        exits(24).saying("fail"),
        "retried; exit 24",
    );
    judges(
        "--fail-if x --success-if y",
        exits(0).saying("fail success"),
        RETRIED_1,
    );
    judges("--fail-if x", exits(0), "succeeded; exit 0");
}

#[test]
fn what_stops_wins_over_everything() {
    let why = "the output matches --stop-if 'x'";
    judges(
        "--stop-if x",
        exits(3).saying("stop"),
        &format!("{why}; exit 3"),
    );
    judges(
        "--stop-if x --retry-if y",
        exits(3).saying("stop retry"),
        &format!("{why}; exit 3"),
    );
    judges(
        "--stop-if x --fail-if y",
        exits(0).saying("stop fail"),
        &format!("{why}; exit 1"),
    );
    let why = "exit 0 is in --stop-on 0; exit 1";
    judges("--stop-on 0 --fail-if y", exits(0).saying("fail"), why);
    judges("--stop-if x", exits(0).saying("stop"), "succeeded; exit 0");
}

#[test]
fn a_list_and_a_pattern_must_both_hold() {
    let flags = "--retry-on 255 --retry-if x";
    let missing = "no line of the output matches --retry-if";
    judges(flags, exits(255).saying("retry"), "retried; exit 255");
    judges(flags, exits(255), &format!("{missing}; exit 255"));
    judges(
        flags,
        exits(1).saying("retry"),
        "exit 1 is not in --retry-on 255; exit 1",
    );
    judges("--retry-if x", exits(1).saying("retry"), RETRIED_1);
    judges("--retry-if x", exits(1), &format!("{missing}; exit 1"));
}

#[test]
fn what_was_cut_short_and_is_named_needs_no_output() {
    let missing = "no line of the output matches --retry-if";
    for word in ["timeout", "any,timeout"] {
        let flags = format!("--timeout 1s --retry-if x --retry-on {word}");
        judges(&flags, hangs(), "retried; exit 124");
    }
    for word in ["signal", "KILL", "kill,9"] {
        let flags = format!("--retry-if x --retry-on {word}");
        judges(&flags, dies_of("KILL"), "retried; dies of SIGKILL");
    }
    for word in ["any", "137", "100-200"] {
        let flags = format!("--retry-if x --retry-on {word}");
        judges(
            &flags,
            dies_of("KILL"),
            &format!("{missing}; dies of SIGKILL"),
        );
    }
    judges(
        "--retry-if x --retry-on spawn",
        cannot_start(FaultClass::Busy),
        "retried; exit 126",
    );
    let remedy = "; --retry-on any,timeout retries a time-out whatever it said; exit 124";
    judges(
        "--timeout 1s --retry-if x",
        hangs(),
        &format!("{missing}{remedy}"),
    );
}

#[test]
fn a_death_that_somebody_asked_for_needs_its_name_whatever_the_output() {
    let why = "death by SIGINT is retried only if --retry-on names it; dies of SIGINT";
    judges("--fail-if x", dies_of("INT").saying("fail"), why);
    judges("--retry-if x", dies_of("INT").saying("retry"), why);
    let flags = "--retry-on INT --retry-if x";
    judges(flags, dies_of("INT"), "retried; dies of SIGINT");
}

#[test]
fn a_server_that_names_its_wait_is_obeyed_and_asked_only_once() {
    let secs = Duration::from_secs;
    check(
        "-a 4 --base 1s --cap 2s --retry-after output",
        vec![
            exits(22).asked(secs(30)),
            exits(22),
            exits(22).asked(secs(0)),
            exits(0),
        ],
        str![[r#"
   0ms  attempt 1/4 starts
 100ms  attempt 1/4 failed: exit 22 after 100ms; next in 31.5s (the server asks for 30.0s)
 31.6s  attempt 2/4 starts
 31.7s  attempt 2/4 failed: exit 22 after 100ms; next in 1.00s
 32.7s  attempt 3/4 starts
 32.8s  attempt 3/4 failed: exit 22 after 100ms; next in 1.00s
 33.8s  attempt 4/4 starts
 33.9s  succeeded on attempt 4/4 after 33.9s
exit 0

"#]],
    );
}

#[test]
fn without_jitter_the_delay_is_the_longer_of_ours_and_the_servers() {
    let asked = |millis| vec![exits(22).asked(Duration::from_millis(millis))];
    let flags = "-a 2 --base 2s --jitter none --retry-after output";
    for (millis, line) in [
        (1000, "next in 2.00s\n"),
        (2000, "next in 2.00s\n"),
        (2500, "next in 2.50s (the server asks for 2.50s)\n"),
    ] {
        let lines = transcript(flags, Rehearsal::new(asked(millis)));
        assert!(lines.contains(line), "{lines}");
    }
}

#[test]
fn where_the_servers_wait_fits_in_the_deadline_the_random_part_is_cut_at_what_is_left() {
    let first = |flags: &str, secs| {
        let asked = vec![exits(22).asked(Duration::from_secs(secs))];
        let flags = format!("-a 2 --retry-after output {flags}");
        let lines = transcript(&flags, Rehearsal::new(asked));
        let line = lines.lines().nth(1).expect("a failure").to_owned();
        line.split_once("; ").expect("what comes next").1.to_owned()
    };
    let asked = " (the server asks for 10.0s)";
    // Of each range the middle is drawn, and the attempt takes 100 ms.
    for (flags, delay) in [
        // 10 s and a second.
        ("--base 1s", "10.5s"),
        ("--base 1s --deadline 12s", "10.5s"),
        ("--base 1s --deadline 11.1s", "10.5s"),
        // Of which there are 800 ms, 400 ms, 4 ms.
        ("--base 1s --deadline 10.9s", "10.4s"),
        ("--base 1s --deadline 10.9s --reserve 400ms", "10.2s"),
        ("--base 1s --deadline 20.104s --reserve 10s", "10.0s"),
        // 10 s and twenty, of which there are two.
        ("--base 20s --deadline 12.1s", "11.0s"),
        ("--base 1s --jitter none --deadline 10.101s", "10.0s"),
    ] {
        assert_eq!(
            first(flags, 10),
            format!("next in {delay}{asked}"),
            "{flags}"
        );
    }
    // A fixed part that is longer than the server's wait is not cut.
    assert_eq!(
        first("--base 22s --jitter equal --deadline 12.1s", 10),
        "next in 11.5s"
    );
    for flags in [
        "--base 1s --deadline 10.1s",
        "--base 1s --deadline 10.9s --reserve 801ms",
        "--base 24s --jitter equal --deadline 12.1s",
        "--base 1s --jitter none --deadline 10.1s",
    ] {
        let line = first(flags, 10);
        assert!(line.contains("in the deadline of"), "{flags}: {line}");
    }
    // A delay of our own is drawn anew by nobody: it fits or it does not.
    let own = transcript(
        "-a 2 --base 40s --cap 40s --deadline 12s",
        Rehearsal::new(vec![exits(22)]),
    );
    assert!(
        own.contains("does not fit in the deadline of 12.0s"),
        "{own}"
    );
    let more = first("--base 1s --deadline 400s --retry-after-max 5m", 301);
    assert!(more.contains("more than --retry-after-max 5m 0s"), "{more}");
}

#[test]
fn each_retry_takes_one_draw_whatever_the_server_says() {
    let delays = |asked: &[Option<u64>]| {
        let step = |asked: &Option<u64>| match asked {
            Some(secs) => exits(22).asked(Duration::from_secs(*secs)),
            None => exits(22),
        };
        let steps = asked.iter().map(step).collect();
        let mut draws = [0.1, 0.2, 0.3, 0.4].into_iter();
        let mut delays = Vec::new();
        let policy = job("-a 4 --base 8s --cap 8s --backoff constant --retry-after output").policy;
        let mut draw = || draws.next().expect("one draw an attempt");
        let mut emit = |event: &Event<'_>| {
            if let Event::Ended(_, Decision::Retry { delay, .. }) = event {
                delays.push(delay.as_millis());
            }
        };
        run(&policy, &mut Rehearsal::new(steps), &mut draw, &mut emit).expect("no error");
        delays
    };
    assert_eq!(delays(&[None, None, None, None]), [800, 1600, 2400]);
    assert_eq!(
        delays(&[Some(30), None, Some(0), None]),
        [30_800, 1600, 2400]
    );
    assert_eq!(delays(&[None, Some(100), None, None]), [800, 102_000, 2400]);
}

#[test]
fn a_server_that_asks_for_too_much_ends_the_run_at_once() {
    let asked = |secs| vec![exits(22).asked(Duration::from_secs(secs))];
    let ends_with = |flags: &str, secs, line: &str| {
        let lines = transcript(
            &format!("--jitter none --retry-after output {flags}"),
            Rehearsal::new(asked(secs)),
        );
        assert!(lines.ends_with(&format!("{line}\nexit 22\n")), "{lines}");
    };
    let end = "attempt 1/5 failed: exit 22 after 100ms; giving up after 100ms: retry-after: the server asks for";
    ends_with(
        "",
        86_400,
        &format!("{end} 24h 0m, more than --retry-after-max 5m 0s"),
    );
    ends_with(
        "--retry-after-max 1m",
        61,
        &format!("{end} 1m 1s, more than --retry-after-max 1m 0s"),
    );
    let line = format!(
        "{end} 24h 0m, and a delay of 24h 0m does not fit in the deadline of 5.00s, of which 4.90s is left"
    );
    ends_with("--deadline 5s", 86_400, &line);
    ends_with(
        "--retry-after-max 0 --base 1m",
        1,
        &format!("{end} 1.00s, more than --retry-after-max 0ms"),
    );
    let patient = transcript(
        "-a 2 --jitter none --base 10m --retry-after output",
        Rehearsal::new(asked(301)),
    );
    assert!(patient.contains("next in 10m 0s\n"), "{patient}");
}

/// A world that notes what it is asked to do. Every attempt exits 7 but the last.
struct Listener {
    heard: Vec<String>,
    attempts: u64,
    hook: Option<Ending>,
    token: Token,
    deeds: Vec<Deed>,
    /// What ends the run while output is handed on.
    breaks: Option<Cut>,
}

impl World for Listener {
    fn now(&self) -> Duration {
        Duration::ZERO
    }
    fn attempt(&mut self, attempt: &Attempt<'_>, _: &mut Emit<'_>) -> Result<Ending> {
        let last = attempt.last.map_or_else(String::new, Outcome::last_status);
        self.heard.push(format!("{} '{last}'", attempt.number));
        let code = if attempt.number < self.attempts { 7 } else { 0 };
        Ok(Outcome::Exited(code).into())
    }
    fn deliver(&mut self, success: bool, _: &mut Emit<'_>) -> Result<Option<Cut>> {
        let whose = if success { "success" } else { "failure" };
        self.heard.push(format!("output of a {whose}"));
        Ok(self.breaks)
    }
    fn settle(&mut self, deed: Deed, _: &mut Emit<'_>) -> Result<Token> {
        self.deeds.push(deed);
        Ok(self.token)
    }
    fn pause(&mut self, _: Duration, _: &mut Emit<'_>) -> Result<Option<Signal>> {
        self.heard.push("delay".into());
        Ok(None)
    }
    fn prepare(&mut self, retry: &Attempt<'_>, _: &mut Emit<'_>) -> Result<Option<Ending>> {
        let last = retry.last.map_or_else(String::new, Outcome::last_status);
        if self.hook.is_some() {
            self.heard.push(format!("before {} '{last}'", retry.number));
        }
        Ok(self.hook.clone())
    }
}

impl Listener {
    /// Runs in this world, and tells how it exits, what was heard and what was said.
    fn listen(
        flags: &str,
        hook: Option<Ending>,
        breaks: Option<Cut>,
    ) -> (Exit, Vec<String>, String) {
        let mut listener = Self {
            heard: Vec::new(),
            attempts: 3,
            hook,
            token: Token::Granted,
            deeds: Vec::new(),
            breaks,
        };
        let job = job(flags);
        let text = Text::new(&job, String::new);
        let mut said = String::new();
        let mut emit = |event: &Event<'_>| said.extend(text.line(event));
        let ends = run(&job.policy, &mut listener, &mut || 0.5, &mut emit);
        (ends.expect("a virtual world"), listener.heard, said)
    }
}

#[test]
fn the_world_is_told_the_number_of_the_attempt_and_the_last_outcome() {
    let (exit, heard, _) = Listener::listen("-a 3", None, None);
    assert_eq!(exit, Exit::Code(0));
    let failure = "output of a failure";
    let expected = [
        "1 ''",
        failure,
        "delay",
        "2 '7'",
        failure,
        "delay",
        "3 '7'",
        "output of a success",
    ];
    assert_eq!(heard, expected);
}

#[test]
fn what_is_to_run_before_a_retry_runs_after_the_delay() {
    let (exit, heard, _) = Listener::listen("-a 3", Some(Outcome::Exited(0).into()), None);
    assert_eq!(exit, Exit::Code(0));
    assert_eq!(&heard[2..5], ["delay", "before 2 '7'", "2 '7'"]);
}

#[test]
fn no_retry_comes_after_a_hook_that_failed_and_the_status_is_that_of_the_attempt() {
    for outcome in [Outcome::Exited(3), Outcome::TimedOut] {
        let (exit, heard, said) = Listener::listen("-a 3", Some(outcome.clone().into()), None);
        assert_eq!(exit, Exit::Code(7));
        assert_eq!(heard.len(), 4, "{heard:?}");
        assert!(
            said.contains(&format!("--before-retry failed: {outcome}")),
            "{said}"
        );
    }
}

/// A hook that the system cannot start, for a reason of this kind.
fn unstarted(class: FaultClass) -> Ending {
    cannot_start(class).ending
}

#[test]
fn a_hook_that_cannot_start_for_a_shortage_uses_up_an_attempt_and_is_tried_again() {
    for class in [FaultClass::Shortage, FaultClass::Busy] {
        let (exit, heard, said) = Listener::listen("-a 3", Some(unstarted(class)), None);
        // Not its own status counts, nor that of the attempt that it was: the command has not run.
        assert_eq!(exit, Exit::Code(7));
        let failure = "output of a failure";
        let expected = [
            "1 ''",
            failure,
            "delay",
            "before 2 '7'",
            failure,
            "delay",
            "before 3 '7'",
            failure,
        ];
        assert_eq!(heard, expected);
        let failed = "failed: cannot run: --before-retry: for a test; next in";
        assert!(said.contains(&format!("attempt 2/3 {failed}")), "{said}");
        let failed = "failed: cannot run: --before-retry: for a test; giving up";
        assert!(said.contains(&format!("attempt 3/3 {failed}")), "{said}");
    }
}

#[test]
fn a_hook_that_can_never_start_ends_the_run() {
    for class in [FaultClass::NotFound, FaultClass::NotExecutable] {
        let (exit, heard, said) = Listener::listen("-a 3", Some(unstarted(class)), None);
        assert_eq!((exit, heard.len()), (Exit::Code(7), 4));
        assert!(said.contains("--before-retry failed: cannot run"), "{said}");
    }
}

#[test]
fn lists_decide_about_a_hook_that_cannot_start_as_about_a_command() {
    let hook = || Some(unstarted(FaultClass::Shortage));
    for flags in ["-a 3 --retry-on 7", "-a 3 --stop-on spawn"] {
        let (exit, heard, _) = Listener::listen(flags, hook(), None);
        assert_eq!((exit, heard.len()), (Exit::Code(7), 5), "{flags}");
    }
    let (exit, heard, _) = Listener::listen("-a 3 --retry-on 7,spawn", hook(), None);
    assert_eq!((exit, heard.len()), (Exit::Code(7), 8));
}

#[test]
fn a_signal_during_the_hook_is_one_during_the_delay() {
    let hook = Ending {
        interrupted: Some(Signal::INT),
        ..Outcome::Exited(0).into()
    };
    let (exit, heard, _) = Listener::listen("-a 3", Some(hook), None);
    assert_eq!(exit, Exit::Raise(Signal::INT));
    assert_eq!(heard.len(), 4, "{heard:?}");
}

#[test]
fn only_retries_take_tokens_and_only_successes_give_back() {
    let mut listener = Listener {
        heard: Vec::new(),
        attempts: 3,
        hook: None,
        token: Token::Granted,
        deeds: Vec::new(),
        breaks: None,
    };
    let job = job("-a 9");
    run(&job.policy, &mut listener, &mut || 0.5, &mut |_| {}).expect("a virtual world");
    assert_eq!(listener.deeds, [Deed::Take, Deed::Take, Deed::Reward]);
    listener = Listener {
        heard: Vec::new(),
        attempts: 9,
        token: Token::Refused,
        deeds: Vec::new(),
        ..listener
    };
    let exit = run(&job.policy, &mut listener, &mut || 0.5, &mut |_| {}).expect("a virtual world");
    assert_eq!(
        (exit, listener.deeds.as_slice()),
        (Exit::Code(7), [Deed::Take].as_slice())
    );
    assert_eq!(listener.heard, ["1 ''", "output of a failure"]);
}

#[test]
fn a_reader_that_is_gone_ends_the_run_without_a_word() {
    let (exit, heard, said) = Listener::listen("-q -a 1", None, Some(Cut::Signal(Signal::PIPE)));
    assert_eq!(exit, Exit::Raise(Signal::PIPE));
    assert_eq!((heard.len(), said.as_str()), (2, ""));
}

#[test]
fn a_success_that_was_not_handed_on_in_time_is_none() {
    let (exit, heard, _) = Listener::listen("-a 1", None, Some(Cut::Deadline));
    assert_eq!((exit, heard.len()), (Exit::Code(124), 2));
}

proptest! {
    #[test]
    fn attempts_and_deadline_bound_every_run(
        attempts in 1..20_u64,
        deadline_ms in 1..5000_u64,
        reserve in 0..100_u64,
        base_ms in 0..2000_u64,
        takes_ms in 0..1000_u64,
        us in prop::collection::vec(0.0..1.0, 20),
    ) {
        let reserve_ms = (deadline_ms * reserve / 100).min(deadline_ms - 1);
        let flags = format!(
            "-a {attempts} --deadline {deadline_ms}ms --reserve {reserve_ms}ms --base {base_ms}ms"
        );
        let deadline = Duration::from_millis(deadline_ms);
        let mut world = Rehearsal::new(vec![exits(1).after(takes_ms)]);
        let (mut starts, mut draws) = (Vec::new(), us.iter().copied().cycle());
        let mut emit = |event: &Event<'_>| {
            if let Event::Starting { at, .. } = event {
                starts.push(*at);
            }
        };
        run(&job(&flags).policy, &mut world, &mut || draws.next().unwrap_or(0.5), &mut emit).expect("a virtual world");
        prop_assert!(starts.len() as u64 <= attempts);
        prop_assert!(starts.iter().all(|start| *start < deadline));
        let reserve = Duration::from_millis(reserve_ms);
        prop_assert!(starts[1..].iter().all(|start| *start + reserve <= deadline));
        prop_assert!(world.now() <= deadline);
    }
}
