//! A budget, slots, and a plan.

use std::ffi::OsStr;
use std::process::Child;
use std::time::Instant;

use crate::program::{Program, Programs, Words};
use crate::sample::{Figures, Row, median, seconds, turns};

/// How many retries a run makes.
const RETRIES: u32 = 1000;

/// How many wait for slots at once, on how many, for a command that takes this long.
const WAITERS: u32 = 500;
const SLOTS: u32 = 10;
const TAKES: f64 = 0.05;

/// All rows.
pub(crate) fn rows<'a>(program: &'a Program, programs: &'a Programs) -> [Row<'a>; 4] {
    [
        Row {
            name: "budget, a token".into(),
            target: "<= 50 us".into(),
            measure: Box::new(move || a_retry_with(&["--budget", "1000000"], program, programs)),
        },
        Row {
            name: "slot, free".into(),
            target: "<= 40 us".into(),
            measure: Box::new(move || a_retry_with(&["--concurrency", "8"], program, programs)),
        },
        Row {
            name: "slot, 500 wait for 10".into(),
            target: "<= 1.15".into(),
            measure: Box::new(move || the_waiters(program)),
        },
        Row {
            name: "plan, 10000 clients".into(),
            target: "<= 100 ms".into(),
            measure: Box::new(move || a_plan(program, programs)),
        },
    ]
}

/// By the difference between runs that share something with others and runs that do not.
fn a_retry_with(shared: &[&str], program: &Program, programs: &Programs) -> Figures {
    let attempts = (RETRIES + 1).to_string();
    let failing = |shared: &[&OsStr]| {
        let options = [
            "-q",
            "--base",
            "0",
            "--attempts",
            &attempts,
            "--",
            "/bin/false",
        ];
        Words::new(&program.path).and(shared).and(&options)
    };
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("shared");
    let shared: Vec<&OsStr> = shared.iter().map(OsStr::new).collect();
    let place = [OsStr::new("--shared"), file.as_os_str()];
    let with = failing(&[&shared[..], &place].concat());
    let turns = turns(9, [(&failing(&[]), 1), (&with, 1)], programs);
    let more = median(&turns, |turn| seconds(turn, 1) - seconds(turn, 0));
    Figures {
        program: format!("{:.1} us", more / f64::from(RETRIES) * 1e6),
        ratio: Some(median(&turns, |turn| seconds(turn, 1) / seconds(turn, 0))),
        ..Figures::default()
    }
}

/// Beside the time that the commands take if no slot is ever free.
fn the_waiters(program: &Program) -> Figures {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("shared");
    let slots = SLOTS.to_string();
    let words = Words::new(&program.path)
        .and(&["-q", "--concurrency", &slots, "--shared"])
        .and(&[&file])
        .and(&["--", "sleep", &TAKES.to_string()]);
    let began = Instant::now();
    let runs: Vec<Child> = (0..WAITERS)
        .map(|_| words.command().spawn().expect("it starts"))
        .collect();
    for mut run in runs {
        assert!(
            run.wait().is_ok_and(|status| status.success()),
            "all have their turn"
        );
    }
    let took = began.elapsed().as_secs_f64();
    let ideal = f64::from(WAITERS) * TAKES / f64::from(SLOTS);
    Figures {
        program: format!("{took:.2} s"),
        floor: format!("{ideal:.2} s"),
        ratio: Some(took / ideal),
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
