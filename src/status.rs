//! How an attempt ended, lists of such endings, and the one table from an ending to an exit status.

use std::fmt;

use crate::signal::Signal;

/// Exit status when a time limit ended the last attempt, as with timeout(1).
pub(crate) const TIMED_OUT: u8 = 124;
/// Exit status when `retry` itself failed or was called wrongly.
pub(crate) const OWN_FAILURE: u8 = 125;
/// Exit status when the command was found but could not be executed.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// Exit status when the command was not found.
pub(crate) const NOT_FOUND: u8 = 127;
/// What shells add to the number of the signal that a command died of.
pub(crate) const SIGNAL_BASE: u8 = 128;

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The command exited with this code.
    Exited(u8),
    /// The command died of this signal, which was not a time limit's.
    Killed(Signal),
    /// A time limit ended it, whatever its status then was.
    TimedOut,
    /// It could not be started.
    NotStarted(StartFault),
}

/// Why a command could not be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StartFault {
    /// What kind of fault it is; it decides about a retry and the exit status.
    pub(crate) class: FaultClass,
    /// The reason, in words.
    pub(crate) reason: String,
}

/// The kinds of start faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultClass {
    /// There is no such program. It does not pass by itself.
    NotFound,
    /// The program is there and cannot be executed. It does not pass by itself.
    NotExecutable,
    /// The program is being written just now. It passes.
    Busy,
    /// The system is short of something. It passes.
    Shortage,
}

impl FaultClass {
    /// Whether the same command may start at the next attempt.
    pub(crate) fn passes(self) -> bool {
        matches!(self, Self::Busy | Self::Shortage)
    }
}

/// An attempt's end and what came with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// The fatal signal that reached us meanwhile, if any. A child that traps our TERM and exits 9
    /// must not be retried, and its status alone cannot tell.
    pub(crate) interrupted: Option<Signal>,
    /// The process that could not be ended, if a time limit met one.
    pub(crate) left_behind: Option<u32>,
}

impl From<Outcome> for Ending {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            interrupted: None,
            left_behind: None,
        }
    }
}

/// How `retry` itself ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// With this code.
    Code(u8),
    /// By this signal, raised again; 128 + its number where that has no effect.
    Raise(Signal),
}

impl Outcome {
    /// The table of exit statuses, for a run whose last attempt ended like this and was not a
    /// success.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Exited(code) => Exit::Code(*code),
            Self::Killed(signal) => Exit::Raise(*signal),
            Self::TimedOut => Exit::Code(TIMED_OUT),
            Self::NotStarted(fault) => Exit::Code(match fault.class {
                FaultClass::NotFound => NOT_FOUND,
                FaultClass::NotExecutable | FaultClass::Busy => NOT_EXECUTABLE,
                FaultClass::Shortage => OWN_FAILURE,
            }),
        }
    }

    /// What the next attempt is told in `RETRY_LAST_STATUS`: a code, a signal's name, `timeout`.
    pub(crate) fn last_status(&self) -> String {
        match (self, self.exit()) {
            (Self::TimedOut, _) => "timeout".into(),
            (_, Exit::Code(code)) => code.to_string(),
            (_, Exit::Raise(signal)) => signal.to_string(),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit {code}"),
            Self::Killed(signal) => write!(f, "killed by {signal}"),
            Self::TimedOut => f.write_str("timed out"),
            Self::NotStarted(fault) => write!(f, "cannot run: {}", fault.reason),
        }
    }
}

/// A set of endings: a LIST of the command line, or what remains of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusSet {
    /// Exit codes, a bit each.
    codes: [u64; 4],
    /// Deaths by signal, a bit each, by number.
    deaths: u128,
    /// The word `timeout`.
    pub(crate) timeout: bool,
    /// The word `spawn`.
    pub(crate) spawn: bool,
}

impl StatusSet {
    const NOTHING: Self = Self {
        codes: [0; 4],
        deaths: 0,
        timeout: false,
        spawn: false,
    };

    /// Every failure that is worth a retry when no list says otherwise: all but the deaths that
    /// somebody asked for.
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

    /// Reads a LIST: codes and ranges, signal names, and the words `any signal timeout spawn`,
    /// with commas between them.
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
                return Err("there is nothing between two commas; write it like 1,5-9,TERM".into());
            }
            "any" => self.add_range(1, 255),
            "signal" => self.add_unasked_deaths(),
            "timeout" => self.timeout = true,
            "spawn" => self.spawn = true,
            numeric if numeric.starts_with(|c: char| c.is_ascii_digit()) => {
                self.add_numeric(numeric)?;
            }
            _ => {
                let signal = Signal::from_name(item).ok_or_else(|| {
                    format!(
                        "'{item}' is no exit code, signal name or one of the words any, signal, timeout, spawn"
                    )
                })?;
                self.add_death(signal);
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
                .ok_or_else(|| format!("'{item}' is no exit code or range; codes go from 0 to 255"))
        };
        match item.split_once('-') {
            None => {
                let code = code(item)?;
                self.add_codes(code, code);
                // Named singly, a code means the death as well, whichever signal it is.
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

    /// Whether this exit code is in the set.
    pub(crate) fn has_code(&self, code: u8) -> bool {
        self.codes[usize::from(code / 64)] >> (code % 64) & 1 == 1
    }

    /// Whether an attempt that ended like this is in the set. A start fault that does not pass by
    /// itself is in none.
    pub(crate) fn holds(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Exited(code) => self.has_code(*code),
            Outcome::Killed(signal) => self.deaths >> signal.number() & 1 == 1,
            Outcome::TimedOut => self.timeout,
            Outcome::NotStarted(fault) => self.spawn && fault.class.passes(),
        }
    }

    /// This set without what is in `other`.
    pub(crate) fn without(mut self, other: &Self) -> Self {
        for (mine, theirs) in self.codes.iter_mut().zip(other.codes) {
            *mine &= !theirs;
        }
        self.deaths &= !other.deaths;
        self.timeout &= !other.timeout;
        self.spawn &= !other.spawn;
        self
    }

    /// Whether nothing is in the set.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::NOTHING
    }
}

/// The code that a shell gives for a death by this signal.
fn shell_code(signal: Signal) -> Option<u8> {
    u8::try_from(signal.number()).ok()?.checked_add(SIGNAL_BASE)
}

/// The signal whose death a shell gives this code for.
fn shell_signal(code: u8) -> Option<Signal> {
    Signal::from_number(i32::from(code.checked_sub(SIGNAL_BASE)?))
}

/// A LIST with the text it was read from, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusList {
    /// What is in it.
    pub(crate) set: StatusSet,
    /// How the user wrote it.
    pub(crate) written: String,
}

#[cfg(test)]
mod tests;
