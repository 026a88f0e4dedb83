//! The lines of a policy file, before the parser of options looks at their values.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, Error, Result, anyhow, bail, ensure};
use clap::{Arg, Command};

use crate::cli::values::suggest;
use crate::escape::{escaped, shortened};

/// Options that are not allowed in a file: they name another file, or make the program print
/// something instead of running a command.
const NOT_FOR_FILES: [&str; 8] = [
    "policy", "plan", "dry-run", "clients", "capacity", "generate", "help", "version",
];

/// The options that name a file, which no shell expands here.
const PATHS: [&str; 3] = ["log", "shared", "retry-after"];

/// A line that names an option.
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) name: &'a str,
    /// As on the command line.
    pub(super) word: OsString,
}

/// Returns the lines of a file that name an option, without blank lines and comments.
pub(super) fn read<'a>(path: &Path, text: &'a str, parser: &Command) -> Result<Vec<Line<'a>>> {
    let mut lines = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, text) in text.lines().enumerate() {
        let text = text.trim_start();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let number = index + 1;
        let line = parse(parser, number, text).map_err(|error| located(path, number, &error))?;
        lines.push(line);
    }
    Ok(lines)
}

/// Adds its place in the file to an error.
pub(super) fn located(path: &Path, number: usize, error: &Error) -> Error {
    anyhow!("{}: {error}", place(path, number))
}

/// Names a line of a file in a message.
pub(super) fn place(path: &Path, number: usize) -> String {
    let path = shortened(&escaped(path.as_os_str()));
    format!("policy file '{path}', line {number}")
}

/// Returns the last value that a file gives an option, whatever else is wrong with the file.
pub(in crate::cli) fn last_value<'a>(text: &'a str, option: &str) -> Option<&'a str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().rev().map(|line| split(line.trim_start()));
    let mut values = lines.filter_map(|(name, value)| value.filter(|_| name == option));
    values.next()
}

/// Splits a line into a name, and the value behind it if there may be one.
fn split(text: &str) -> (&str, Option<&str>) {
    let end = text.find(|c: char| c.is_ascii_whitespace() || c == '=');
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    let value = end.map(|_| match Kind::of(name) {
        Kind::Pattern | Kind::Script => rest,
        Kind::Path | Kind::Word => rest.trim_end(),
    });
    (name, value)
}

/// Reads `name value` or `name=value`, or the name of an option that takes none.
fn parse<'a>(parser: &Command, number: usize, text: &'a str) -> Result<Line<'a>> {
    ensure!(
        !text.contains('\0'),
        "it contains a NUL byte; save it as plain text"
    );
    let (name, value) = split(text);
    let shown = shortened(&escaped(name.as_ref()));
    ensure!(
        !name.starts_with('-'),
        "'{shown}' begins with a dash; write the option without dashes"
    );
    ensure!(
        !NOT_FOR_FILES.contains(&name),
        "'{name}' is not allowed in a policy file; give it on the command line"
    );
    let option = parser
        .get_arguments()
        .find(|option| option.get_long() == Some(name));
    let option = option.with_context(|| {
        let known: Vec<&str> = parser.get_arguments().filter_map(Arg::get_long).collect();
        let mut options = parser.get_arguments();
        let is_letter = |option: &&Arg| {
            option
                .get_short()
                .is_some_and(|letter| name == letter.to_string())
        };
        let by_letter = options.find(is_letter).and_then(Arg::get_long);
        match by_letter.or_else(|| suggest(name, &known)) {
            Some(meant) => format!("unknown option '{shown}'; did you mean {meant}?"),
            None => format!(
                "unknown option '{shown}'; see 'retry -h', and put the command on the command line"
            ),
        }
    })?;
    check_habits(name, value.unwrap_or_default())?;
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

/// The syntax of an option's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A regular expression, trailing blanks included.
    Pattern,
    /// A shell script, with quotes, comments and variables of its own.
    Script,
    /// The name of a file.
    Path,
    /// A number, a word or a list.
    Word,
}

impl Kind {
    fn of(name: &str) -> Self {
        if name.ends_with("-if") {
            Self::Pattern
        } else if name == "before-retry" {
            Self::Script
        } else if PATHS.contains(&name) {
            Self::Path
        } else {
            Self::Word
        }
    }
}

/// Rejects a value written as for a shell, with quotes around it, a comment after it, or `~`: these
/// would become part of the value. The error says what to write.
fn check_habits(name: &str, value: &str) -> Result<()> {
    let kind = Kind::of(name);
    let write = |value: &str| {
        let value = shortened(&escaped(value.as_ref()));
        format!("write: {}", format!("{name} {value}").trim_end())
    };
    if let Some(inner) = without_quotes(value) {
        let or = match kind {
            Kind::Pattern => {
                let quoted = shortened(&escaped(value.trim_end().as_ref()));
                format!(", or {name} ({quoted}) if the output contains the quotes")
            }
            Kind::Script | Kind::Path | Kind::Word => String::new(),
        };
        bail!("quotes would be part of the value; {}{or}", write(inner));
    }
    if let Some(rest) = without_comment(kind, value) {
        let rest = write(without_quotes(rest).unwrap_or(rest));
        let or = match kind {
            Kind::Pattern => ", or [#] to match a #",
            Kind::Script | Kind::Path | Kind::Word => "",
        };
        bail!("a comment needs a line of its own; {rest}{or}");
    }
    let path = value.strip_prefix('@').unwrap_or(value);
    if let Some(part) = expanded_by_shells(path).filter(|_| kind == Kind::Path) {
        let shown = shortened(&escaped(path.as_ref()));
        let part = shortened(&escaped(part.as_ref()));
        bail!("a policy file does not expand '{shown}'; write the full path, without {part}");
    }
    Ok(())
}

/// Strips quotes, if they are around all of the value.
fn without_quotes(value: &str) -> Option<&str> {
    let value = value.trim_end();
    let around = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    ['"', '\'']
        .into_iter()
        .find_map(|quote| around(quote).filter(|inner| !inner.contains(quote)))
}

/// Strips a comment, if there is one.
fn without_comment(kind: Kind, value: &str) -> Option<&str> {
    let is_blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let (at, _) = value.match_indices('#').find(|(at, _)| {
        let (before, behind) = (value[..*at].chars(), value[at + 1..].chars());
        match kind {
            Kind::Script => false,
            // A # next to other text is more likely to be part of the pattern.
            Kind::Pattern => *at > 0 && is_blank(before.last()) && is_blank({ behind }.next()),
            Kind::Path | Kind::Word => is_blank(before.last()),
        }
    })?;
    Some(value[..at].trim_end())
}

/// Returns the part of a path that a shell would expand: a `~` at its beginning, or a variable.
fn expanded_by_shells(path: &str) -> Option<&str> {
    if path.starts_with('~') {
        return Some("~");
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    path.match_indices('$').find_map(|(at, _)| {
        let behind = &path[at + 1..];
        let length = match behind.strip_prefix('{') {
            Some(braced) => braced.find('}')? + 2,
            None => behind.find(|c| !is_name(c)).unwrap_or(behind.len()),
        };
        (length > 0).then(|| &path[at..=at + length])
    })
}
