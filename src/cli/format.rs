//! How somebody wants to hear of a call that is wrong.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _, ValueEnum as _};

use super::options::{Cli, FormatName};
use super::{PolicySource, after_name, policy_file};
use crate::job::Format;

/// The format of lines on stderr that a call asks for, as far as it can be read: the call, or its
/// file of options, is wrong.
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

/// What is asked for in the end, as typed.
#[derive(Default)]
struct Asked {
    format: Option<String>,
    policy: Option<String>,
}

impl Asked {
    /// Looks at words up to the command. What follows an option that does not exist is taken for its
    /// value unless it is an option, too.
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

/// Whether the next word belongs to an option.
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

/// What this word with one option takes, or with several of one letter.
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
            // What follows the letter at once is its value.
            takes if letters.as_str().is_empty() => return takes,
            _ => return Takes::Nothing,
        }
    }
    Takes::Nothing
}
