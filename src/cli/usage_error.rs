//! Usage errors: one sentence with the remedy, and the format to report it in.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory as _, ValueEnum as _};

use super::options::{Cli, FormatName};
use super::values::suggest;
use super::{PolicySource, after_name, policy_file};
use crate::escape::{escaped, shortened};
use crate::job::Format;

/// The error for a call without arguments.
pub(super) const NOTHING_TYPED: &str = "\
there is no command to run
Usage: retry [OPTIONS] [--] COMMAND [ARG]...
Example: retry --attempts 3 --timeout 30s -- curl -fsS URL
'retry -h' lists the options; 'man retry' explains them and has recipes";

/// Renders an error of clap's about these words as one sentence.
pub(super) fn render(error: &clap::Error, words: &[OsString], command: &Command) -> String {
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

/// Returns the error for a long option with one dash, in which this was taken for the letter of a
/// short one: `-version`, or `-qattempts`.
fn clustered(letter: &str, words: &[OsString], command: &Command) -> Option<String> {
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

/// Returns the error for a long option written with one dash, as other programs do.
fn one_dash(word: &OsStr, command: &Command) -> Option<String> {
    let name = word.to_str()?.strip_prefix('-')?;
    let name = name.split('=').next().unwrap_or_default();
    let long = format!("--{name}");
    if let Some(hint) = remedy(&long) {
        return Some(format!("there is no option -{name} here; {hint}"));
    }
    let mut ours = command.get_arguments().filter_map(Arg::get_long);
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

/// The options of other tools, a line for each remedy: the options, a colon, the remedy.
const OTHER_TOOLS: &str = include_str!("other_tools.txt");

/// Returns the remedy for this option, if another retry command has it.
fn remedy(option: &str) -> Option<&'static str> {
    let rows = OTHER_TOOLS.lines().filter(|line| !line.starts_with('#'));
    let mut rows = rows.filter_map(|line| line.split_once(": "));
    let found = rows.find(|(options, _)| options.split(' ').any(|known| known == option));
    found.map(|(_, remedy)| remedy)
}

/// Returns the format of lines on stderr that a wrong call, or its wrong policy file, asks for, as
/// far as it can be read.
pub(crate) fn format_of(words: &[OsString], policy_source: &PolicySource<'_>) -> Format {
    let asked = Asked::by(after_name(words));
    let named = |text: &str| FormatName::from_str(text, false).ok();
    if let Some(text) = asked.format {
        return named(&text).map_or(Format::Text, Format::from);
    }
    let path = asked.policy.map(OsString::from);
    let path = path.or_else(|| policy_source.path.clone());
    let text = path.and_then(|path| (policy_source.read)(Path::new(&path)).ok());
    text.and_then(|text| named(policy_file::last_value(&text, "log-format")?))
        .map_or(Format::Text, Format::from)
}

/// The last value of each option that decides the format, as typed.
#[derive(Default)]
struct Asked {
    format: Option<String>,
    policy: Option<String>,
}

impl Asked {
    /// Scans the words up to the command. The word after an unknown option is taken for its value
    /// unless it is an option, too.
    fn by(words: &[OsString]) -> Self {
        let command = Cli::command();
        let mut asked = Self::default();
        let mut words = words.iter().map(|word| word.to_string_lossy()).peekable();
        while let Some(word) = words.next_if(|word| word.len() > 1 && word.starts_with('-')) {
            if word == "--" {
                break;
            }
            let (option, value) = match word.split_once('=') {
                Some((option, value)) => (option, Some(value.to_owned())),
                None => (&*word, None),
            };
            let value = match takes(&command, option) {
                Takes::Nothing => continue,
                Takes::Value => value.or_else(|| words.next().map(String::from)),
                Takes::Maybe => {
                    let is_value = |word: &Cow<'_, str>| value.is_none() && !word.starts_with('-');
                    let _ = words.next_if(is_value);
                    continue;
                }
            };
            match option {
                "--log-format" => asked.format = value,
                "--policy" => asked.policy = value,
                _ => {}
            }
        }
        asked
    }
}

/// Whether an option takes the next word.
enum Takes {
    Nothing,
    Value,
    /// There is no such option.
    Maybe,
}

impl Takes {
    fn by(option: Option<&Arg>) -> Self {
        match option {
            Some(option) if option.get_action().takes_values() => Self::Value,
            Some(_) => Self::Nothing,
            None => Self::Maybe,
        }
    }
}

/// Returns what a word with one option takes, or with several of one letter.
fn takes(command: &Command, word: &str) -> Takes {
    if let Some(name) = word.strip_prefix("--") {
        let is_meant = |option: &&Arg| {
            let aliases = option.get_all_aliases().unwrap_or_default();
            option.get_long() == Some(name) || aliases.contains(&name)
        };
        return Takes::by(command.get_arguments().find(is_meant));
    }
    let mut letters = word.trim_start_matches('-').chars();
    while let Some(letter) = letters.next() {
        let mut options = command.get_arguments();
        match Takes::by(options.find(|option| option.get_short() == Some(letter))) {
            Takes::Nothing => {}
            // The rest of the word is the letter's value.
            takes if letters.as_str().is_empty() => return takes,
            _ => return Takes::Nothing,
        }
    }
    Takes::Nothing
}
