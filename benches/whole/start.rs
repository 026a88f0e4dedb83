//! What it costs to stand before a command, and before each attempt.

use std::ffi::OsStr;
use std::fs;

use crate::program::{Program, Programs, Words};
use crate::sample::{Figures, Row, median, micros, resident, seconds, turns};

/// The options of a usual call.
pub(crate) const OPTIONS: [&str; 10] = [
    "--attempts",
    "5",
    "--base",
    "1s",
    "--cap",
    "1s",
    "--jitter",
    "none",
    "-q",
    "--",
];

/// The whole of a run that succeeds at once, over the command alone.
pub(crate) fn rows<'a>(program: &'a Program, programs: &'a Programs) -> [Row<'a>; 1] {
    let with = program.with(&OPTIONS).and(&["/bin/true"]);
    let floor = programs.floor(1, "0", &[OsStr::new("/bin/true")]);
    let measure = move || {
        let alone = Words::new("/bin/true");
        let turns = turns(200, [(&alone, 0), (&floor, 0), (&with, 0)], programs);
        let floor = median(&turns, |turn| seconds(turn, 1) - seconds(turn, 0));
        let program = median(&turns, |turn| seconds(turn, 2) - seconds(turn, 0));
        Figures {
            program: micros(program),
            floor: micros(floor),
            ratio: Some(program / floor),
            resident: Some(resident(&turns, 2)),
            ..Figures::default()
        }
    };
    [Row {
        name: format!("start, {}", program.kind()),
        target: if program.is_static {
            "<= 1.30, 1600 kB".into()
        } else {
            "<= 1.65, 2400 kB".into()
        },
        measure: Box::new(measure),
    }]
}

/// What an attempt costs, and how late it comes.
pub(crate) fn attempts<'a>(program: &'a Program, programs: &'a Programs) -> Vec<Row<'a>> {
    let fails = |name: &str, target: &str, command: Words| Row {
        name: name.into(),
        target: target.into(),
        measure: Box::new(move || an_attempt(program, programs, &command)),
    };
    let mut rows = vec![fails("attempt, false", "<= 1.05", Words::new("false"))];
    if let Some(nil) = programs.nil() {
        rows.push(fails(
            "attempt, few instructions",
            "<= 1.10",
            Words::new(nil),
        ));
    }
    rows.push(Row {
        name: "delay of 50 ms, overshoot".into(),
        target: "<= 1.05".into(),
        measure: Box::new(move || overshoot(program, programs)),
    });
    rows
}

/// By the difference between many attempts and few.
fn an_attempt(program: &Program, programs: &Programs, command: &Words) -> Figures {
    const MANY: u32 = 200;
    const FEW: u32 = 20;
    let with = |attempts: u32| {
        let attempts = attempts.to_string();
        let options = ["-q", "--base", "0", "--attempts", &attempts, "--"];
        program.with(&options).and(&command.0)
    };
    let command: Vec<&OsStr> = command.0.iter().map(AsRef::as_ref).collect();
    let floor = |attempts| programs.floor(attempts, "0", &command);
    let runs = [floor(FEW), floor(MANY), with(FEW), with(MANY)];
    let turns = turns(15, runs.each_ref().map(|words| (words, 1)), programs);
    let each = 1.0 / f64::from(MANY - FEW);
    let of_floor = |turn: &_| (seconds(turn, 1) - seconds(turn, 0)) * each;
    let of_program = |turn: &_| (seconds(turn, 3) - seconds(turn, 2)) * each;
    Figures {
        program: micros(median(&turns, of_program)),
        floor: micros(median(&turns, of_floor)),
        ratio: Some(median(&turns, |turn| of_program(turn) / of_floor(turn))),
        ..Figures::default()
    }
}

/// From the end of an attempt to the start of the next, less the delay.
fn overshoot(program: &Program, programs: &Programs) -> Figures {
    const ATTEMPTS: u32 = 10;
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("stamps");
    let stamp = programs.part("stamp").and(&[&file]);
    let attempts = ATTEMPTS.to_string();
    let delays = ["-q", "--base", "50ms", "--cap", "50ms", "--jitter", "none"];
    let with = program.with(&delays).and(&["--attempts", &attempts, "--"]);
    let with = with.and(&stamp.0);
    let command: Vec<&OsStr> = stamp.0.iter().map(AsRef::as_ref).collect();
    let floor = programs.floor(ATTEMPTS, "0.05", &command);
    turns(9, [(&floor, 7), (&with, 7)], programs);
    let stamps = fs::read_to_string(&file).expect("stamps");
    let runs: Vec<&str> = stamps.lines().collect();
    let runs: Vec<_> = runs.chunks_exact(ATTEMPTS as usize).map(gaps).collect();
    // Of both, the first turn warmed the caches.
    let late = |of: usize| -> f64 {
        let all: Vec<f64> = runs[2..]
            .iter()
            .skip(of)
            .step_by(2)
            .flatten()
            .copied()
            .collect();
        median(&all, |gap| *gap) - 0.05
    };
    let (of_floor, of_program) = (late(0), late(1));
    Figures {
        program: micros(of_program),
        floor: micros(of_floor),
        ratio: Some(of_program / of_floor),
        ..Figures::default()
    }
}

/// The seconds between the attempts of a run, each of which has said when it began and ended.
fn gaps(run: &[&str]) -> Vec<f64> {
    let times = run.iter().flat_map(|line| line.split(' '));
    let times: Vec<f64> = times.map(|time| time.parse().expect("a time")).collect();
    let between = times[1..times.len() - 1].chunks_exact(2);
    between.map(|gap| (gap[1] - gap[0]) / 1e9).collect()
}
