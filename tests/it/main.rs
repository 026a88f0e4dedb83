//! The promises of `retry`, kept by the real program with real processes.

mod action;
mod artifacts;
mod attempts;
mod background_jobs;
mod before_retry;
mod cannot_run;
mod command_line;
mod countdown;
mod curl;
mod deadline;
mod delay;
mod environment;
mod exit_status;
#[cfg(target_os = "linux")]
mod footprint;
mod generate;
mod github;
mod help;
mod idle_timeout;
mod inherited;
mod log_file;
mod log_format_json;
mod log_records;
mod messages;
mod migration;
mod notes;
mod output;
mod output_order;
mod output_passthrough;
mod output_patterns;
#[cfg(target_os = "linux")]
mod pid1;
mod plan;
mod plan_published;
mod policy;
mod process_group;
#[cfg(target_os = "linux")]
mod process_tree;
mod recipes;
mod recipes_with_curl;
mod release;
mod retry_after;
mod retry_after_clients;
mod retry_on;
mod schema;
mod shared;
mod shell_scripts;
#[cfg(target_os = "linux")]
mod shortage;
mod signals;
mod signals_storm;
mod slots;
mod soak;
mod stderr;
mod stdin_auto;
mod stdin_inherit;
mod stdin_replay;
mod stdout_once;
mod stdout_stream;
mod support;
#[cfg(target_os = "linux")]
mod surroundings;
mod terminal;
mod tidy;
mod timeout;
mod undelivered;
