//! How the output of an attempt makes it a success, a failure, or worth no retry.

use super::*;
use crate::patterns::Matched;

impl Step {
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

/// Checks how the first attempt is judged under these flags: its line after the first `;`, or after
/// the number, and how a run of two attempts exits.
#[track_caller]
fn judges(flags: &str, step: Step, expected: &str) {
    let lines = transcript(
        &format!("-a 2 --base 1s --jitter none {flags}"),
        Script::new(vec![step]),
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
    let remedy = "; add --retry-on any,timeout to retry time-outs without a match; exit 124";
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
