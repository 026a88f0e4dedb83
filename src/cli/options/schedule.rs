//! Options for the delays, and for the limits of attempts and of the run.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::options;
use crate::backoff::Jitter;
use crate::cli::values::{parse_jitter, parse_seed, parse_signal};
use crate::duration::{Limit, parse_duration, parse_limit};
use crate::numbers::{Attempts, Factor};
use crate::signal::Signal;

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Backoff")]
    pub(in crate::cli) struct BackoffOptions {
        /// Delay before the first retry [default: 1s]
        ///
        /// It is the first of the growing delays that jitter is applied to. 0 means no delays at all.
        #[arg(long, value_name = "DUR")]
        #[arg(value_parser = parse_duration, allow_hyphen_values = true)]
        pub(in crate::cli) base: Option<Duration>,

        /// Longest delay, jitter included [default: 30s, or base]
        ///
        /// No computed delay is ever longer. Without --cap it is 30s, or the base if that is longer.
        #[arg(long, value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
        pub(in crate::cli) cap: Option<Duration>,

        /// exponential, linear or constant [default: exponential]
        ///
        /// How the delays grow. The n-th one is base·factor^(n-1), base·n, or base, before jitter; never
        /// more than the cap.
        #[arg(long, value_name = "CURVE")]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) backoff: Option<CurveName>,

        /// Growth of exponential delays, 1 or more [default: 2]
        ///
        /// An error with linear or constant delays.
        #[arg(long, value_name = "F", value_parser = Factor::parse, allow_hyphen_values = true)]
        pub(in crate::cli) factor: Option<Factor>,

        /// none, full, equal, decorrelated, or 20% [default: full]
        ///
        /// Which part of a delay is random. With c for the delay before jitter, it is drawn evenly from
        /// a range: none: c itself; full: 0 to c; equal: c/2 to c; a share P, as 20% or 0.2: c·(1-P) to
        /// c·(1+P), cut at the cap; decorrelated: base to three times the previous delay (at first, the
        /// base), cut at the cap. Keep full where many callers may fail together: they will not come
        /// back together. (A crontab ends a line at %: write 0.2.)
        #[arg(long, value_name = "JITTER")]
        #[arg(value_parser = parse_jitter, allow_hyphen_values = true)]
        pub(in crate::cli) jitter: Option<Jitter>,

        /// Draw the same delays each time
        ///
        /// With the same options the same number draws the same delays, on every platform and in every
        /// later version: to repeat a run, or to make the one that --plan has shown. Callers that share a
        /// number come back together, so give it to one at a time.
        #[arg(long, value_name = "N", value_parser = parse_seed, allow_hyphen_values = true)]
        pub(in crate::cli) seed: Option<u64>,
    }
}

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Limits")]
    pub(in crate::cli) struct LimitOptions {
        /// Runs in total, with the first, or inf [default: 5]
        ///
        /// The first one counts: 1 means no retry, 4 at most three of them. With inf it ends at a success,
        /// at a failure that is not retried, or by --deadline.
        #[arg(short, long, value_name = "N")]
        #[arg(value_parser = Attempts::parse, allow_hyphen_values = true)]
        pub(in crate::cli) attempts: Option<Attempts>,

        /// Time for everything: attempts and delays
        ///
        /// Without it, or with 0 or inf, there is no limit. When it is over the running attempt is
        /// ended, as by --timeout, and the exit status is 124. When the next delay does not fit, retry
        /// gives up at once instead of waiting in vain.
        #[arg(long, value_name = "DUR", value_parser = parse_limit, allow_hyphen_values = true)]
        pub(in crate::cli) deadline: Option<Limit>,

        /// Time for one attempt
        ///
        /// Without it, or with 0 or inf, there is no limit. An attempt that takes longer is ended (see
        /// --signal and --kill-after) and counts as failed. All of its processes are ended: its process
        /// group, and every descendant of the command whose parents are still there, whatever group it
        /// is in. The next attempt starts when all of them are gone. Without /proc, and on systems other
        /// than Linux, only the group is ended; see --process-group.
        #[arg(long, value_name = "DUR", value_parser = parse_limit, allow_hyphen_values = true)]
        pub(in crate::cli) timeout: Option<Limit>,

        /// Start no retry with less than this left
        ///
        /// Of --deadline, which it needs: retry gives up at once, with the status of the last attempt, if
        /// less time than this would be left when the next delay is over. Give what an attempt takes at
        /// least, so that none is begun in vain.
        #[arg(long, value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
        pub(in crate::cli) reserve: Option<Duration>,

        /// What a time limit sends first [default: TERM]
        ///
        /// A name such as INT, HUP or SIGQUIT, or a number: the one at which the command cleans up. It
        /// goes to all processes of the attempt, and --kill-after says how long they have for it. KILL
        /// ends them at once.
        #[arg(long, value_name = "SIG")]
        #[arg(value_parser = parse_signal, allow_hyphen_values = true)]
        pub(in crate::cli) signal: Option<Signal>,

        /// Time from that signal to KILL [default: 5s]
        ///
        /// KILL goes to whatever is left of the attempt then. 0 sends it at once after the signal.
        #[arg(short, long, value_name = "DUR")]
        #[arg(value_parser = parse_duration, allow_hyphen_values = true)]
        pub(in crate::cli) kill_after: Option<Duration>,

        /// End an attempt that writes nothing for so long
        ///
        /// Nothing to stdout and stderr, that is. Without it, or with 0 or inf, there is no limit. The
        /// attempt is ended as by --timeout. To see the output it must pass through retry, so that the
        /// command writes to a pipe and not to a terminal.
        #[arg(long, value_name = "DUR", value_parser = parse_limit, allow_hyphen_values = true)]
        pub(in crate::cli) idle_timeout: Option<Limit>,
    }
}

/// `--backoff` as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum CurveName {
    Exponential,
    Linear,
    Constant,
}
