//! The promises of `retry`, kept by the real program with real processes.

mod exit;
mod limits;
mod signals;
mod streams;
mod support;
mod waiting;
