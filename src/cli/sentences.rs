//! What is wrong with a command line, in one sentence with the remedy.

use std::ffi::OsStr;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::plain::{escaped, shortened};

/// Options that other retry commands have, some with other meanings, and what to write instead. They
/// stay undefined, so that a script written for one of those fails loudly.
const FOREIGN: &[(&[&str], &str)] = &[
    (
        &["-t"],
        "for the number of runs use --attempts N, for the time of one --timeout DUR",
    ),
    (
        &["-n", "--times", "--tries", "--count", "--limit"],
        "for the number of runs use --attempts N",
    ),
    (
        &["-r", "--retries", "--retry", "--max-retries"],
        "for the number of runs use --attempts N, which counts the first one too",
    ),
    (
        &["--forever", "--infinite"],
        "for runs without end use --attempts inf",
    ),
    (
        &[
            "-d",
            "-s",
            "--delay",
            "--sleep",
            "-i",
            "--interval",
            "-w",
            "--wait",
            "--initial-delay",
            "--min-delay",
            "--retry-delay",
            "--waitretry",
        ],
        "for the delay use --base DUR, with --backoff constant --jitter none if it is to stay the same (and for what a time limit sends --signal)",
    ),
    (
        &[
            "-m",
            "--max-time",
            "--max-elapsed",
            "--max-elapsed-time",
            "--retry-max-time",
            "--total-timeout",
        ],
        "for the time of everything use --deadline DUR, of one attempt --timeout DUR, of a delay --cap DUR",
    ),
    (
        &["--max-delay", "--max-wait"],
        "for the longest delay use --cap DUR",
    ),
    (
        &["--multiplier", "--exponent", "--exponential"],
        "for the growth of the delays use --factor F",
    ),
    (
        &["--stall-timeout"],
        "for a limit on silence use --idle-timeout DUR",
    ),
    (
        &["--retry-all-errors", "--retry-connrefused"],
        "every failure is retried unless --retry-on or --retry-if says otherwise",
    ),
    (
        &["--on-failure", "--hook", "--cleanup", "--on-retry"],
        "for what is to run between attempts use --before-retry CMD, after the last one write || CMD behind it",
    ),
    (
        &["--foreground"],
        "to keep the command in this process group use --process-group inherit",
    ),
    (
        &["--preserve-status"],
        "a time limit always exits 124; the log has the rest",
    ),
    (&["--shell"], "for a script write: retry -- sh -ec '...'"),
    (&["--debug"], "to see every step use --verbose"),
    (&["-j"], "for the random part of a delay use --jitter"),
    (
        &["--until", "--while", "-u", "-c"],
        "name the statuses that count with --retry-on, --stop-on or --success-on LIST",
    ),
];

/// One sentence for an error of clap's.
pub(super) fn of(error: &clap::Error) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => shortened(&escaped(OsStr::new(text))),
        Some(ContextValue::Strings(texts)) => escaped(OsStr::new(&texts.join(", "))),
        _ => String::new(),
    };
    let option = context(ContextKind::InvalidArg);
    // Cut off the name of the value, or the value that was given.
    let option = option.split(' ').next().unwrap_or_default();
    let option = option.split_once('=').map_or(option, |(name, _)| name);
    let value = context(ContextKind::InvalidValue);
    match error.kind() {
        ErrorKind::UnknownArgument => unknown(option, &context(ContextKind::SuggestedArg)),
        ErrorKind::ValueValidation => {
            let why =
                std::error::Error::source(error).map_or_else(String::new, ToString::to_string);
            format!("{option} '{value}': {}", escaped(OsStr::new(&why)))
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("{option} has no value; write one after it")
        }
        ErrorKind::InvalidValue => {
            format!(
                "{option} '{value}': use one of {}",
                context(ContextKind::ValidValue)
            )
        }
        ErrorKind::TooManyValues => {
            format!("{option} takes no value, but is given '{value}'; leave that out")
        }
        ErrorKind::InvalidUtf8 => {
            "the value of an option is not valid UTF-8; only the command may be any bytes".into()
        }
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            escaped(OsStr::new(first.strip_prefix("error: ").unwrap_or(first)))
        }
    }
}

fn unknown(option: &str, suggested: &str) -> String {
    let hint = FOREIGN
        .iter()
        .find(|(names, _)| names.contains(&option))
        .map(|(_, hint)| *hint);
    match (hint, suggested) {
        (Some(hint), _) => format!("there is no option {option} here; {hint}"),
        (None, "") => format!(
            "there is no option {option}; see 'retry -h', or write -- before the command if it is part of that"
        ),
        (None, suggested) => format!("there is no option {option}; did you mean {suggested}?"),
    }
}
