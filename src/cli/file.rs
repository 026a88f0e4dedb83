//! Options from a file, together with those of the command line.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Error, Result, anyhow};
use clap::CommandFactory as _;
use clap::parser::ValueSource;

use super::clash::Clash;
use super::lines::{Line, located, place, read};
use super::options::Cli;
use super::typed::after_name;
use super::{Request, interpret};

/// What the words of the command line mean together with a file of options. The command line wins,
/// and a line that it makes meaningless is dropped.
pub(super) fn merge(words: &[OsString], path: &Path, text: &str) -> Result<Request> {
    let lines = read(path, text)?;
    let given = Cli::command().try_get_matches_from(after_name(words))?;
    let is_given =
        |name: &str| given.value_source(&name.replace('-', "_")) == Some(ValueSource::CommandLine);
    let mut left: Vec<&Line<'_>> = lines.iter().filter(|line| !is_given(line.name)).collect();
    loop {
        let error = match with(words, &left) {
            Ok(request) => return Ok(request),
            Err(error) => error,
        };
        let Some(clash) = error.downcast_ref::<Clash>() else {
            return Err(error);
        };
        let stands = |name: &str| left.iter().rev().find(|line| line.name == name);
        let culprits: Vec<&Line<'_>> = clash
            .options()
            .iter()
            .filter_map(|name| stands(name).copied())
            .collect();
        let Some(culprit) = culprits.first() else {
            return Err(error);
        };
        if !clash.options().iter().any(|name| is_given(name)) {
            return Err(located(path, culprit.number, &error));
        }
        let before = left.len();
        left.retain(|line| !clash.may_drop(line.name));
        if left.len() == before {
            return Err(contradicted(path, &culprits, &error));
        }
    }
}

/// A clash between the command line and these lines, of which none may be dropped: less would be
/// forbidden than the file forbids.
fn contradicted(path: &Path, lines: &[&Line<'_>], error: &Error) -> Error {
    let stand = lines
        .iter()
        .map(|line| format!("--{} is from {}", line.name, place(path, line.number)));
    let stand: Vec<String> = stand.collect();
    let stand = stand.join(", ");
    anyhow!("{error} ({stand}; an option on the command line replaces it)")
}

/// What the words mean with these lines before them.
fn with(words: &[OsString], lines: &[&Line<'_>]) -> Result<Request> {
    let mut all: Vec<OsString> = vec!["retry".into()];
    all.extend(lines.iter().map(|line| line.word.clone()));
    all.extend(after_name(words).iter().cloned());
    interpret(&all)
}
