//! The endings of an attempt, with the one table that maps them to exit statuses.

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
/// Exit status when `--fail-if` turned exit 0 into a failure.
pub(crate) const FAILED_BY_OUTPUT: u8 = 1;
/// The number that shells add to the signal that a command died of.
pub(crate) const SIGNAL_BASE: u8 = 128;

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The command exited with this code.
    Exited(u8),
    /// The command died of this signal, which no time limit sent.
    Killed(Signal),
    /// A time limit ended it, whatever its exit status.
    TimedOut,
    /// It could not be started.
    NotStarted(StartFault),
}

/// Why a command could not be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StartFault {
    /// The kind of fault, which decides about a retry and the exit status.
    pub(crate) class: FaultClass,
    /// The reason, in words.
    pub(crate) reason: String,
}

/// The kinds of start faults: permanent but for the last two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultClass {
    /// The program does not exist.
    NotFound,
    /// The program exists, but its interpreter or loader does not.
    NoInterpreter,
    /// The program exists, but cannot be executed.
    NotExecutable,
    /// The program is being written at the moment.
    Busy,
    /// The system is short of a resource.
    Shortage,
}

impl FaultClass {
    /// Whether the fault is temporary: the same command may start at the next attempt.
    pub(crate) fn passes(self) -> bool {
        matches!(self, Self::Busy | Self::Shortage)
    }
}

/// The end of an attempt, with everything learned about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// The fatal signal that reached us meanwhile, if any. A child that traps the TERM it was sent
    /// and exits 9 must not be retried, which its status alone does not show.
    pub(crate) interrupted: Option<Signal>,
    /// A process that survived a time limit's KILL, if there was one.
    pub(crate) left_behind: Option<u32>,
    /// Whether the time limit was the idle timeout.
    pub(crate) by_idle_timeout: bool,
    /// Whether the deadline passed before all of its output was read.
    pub(crate) undelivered: bool,
    /// Whether it read input from a pipe that a retry would need.
    pub(crate) input_lost: bool,
    /// The patterns found in its output.
    pub(crate) matched: Matched,
    /// The status of a server's last response, if any was found.
    pub(crate) http_status: Option<u16>,
    /// The wait that the server asked for.
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
            input_lost: false,
            matched: Matched::default(),
            http_status: None,
            server_wait: None,
        }
    }
}

/// How `retry` itself ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// With this code.
    Code(u8),
    /// By raising this signal again; with 128 + its number where that has no effect.
    Raise(Signal),
}

impl Exit {
    /// Returns the exit status that a shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Raise(signal) => u8::try_from(signal.number())
                .map_or(OWN_FAILURE, |number| SIGNAL_BASE.saturating_add(number)),
        }
    }
}

impl Outcome {
    /// Returns how `retry` exits if the last attempt ended like this and was not a success: the
    /// table of exit statuses.
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

    /// Returns `RETRY_LAST_STATUS` for the next attempt: a code, a signal's name, or `timeout`.
    pub(crate) fn last_status(&self) -> String {
        match (self, self.exit()) {
            (Self::TimedOut, _) => "timeout".into(),
            (_, Exit::Code(code)) => code.to_string(),
            (_, Exit::Raise(signal)) => signal.to_string(),
        }
    }
}

impl Outcome {
    /// Returns the noun for it in messages about rules.
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
