//! Usage errors: one sentence with the remedy, and the format to report it in.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use clap::builder::OsStringValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory as _, ValueEnum as _};

use super::options::{Cli, FormatName};
use super::values::did_you_mean;
use super::{PolicySource, after_name, policy_file};
use crate::escape::{escaped, shortened};
use crate::job::Format;

/// The error for a call without arguments.
pub(super) const NOTHING_TYPED: &str = "\
there is no command to run
Usage: retry [OPTIONS] [--] COMMAND [ARG]...
Example: retry --attempts 3 --timeout 30s -- curl -fsS URL
'retry -h' lists the options; 'man retry' explains them and has recipes";

/// Renders clap's error about these words as one sentence.
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
        ErrorKind::UnknownArgument => {
            // A long option with one dash is taken for letters: -version is -v and an unknown -e.
            let letter = option.trim_start_matches('-');
            long_with_one_dash(words, command, |word| word.contains(letter))
                .unwrap_or_else(|| unknown(option, &context(ContextKind::SuggestedArg)))
        }
        ErrorKind::ValueValidation if value == "--" => {
            format!("{option} has no value; write one before the --")
        }
        ErrorKind::ValueValidation => {
            let typed = match error.get(ContextKind::InvalidValue) {
                Some(ContextValue::String(text)) => text.as_str(),
                _ => "",
            };
            // Or for a letter and its value: -attempts is -a with ttempts.
            let letter = option.trim_start_matches('-').get(..1).unwrap_or_default();
            let is_meant = |word: &str| word.strip_prefix(letter) == Some(typed);
            long_with_one_dash(words, command, is_meant)
                .unwrap_or_else(|| format!("{option} '{value}': {}", reason(error)))
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("{option} has no value; write one after it")
        }
        ErrorKind::InvalidValue => {
            let meant = match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(valid)) => did_you_mean(&value, valid),
                _ => String::new(),
            };
            format!(
                "{option} '{value}': use one of {}{meant}",
                context(ContextKind::ValidValue)
            )
        }
        ErrorKind::TooManyValues => {
            format!("{option} takes no value; remove '{value}'")
        }
        ErrorKind::InvalidUtf8 => {
            "the value of an option is not valid UTF-8; only the command may contain other bytes"
                .into()
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

/// Returns the error for a long option written with one dash, as other programs have it. It looks
/// only at the first word for which `is_meant` is true; that gets the word without its dash.
fn long_with_one_dash(
    words: &[OsString],
    command: &Command,
    is_meant: impl Fn(&str) -> bool,
) -> Option<String> {
    let mut short = words
        .iter()
        .filter_map(|word| word.to_str()?.strip_prefix('-'));
    let name = short.find(|word| is_meant(word))?;
    let name = name.split('=').next().unwrap_or_default();
    let long = format!("--{name}");
    if let Some(hint) = remedy(&long) {
        return Some(format!("unknown option -{name}; {hint}"));
    }
    let mut ours = command.get_arguments().filter_map(Arg::get_long);
    ours.any(|known| known == name)
        .then(|| format!("unknown option -{name}; did you mean {long}?"))
}

fn unknown(option: &str, suggested: &str) -> String {
    let number = option.trim_start_matches('-');
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.is_empty();
    match (remedy(option), suggested) {
        (Some(hint), _) => format!("unknown option {option}; {hint}"),
        (None, _) if is_number => {
            format!("unknown option {option}; use --attempts {number} (number of runs)")
        }
        (None, "") => format!(
            "unknown option {option}; see 'retry -h', or write -- before the command if it belongs to the command"
        ),
        (None, suggested) => format!("unknown option {option}; did you mean {suggested}?"),
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

/// Returns the format for lines on stderr that a faulty command line or its faulty policy file asks
/// for, as far as it can be parsed.
pub(crate) fn format_of(words: &[OsString], policy_source: &PolicySource<'_>) -> Format {
    let typed = parse_leniently(after_name(words).to_vec());
    let value = |option| typed.as_ref()?.get_one::<OsString>(option).cloned();
    let named = |text: &str| FormatName::from_str(text, false).ok();
    if let Some(text) = value("log_format") {
        return named(&text.to_string_lossy()).map_or(Format::Text, Format::from);
    }
    let path = value("policy").or_else(|| policy_source.path.clone());
    let text = path.and_then(|path| (policy_source.read)(Path::new(&path)).ok());
    text.and_then(|text| named(policy_file::last_value(&text, "log-format")?))
        .map_or(Format::Text, Format::from)
}

/// Parses words whatever their values are, without options that do not exist. The word after such
/// an option is taken for its value unless it is an option, too.
fn parse_leniently(mut words: Vec<OsString>) -> Option<ArgMatches> {
    let mut parser = Cli::command().mut_args(|option| match option.get_action() {
        ArgAction::Set | ArgAction::Append => option.value_parser(OsStringValueParser::new()),
        _ => option,
    });
    loop {
        let error = match parser.try_get_matches_from_mut(&words) {
            Ok(typed) => return Some(typed),
            Err(error) => error,
        };
        let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
            return None;
        };
        let is_unknown = |word: &OsString| word.to_string_lossy().starts_with(unknown.as_str());
        let at = words.iter().position(is_unknown)?;
        words.remove(at);
        let value = words
            .get(at)
            .filter(|word| !word.as_bytes().starts_with(b"-"));
        if value.is_some() && error.kind() == ErrorKind::UnknownArgument {
            words.remove(at);
        }
    }
}
