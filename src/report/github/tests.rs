use std::ffi::OsString;
use std::time::Duration;

use super::*;
use crate::cli::{self, Request};
use crate::event::Ended;
use crate::patterns::Matched;
use crate::policy::{Reason, Success};
use crate::status::{Ending, Outcome};

fn job(words: &[&str]) -> Job {
    let words = ["retry"].iter().chain(words).map(OsString::from);
    match cli::alone(words) {
        Ok(Request::Run(job)) => *job,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn says(words: &[&str], ending: impl Into<Ending>, decision: &Decision, expected: &str) {
    let job = job(words);
    let ended = Ended {
        attempt: 3,
        ending: &ending.into(),
        took: Duration::from_millis(1200),
        total: Duration::from_secs(9),
    };
    let lines = Github::new(&job, Style::plain(|| "retry: ".into()))
        .lines(&Event::Ended(ended, decision), false);
    assert_eq!(lines.as_deref().unwrap_or_default(), expected);
}

#[test]
fn the_last_failure_is_a_warning_and_the_end_an_error() {
    let stop = Decision::Stop(Reason::Attempts);
    let lines = "\n::endgroup::\n::warning title=retry::curl: attempt 3/3 failed: exit 7 after 1.20s\n::error title=retry::curl: giving up after 9.00s\n";
    says(&["-a3", "curl"], Outcome::Exited(7), &stop, lines);
}

#[test]
fn what_failed_and_why_it_is_given_up_stay_apart_whatever_the_pattern_says() {
    let words = [
        "-a3",
        "--stop-if",
        "x; giving up",
        "--fail-if",
        "y; giving up",
        "curl",
    ];
    let ending = Ending {
        matched: Matched {
            fail_if: Some(0),
            ..Matched::default()
        },
        ..Outcome::Exited(7).into()
    };
    let stop = Decision::Stop(Reason::StopIf(0));
    let lines = "\n::endgroup::\n::warning title=retry::curl: attempt 3/3 failed: exit 7 after 1.20s, and the output matches --fail-if 'y; giving up'\n::error title=retry::curl: giving up after 9.00s: not retryable: the output matches --stop-if 'x; giving up'\n";
    says(&words, ending, &stop, lines);
}

#[test]
fn a_success_is_no_annotation() {
    let success = Decision::Succeed(Success::Zero);
    let lines = "\n::endgroup::\nretry: curl: succeeded on attempt 3/5 after 9.00s\n";
    says(&["curl"], Outcome::Exited(0), &success, lines);
}

#[test]
fn in_quiet_there_are_no_commands_either() {
    says(
        &["-q", "curl"],
        Outcome::Exited(7),
        &Decision::Stop(Reason::Attempts),
        "",
    );
}

#[test]
fn a_name_cannot_forge_a_command() {
    let stop = Decision::Stop(Reason::Attempts);
    let job_name = "x\n::error::y%0A::set-env\r";
    let job = job(&["-a3", job_name]);
    let ended = Ended {
        attempt: 3,
        ending: &Outcome::Exited(7).into(),
        took: Duration::ZERO,
        total: Duration::ZERO,
    };
    let lines = Github::new(&job, Style::plain(String::new))
        .lines(&Event::Ended(ended, &stop), false)
        .expect("lines");
    let commands = lines.lines().filter(|line| line.starts_with("::"));
    let names: Vec<&str> = commands
        .filter_map(|line| line.split([' ', ':']).nth(2))
        .collect();
    assert_eq!(names, ["endgroup", "warning", "error"], "{lines}");
    assert!(!lines.contains("%0A") && !lines.contains('\r'), "{lines}");
}
