//! Parsers for values that no other module parses, and suggestions for misspelt words.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};

use crate::backoff::Jitter;
use crate::duration::parse_duration;
use crate::escape::{escaped, shortened};
use crate::job::{Capacity, RetryAfterSource};
use crate::numbers::{Share, whole_number};
use crate::patterns::{Pattern, Stream};
use crate::signal::Signal;
use crate::status_set::{StatusList, StatusSet};

/// The most clients of a plan: more would take long and show nothing new.
const MOST_CLIENTS: u32 = 1_000_000;

pub(super) fn parse_list(text: &str) -> Result<StatusList, String> {
    let set = StatusSet::parse(text).map_err(|why| {
        let words = ["any", "signal", "timeout", "spawn"].map(String::from);
        let names: Vec<String> = signal_names().chain(words).collect();
        let mut items = text.split(',').map(str::trim);
        let wrong = items.find(|item| StatusSet::parse(item).is_err());
        let wrong = wrong.unwrap_or_default();
        let meant = did_you_mean(wrong, &names);
        let negates = ["!", "non", "not", "-"]
            .iter()
            .any(|no| wrong.starts_with(no));
        match meant.as_str() {
            "" if negates => format!("{why}; for every status except 0, write any"),
            _ => why + &meant,
        }
    })?;
    Ok(StatusList {
        set,
        written: shortened(&escaped(OsStr::new(text.trim()))),
    })
}

pub(super) fn parse_jitter(text: &str) -> Result<Jitter, String> {
    if let Some((_, jitter)) = Jitter::NAMED.iter().find(|(name, _)| *name == text) {
        return Ok(*jitter);
    }
    Share::parse(text).map(Jitter::Around).ok_or_else(|| {
        let names = Jitter::NAMED.map(|(name, _)| name);
        format!(
            "use {}, or a percentage up to 100%, such as 20% or 0.2{}",
            names.join(", "),
            did_you_mean(text, &names)
        )
    })
}

/// Returns `; did you mean X?` if the word is nearly one of these, else an empty text.
pub(super) fn did_you_mean(word: &str, known: &[impl AsRef<str>]) -> String {
    suggest(word, known).map_or_else(String::new, |meant| format!("; did you mean {meant}?"))
}

/// Returns the names of all signals, with and without SIG.
fn signal_names() -> impl Iterator<Item = String> {
    let full = || Signal::all().map(|signal| signal.to_string());
    let short = full().filter_map(|name| name.strip_prefix("SIG").map(String::from));
    short.chain(full())
}

/// Parses `--base` or `--delay`. Some tools take a list of delays there, which gets its own error.
pub(super) fn parse_delay(text: &str) -> Result<Duration, String> {
    if text.matches(',').count() > 1 {
        return Err(
            "a list of delays is not supported; use --base 1s --factor 2 or the like".into(),
        );
    }
    parse_duration(text)
}

pub(super) fn parse_name(text: &str) -> Result<String, String> {
    match no_option(text)?.trim() {
        "" => Err("it is empty; write a name".into()),
        name => Ok(name.to_owned()),
    }
}

/// A parser of text by this function. The error for invalid UTF-8 names the option, which clap's
/// string parser would not do.
pub(super) fn text<T: Clone + Send + Sync + 'static>(
    parse: fn(&str) -> Result<T, String>,
) -> impl TypedValueParser<Value = T> {
    OsStringValueParser::new().try_map(move |value| match value.to_str() {
        Some(text) => parse(text),
        None => Err(String::from(
            "it is not valid UTF-8; only the command may contain other bytes",
        )),
    })
}

pub(super) fn parse_pattern(text: &str) -> Result<Pattern, String> {
    Pattern::parse(no_option(text)?)
}

pub(super) fn parse_hook(text: &str) -> Result<String, String> {
    match no_option(text)?.trim() {
        "" => Err("it is empty; write a command for sh".into()),
        _ => Ok(text.to_owned()),
    }
}

/// Parses the name of a file, which may be any bytes. Many programs take a lone dash for a standard
/// stream; here it is an error, which says `instead`.
pub(super) fn path(instead: &'static str) -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(move |name| match no_option(&name.to_string_lossy())? {
        "" => Err(String::from("it is empty; write the name of a file")),
        "-" => Err(format!("{instead}; for a file of that name write ./-")),
        _ => Ok(PathBuf::from(name)),
    })
}

/// Rejects a value that looks like an option. Otherwise, an option that takes any text but lacks
/// its value would consume the next option.
fn no_option(text: &str) -> Result<&str, String> {
    let is_long =
        |rest: &str| rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_lowercase());
    let is_short =
        |rest: &str| rest.len() == 1 && rest.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_option = match text.strip_prefix("--") {
        Some(rest) => is_long(rest),
        None => text.strip_prefix('-').is_some_and(is_short),
    };
    if is_option {
        return Err("the value is missing; this looks like the next option".into());
    }
    Ok(text)
}

pub(super) fn parse_heads(text: &str) -> Result<RetryAfterSource, String> {
    match text {
        "output" => Ok(RetryAfterSource::Output),
        "stdout" => Ok(RetryAfterSource::Only(Stream::Stdout)),
        "stderr" => Ok(RetryAfterSource::Only(Stream::Stderr)),
        "@-" => Err(
            "for headers on stdout (curl -D -) use stdout; for a file of that name write @./-"
                .into(),
        ),
        _ => match text.strip_prefix('@') {
            Some(file) if !file.is_empty() => Ok(RetryAfterSource::File(file.into())),
            _ => Err(
                "use output, stdout, stderr, or @FILE for a file that the command writes".into(),
            ),
        },
    }
}

pub(super) fn parse_seed(text: &str) -> Result<u64, String> {
    whole_number(text).ok_or_else(|| format!("write a whole number from 0 to {}", u64::MAX))
}

pub(super) fn parse_concurrency(text: &str) -> Result<u32, String> {
    whole_number(text)
        .filter(|slots| *slots > 0)
        .ok_or_else(|| format!("write a whole number of attempts, from 1 to {}", u32::MAX))
}

pub(super) fn parse_clients(text: &str) -> Result<u32, String> {
    whole_number(text)
        .filter(|clients| (1..=MOST_CLIENTS).contains(clients))
        .ok_or_else(|| format!("write a whole number from 1 to {MOST_CLIENTS}"))
}

pub(super) fn parse_capacity(text: &str) -> Result<Capacity, String> {
    let how = "write a number of attempts and a time, like 100/1s";
    let (attempts, window) = text.split_once('/').ok_or(how)?;
    let attempts = whole_number(attempts.trim_end()).filter(|attempts| *attempts > 0);
    let window = window.trim_start();
    if window.is_empty() {
        return Err(how.into());
    }
    let window = parse_duration(window)?;
    match attempts {
        Some(attempts) if !window.is_zero() => Ok(Capacity { attempts, window }),
        _ => Err(how.into()),
    }
}

pub(super) fn parse_signal(text: &str) -> Result<Signal, String> {
    let by_number = || whole_number(text).and_then(Signal::from_number);
    Signal::from_name(text).or_else(by_number).ok_or_else(|| {
        let names: Vec<String> = signal_names().collect();
        "there is no such signal; use a name such as TERM, INT or KILL".to_owned()
            + &did_you_mean(text, &names)
    })
}

/// Returns the known word that a misspelt one probably means: the only known word that begins with
/// it, or one that differs by a single slip (a letter missing, extra or wrong, or two swapped).
/// Case does not matter.
pub(super) fn suggest<'a>(word: &str, known: &'a [impl AsRef<str>]) -> Option<&'a str> {
    let word = word.to_lowercase();
    // A shorter word is near too many others.
    if word.chars().count() < 3 {
        return None;
    }
    let known = || known.iter().map(AsRef::as_ref);
    let mut longer = known().filter(|known| known.to_lowercase().starts_with(&word));
    match (longer.next(), longer.next()) {
        (Some(only), None) => Some(only),
        _ => known().find(|known| strsim::osa_distance(&word, &known.to_lowercase()) <= 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &[&str] = &["none", "full", "equal", "decorrelated", "TERM", "TSTP"];

    #[test]
    fn one_slip_is_forgiven() {
        for (word, right) in [
            ("ful", "full"),
            ("fulll", "full"),
            ("fall", "full"),
            ("qeual", "equal"),
            ("TREM", "TERM"),
            ("term", "TERM"),
            ("trem", "TERM"),
            ("decor", "decorrelated"),
        ] {
            assert_eq!(suggest(word, WORDS), Some(right), "{word}");
        }
    }

    #[test]
    fn what_is_further_away_is_not_guessed_at() {
        for word in ["", "f", "fu", "xyz", "flul1", "decorrr", "termterm"] {
            assert_eq!(suggest(word, WORDS), None, "{word}");
        }
    }
}
