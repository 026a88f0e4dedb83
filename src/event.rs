//! Events of a run, as data for its reporters.

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
    /// The time since the start of the run.
    pub(crate) total: Duration,
}

/// An event in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    /// An attempt is about to start.
    Starting {
        /// Counted from 1.
        attempt: u64,
        /// The time since the start.
        at: Duration,
    },
    /// A signal was forwarded to the command.
    Forwarded(Signal),
    /// A signal was ignored, because it arrived during a delay.
    Ignored(Signal),
    /// A time limit expired and the command was sent this signal.
    LimitReached(Signal),
    /// The grace after a time limit expired and the remaining processes were sent KILL.
    Killed,
    /// There will be a retry, inside an attempt of another `retry`.
    Nested,
    /// The shared budget cannot be used, for this reason; retries go on without it.
    BudgetUnusable(String),
    /// The slots cannot be used, for this reason; attempts run without a bound.
    SlotsUnusable(String),
    /// This run is part of an attempt that holds a slot of the same place, and takes none.
    SlotInherited,
    /// None of this many slots is free, and the run waits for one.
    SlotAwaited(u32),
    /// This attempt has a slot.
    SlotTaken {
        /// Counted from 1.
        attempt: u64,
        /// How long the run has waited for it.
        waited: Duration,
    },
    /// The shared budget was damaged and starts afresh.
    BudgetRebuilt,
    /// The log file cannot be used, for this reason.
    LogUnusable(String),
    /// The delay goes on for this long.
    Waiting(Duration),
    /// The delay announced by [`Event::Waiting`] is over, or cut short.
    Waited,
    /// There will be a retry, but the failed attempt consumed input from the pipe on stdin.
    InputSpent,
    /// The header file could not be read, for this reason.
    HeadsUnreadable(String),
    /// There is no room to hold more output back, for this reason; it is shown from here on.
    NoRoomForOutput(String),
    /// Held output of a run that has failed could not all be delivered, for this reason.
    OutputLost(String),
    /// The `--before-retry` command failed, which ends the run.
    HookFailed {
        /// How it ended.
        ending: &'a Ending,
        /// The last attempt made.
        attempt: u64,
        /// The time since the start.
        total: Duration,
    },
    /// This option of ours stands among the words of the command, which has failed.
    OptionPassed(String),
    /// The command forks, so that its exit status is lost.
    Forks,
    /// This word of the command names a variable that no shell expands.
    NotExpanded(String),
    /// An attempt ended, and this was decided.
    Ended(Ended<'a>, &'a Decision),
    /// The delay after this attempt left no time for another.
    TooLate {
        /// The last attempt made.
        attempt: u64,
        /// The time since the start.
        total: Duration,
    },
    /// No slot was free in time.
    NoSlot {
        /// The last attempt made; 0 if there was none.
        attempt: u64,
        /// The time since the start.
        total: Duration,
    },
    /// A fatal signal ended the run before an attempt, during a delay or the wait for a slot.
    Interrupted {
        /// The signal.
        signal: Signal,
        /// The last attempt made; 0 if there was none.
        attempt: u64,
        /// The time since the start.
        total: Duration,
    },
}

impl Event<'_> {
    /// Whether a fatal signal has ended the run: nothing may block from here on.
    pub(crate) fn follows_fatal_signal(&self) -> bool {
        matches!(
            self,
            Self::Interrupted { .. } | Self::Ended(_, Decision::Stop(Reason::Signal(_)))
        )
    }
}
