mod output;
mod world;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use snapbox::assert_data_eq;
use snapbox::data::{Data, DataFormat};

use super::*;
use crate::cli::{self, Request};
use crate::duration::{self, Shown};
use crate::job::Job;
use crate::report::style::Style;
use crate::report::text::Text;
use crate::signal::Signal;
use crate::simulation::{Script, Step};
use crate::status::{FaultClass, Outcome, StartFault};

// Transcripts: flags and the command's behaviour go in, lines in virtual time come out.

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

/// Returns the lines of a run, each with its virtual time, and how the run exits. Every draw is
/// 0.5.
fn transcript(flags: &str, mut world: Script) -> String {
    let job = job(flags);
    let text = Text::new(&job, Style::plain(String::new));
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

/// Parses a step of a transcript: `exits 7 after 500ms`, `hangs`, `is killed by SIGKILL`,
/// `cannot start: not found`, `times out after 300ms`; anything else about it follows a comma.
fn step_in_words(words: &str) -> Step {
    let (does, more) = words.split_once(", ").unwrap_or((words, ""));
    let (does, takes) = match does.split_once(" after ") {
        Some((does, takes)) => (does, Some(from_nanos(takes))),
        None => (does, None),
    };
    let mut step = match does.split_once(' ').unwrap_or((does, "")) {
        ("exits", code) => exits(code.parse().expect("a code")),
        ("hangs", "") => hangs(),
        ("times", "out") => step(Outcome::TimedOut, 0),
        ("is", killed) => dies_of(killed.strip_prefix("killed by ").expect("a signal")),
        ("cannot", "start: not found") => cannot_start(FaultClass::NotFound),
        ("cannot", "start: shortage") => cannot_start(FaultClass::Shortage),
        _ => panic!("what is '{words}'?"),
    };
    step.takes = takes.unwrap_or(step.takes);
    let ending = &mut step.ending;
    match more.rsplit_once(' ').unwrap_or((more, "")) {
        ("", "") => {}
        ("asks for", wait) => ending.server_wait = Some(from_nanos(wait)),
        ("leaves process", pid) => ending.left_behind = Some(pid.parse().expect("a number")),
        ("has read its", "input") => ending.input_lost = true,
        ("is not read in", "time") => ending.undelivered = true,
        _ => panic!("what is '{more}'?"),
    }
    step
}

fn from_nanos(words: &str) -> Duration {
    duration::parse_duration(words).expect("a duration")
}

/// Compares a run with this file of `transcripts`. Its head has the call, after `$`, then what each
/// attempt does, after `#` (the last one repeats), and perhaps a signal to us.
/// `SNAPSHOTS=overwrite cargo test` accepts another transcript.
#[track_caller]
fn check(name: &str) {
    let directory = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/src/engine/transcripts"
    ));
    let file = directory.join(format!("{name}.txt"));
    let expected = Data::read_from(&file, Some(DataFormat::Text)).raw();
    let text = expected.render().unwrap_or_default();
    let (head, _) = text.split_once("\n\n").expect("a head");
    let (call, does) = head.split_once('\n').expect("what the command does");
    let flags = call.strip_prefix("$ retry -v").expect("a call");
    let flags = flags.strip_suffix("-- cmd").expect("a command");
    let (mut steps, mut interruption) = (Vec::new(), None);
    for line in does.lines() {
        let words = line.strip_prefix("# ").expect("what the command does");
        match words.split_once(" at ") {
            Some((signal, at)) => interruption = Some((signal, from_nanos(at))),
            None => steps.push(step_in_words(words)),
        }
    }
    let mut world = Script::new(steps);
    if let Some((signal, at)) = interruption {
        world = world.interrupted(at, Signal::from_name(signal).expect("a signal"));
    }
    assert_data_eq!(format!("{head}\n\n{}", transcript(flags, world)), expected);
}

#[test]
fn no_transcript_is_left_out() {
    let files = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/src/engine/transcripts"
    ));
    for file in files.read_dir().expect("a directory") {
        let path = file.expect("a file").path();
        let name = path.file_stem().and_then(|name| name.to_str());
        let name = name.expect("a name");
        assert!(
            include_str!("tests.rs").contains(&format!("check(\"{name}\")")),
            "{name}"
        );
    }
}

#[test]
fn a_success_at_first_needs_no_retry() {
    check("a_success_at_first_needs_no_retry");
}

#[test]
fn retries_until_the_command_succeeds() {
    check("retries_until_the_command_succeeds");
}

#[test]
fn gives_up_when_all_attempts_are_made_and_does_not_wait_after_the_last() {
    check("gives_up_when_all_attempts_are_made_and_does_not_wait_after_the_last");
}

#[test]
fn delays_double_up_to_the_cap() {
    check("delays_double_up_to_the_cap");
}

#[test]
fn delays_are_drawn_from_below_the_ceiling_by_default() {
    check("delays_are_drawn_from_below_the_ceiling_by_default");
}

#[test]
fn one_attempt_means_no_retry() {
    check("one_attempt_means_no_retry");
}

#[test]
fn unlimited_attempts_end_with_the_deadline() {
    check("unlimited_attempts_end_with_the_deadline");
}

#[test]
fn gives_up_at_once_when_the_next_delay_would_pass_the_deadline() {
    check("gives_up_at_once_when_the_next_delay_would_pass_the_deadline");
}

#[test]
fn a_delay_that_ends_exactly_at_the_deadline_does_not_fit() {
    check("a_delay_that_ends_exactly_at_the_deadline_does_not_fit");
}

#[test]
fn the_reserve_is_kept_for_the_attempt() {
    check("the_reserve_is_kept_for_the_attempt");
}

#[test]
fn the_deadline_ends_a_running_attempt() {
    check("the_deadline_ends_a_running_attempt");
}

#[test]
fn a_time_out_is_retried_after_the_same_delay_as_a_failure() {
    check("a_time_out_is_retried_after_the_same_delay_as_a_failure");
}

#[test]
fn the_shorter_of_both_time_limits_ends_an_attempt() {
    check("the_shorter_of_both_time_limits_ends_an_attempt");
}

#[test]
fn only_listed_codes_are_retried() {
    check("only_listed_codes_are_retried");
}

#[test]
fn stop_beats_retry() {
    check("stop_beats_retry");
}

#[test]
fn a_listed_success_exits_0() {
    check("a_listed_success_exits_0");
}

#[test]
fn success_beats_retry_when_both_list_the_status() {
    check("success_beats_retry_when_both_list_the_status");
}

#[test]
fn a_time_out_that_no_list_names_says_which_word_to_add() {
    check("a_time_out_that_no_list_names_says_which_word_to_add");
}

#[test]
fn a_time_out_named_in_the_list_is_retried() {
    check("a_time_out_named_in_the_list_is_retried");
}

#[test]
fn a_time_out_is_never_a_success() {
    check("a_time_out_is_never_a_success");
}

#[test]
fn death_by_a_signal_is_retried_and_ends_in_the_same_signal() {
    check("death_by_a_signal_is_retried_and_ends_in_the_same_signal");
}

#[test]
fn what_the_user_or_a_closed_pipe_ended_is_not_retried() {
    for (name, status) in [("INT", "SIGINT"), ("QUIT", "SIGQUIT"), ("PIPE", "SIGPIPE")] {
        let lines = transcript("", Script::new(vec![dies_of(name)]));
        assert!(
            lines.contains(&format!(
                "death by {status} is retried only if --retry-on names it"
            )),
            "{lines}"
        );
        assert!(lines.ends_with(&format!("dies of {status}\n")), "{lines}");
        let lines = transcript(
            &format!("-a 2 --retry-on {name}"),
            Script::new(vec![dies_of(name)]),
        );
        assert!(lines.contains("attempt 2/2 starts"), "{lines}");
    }
}

#[test]
fn a_command_that_does_not_exist_is_tried_once_whatever_the_lists_say() {
    check("a_command_that_does_not_exist_is_tried_once_whatever_the_lists_say");
}

#[test]
fn a_shortage_that_may_pass_is_retried() {
    check("a_shortage_that_may_pass_is_retried");
}

#[test]
fn a_start_fault_that_no_list_names_says_which_word_to_add() {
    check("a_start_fault_that_no_list_names_says_which_word_to_add");
}

#[test]
fn a_signal_during_a_delay_ends_everything() {
    check("a_signal_during_a_delay_ends_everything");
}

#[test]
fn a_signal_during_an_attempt_ends_the_retrying() {
    check("a_signal_during_an_attempt_ends_the_retrying");
}

#[test]
fn a_process_that_cannot_be_ended_has_no_attempt_beside_it() {
    check("a_process_that_cannot_be_ended_has_no_attempt_beside_it");
}

#[test]
fn input_that_is_lost_ends_the_retrying_when_nothing_else_does() {
    let eats = |step: Step| {
        let mut eats = step;
        eats.ending.input_lost = true;
        eats
    };
    check("input_that_is_lost_ends_the_retrying_when_nothing_else_does");
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
        let lines = transcript(flags, Script::new(vec![eats(exits(7))]));
        assert!(lines.ends_with(reason), "{flags}: {lines}");
    }
}

#[test]
fn output_that_could_not_be_delivered_ends_the_run_as_a_time_limit_does() {
    check("output_that_could_not_be_delivered_ends_the_run_as_a_time_limit_does");
}

#[test]
fn a_child_that_handles_our_signal_decides_the_status_and_is_not_retried() {
    for (code, exit) in [(0, "exit 0\n"), (9, "exit 9\n")] {
        let mut handled = exits(code);
        handled.ending.interrupted = Signal::from_name("TERM");
        let lines = transcript("", Script::new(vec![handled]));
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
}

#[test]
fn a_server_that_names_its_wait_is_obeyed_and_asked_only_once() {
    check("a_server_that_names_its_wait_is_obeyed_and_asked_only_once");
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
        let lines = transcript(flags, Script::new(asked(millis)));
        assert!(lines.contains(line), "{lines}");
    }
}

#[test]
fn where_the_servers_wait_fits_in_the_deadline_the_random_part_is_cut_at_what_is_left() {
    let first = |flags: &str, secs| {
        let asked = vec![exits(22).asked(Duration::from_secs(secs))];
        let flags = format!("-a 2 --retry-after output {flags}");
        let lines = transcript(&flags, Script::new(asked));
        let line = lines.lines().nth(1).expect("a failure").to_owned();
        line.split_once("; ").expect("what comes next").1.to_owned()
    };
    let asked = " (the server asks for 10.0s)";
    // The middle of each range is drawn, and the attempt takes 100 ms.
    for (flags, delay) in [
        // 10 s plus a spread of a second.
        ("--base 1s", "10.5s"),
        ("--base 1s --deadline 12s", "10.5s"),
        ("--base 1s --deadline 11.1s", "10.5s"),
        // Of the spread, 800 ms, 400 ms and 4 ms fit.
        ("--base 1s --deadline 10.9s", "10.4s"),
        ("--base 1s --deadline 10.9s --reserve 400ms", "10.2s"),
        ("--base 1s --deadline 20.104s --reserve 10s", "10.0s"),
        // 10 s plus a spread of twenty, of which two fit.
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
        assert!(line.contains("left of the deadline of"), "{flags}: {line}");
    }
    // A delay of our own is never drawn again: it fits or it does not.
    let own = transcript(
        "-a 2 --base 40s --cap 40s --deadline 12s",
        Script::new(vec![exits(22)]),
    );
    assert!(own.contains("left of the deadline of 12.0s"), "{own}");
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
        run(&policy, &mut Script::new(steps), &mut draw, &mut emit).expect("no error");
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
            Script::new(asked(secs)),
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
        "{end} 24h 0m, and a delay of 24h 0m does not fit in the 4.90s left of the deadline of 5.00s"
    );
    ends_with("--deadline 5s", 86_400, &line);
    ends_with(
        "--retry-after-max 0 --base 1m",
        1,
        &format!("{end} 1.00s, more than --retry-after-max 0ms"),
    );
    let patient = transcript(
        "-a 2 --jitter none --base 10m --retry-after output",
        Script::new(asked(301)),
    );
    assert!(patient.contains("next in 10m 0s\n"), "{patient}");
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
        let mut world = Script::new(vec![exits(1).after(takes_ms)]);
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
