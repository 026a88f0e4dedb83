//! The promises of `retry`, kept by the real program with real processes.

mod artifacts;
mod curl;
mod exit;
mod field;
mod help;
mod limits;
mod signals;
mod streams;
mod support;
mod terminal;
mod tidy;
mod waiting;
