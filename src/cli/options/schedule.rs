//! Options for the delays, and for the limits of attempts and of the run.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::options;
use crate::backoff::Jitter;
use crate::cli::values::{parse_delay, parse_jitter, parse_seed, parse_signal};
use crate::duration::{Limit, parse_duration, parse_limit};
use crate::numbers::{Attempts, Factor};
use crate::signal::Signal;

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Backoff")]
    pub(in crate::cli) struct BackoffOptions {
        /// Upper bound of the first delay [default: 1s]
        ///
        /// Later delays grow from here. With the default jitter the first delay is a random time
        /// from 0 to this; with --jitter none it is exactly this. 0 means no delays.
        #[value("DUR")]
        #[arg(long)]
        #[arg(value_parser = parse_delay, allow_hyphen_values = true)]
        pub(in crate::cli) base: Option<Duration>,

        /// The same delay each time; for a single caller
        ///
        /// Short for --base DUR --backoff constant --jitter none. It cannot be combined with
        /// --base, --cap, --backoff or --factor. If many callers may fail at the same time, add
        /// --jitter 20%, so that they do not all retry at the same time.
        #[value("DUR")]
        #[arg(long)]
        #[arg(value_parser = parse_delay, allow_hyphen_values = true)]
        pub(in crate::cli) delay: Option<Duration>,

        /// Longest delay, jitter included [default: 30s, or base]
        ///
        /// The default is 30s, or the base if that is longer. Only a server's Retry-After can make
        /// a delay longer (see --retry-after).
        #[value("DUR")]
        #[arg(long, value_parser = parse_duration, allow_hyphen_values = true)]
        pub(in crate::cli) cap: Option<Duration>,

        /// exponential, linear or constant [default: exponential]
        ///
        /// How delays grow. Before jitter, the n-th delay is base·factor^(n-1), base·n, or base,
        /// but never more than the cap. A constant backoff still has jitter; for exactly the same
        /// delay each time use --delay.
        #[value("CURVE")]
        #[arg(long)]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) backoff: Option<CurveName>,

        /// Growth of exponential delays, 1 or more [default: 2]
        ///
        /// Each delay is this many times as long as the previous one, before jitter. It cannot be
        /// combined with linear or constant backoff.
        #[value("F")]
        #[arg(long, value_parser = Factor::parse, allow_hyphen_values = true)]
        pub(in crate::cli) factor: Option<Factor>,

        /// none, full, equal, decorrelated, or 20% [default: full]
        ///
        /// How much of each delay is random. The backoff gives a delay c; jitter then draws the
        /// actual delay evenly from a range. none: always c. full: 0 to c. equal: c/2 to c. A
        /// percentage P, written 20% or 0.2: c·(1-P) to c·(1+P), at most the cap. decorrelated:
        /// base to three times the previous delay, at most the cap. Keep full if many callers may
        /// fail at the same time, so that they do not all retry at the same time. (In a crontab, %
        /// ends the line: write 0.2.)
        #[value("JITTER")]
        #[arg(long)]
        #[arg(value_parser = parse_jitter, allow_hyphen_values = true)]
        pub(in crate::cli) jitter: Option<Jitter>,

        /// Make the random delays repeatable
        ///
        /// The same number and the same options give the same delays, on every platform and in
        /// every later version. Use it to repeat a run, or to run the schedule that --plan has
        /// shown. Do not give the same number to several callers: they would all retry at the same
        /// time.
        #[value("N")]
        #[arg(long, value_parser = parse_seed, allow_hyphen_values = true)]
        pub(in crate::cli) seed: Option<u64>,
    }
}

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Limits")]
    pub(in crate::cli) struct LimitOptions {
        /// Total runs, including the first, or inf [default: 5]
        ///
        /// 1 means no retry; 4 means one first attempt and at most three retries. With inf, only a
        /// success, a failure that is not retried, or --deadline ends the run.
        #[value("N")]
        #[arg(short, long)]
        #[arg(value_parser = Attempts::parse, allow_hyphen_values = true)]
        pub(in crate::cli) attempts: Option<Attempts>,

        /// Limit for the whole run: attempts and delays
        ///
        /// When it expires, the running attempt is terminated as by --timeout, and the exit status
        /// is 124. If the next delay does not fit in the time left, retry gives up at once. The
        /// default, 0 and inf mean no limit.
        #[value("DUR")]
        #[arg(long, value_parser = parse_limit, allow_hyphen_values = true)]
        pub(in crate::cli) deadline: Option<Limit>,

        /// Limit for one attempt
        ///
        /// An attempt that takes longer is terminated (see --signal and --kill-after) and counts as
        /// failed. On Linux, all of its processes are terminated: the command's process group, and
        /// all descendants whose parents are still alive, in any group. Elsewhere, or without
        /// /proc, only the group is terminated; see --process-group. The next attempt starts when
        /// all of these processes are gone. The default, 0 and inf mean no limit.
        #[value("DUR")]
        #[arg(long, value_parser = parse_limit, allow_hyphen_values = true)]
        pub(in crate::cli) timeout: Option<Limit>,

        /// Start no retry if less of --deadline is left
        ///
        /// If less time than this would be left after the next delay, retry gives up at once with
        /// the status of the last attempt. Set it to the shortest time in which an attempt can
        /// succeed. It needs --deadline.
        #[value("DUR")]
        #[arg(long, value_parser = parse_duration, allow_hyphen_values = true)]
        pub(in crate::cli) reserve: Option<Duration>,

        /// Signal that a limit sends first [default: TERM]
        ///
        /// A name such as INT, HUP or SIGQUIT, or a number. Use the signal that makes the command
        /// clean up. It goes to all processes of the attempt; those still running after
        /// --kill-after get KILL. With --signal KILL they are killed at once.
        #[value("SIG")]
        #[arg(long)]
        #[arg(value_parser = parse_signal, allow_hyphen_values = true)]
        pub(in crate::cli) signal: Option<Signal>,

        /// Time from --signal to KILL [default: 5s]
        ///
        /// Processes of the attempt that are still running after this time get KILL. 0 sends KILL
        /// right after --signal.
        #[value("DUR")]
        #[arg(short, long)]
        #[arg(value_parser = parse_duration, allow_hyphen_values = true)]
        pub(in crate::cli) kill_after: Option<Duration>,

        /// Terminate an attempt that writes nothing this long
        ///
        /// Any output on stdout or stderr restarts the time. The attempt is terminated as by
        /// --timeout. The command writes to a pipe, not to a terminal. The default, 0 and inf mean
        /// no limit.
        #[value("DUR")]
        #[arg(long, value_parser = parse_limit, allow_hyphen_values = true)]
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
