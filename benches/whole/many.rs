//! Runs that wait: many at once, one that is idle, one that is told to end.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::program::{Program, Programs, Words};
use crate::sample::{Figures, Row, median, micros};

/// How many wait at once.
const HERD: usize = 1000;

/// A long delay before each of a few retries.
const WAITS: [&str; 10] = [
    "-q",
    "--attempts",
    "3",
    "--base",
    "1m",
    "--cap",
    "1m",
    "--jitter",
    "none",
    "--",
];

/// All rows.
pub(crate) fn rows<'a>(program: &'a Program, programs: &'a Programs) -> Vec<Row<'a>> {
    let row = |name: &str, target: &str, measure: fn(&Program, &Programs) -> Figures| Row {
        name: name.into(),
        target: target.into(),
        measure: Box::new(move || measure(program, programs)),
    };
    let mut rows = vec![
        row("TERM in a delay", "<= 1.40", |program, programs| {
            gone("stamp", program, programs)
        }),
        row(
            "TERM with a command",
            "<= 400 us, 0 left",
            |program, programs| gone("hold", program, programs),
        ),
    ];
    // What is known of other processes is in /proc.
    if cfg!(target_os = "linux") {
        let starts = row(
            "1000 in delays, start of each",
            "<= 500 us",
            |program, programs| herd(program, programs).0,
        );
        let memory = row(
            "1000 in delays, kB of each",
            "<= 105",
            |program, programs| herd(program, programs).1,
        );
        rows.extend([starts, memory]);
        rows.push(row("idle, a command runs", IDLE, |program, programs| {
            idle("hold", program, programs)
        }));
        rows.push(row("idle, in a delay", IDLE, |program, programs| {
            idle("stamp", program, programs)
        }));
    }
    rows
}

const IDLE: &str = "0 wake-ups, 0 us, 1 thread in 2 s";

/// Processes that end with this.
struct Started(Vec<Child>);

impl Started {
    /// So many runs of a command, each of which has an end of its own for what flows.
    fn new(words: &Words, times: usize) -> Self {
        let mut command = words.command();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self(
            (0..times)
                .map(|_| command.spawn().expect("it starts"))
                .collect(),
        )
    }

    fn pids(&self) -> impl Iterator<Item = Pid> {
        self.0.iter().map(Pid::from_child)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The program and the floor, each with a part of ours for a command that appends to the file.
fn both(part: &str, file: &Path, program: &Program, programs: &Programs) -> [Words; 2] {
    let command = programs.part(part).and(&[file]);
    let words: Vec<&OsStr> = command.0.iter().map(AsRef::as_ref).collect();
    [
        program.with(&["--timeout", "2m"]).and(&WAITS).and(&words),
        programs.floor(3, "60", &words),
    ]
}

/// Waits until the file has so many lines, which are returned.
fn lines(file: &Path, count: usize) -> Vec<String> {
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        if text.ends_with('\n') && text.lines().count() >= count {
            return text.lines().map(Into::into).collect();
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Many in their first delay: how long each took to get there, and what memory is its own.
fn herd(program: &Program, programs: &Programs) -> (Figures, Figures) {
    let [[with, with_memory], [floor, floor_memory]] = [0, 1].map(|of| {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("stamps");
        let words = &both("stamp", &file, program, programs)[of];
        let begun = Instant::now();
        let started = Started::new(words, HERD);
        lines(&file, HERD);
        let time = begun.elapsed().as_secs_f64();
        // The last of them are on their way into the delay.
        thread::sleep(Duration::from_millis(300));
        let memory: f64 = started.pids().map(proportional).sum();
        #[expect(clippy::cast_precision_loss, reason = "a thousand is exact")]
        [time / HERD as f64, memory / HERD as f64]
    });
    let starts = Figures {
        program: micros(with),
        floor: micros(floor),
        ratio: Some(with / floor),
        ..Figures::default()
    };
    let memory = Figures {
        program: format!("{with_memory:.0} kB"),
        floor: format!("{floor_memory:.0} kB"),
        ratio: Some(with_memory / floor_memory),
        ..Figures::default()
    };
    (starts, memory)
}

/// The memory of a process in kB, where what is shared counts in parts.
fn proportional(pid: Pid) -> f64 {
    let map = of_process(pid, "smaps_rollup");
    let line = map.lines().find_map(|line| line.strip_prefix("Pss:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .expect("a size")
}

fn of_process(pid: Pid, file: &str) -> String {
    fs::read_to_string(format!("/proc/{}/{file}", pid.as_raw_nonzero())).expect("it is there")
}

/// What a run does while it has nothing to do.
fn idle(part: &str, program: &Program, programs: &Programs) -> Figures {
    let [with, floor] = [0, 1].map(|of| {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("lines");
        let started = Started::new(&both(part, &file, program, programs)[of], 1);
        let pid = started.pids().next().expect("one");
        let said = lines(&file, 1);
        thread::sleep(Duration::from_millis(300));
        let (wakes, nanos, _) = so_far(pid);
        thread::sleep(Duration::from_secs(2));
        let (later_wakes, later_nanos, threads) = so_far(pid);
        if part == "hold" {
            end(&said);
        }
        let micros = (later_nanos - nanos) / 1000;
        format!("{}, {micros} us, {threads}", later_wakes - wakes)
    });
    Figures {
        program: with,
        floor,
        ..Figures::default()
    }
}

/// The times that a process was woken, its time of the processor in nanoseconds, and its threads.
fn so_far(pid: Pid) -> (u64, u64, u64) {
    let status = of_process(pid, "status");
    let fields = status.lines().filter_map(|line| line.split_once(":\t"));
    let sum_of = |wanted: &str| -> u64 {
        let fields = fields.clone().filter(|(name, _)| name.ends_with(wanted));
        fields
            .map(|(_, value)| value.parse::<u64>().expect("a number"))
            .sum()
    };
    let times = of_process(pid, "schedstat");
    let nanos = times.split(' ').next().expect("a field");
    (
        sum_of("ctxt_switches"),
        nanos.parse().expect("a number"),
        sum_of("Threads"),
    )
}

/// From TERM to the end, and what is left then.
fn gone(part: &str, program: &Program, programs: &Programs) -> Figures {
    let mut left = 0;
    let mut turns = Vec::new();
    for _ in 0..21 {
        turns.push([0, 1].map(|of| {
            let directory = tempfile::tempdir().expect("a directory");
            let file = directory.path().join("lines");
            let mut started = Started::new(&both(part, &file, program, programs)[of], 1);
            let said = lines(&file, 1);
            thread::sleep(Duration::from_millis(30));
            let pid = started.pids().next().expect("one");
            let begun = Instant::now();
            kill_process(pid, Signal::TERM).expect("it is ours");
            started.0[0].wait().expect("it is ours");
            let time = begun.elapsed().as_secs_f64();
            if part == "hold" {
                let is_left = end(&said);
                left += usize::from(is_left && of == 0);
            }
            time
        }));
    }
    let program = median(&turns, |turn| turn[0]);
    Figures {
        program: match part {
            "hold" => format!("{}, {left} left", micros(program)),
            _ => micros(program),
        },
        floor: micros(median(&turns, |turn| turn[1])),
        ratio: Some(median(&turns, |turn| turn[0] / turn[1])),
        ..Figures::default()
    }
}

/// Ends a command of ours that said its pid; tells whether it was still there.
fn end(said: &[String]) -> bool {
    let pid = said[0].parse().ok().and_then(Pid::from_raw).expect("a pid");
    let is_there = test_kill_process(pid).is_ok();
    let _ = kill_process(pid, Signal::KILL);
    is_there
}
