//! What is wrong with a command line, in one sentence with the remedy.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::other_tools::remedy;
use super::values::suggest;
use crate::escape::{escaped, shortened};

/// What is said to somebody who types the name alone.
pub(super) const NOTHING_TYPED: &str = "\
there is no command to run
Usage: retry [OPTIONS] [--] COMMAND [ARG]...
Example: retry --attempts 3 --timeout 30s -- curl -fsS URL
'retry -h' lists the options; 'man retry' explains them and has recipes";

/// One sentence for an error of clap's about these words.
pub(super) fn render(error: &clap::Error, words: &[OsString], command: &clap::Command) -> String {
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
        ErrorKind::UnknownArgument => clustered(option, words, command)
            .unwrap_or_else(|| unknown(option, &context(ContextKind::SuggestedArg))),
        ErrorKind::ValueValidation if value == "--" => {
            format!("{option} has no value; write one before the --")
        }
        ErrorKind::ValueValidation => {
            let typed = match error.get(ContextKind::InvalidValue) {
                Some(ContextValue::String(text)) => text.as_str(),
                _ => "",
            };
            let glued = words.iter().find(|word| is_glued(word, option, typed));
            glued
                .and_then(|word| one_dash(word, command))
                .unwrap_or_else(|| format!("{option} '{value}': {}", reason(error)))
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("{option} has no value; write one after it")
        }
        ErrorKind::InvalidValue => {
            let meant = match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(valid)) => suggest(&value, valid),
                _ => None,
            };
            let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
            format!(
                "{option} '{value}': use one of {}{meant}",
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

fn reason(error: &clap::Error) -> String {
    let source = std::error::Error::source(error);
    let text = source.map_or_else(String::new, ToString::to_string);
    escaped(OsStr::new(&text))
}

/// What to say of a long option with one dash, in which this was taken for the letter of a short one:
/// `-version`, or `-qattempts`.
fn clustered(letter: &str, words: &[OsString], command: &clap::Command) -> Option<String> {
    let letter = letter.strip_prefix('-').unwrap_or_default();
    let said = words.iter().find_map(|word| {
        let (before, _) = word.to_str()?.strip_prefix('-')?.split_once(letter)?;
        let are_flags = before.bytes().all(|flag| b"qv".contains(&flag));
        are_flags.then(|| one_dash(word, command))
    });
    said.flatten()
}

/// Whether the word is this option's letter and value in one: `-attempts` is `-a` with `ttempts`.
fn is_glued(word: &OsStr, option: &str, value: &str) -> bool {
    let letter = option.strip_prefix("--").and_then(|name| name.get(..1));
    let rest = word.to_str().and_then(|word| word.strip_prefix('-'));
    rest.zip(letter)
        .and_then(|(rest, letter)| rest.strip_prefix(letter))
        == Some(value)
}

/// What to say of a long option that was written with one dash, as other programs do.
fn one_dash(word: &OsStr, command: &clap::Command) -> Option<String> {
    let name = word.to_str()?.strip_prefix('-')?;
    let name = name.split('=').next().unwrap_or_default();
    let long = format!("--{name}");
    if let Some(hint) = remedy(&long) {
        return Some(format!("there is no option -{name} here; {hint}"));
    }
    let mut ours = command.get_arguments().filter_map(clap::Arg::get_long);
    ours.any(|known| known == name)
        .then(|| format!("there is no option -{name}; did you mean {long}?"))
}

fn unknown(option: &str, suggested: &str) -> String {
    match (remedy(option), suggested) {
        (Some(hint), _) => format!("there is no option {option} here; {hint}"),
        (None, "") => format!(
            "there is no option {option}; see 'retry -h', or write -- before the command if it is part of that"
        ),
        (None, suggested) => format!("there is no option {option}; did you mean {suggested}?"),
    }
}
