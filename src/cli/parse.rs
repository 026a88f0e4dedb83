//! Parses words into options, or into the help that they ask for.

use std::ffi::OsString;
use std::mem::ManuallyDrop;

use anyhow::{Result, anyhow};
use clap::error::ErrorKind;
use clap::{ArgMatches, Command, CommandFactory as _};

use super::options::{self, Cli};
use super::usage_error;

/// The used parser. Freeing it takes longer than exiting without freeing it, so it is kept until
/// there is time.
#[derive(Default)]
pub(crate) struct Leftovers(ManuallyDrop<Option<Command>>);

impl Leftovers {
    /// Frees the parser, and returns whether there was one.
    pub(crate) fn clear(&mut self) -> bool {
        self.0.take().is_some()
    }

    /// The parser of the options.
    pub(super) fn parser(&mut self) -> &mut Command {
        self.0.insert(Cli::command())
    }
}

/// A command line as typed.
pub(super) enum Typed {
    /// Options and a command.
    Options(ArgMatches),
    /// A request to print this text.
    Text(String),
}

impl Typed {
    fn text(text: &str) -> Self {
        Self::Text(format!("{}\n", text.trim_end()))
    }
}

/// Parses the words after the program's name.
///
/// # Errors
/// One sentence with the fault and its remedy.
pub(super) fn parse(words: &[OsString], parser: &mut Command) -> Result<Typed> {
    match parser.try_get_matches_from_mut(words) {
        Ok(matches) => Ok(Typed::Options(matches)),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp => Ok(Typed::text(&help(words))),
            ErrorKind::DisplayVersion => Ok(Typed::text(&error.to_string())),
            _ => Err(anyhow!(usage_error::render(&error, words, parser))),
        },
    }
}

/// Returns the help that these words ask for. The text around the options is added only now,
/// because every start would have to copy it.
fn help(words: &[OsString]) -> String {
    let command = options::command()
        .help_template(include_str!("help/template.txt").trim_end())
        .after_help(include_str!("help/after_short.txt"))
        .after_long_help(include_str!("help/after_long.txt"));
    match command.try_get_matches_from(words) {
        Err(asked) => asked.to_string(),
        Ok(_) => String::new(),
    }
}
