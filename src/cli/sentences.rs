//! What is wrong with a command line, in one sentence with the remedy.

use std::ffi::OsStr;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::plain::escaped;

/// Options that other retry commands have with other meanings, and what to write instead. They stay
/// undefined, so that a script written for one of those fails loudly.
const FOREIGN: &[(&[&str], &str)] = &[
    (
        &["-t"],
        "for the number of runs use --attempts N, for the time of one --timeout DUR",
    ),
    (
        &["-n", "--times", "--tries"],
        "for the number of runs use --attempts N",
    ),
    (
        &["-d", "-s", "--delay", "--sleep"],
        "for the delay use --base DUR, with --backoff constant --jitter none if it is to stay the same",
    ),
    (
        &["-m", "--max-time"],
        "for the time of everything use --deadline DUR, of one attempt --timeout DUR, of a delay --cap DUR",
    ),
    (&["--max-delay"], "for the longest delay use --cap DUR"),
    (&["-j"], "for the random part of a delay use --jitter"),
    (
        &["--until", "--while"],
        "name the statuses that count with --retry-on, --stop-on or --success-on LIST",
    ),
];

/// One sentence for an error of clap's.
pub(super) fn of(error: &clap::Error) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => escaped(OsStr::new(text)),
        Some(ContextValue::Strings(texts)) => escaped(OsStr::new(&texts.join(", "))),
        _ => String::new(),
    };
    let option = context(ContextKind::InvalidArg);
    let option = option.split([' ', '=']).next().unwrap_or_default();
    let value = context(ContextKind::InvalidValue);
    match error.kind() {
        ErrorKind::UnknownArgument => unknown(option, &context(ContextKind::SuggestedArg)),
        ErrorKind::ValueValidation => {
            let why =
                std::error::Error::source(error).map_or_else(String::new, ToString::to_string);
            format!("{option} '{value}': {}", escaped(OsStr::new(&why)))
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("{option} has no value; write one behind it")
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
    let is_number = option
        .strip_prefix('-')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    match (hint, suggested) {
        _ if is_number => format!(
            "{option} is no option, and no value may be negative; for a number of attempts use --attempts N"
        ),
        (Some(hint), _) => format!(
            "{option} is not an option here, because other retry commands use it for different things; {hint}"
        ),
        (None, "") => format!(
            "there is no option {option}; see 'retry --help', or write -- before the command if it is part of that"
        ),
        (None, suggested) => format!("there is no option {option}; did you mean {suggested}?"),
    }
}
