//! What happened, as data, for whoever reports it.

use std::time::Duration;

use crate::policy::{Decision, Reason};
use crate::signal::Signal;
use crate::status::Ending;

/// The end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended<'a> {
    /// Counted from 1.
    pub(crate) attempt: u64,
    /// How it ended.
    pub(crate) ending: &'a Ending,
    /// How long it took.
    pub(crate) took: Duration,
    /// The time since the start.
    pub(crate) total: Duration,
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    /// An attempt is about to start.
    Starting {
        /// Counted from 1.
        attempt: u64,
        /// The time since the start.
        at: Duration,
    },
    /// A signal that reached us was passed on to the command.
    Forwarded(Signal),
    /// A signal that reached us during a delay means nothing then.
    Ignored(Signal),
    /// A time limit was reached and the command was sent this signal.
    LimitReached(Signal),
    /// The grace after a time limit is over and what was left was sent KILL.
    Killed,
    /// There will be a retry, and we are ourselves an attempt of another `retry`.
    Nested,
    /// The shared budget cannot be used, for this reason, and retries go on without.
    BudgetUnusable(String),
    /// The shared budget was damaged and begins anew.
    BudgetRebuilt,
    /// The file that this run is logged to cannot be used, for this reason.
    LogUnusable(String),
    /// The delay goes on for so long.
    Waiting(Duration),
    /// The delay that was told to go on is over, or we stop meanwhile.
    Waited,
    /// What a failed attempt has read from the pipe on stdin is gone, and there will be a retry.
    InputSpent,
    /// The file that was to hold the server's wait could not be read, for this reason.
    HeadsUnreadable(String),
    /// What was to run before a retry failed, and with it the run.
    HookFailed {
        /// How it ended.
        ending: &'a Ending,
        /// The last attempt made.
        attempt: u64,
        /// The time since the start.
        total: Duration,
    },
    /// An attempt ended and it is decided what comes next.
    Ended(Ended<'a>, &'a Decision),
    /// The delay after this attempt ended too late for another.
    TooLate {
        /// The last attempt made.
        attempt: u64,
        /// The time since the start.
        total: Duration,
    },
    /// A fatal signal ended the delay after this attempt, and the run with it.
    Interrupted {
        /// The signal.
        signal: Signal,
        /// The last attempt made.
        attempt: u64,
        /// The time since the start.
        total: Duration,
    },
}

impl Event<'_> {
    /// Whether a fatal signal has ended the run, so that nothing may hold us up any more.
    pub(crate) fn follows_fatal_signal(&self) -> bool {
        matches!(
            self,
            Self::Interrupted { .. } | Self::Ended(_, Decision::Stop(Reason::Signal(_)))
        )
    }
}
