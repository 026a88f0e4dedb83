//! The promises of `retry`, kept by the real program with real processes.

mod artifacts;
mod curl;
mod exit;
mod field;
mod help;
#[cfg(target_os = "linux")]
mod hostile;
mod limits;
mod signals;
mod storm;
mod streams;
mod support;
mod terminal;
mod tidy;
mod waiting;
