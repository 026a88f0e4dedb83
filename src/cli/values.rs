//! Single values of options that no room below reads.

use std::ffi::OsStr;
use std::str::FromStr;

use crate::backoff::Jitter;
use crate::lists::{StatusList, StatusSet};
use crate::numbers::Share;
use crate::plain::escaped;
use crate::signal::Signal;

pub(super) fn parse_list(text: &str) -> Result<StatusList, String> {
    let set = StatusSet::parse(text)?;
    Ok(StatusList {
        set,
        written: shortened(&escaped(OsStr::new(text.trim()))),
    })
}

pub(super) fn parse_jitter(text: &str) -> Result<Jitter, String> {
    match text {
        "none" => Ok(Jitter::None),
        "full" => Ok(Jitter::Full),
        "equal" => Ok(Jitter::Equal),
        "decorrelated" => Ok(Jitter::Decorrelated),
        share => Share::parse(share).map(Jitter::Around).ok_or_else(|| {
            "use none, full, equal, decorrelated, or a share from 0 to 100 %, such as 20% or 0.2".into()
        }),
    }
}

pub(super) fn parse_seed(text: &str) -> Result<u64, String> {
    whole(text).ok_or_else(|| format!("write a whole number from 0 to {}", u64::MAX))
}

pub(super) fn parse_signal(text: &str) -> Result<Signal, String> {
    let by_number = || whole(text).and_then(Signal::from_number);
    Signal::from_name(text)
        .or_else(by_number)
        .ok_or_else(|| "there is no such signal; use a name such as TERM, INT or KILL".into())
}

/// A number of nothing but digits, which Rust's own parsers do not insist on.
fn whole<T: FromStr>(text: &str) -> Option<T> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// A text short enough for a line that must be written in one go.
pub(super) fn shortened(text: &str) -> String {
    const LONGEST: usize = 64;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
