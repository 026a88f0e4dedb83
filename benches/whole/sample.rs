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

/// Runs these in turns, and once before to warm the caches.
pub(crate) fn turns<const N: usize>(
    rounds: usize,
    runs: [&dyn Fn() -> Sample; N],
) -> Vec<[Sample; N]> {
    for run in runs {
        run();
    }
    (0..rounds).map(|_| runs.map(|run| run())).collect()
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

/// Runs a command to its end with standard streams of its own. What `meanwhile` does is part of the
/// run, and `prepare` sets what the command does not share with us.
pub(crate) fn run(
    words: &Words,
    status: i32,
    programs: &Programs,
    prepare: impl FnOnce(&mut Command),
    meanwhile: impl FnOnce(&mut Child),
) -> Sample {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("sample");
    let metered = programs.part("meter").and(&[&file]).and(&words.0);
    let mut command = metered.command();
    command.stdin(Stdio::null()).stdout(Stdio::null());
    prepare(&mut command);
    let mut child = command.spawn().expect("it starts");
    meanwhile(&mut child);
    let ended = child.wait().expect("it is ours");
    assert_eq!(ended.code(), Some(status), "{:?}", words.0);
    let said = fs::read_to_string(file).expect("a sample");
    let mut numbers = said
        .split_whitespace()
        .map(|word| word.parse().expect("a number"));
    let mut next = || numbers.next().expect("a number");
    Sample {
        wall: Duration::from_nanos(u64::try_from(next()).expect("a time")),
        resident: next(),
    }
}

/// Runs a command to its end, out of sight.
pub(crate) fn quiet(words: &Words, status: i32, programs: &Programs) -> Sample {
    run(words, status, programs, |_| {}, |_| {})
}
