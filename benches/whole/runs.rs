//! Whole runs that are not about streams.

use std::process::{Command, Stdio};

use crate::sample::{Row, Sample, Unit, timed};

const RETRY: &str = env!("CARGO_BIN_EXE_retry");

/// How many retries a run with a budget makes.
const TOKENS: u32 = 1000;

/// All rows.
pub(crate) fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "budget, a token",
            target: "<= 50 us",
            rounds: 9,
            program: Box::new(|| {
                let dir = tempfile::tempdir().expect("a directory");
                let file = dir.path().join("budget");
                let options = ["--budget", "1000000", "--shared"];
                failing(Command::new(RETRY).args(options).arg(file))
            }),
            floor: Box::new(|| failing(&mut Command::new(RETRY))),
            unit: Unit::More(TOKENS),
        },
        Row {
            name: "plan, 10000 clients",
            target: "<= 100 ms",
            rounds: 9,
            program: Box::new(|| {
                let options = ["--plan", "--attempts", "10", "--clients", "10000"];
                quiet(Command::new(RETRY).args(options))
            }),
            floor: Box::new(|| quiet(Command::new(RETRY).arg("--version"))),
            unit: Unit::Run,
        },
    ]
}

/// A command that fails again and again without a delay.
fn failing(command: &mut Command) -> Sample {
    let attempts = (TOKENS + 1).to_string();
    command.args(["-q", "--base", "0", "--attempts", &attempts, "--"]);
    let script = format!("[ \"$RETRY_ATTEMPT\" = {attempts} ]");
    quiet(command.args(["sh", "-c", &script]))
}

fn quiet(command: &mut Command) -> Sample {
    timed(command.stdin(Stdio::null()).stdout(Stdio::null()), |_| {})
}
