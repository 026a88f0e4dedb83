//! Options from a file.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, Error, Result, anyhow, ensure};
use clap::CommandFactory as _;
use clap::parser::ValueSource;

use super::options::Cli;
use super::{Request, interpret, typed};
use crate::plain::{escaped, shortened};

/// What a file cannot say: it would be another program, or none.
const NOT_FOR_FILES: [&str; 6] = ["policy", "plan", "dry-run", "clients", "help", "version"];

/// A line that says something.
struct Line<'a> {
    number: usize,
    name: &'a str,
    /// As on the command line.
    word: OsString,
}

/// What the words of the command line mean together with a file of options. The command line wins,
/// and a line that it makes meaningless is dropped.
pub(super) fn merge(words: &[OsString], path: &Path, text: &str) -> Result<Request> {
    let lines = read(path, text)?;
    let given = Cli::command().try_get_matches_from(words)?;
    let is_given = |line: &&Line<'_>| {
        given.value_source(&line.name.replace('-', "_")) == Some(ValueSource::CommandLine)
    };
    let left: Vec<&Line<'_>> = lines.iter().filter(|line| !is_given(line)).collect();
    let error = match with(words, &left) {
        Ok(request) => return Ok(request),
        Err(error) => error,
    };
    check(path, &lines.iter().collect::<Vec<_>>())?;
    interpret(words)?;
    // Each is sound by itself, so that it is the command line that one of the lines does not go
    // together with.
    without_one(&left)
        .find_map(|(_, rest)| with(words, &rest).ok())
        .ok_or(error)
}

/// The lines of a file, each sound by itself.
fn read<'a>(path: &Path, text: &'a str) -> Result<Vec<Line<'a>>> {
    let command = Cli::command();
    let mut lines = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let number = index + 1;
        let line =
            parse(&command, number, text).map_err(|error| located(path, Some(number), &error))?;
        // Whether it goes together with others is asked when all are known.
        let value = typed(&["retry".into(), line.word.clone(), "true".into()]);
        value.map_err(|error| located(path, Some(number), &error))?;
        lines.push(line);
    }
    Ok(lines)
}

/// Reads `name value` or `name=value`, or the name of an option that takes none.
fn parse<'a>(command: &clap::Command, number: usize, text: &'a str) -> Result<Line<'a>> {
    let (name, value) = match text.split_once(|c: char| c.is_ascii_whitespace() || c == '=') {
        Some((name, value)) => (name, Some(value.trim_start())),
        None => (text, None),
    };
    let shown = shortened(&escaped(name.as_ref()));
    ensure!(
        !name.starts_with('-'),
        "'{shown}' begins with a dash; write options without"
    );
    ensure!(
        !NOT_FOR_FILES.contains(&name),
        "'{name}' cannot stand in a file; give it on the command line"
    );
    let option = command
        .get_arguments()
        .find(|option| option.get_long() == Some(name));
    let option = option.with_context(|| {
        format!("there is no option '{shown}'; see 'retry -h', and write the command on the command line")
    })?;
    let word = match value {
        Some(value) => format!("--{name}={value}"),
        None if option.get_action().takes_values() => format!("--{name}="),
        None => format!("--{name}"),
    };
    Ok(Line {
        number,
        name,
        word: word.into(),
    })
}

/// What the words mean with these lines before them.
fn with(words: &[OsString], lines: &[&Line<'_>]) -> Result<Request> {
    let mut all: Vec<OsString> = vec!["retry".into()];
    all.extend(lines.iter().map(|line| line.word.clone()));
    if words.is_empty() {
        // Whether they go together does not depend on what is run.
        all.push("true".into());
    }
    all.extend(words.iter().skip(1).cloned());
    interpret(&all)
}

/// Whether the lines go together, or which of them does not.
fn check(path: &Path, lines: &[&Line<'_>]) -> Result<()> {
    let Err(error) = with(&[], lines) else {
        return Ok(());
    };
    let culprit = without_one(lines).find(|(_, rest)| with(&[], rest).is_ok());
    Err(located(path, culprit.map(|(number, _)| number), &error))
}

/// The lines without each of them in turn, from the last one on, and its number.
fn without_one<'a, 'b>(
    lines: &'b [&'a Line<'a>],
) -> impl Iterator<Item = (usize, Vec<&'a Line<'a>>)> + use<'a, 'b> {
    lines.iter().rev().map(|left_out| {
        let rest = lines.iter().filter(|line| line.number != left_out.number);
        (left_out.number, rest.copied().collect())
    })
}

fn located(path: &Path, number: Option<usize>, error: &Error) -> Error {
    let path = shortened(&escaped(path.as_os_str()));
    let line = number.map_or_else(String::new, |number| format!(", line {number}"));
    anyhow!("policy file '{path}'{line}: {error}")
}
