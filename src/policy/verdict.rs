//! What was decided about an attempt, and why.

use std::time::Duration;

use crate::backoff::DelayRange;
use crate::signal::Signal;

/// What comes after an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It succeeded.
    Succeed(Success),
    /// It failed, and there is no retry.
    Stop(Reason),
    /// It failed, and the next attempt starts after this delay.
    Retry {
        /// What is slept.
        delay: Duration,
        /// What it would have been drawn from without a server.
        range: DelayRange,
        /// The wait that a server asked for, if that made the delay longer.
        server_wait: Option<Duration>,
    },
}

/// What makes a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Success {
    /// Exit 0.
    Zero,
    /// `--success-on`.
    Listed,
    /// This pattern of `--success-if`.
    Matched(usize),
}

/// Why there is no retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A fatal signal reached us.
    Signal(Signal),
    /// This process could not be ended, and no attempt may run beside it.
    LeftBehind(u32),
    /// Not all of its output could be delivered by the deadline.
    Undelivered,
    /// No list can make this ending worth a retry: the command cannot be executed at all.
    NeverStarts,
    /// It died of a signal that somebody asked for, which is retried only if named.
    AskedFor,
    /// It is in `--stop-on`.
    StopOn,
    /// This pattern of `--stop-if` was found.
    StopIf(usize),
    /// It is not in `--retry-on`.
    NotInRetryOn,
    /// No pattern of `--retry-if` was found.
    NotInRetryIf,
    /// A server asks for a longer wait than `--retry-after-max`.
    RetryAfter {
        /// What it asks for.
        wait: Duration,
    },
    /// All attempts are made.
    Attempts,
    /// What it has read from stdin is gone.
    Stdin,
    /// The budget that is shared with other runs is spent.
    Budget,
    /// The next delay, with the reserve, does not fit in the deadline.
    Deadline {
        /// The delay that does not fit.
        delay: Duration,
        /// The wait that a server asked for, if that made the delay longer.
        server_wait: Option<Duration>,
    },
}
