//! What does not depend on how busy a machine is: instructions and system calls.

use std::fs;
use std::process::Stdio;

use crate::program::{Program, Words};
use crate::sample::{Figures, Row};
use crate::start::OPTIONS;

/// The most that a run of `true` may take.
struct Budget {
    instructions: u64,
    system_calls: u64,
}

const STATIC: Budget = Budget {
    instructions: 260_000,
    system_calls: 160,
};

const DYNAMIC: Budget = Budget {
    instructions: 470_000,
    system_calls: 180,
};

/// Both counts.
pub(crate) fn rows(program: &Program) -> [Row<'_>; 2] {
    let budget = if program.is_static { STATIC } else { DYNAMIC };
    let with = program.with(&OPTIONS).and(&["true"]);
    let again = with.clone();
    [
        Row {
            name: format!("count of instructions, {}", program.kind()),
            target: format!("<= {}", budget.instructions),
            measure: Box::new(move || {
                counted(
                    instructions(&with),
                    instructions(&Words::new("true")),
                    budget.instructions,
                )
            }),
        },
        Row {
            name: format!("count of own calls, {}", program.kind()),
            target: format!("<= {}", budget.system_calls),
            measure: Box::new(move || {
                let alone = system_calls(&Words::new("true"));
                let own = system_calls(&again)
                    .zip(alone)
                    .map(|(all, alone)| all - alone);
                counted(own, alone, budget.system_calls)
            }),
        },
    ]
}

fn counted(count: Option<u64>, alone: Option<u64>, budget: u64) -> Figures {
    let shown =
        |count: Option<u64>| count.map_or_else(|| "NOT COUNTED".into(), |count| count.to_string());
    Figures {
        program: shown(count),
        floor: shown(alone),
        is_over_budget: count.is_some_and(|count| count > budget),
        ..Figures::default()
    }
}

/// As valgrind counts them, of the first process alone.
fn instructions(words: &Words) -> Option<u64> {
    let options = ["--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let counted = Words::new("valgrind").and(&options).and(&words.0);
    let said = bare(&counted)?;
    let count = said
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let (_, count) = count.expect("a count");
    Some(count.trim().parse().expect("a number"))
}

/// As strace counts them, of all processes; a call that another interrupts is told in two lines.
fn system_calls(words: &Words) -> Option<u64> {
    let directory = tempfile::tempdir().ok()?;
    let file = directory.path().join("calls");
    let traced = Words::new("strace").and(&["-f", "-qq", "-e", "signal=none", "-o"]);
    bare(&traced.and(&[&file]).and(&words.0))?;
    let told = fs::read_to_string(file).ok()?;
    let calls = told
        .lines()
        .filter(|line| !line.contains(" resumed>") && line.contains('('));
    u64::try_from(calls.count()).ok()
}

/// What a tool says on stderr, in an environment that is the same everywhere, since the loader looks
/// at every entry of it. Nothing if there is no such tool.
fn bare(words: &Words) -> Option<String> {
    let mut command = words.command();
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let done = command.output().ok()?;
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{:?}: {said}", words.0);
    Some(said)
}
