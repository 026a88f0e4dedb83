//! The promises of `retry`, kept by the real program with real processes.

mod artifacts;
mod clients;
mod countdown;
mod curl;
mod delivery;
mod elsewhere;
mod exit;
#[cfg(target_os = "linux")]
mod family;
mod field;
mod github;
mod help;
mod hook;
#[cfg(target_os = "linux")]
mod hostile;
mod input;
mod limits;
mod log;
mod once;
mod output;
mod passing;
mod plan;
mod policy;
mod release;
mod replay;
mod schema;
mod server;
mod shared;
mod signals;
mod storm;
mod streams;
mod support;
mod terminal;
mod tidy;
mod waiting;
