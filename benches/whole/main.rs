//! Whole runs of the program, each beside a floor that does only what must be done.
//!
//! `cargo bench` measures all rows, `cargo bench -- replay` those whose name holds the word. The
//! floor and the program take turns; what is printed are medians, the median of the ratios of each
//! turn, and the target. Where the host can link statically, the program as it is released is built
//! and measured too. Nothing here is a test, since a loaded machine gives other figures; but for the
//! counts, which are the same on every machine of a kind: over its budget, `cargo bench` fails.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod counts;
mod flow;
mod many;
mod part;
mod program;
mod runs;
mod sample;
mod start;

use std::env;
use std::process::ExitCode;

use program::Programs;
use sample::Row;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    if let Some(part) = args.first().and_then(|arg| arg.strip_prefix("part=")) {
        return part::play(part, &args[1..]);
    }
    let wanted: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted =
        |row: &Row<'_>| wanted.is_empty() || wanted.iter().any(|word| row.name.contains(*word));
    let programs = Programs::build();
    println!(
        "{:<30} {:>14} {:>14} {:>6} {:>7}  target",
        "row", "program", "floor", "ratio", "kB"
    );
    let mut is_over = false;
    for row in rows(&programs).iter().filter(|row| is_wanted(row)) {
        let figures = (row.measure)();
        println!("{}", figures.shown(row));
        is_over |= figures.is_over_budget;
    }
    ExitCode::from(u8::from(is_over))
}

fn rows(programs: &Programs) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for program in programs.all() {
        rows.extend(start::rows(program, programs));
        rows.extend(counts::rows(program));
    }
    // Whether a program is linked statically does not matter to the rest.
    let program = programs.released();
    rows.extend(start::attempts(program, programs));
    rows.extend(flow::rows(program, programs));
    rows.extend(many::rows(program, programs));
    rows.extend(runs::rows(program, programs));
    rows
}
