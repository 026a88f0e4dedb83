//! Options from a file.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, Error, Result, anyhow, ensure};
use clap::parser::ValueSource;
use clap::{Arg, CommandFactory as _};

use super::options::Cli;
use super::typed::{Leftovers, after_name, typed};
use super::{Request, interpret, slips};
use crate::plain::{escaped, shortened};

/// What a file cannot say: it would be another program, or none.
const NOT_FOR_FILES: [&str; 6] = ["policy", "plan", "dry-run", "clients", "help", "version"];

/// What may be meaningless beside another option.
const DEPENDENT: [&str; 9] = [
    "retry-on",
    "stop-on",
    "success-on",
    "backoff",
    "factor",
    "reserve",
    "retry-after-max",
    "budget",
    "budget-refill",
];

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
    let given = Cli::command().try_get_matches_from(after_name(words))?;
    let is_given = |line: &&Line<'_>| {
        given.value_source(&line.name.replace('-', "_")) == Some(ValueSource::CommandLine)
    };
    let left: Vec<&Line<'_>> = lines.iter().filter(|line| !is_given(line)).collect();
    with(words, &left).or_else(|error| {
        check(path, &lines.iter().collect::<Vec<_>>(), &error)?;
        without_the_meaningless(words, left, &error).ok_or(error)
    })
}

/// What the words mean without the lines that they make meaningless, if there is a way. What is wrong
/// with both together, and not with the file alone, is a line's fault if it is gone without it.
fn without_the_meaningless<'a>(
    words: &[OsString],
    mut lines: Vec<&'a Line<'a>>,
    error: &Error,
) -> Option<Request> {
    let mut fault = error.to_string();
    loop {
        let mut next = None;
        for (_, rest) in without_one(&lines) {
            match with(words, &rest) {
                Ok(request) => return Some(request),
                Err(other) if other.to_string() != fault => {
                    next.get_or_insert((rest, other.to_string()));
                }
                Err(_) => {}
            }
        }
        (lines, fault) = next?;
    }
}

/// The lines of a file, each sound by itself.
fn read<'a>(path: &Path, text: &'a str) -> Result<Vec<Line<'a>>> {
    let command = Cli::command();
    let mut lines = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, text) in text.lines().enumerate() {
        let text = text.trim_start();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let number = index + 1;
        if text.contains('\0') {
            let fault = anyhow!("it holds a NUL byte; write it anew as text");
            return Err(located(path, Some(number), &fault));
        }
        let line =
            parse(&command, number, text).map_err(|error| located(path, Some(number), &error))?;
        // Whether it goes together with others is asked when all are known.
        let words = ["retry".into(), line.word.clone(), "true".into()];
        let value = typed(&words, &mut Leftovers::default());
        value.map_err(|error| located(path, Some(number), &error))?;
        lines.push(line);
    }
    Ok(lines)
}

/// Reads `name value` or `name=value`, or the name of an option that takes none.
fn parse<'a>(command: &clap::Command, number: usize, text: &'a str) -> Result<Line<'a>> {
    let end = text.find(|c: char| c.is_ascii_whitespace() || c == '=');
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    let value = end.map(|_| {
        if is_exact(name) {
            rest
        } else {
            rest.trim_end()
        }
    });
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
        let known: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
        match slips::meant(name, &known) {
            Some(meant) => format!("there is no option '{shown}'; did you mean {meant}?"),
            None => format!("there is no option '{shown}'; see 'retry -h', and write the command on the command line"),
        }
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

/// Whether blanks at the end of its value are part of it.
fn is_exact(name: &str) -> bool {
    name.ends_with("-if") || name == "before-retry"
}

/// What the words mean with these lines before them.
fn with(words: &[OsString], lines: &[&Line<'_>]) -> Result<Request> {
    let mut all: Vec<OsString> = vec!["retry".into()];
    all.extend(lines.iter().map(|line| line.word.clone()));
    if words.is_empty() {
        // Whether they go together does not depend on what is run.
        all.push("true".into());
    }
    all.extend(after_name(words).iter().cloned());
    interpret(&all)
}

/// Whether the file has this fault by itself, and then which line. Another that it has may be mended
/// by the command line: a budget in the file, and the place for it there.
fn check(path: &Path, lines: &[&Line<'_>], fault: &Error) -> Result<()> {
    match with(&[], lines) {
        Err(error) if error.to_string() == fault.to_string() => {
            let culprit = without_one(lines)
                .into_iter()
                .find(|(_, rest)| with(&[], rest).is_ok());
            Err(located(path, culprit.map(|(number, _)| number), &error))
        }
        _ => Ok(()),
    }
}

/// The lines without each option in turn that another may make meaningless, and the number of its
/// last line.
fn without_one<'a>(lines: &[&'a Line<'a>]) -> Vec<(usize, Vec<&'a Line<'a>>)> {
    let names = DEPENDENT.iter().rev();
    let without = names.filter_map(|name| {
        let last = lines.iter().rev().find(|line| line.name == *name)?;
        let rest = lines.iter().filter(|line| line.name != *name);
        Some((last.number, rest.copied().collect()))
    });
    without.collect()
}

fn located(path: &Path, number: Option<usize>, error: &Error) -> Error {
    let path = shortened(&escaped(path.as_os_str()));
    let line = number.map_or_else(String::new, |number| format!(", line {number}"));
    anyhow!("policy file '{path}'{line}: {error}")
}
