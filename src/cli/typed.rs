//! From words to options, by the parser.

use std::ffi::OsString;
use std::mem::ManuallyDrop;

use anyhow::{Result, anyhow};
use clap::error::ErrorKind;
use clap::{Command, CommandFactory as _, FromArgMatches as _};

use super::options::Cli;
use super::{notes, sentences};

/// What is known of all options, and is needed no more. To take it apart would take longer than to
/// end with it, so that it stays until there is time.
#[derive(Default)]
pub(crate) struct Leftovers(ManuallyDrop<Option<Command>>);

impl Leftovers {
    /// Gives back the memory that they take; says whether there were any.
    pub(crate) fn clear(&mut self) -> bool {
        self.0.take().is_some()
    }
}

/// What was typed.
pub(super) enum Typed {
    /// Options and a command.
    Options(Box<Cli>),
    /// A call for this text.
    Text(String),
}

impl Typed {
    fn text(text: &str) -> Self {
        Self::Text(format!("{}\n", text.trim_end()))
    }
}

/// What words mean to the parser. What it knows is left over.
///
/// # Errors
/// One sentence that says what is wrong.
pub(super) fn typed(words: &[OsString], leftovers: &mut Leftovers) -> Result<Typed> {
    let command = leftovers.0.insert(Cli::command());
    let parsed = command
        .try_get_matches_from_mut(after_name(words))
        .and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches));
    match parsed {
        Ok(cli) => Ok(Typed::Options(Box::new(cli))),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp => Ok(Typed::text(&notes::help(words))),
            ErrorKind::DisplayVersion => Ok(Typed::text(&error.to_string())),
            _ => Err(anyhow!(sentences::of(&error, words, command))),
        },
    }
}

/// The words behind the program's name. Parts of a path are not for a parser of options to look at.
pub(super) fn after_name(words: &[OsString]) -> &[OsString] {
    words.get(1..).unwrap_or_default()
}
