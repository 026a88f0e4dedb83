//! How a row is measured.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::program::{Programs, Words};

/// One line of the table.
pub(crate) struct Row<'a> {
    pub(crate) name: String,
    pub(crate) target: String,
    pub(crate) measure: Box<dyn Fn() -> Figures + 'a>,
}

/// What was measured.
#[derive(Default)]
pub(crate) struct Figures {
    pub(crate) program: String,
    pub(crate) floor: String,
    pub(crate) ratio: Option<f64>,
    /// The most memory that was resident, in kB.
    pub(crate) resident: Option<i64>,
    /// Whether it is more than it may ever be, on any machine.
    pub(crate) is_over_budget: bool,
}

impl Figures {
    /// The line of a row.
    pub(crate) fn shown(&self, row: &Row<'_>) -> String {
        let ratio = self
            .ratio
            .map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        let resident = self.resident.map_or_else(String::new, |kb| kb.to_string());
        let over = if self.is_over_budget {
            "  OVER BUDGET"
        } else {
            ""
        };
        format!(
            "{:<30} {:>14} {:>14} {ratio:>6} {resident:>7}  {}{over}",
            row.name, self.program, self.floor, row.target
        )
    }
}

/// One run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) wall: Duration,
    /// The most memory that was resident, in kB.
    pub(crate) resident: i64,
}

/// Runs these commands in turns, and once before to warm the caches. Each must end with its status.
pub(crate) fn turns<const N: usize>(
    rounds: usize,
    commands: [(&Words, i32); N],
    programs: &Programs,
) -> Vec<[Sample; N]> {
    let mut all = Words(Vec::new());
    for (words, _) in commands {
        if !all.0.is_empty() {
            all = all.and(&[";"]);
        }
        all = all.and(&words.0);
    }
    let samples = metered(&all, rounds + 1, programs, |_| {}, |_| {});
    let turns = samples.chunks_exact(N).skip(1).map(|turn| {
        let turn: [(Sample, i32); N] = turn.try_into().expect("a turn");
        for ((_, status), (words, expected)) in turn.iter().zip(commands) {
            assert_eq!(*status, expected, "{:?}", words.0);
        }
        turn.map(|(sample, _)| sample)
    });
    turns.collect()
}

/// The median of what is made of each turn.
pub(crate) fn median<T>(turns: &[T], of: impl Fn(&T) -> f64) -> f64 {
    let mut values: Vec<f64> = turns.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The most that was resident in the usual turn, in kB.
pub(crate) fn resident<const N: usize>(turns: &[[Sample; N]], of: usize) -> i64 {
    let mut values: Vec<i64> = turns.iter().map(|turn| turn[of].resident).collect();
    values.sort_unstable();
    values[values.len() / 2]
}

/// Seconds.
pub(crate) fn seconds<const N: usize>(turn: &[Sample; N], of: usize) -> f64 {
    turn[of].wall.as_secs_f64()
}

/// Microseconds for people.
pub(crate) fn micros(seconds: f64) -> String {
    format!("{:.0} us", seconds * 1e6)
}

/// Runs a command to its success with standard streams of its own. What `meanwhile` does is part of
/// the run, and `prepare` says what it is to have for streams.
pub(crate) fn run(
    words: &Words,
    programs: &Programs,
    prepare: impl FnOnce(&mut Command),
    meanwhile: impl FnOnce(&mut Child),
) -> Sample {
    let (sample, status) = metered(words, 1, programs, prepare, meanwhile)[0];
    assert_eq!(status, 0, "{:?}", words.0);
    sample
}

/// Runs commands so many times: each time what was measured, and the exit code.
fn metered(
    words: &Words,
    times: usize,
    programs: &Programs,
    prepare: impl FnOnce(&mut Command),
    meanwhile: impl FnOnce(&mut Child),
) -> Vec<(Sample, i32)> {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("samples");
    let meter = programs.part("meter").and(&[&file]);
    let mut command = meter.and(&[times.to_string()]).and(&words.0).command();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    prepare(&mut command);
    let mut child = command.spawn().expect("it starts");
    meanwhile(&mut child);
    assert!(child.wait().expect("it is ours").success(), "{:?}", words.0);
    let said = fs::read_to_string(file).expect("samples");
    let line = |line: &str| {
        let numbers = line.split(' ').map(|word| word.parse().expect("a number"));
        let numbers: Vec<i64> = numbers.collect();
        let sample = Sample {
            wall: Duration::from_nanos(numbers[0].unsigned_abs()),
            resident: numbers[1],
        };
        (sample, i32::try_from(numbers[2]).expect("a status"))
    };
    said.lines().map(line).collect()
}
