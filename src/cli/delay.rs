//! `--delay`, which stands for a backoff that is the same each time.

use std::time::Duration;

use anyhow::{Result, bail};

use super::checks::Clash;
use super::options::{BackoffOptions, CAP};
use crate::backoff::{Backoff, Curve, Jitter};

/// The options that `--delay` replaces.
const REPLACED_BY_DELAY: [&str; 5] = ["base", "cap", "backoff", "factor", "jitter"];

/// Returns the options that have no effect in a file beside these on the command line.
pub(super) fn replaced(is_typed: impl Fn(&str) -> bool) -> &'static [&'static str] {
    let [others @ .., _jitter] = &REPLACED_BY_DELAY;
    if is_typed("delay") {
        &REPLACED_BY_DELAY
    } else if others.iter().any(|name| is_typed(name)) {
        &["delay"]
    } else {
        &[]
    }
}

/// Returns the backoff with the same delay each time.
pub(super) fn same_delay(options: &BackoffOptions, delay: Duration) -> Result<Backoff> {
    let others: [(bool, &'static [&'static str]); 4] = [
        (options.base.is_some(), &["delay", "base"]),
        (options.cap.is_some(), &["delay", "cap"]),
        (options.backoff.is_some(), &["delay", "backoff"]),
        (options.factor.is_some(), &["delay", "factor"]),
    ];
    if let Some((_, clashing)) = others.into_iter().find(|(is_given, _)| *is_given) {
        let said = format!(
            "--{} cannot be combined; remove one of them",
            clashing.join(" and --")
        );
        bail!(Clash::between(clashing, said));
    }
    Ok(Backoff {
        base: delay,
        cap: CAP.max(delay),
        curve: Curve::Constant,
        jitter: options.jitter.unwrap_or(Jitter::None),
    })
}
