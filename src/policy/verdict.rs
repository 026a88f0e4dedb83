//! The decision about an attempt, with its reason.

use std::time::Duration;

use crate::backoff::DelayRange;
use crate::signal::Signal;

/// The decision about an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It succeeded.
    Succeed(Success),
    /// It failed, and there is no retry.
    Stop(Reason),
    /// It failed, and the next attempt starts after this delay.
    Retry {
        /// The delay.
        delay: Duration,
        /// The range of our own delay, regardless of a server.
        range: DelayRange,
        /// The wait that a server asked for, if that made the delay longer.
        server_wait: Option<Duration>,
    },
}

/// Why an attempt is a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Success {
    /// Exit 0.
    Zero,
    /// Its outcome is in `--success-on`.
    Listed,
    /// This pattern of `--success-if` matched.
    Matched(usize),
}

/// Why there is no retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A fatal signal reached us.
    Signal(Signal),
    /// This process could not be killed, so no other attempt may start.
    LeftBehind(u32),
    /// Not all of its output was delivered by the deadline.
    Undelivered,
    /// The command cannot be executed at all, which no list makes worth a retry.
    NeverStarts,
    /// It died of a signal that somebody asked for, which is retried only if named.
    AskedFor,
    /// Its outcome is in `--stop-on`.
    StopOn,
    /// This pattern of `--stop-if` matched.
    StopIf(usize),
    /// Its outcome is not in `--retry-on`.
    NotInRetryOn,
    /// No pattern of `--retry-if` matched.
    NotInRetryIf,
    /// A server asks for a longer wait than `--retry-after-max`.
    RetryAfter {
        /// The wait it asks for.
        wait: Duration,
    },
    /// All attempts are used up.
    Attempts,
    /// Input that it read from stdin is lost.
    Stdin,
    /// The shared budget is spent.
    Budget,
    /// The next delay, with the reserve, does not fit in the deadline.
    Deadline {
        /// The delay that does not fit.
        delay: Duration,
        /// The wait that a server asked for, if that made the delay longer.
        server_wait: Option<Duration>,
    },
}
