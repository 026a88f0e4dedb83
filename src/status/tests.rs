use std::ffi::OsString;

use super::*;
use crate::cli::{self, Request};

pub(crate) fn killed(name: &str) -> Outcome {
    Outcome::Killed(Signal::from_name(name).expect("a signal"))
}

pub(crate) fn not_started(class: FaultClass) -> Outcome {
    Outcome::NotStarted(StartFault {
        class,
        reason: "for a test".into(),
    })
}

#[test]
fn the_exit_status_follows_the_table() {
    for code in [0, 1, 2, 42, 124, 125, 126, 127, 128, 137, 255] {
        assert_eq!(Outcome::Exited(code).exit(), Exit::Code(code));
    }
    assert_eq!(
        killed("SEGV").exit(),
        Exit::Raise(Signal::from_name("SEGV").expect("a signal"))
    );
    assert_eq!(Outcome::TimedOut.exit(), Exit::Code(124));
    assert_eq!(not_started(FaultClass::Shortage).exit(), Exit::Code(125));
    assert_eq!(not_started(FaultClass::Busy).exit(), Exit::Code(126));
    assert_eq!(
        not_started(FaultClass::NotExecutable).exit(),
        Exit::Code(126)
    );
    assert_eq!(not_started(FaultClass::NotFound).exit(), Exit::Code(127));
    assert_eq!(
        not_started(FaultClass::NoInterpreter).exit(),
        Exit::Code(127)
    );
}

#[test]
fn the_next_attempt_is_told_the_last_status() {
    assert_eq!(Outcome::Exited(7).last_status(), "7");
    assert_eq!(killed("KILL").last_status(), "SIGKILL");
    assert_eq!(Outcome::TimedOut.last_status(), "timeout");
    assert_eq!(not_started(FaultClass::Busy).last_status(), "126");
}

/// Returns the codes of `retry` itself, and that of success.
fn own_codes() -> Vec<u8> {
    let codes = [
        ("TIMED_OUT", TIMED_OUT),
        ("OWN_FAILURE", OWN_FAILURE),
        ("NOT_EXECUTABLE", NOT_EXECUTABLE),
        ("NOT_FOUND", NOT_FOUND),
        ("FAILED_BY_OUTPUT", FAILED_BY_OUTPUT),
    ];
    let lines = include_str!("../status.rs").lines();
    let constants =
        lines.filter_map(|line| line.strip_prefix("pub(crate) const ")?.split_once(": u8 ="));
    let named: Vec<&str> = constants.map(|(name, _)| name).collect();
    // An offset, not a code.
    let others: Vec<&str> = named
        .into_iter()
        .filter(|name| *name != "SIGNAL_BASE")
        .collect();
    assert_eq!(
        others,
        codes.map(|(name, _)| name),
        "a constant is missing here"
    );
    let mut codes: Vec<u8> = codes.iter().map(|(_, code)| *code).chain([0]).collect();
    codes.sort_unstable();
    codes
}

/// Checks that exactly these codes begin the lines.
#[track_caller]
fn begin<'a>(lines: impl Iterator<Item = &'a str>, codes: &[u8]) {
    let words = lines.filter_map(|line| line.split([' ', '|', '\n']).find(|word| !word.is_empty()));
    let mut found: Vec<u8> = words.filter_map(|word| word.parse().ok()).collect();
    found.sort_unstable();
    assert_eq!(found, codes);
}

/// Returns the text between `begins` and the next `ends`.
fn section<'a>(text: &'a str, begins: &str, ends: &str) -> &'a str {
    let (_, behind) = text.split_once(begins).expect(begins);
    behind.split(ends).next().unwrap_or_default()
}

#[test]
fn the_man_page_has_every_exit_status_and_no_other() {
    for page in [
        include_str!("../../man/retry.1"),
        include_str!("../../man/sections.roff"),
    ] {
        let page = section(page, ".SH EXIT STATUS\n", "\n.SH ");
        let terms = page.split(".TP\n\\fB").skip(1);
        begin(
            terms.filter_map(|term| term.split("\\fR").next()),
            &own_codes(),
        );
    }
}

#[test]
fn the_readme_has_every_exit_status_and_no_other() {
    let list = section(
        include_str!("../../README.md"),
        "dies of the same signal.\n",
        "\n\n",
    );
    begin(list.replace('\n', " ").split(" · "), &own_codes());
}

fn help(option: &str) -> String {
    match cli::alone(["retry", option].map(OsString::from)) {
        Ok(Request::Show(text)) => text,
        other => panic!("{option} shows nothing: {other:?}"),
    }
}

#[test]
fn the_help_has_every_exit_status_and_no_other() {
    let long = help("--help");
    let long = section(&long, "\nExit status:\n", "\n\n");
    begin(long.lines(), &own_codes());
    let short = help("-h");
    let short = section(&short, "\nExit status: ", "\n\n").replace('\n', " ");
    // It has no room for what --fail-if makes of exit 0.
    let mut codes = own_codes();
    codes.retain(|code| *code != FAILED_BY_OUTPUT);
    begin(short.split([';', ',']), &codes);
}
