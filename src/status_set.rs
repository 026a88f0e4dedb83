//! Sets of outcomes, written as a LIST on the command line.

use crate::signal::Signal;
use crate::status::{Outcome, SIGNAL_BASE};

/// A set of outcomes: a LIST, or what remains of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusSet {
    /// Exit codes, one bit each.
    codes: [u64; 4],
    /// Deaths by signal, one bit each, by number.
    deaths: u128,
    /// The deaths that are in the set by name or by the word `signal`.
    named: u128,
    /// Whether it holds time-outs (the word `timeout`).
    pub(crate) timeout: bool,
    /// Whether it holds temporary start faults (the word `spawn`).
    pub(crate) spawn: bool,
}

impl StatusSet {
    const NOTHING: Self = Self {
        codes: [0; 4],
        deaths: 0,
        named: 0,
        timeout: false,
        spawn: false,
    };

    /// Returns the failures worth a retry when no list says otherwise: all but deaths by a signal
    /// that somebody asked for.
    pub(crate) fn default_retryable() -> Self {
        let mut set = Self {
            timeout: true,
            spawn: true,
            ..Self::NOTHING
        };
        set.add_codes(1, 255);
        set.add_unasked_deaths();
        set
    }

    /// Parses a LIST: codes and ranges, signal names, and the words `any signal timeout spawn`,
    /// separated by commas.
    ///
    /// # Errors
    /// A sentence that says what is wrong and how to write it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("the list is empty; write it like 1,5-9,TERM,timeout".into());
        }
        let mut set = Self::NOTHING;
        for item in text.split(',') {
            set.add_item(item.trim())?;
        }
        Ok(set)
    }

    fn add_item(&mut self, item: &str) -> Result<(), String> {
        match item.to_ascii_lowercase().as_str() {
            "" => {
                return Err("an item of the list is empty; write it like 1,5-9,TERM".into());
            }
            item if item.len() > 40 => {
                return Err(
                    "an item of the list is too long; write it like 1,5-9,TERM,timeout".into(),
                );
            }
            "any" => self.add_range(1, 255),
            "signal" => {
                let signals = Signal::all().filter(|signal| !signal.is_asked_for());
                signals.for_each(|signal| self.add_named(signal));
            }
            "timeout" => self.timeout = true,
            "spawn" => self.spawn = true,
            numeric if numeric.starts_with(|c: char| c.is_ascii_digit()) => {
                self.add_numeric(numeric)?;
            }
            _ => {
                let signal = Signal::from_name(item).ok_or_else(|| {
                    format!(
                        "'{item}' is not an exit code, a signal name or one of the words any, signal, timeout, spawn"
                    )
                })?;
                self.add_named(signal);
                if let Some(code) = shell_code(signal) {
                    self.add_codes(code, code);
                }
            }
        }
        Ok(())
    }

    fn add_numeric(&mut self, item: &str) -> Result<(), String> {
        let code = |digits: &str| {
            digits
                .bytes()
                .all(|byte| byte.is_ascii_digit())
                .then(|| digits.parse::<u8>().ok())
                .flatten()
                .ok_or_else(|| format!("'{item}' is not an exit code from 0 to 255 or a range; write them like 1,5-9"))
        };
        match item.split_once('-') {
            None => {
                let code = code(item)?;
                self.add_codes(code, code);
                // A single code also means the death by its signal, even one that was asked for.
                if let Some(signal) = shell_signal(code) {
                    self.add_death(signal);
                }
            }
            Some((low, high)) => {
                let (low, high) = (code(low)?, code(high)?);
                if low > high {
                    return Err(format!(
                        "the range '{item}' runs backwards; write {high}-{low}"
                    ));
                }
                self.add_range(low, high);
            }
        }
        Ok(())
    }

    fn add_range(&mut self, low: u8, high: u8) {
        self.add_codes(low, high);
        let signals = (low..=high).filter_map(shell_signal);
        signals
            .filter(|signal| !signal.is_asked_for())
            .for_each(|signal| self.add_death(signal));
    }

    fn add_codes(&mut self, low: u8, high: u8) {
        for code in low..=high {
            self.codes[usize::from(code / 64)] |= 1 << (code % 64);
        }
    }

    fn add_unasked_deaths(&mut self) {
        let signals = Signal::all().filter(|signal| !signal.is_asked_for());
        signals.for_each(|signal| self.add_death(signal));
    }

    fn add_death(&mut self, signal: Signal) {
        self.deaths |= 1 << signal.number();
    }

    fn add_named(&mut self, signal: Signal) {
        self.add_death(signal);
        self.named |= 1 << signal.number();
    }

    /// Whether this exit code is in the set.
    pub(crate) fn has_code(&self, code: u8) -> bool {
        self.codes[usize::from(code / 64)] >> (code % 64) & 1 == 1
    }

    /// Whether the set holds this outcome. No set holds a permanent start fault.
    pub(crate) fn holds(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Exited(code) => self.has_code(*code),
            Outcome::Killed(signal) => self.deaths >> signal.number() & 1 == 1,
            Outcome::TimedOut => self.timeout,
            Outcome::NotStarted(fault) => self.spawn && fault.class.passes(),
        }
    }

    /// Whether the set holds this outcome by a word of its own. An attempt that was cut short or
    /// never started cannot be required to match output as well.
    pub(crate) fn names(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Exited(_) => false,
            Outcome::Killed(signal) => self.named >> signal.number() & 1 == 1,
            Outcome::TimedOut | Outcome::NotStarted(_) => self.holds(outcome),
        }
    }

    /// Returns this set without the outcomes in `other`.
    pub(crate) fn without(mut self, other: &Self) -> Self {
        for (mine, theirs) in self.codes.iter_mut().zip(other.codes) {
            *mine &= !theirs;
        }
        self.deaths &= !other.deaths;
        self.named &= !other.deaths;
        self.timeout &= !other.timeout;
        self.spawn &= !other.spawn;
        self
    }

    /// Whether the set is empty.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::NOTHING
    }
}

/// Returns the code that a shell reports for a death by this signal.
fn shell_code(signal: Signal) -> Option<u8> {
    u8::try_from(signal.number()).ok()?.checked_add(SIGNAL_BASE)
}

/// Returns the signal whose death a shell reports by this code.
fn shell_signal(code: u8) -> Option<Signal> {
    Signal::from_number(i32::from(code.checked_sub(SIGNAL_BASE)?))
}

/// A LIST with the text it was parsed from, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusList {
    /// The parsed set.
    pub(crate) set: StatusSet,
    /// The text as the user wrote it, cut if it is long.
    pub(crate) written: String,
}

#[cfg(test)]
mod tests;
