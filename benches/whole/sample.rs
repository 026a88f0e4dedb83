//! How a row is measured.

use std::fmt;
use std::process::Command;
use std::time::{Duration, Instant};

/// Something that is run, and how long it took and what memory it needed.
pub(crate) type Run = Box<dyn Fn() -> Sample>;

/// One run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) wall: Duration,
    /// The most memory that was resident, in kB.
    pub(crate) resident: i64,
}

/// One line of the table.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) target: &'static str,
    pub(crate) rounds: usize,
    pub(crate) program: Run,
    pub(crate) floor: Run,
    /// What counts in a run.
    pub(crate) unit: Unit,
}

/// What a run is measured by.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    /// So many bytes flow.
    Bytes(u64),
    /// So many times it does what the floor does not.
    More(u32),
    /// It takes its time.
    Run,
}

/// A row with its figures.
pub(crate) struct Figures<'a> {
    row: &'a Row,
    program: Duration,
    floor: Duration,
    ratio: f64,
    resident: i64,
}

/// Runs both in turns.
pub(crate) fn measure(row: &Row) -> Figures<'_> {
    // The first turn warms the caches.
    (row.floor)();
    (row.program)();
    let turns: Vec<(Sample, Sample)> = (0..row.rounds)
        .map(|_| ((row.floor)(), (row.program)()))
        .collect();
    let ratios = turns
        .iter()
        .map(|(floor, program)| program.wall.as_secs_f64() / floor.wall.as_secs_f64());
    Figures {
        row,
        program: Duration::from_secs_f64(median(
            turns.iter().map(|(_, program)| program.wall.as_secs_f64()),
        )),
        floor: Duration::from_secs_f64(median(
            turns.iter().map(|(floor, _)| floor.wall.as_secs_f64()),
        )),
        ratio: median(ratios),
        resident: turns
            .iter()
            .map(|(_, program)| program.resident)
            .max()
            .unwrap_or(0),
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

impl fmt::Display for Figures<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<24} {:>12} {:>12} {:>8.2} {:>9}  {}",
            self.row.name,
            self.row.unit.shown(self.program, self.floor),
            self.row.unit.shown(self.floor, Duration::ZERO),
            self.ratio,
            self.resident,
            self.row.target
        )
    }
}

impl Unit {
    fn shown(self, time: Duration, floor: Duration) -> String {
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        match self {
            Self::Bytes(bytes) => {
                let gib = bytes as f64 / f64::from(1 << 30);
                format!("{:.2} GiB/s", gib / time.as_secs_f64())
            }
            Self::More(times) if !floor.is_zero() => {
                let more = time.as_secs_f64() - floor.as_secs_f64();
                format!("{:.1} us each", more / f64::from(times) * 1e6)
            }
            Self::More(_) | Self::Run => format!("{:.1} ms", time.as_secs_f64() * 1e3),
        }
    }
}

/// Runs a command to its end, which must be a success. What `meanwhile` does is part of the run.
pub(crate) fn timed(
    command: &mut Command,
    meanwhile: impl FnOnce(&mut std::process::Child),
) -> Sample {
    let begun = Instant::now();
    let mut child = command.spawn().expect("it starts");
    meanwhile(&mut child);
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    let pid = i32::try_from(child.id()).expect("a pid");
    #[expect(unsafe_code, reason = "std does not tell what a child has used")]
    // SAFETY: both are written to memory of their type, and the child is ours and not waited for.
    let usage = unsafe {
        libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr());
        usage.assume_init()
    };
    assert_eq!(status, 0, "{command:?} failed");
    Sample {
        wall: begun.elapsed(),
        resident: usage.ru_maxrss,
    }
}
