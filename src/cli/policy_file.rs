//! Options from a policy file, merged with those of the command line.

mod lines;

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Error, Result, anyhow, ensure};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, FromArgMatches as _};

use super::Request;
use super::checks::Clash;
use super::delay::replaced;
use super::options::Cli;
use super::parse::{Typed, parse};
use crate::escape::{escaped, shortened};
use lines::{Line, located, place, read};

pub(super) use lines::last_value;

/// Merges a command line with a policy file. The command line wins, and a line that it makes
/// meaningless is dropped.
///
/// # Errors
/// One sentence, with the line of the file that is wrong.
pub(super) fn merge(
    typed: &ArgMatches,
    path: &Path,
    text: &str,
    parser: &mut Command,
) -> Result<Request> {
    let mut lines = read(path, text, parser)?;
    let mut file = parse_lines(path, &lines, parser)?;
    let is_typed = |name: &str| is_given(typed, name);
    lines.retain(|line| !is_typed(line.name));
    for name in replaced(is_typed) {
        file.try_clear_id(&id(name))?;
        lines.retain(|line| line.name != *name);
    }
    loop {
        let error = match merged(typed, &file).and_then(Cli::meant) {
            Ok(request) => return Ok(request),
            Err(error) => error,
        };
        let Some(clash) = error.downcast_ref::<Clash>() else {
            return Err(error);
        };
        let stands = |name: &str| lines.iter().rev().find(|line| line.name == name);
        let culprits: Vec<&Line<'_>> = clash
            .options()
            .iter()
            .filter_map(|name| stands(name))
            .collect();
        let Some(culprit) = culprits.first() else {
            return Err(error);
        };
        if !clash.options().iter().any(|name| is_typed(name)) {
            return Err(located(path, culprit.number, &error));
        }
        let dropped = culprits
            .iter()
            .map(|line| line.name)
            .find(|name| clash.may_drop(name));
        let Some(dropped) = dropped else {
            return Err(contradicted(path, &culprits, &error));
        };
        file.try_clear_id(&id(dropped))?;
        lines.retain(|line| line.name != dropped);
    }
}

/// Parses the options of a file.
fn parse_lines(path: &Path, lines: &[Line<'_>], parser: &mut Command) -> Result<ArgMatches> {
    let words: Vec<OsString> = lines.iter().map(|line| line.word.clone()).collect();
    let error = match parse_words(&words, parser) {
        Ok(matches) => return Ok(matches),
        Err(error) => error,
    };
    // Find the one that is wrong by itself.
    for (line, word) in lines.iter().zip(words) {
        parse_words(&[word], parser).map_err(|error| located(path, line.number, &error))?;
    }
    Err(error)
}

fn parse_words(words: &[OsString], parser: &mut Command) -> Result<ArgMatches> {
    match parse(words, parser)? {
        Typed::Options(matches) => Ok(matches),
        Typed::Text(_) => Ok(ArgMatches::default()),
    }
}

/// Returns the options of the file, overridden by those of the command line.
fn merged(typed: &ArgMatches, file: &ArgMatches) -> Result<Cli> {
    let mut cli = Cli::from_arg_matches(file)?;
    let verbosity = (cli.reports.quiet, cli.reports.verbose);
    cli.update_from_arg_matches(typed)?;
    if !is_given(typed, "quiet") && !is_given(typed, "verbose") {
        (cli.reports.quiet, cli.reports.verbose) = verbosity;
    }
    Ok(cli)
}

fn is_given(matches: &ArgMatches, name: &str) -> bool {
    matches.value_source(&id(name)) == Some(ValueSource::CommandLine)
}

/// Returns the name by which the parser knows an option.
fn id(name: &str) -> String {
    name.replace('-', "_")
}

/// Returns the error for lines that clash with the command line but may not be dropped, because
/// more failures would be retried than the file allows.
fn contradicted(path: &Path, lines: &[&Line<'_>], error: &Error) -> Error {
    let stand = lines
        .iter()
        .map(|line| format!("--{} is from {}", line.name, place(path, line.number)));
    let stand: Vec<String> = stand.collect();
    let stand = stand.join(", ");
    anyhow!("{error} ({stand}; the same option on the command line overrides it)")
}

/// The longest file, in bytes: far more than all options need.
const LONGEST: u64 = 64 * 1024;

/// Reads a policy file, without waiting for a writer if it is a pipe.
///
/// # Errors
/// When it cannot be read, is not a regular file, is too long or is not UTF-8.
pub(crate) fn read_policy_file(path: &Path) -> Result<String> {
    let name = shortened(&escaped(path.as_os_str()));
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path);
    let file = file.with_context(|| format!("policy file '{name}' cannot be read"))?;
    let kind = file.metadata().context("cannot look at the policy file")?;
    ensure!(
        kind.is_file(),
        "policy file '{name}' is not a regular file; write the options to one"
    );
    let mut text = Vec::new();
    file.take(LONGEST + 1)
        .read_to_end(&mut text)
        .with_context(|| format!("policy file '{name}' cannot be read"))?;
    ensure!(
        text.len() as u64 <= LONGEST,
        "policy file '{name}' is longer than 64 KiB; remove everything that is not an option"
    );
    String::from_utf8(text)
        .ok()
        .with_context(|| format!("policy file '{name}' is not valid UTF-8; save it as UTF-8"))
}
