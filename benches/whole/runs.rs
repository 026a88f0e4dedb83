//! A budget, and a plan.

use std::ffi::OsStr;

use crate::program::{Program, Programs, Words};
use crate::sample::{Figures, Row, median, seconds, turns};

/// How many retries a run with a budget makes.
const TOKENS: u32 = 1000;

/// Both rows.
pub(crate) fn rows<'a>(program: &'a Program, programs: &'a Programs) -> [Row<'a>; 2] {
    [
        Row {
            name: "budget, a token".into(),
            target: "<= 50 us".into(),
            measure: Box::new(move || a_token(program, programs)),
        },
        Row {
            name: "plan, 10000 clients".into(),
            target: "<= 100 ms".into(),
            measure: Box::new(move || a_plan(program, programs)),
        },
    ]
}

/// By the difference between runs with a budget and without one.
fn a_token(program: &Program, programs: &Programs) -> Figures {
    let attempts = (TOKENS + 1).to_string();
    let failing = |budget: &[&OsStr]| {
        let options = [
            "-q",
            "--base",
            "0",
            "--attempts",
            &attempts,
            "--",
            "/bin/false",
        ];
        Words::new(&program.path).and(budget).and(&options)
    };
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("budget");
    let budget = ["--budget", "1000000", "--shared"].map(OsStr::new);
    let with = failing(&[&budget[..], &[file.as_os_str()]].concat());
    let turns = turns(9, [(&failing(&[]), 1), (&with, 1)], programs);
    let more = median(&turns, |turn| seconds(turn, 1) - seconds(turn, 0));
    Figures {
        program: format!("{:.1} us", more / f64::from(TOKENS) * 1e6),
        ratio: Some(median(&turns, |turn| seconds(turn, 1) / seconds(turn, 0))),
        ..Figures::default()
    }
}

/// Beside a program that only starts and ends.
fn a_plan(program: &Program, programs: &Programs) -> Figures {
    let plan = program.with(&["--plan", "--attempts", "10", "--clients", "10000"]);
    let nothing = program.with(&["--version"]);
    let turns = turns(9, [(&nothing, 0), (&plan, 0)], programs);
    let millis = |of| format!("{:.1} ms", median(&turns, |turn| seconds(turn, of)) * 1e3);
    Figures {
        program: millis(1),
        floor: millis(0),
        ..Figures::default()
    }
}
