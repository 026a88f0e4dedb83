//! The `retry` program: hands over the command line and ends the process.

use std::process::ExitCode;

fn main() -> ExitCode {
    retry::run(std::env::args_os())
}
