//! How an attempt ended, and the one table from an ending to an exit status.

use std::fmt;

use std::time::Duration;

use crate::patterns::Matched;
use crate::signal::Signal;

/// Exit status when a time limit ended the last attempt, as with timeout(1).
pub(crate) const TIMED_OUT: u8 = 124;
/// Exit status when `retry` itself failed or was called wrongly.
pub(crate) const OWN_FAILURE: u8 = 125;
/// Exit status when the command was found but could not be executed.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// Exit status when the command was not found.
pub(crate) const NOT_FOUND: u8 = 127;
/// Exit status when the output made a failure of exit 0.
pub(crate) const FAILED_BY_OUTPUT: u8 = 1;
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
    /// The program is there, and what it is to be run by is not. It does not pass by itself.
    NoInterpreter,
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
    /// Whether the time limit was that for silence.
    pub(crate) by_idle_timeout: bool,
    /// Whether the deadline was reached before all of its output had found a reader.
    pub(crate) undelivered: bool,
    /// Whether it has read from a pipe what a retry would need.
    pub(crate) input_eaten: bool,
    /// What the output was found to hold.
    pub(crate) matched: Matched,
    /// The wait that a server asked for.
    pub(crate) server_wait: Option<Duration>,
}

impl From<Outcome> for Ending {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            interrupted: None,
            left_behind: None,
            by_idle_timeout: false,
            undelivered: false,
            input_eaten: false,
            matched: Matched::default(),
            server_wait: None,
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

impl Exit {
    /// The exit status that a shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Raise(signal) => u8::try_from(signal.number())
                .map_or(OWN_FAILURE, |number| SIGNAL_BASE.saturating_add(number)),
        }
    }
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
                FaultClass::NotFound | FaultClass::NoInterpreter => NOT_FOUND,
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

impl Outcome {
    /// What it is called in a sentence about rules.
    pub(crate) fn noun(&self) -> String {
        match self {
            Self::Exited(code) => format!("exit {code}"),
            Self::Killed(signal) => format!("death by {signal}"),
            Self::TimedOut => "a time-out".into(),
            Self::NotStarted(_) => "a failed start".into(),
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

#[cfg(test)]
pub(crate) mod tests;
