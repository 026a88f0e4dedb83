//! Whole runs of the program, each beside a floor that does only what must be done.
//!
//! `cargo bench` runs all rows, `cargo bench -- replay` those whose name holds the word. The floor
//! and the program take turns; what is printed are medians, the median of the ratios of each turn,
//! and the target. Nothing here is a test: a loaded machine gives other figures.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod flow;
mod runs;
mod sample;

use std::env;
use std::process::ExitCode;

use sample::{Row, measure};

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    if let Some(part) = args.first().and_then(|arg| arg.strip_prefix("part=")) {
        return flow::play(part, &args[1..]);
    }
    let wanted: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted =
        |row: &Row| wanted.is_empty() || wanted.iter().any(|word| row.name.contains(*word));
    println!(
        "{:<24} {:>12} {:>12} {:>8} {:>9}  target",
        "row", "program", "floor", "ratio", "RSS kB"
    );
    let rows = runs::rows().into_iter().chain(flow::rows());
    for row in rows.filter(is_wanted) {
        println!("{}", measure(&row));
    }
    ExitCode::SUCCESS
}
