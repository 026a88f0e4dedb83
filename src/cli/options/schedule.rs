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
        /// Delays grow from here. Each one is drawn from a range that --jitter decides; with
        /// --jitter none the first delay is exactly this long. 0 means no delays.
        #[arg(long, value_name = "DUR")]
        #[arg(value_parser = parse_delay, allow_hyphen_values = true)]
        pub(in crate::cli) base: Option<Duration>,

        /// The same delay each time; for one caller
        ///
        /// Short for --base DUR --backoff constant --jitter none. It cannot be combined with --base, --cap,
        /// --backoff or --factor. Where many callers may fail at the same time, add --jitter 20%, so that
        /// they do not all come back at the same time.
        #[arg(long, value_name = "DUR")]
        #[arg(value_parser = parse_delay, allow_hyphen_values = true)]
        pub(in crate::cli) delay: Option<Duration>,

        /// Longest delay, jitter included [default: 30s, or base]
        ///
        /// No delay that retry computes is longer. The default is 30s, or the base if that is
        /// longer.
        #[arg(long, value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
        pub(in crate::cli) cap: Option<Duration>,

        /// exponential, linear or constant [default: exponential]
        ///
        /// How delays grow. Before jitter, the n-th delay is base·factor^(n-1), base·n, or base,
        /// and at most the cap. Constant delays are still jittered; use --delay for exactly the
        /// same delay each time.
        #[arg(long, value_name = "CURVE")]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) backoff: Option<CurveName>,

        /// Growth of exponential delays, 1 or more [default: 2]
        ///
        /// Each delay is this many times as long as the one before. It cannot be combined with
        /// linear or constant delays.
        #[arg(long, value_name = "F", value_parser = Factor::parse, allow_hyphen_values = true)]
        pub(in crate::cli) factor: Option<Factor>,

        /// none, full, equal, decorrelated, or 20% [default: full]
        ///
        /// How much of each delay is random. If c is the delay before jitter, the delay is drawn
        /// evenly from a range. none: always c. full: 0 to c. equal: c/2 to c. A share P, written
        /// 20% or 0.2: c·(1-P) to c·(1+P), at most the cap. decorrelated: base to three times the
        /// previous delay, at most the cap. Keep full where many callers may fail at the same time,
        /// so that they do not all come back at the same time. (In a crontab, % ends the line:
        /// write 0.2.)
        #[arg(long, value_name = "JITTER")]
        #[arg(value_parser = parse_jitter, allow_hyphen_values = true)]
        pub(in crate::cli) jitter: Option<Jitter>,

        /// Make the random delays repeatable
        ///
        /// The same number and the same options give the same delays, on every platform and in
        /// every later version. Use it to repeat a run, or to get the schedule that --plan has
        /// shown. Do not give the same number to several callers: they would come back at the same
        /// time.
        #[arg(long, value_name = "N", value_parser = parse_seed, allow_hyphen_values = true)]
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
        /// 1 means no retry; 4 means one first attempt and at most three retries. With inf, the run
        /// ends with a success, with a failure that is not retried, or at --deadline.
        #[arg(short, long, value_name = "N")]
        #[arg(value_parser = Attempts::parse, allow_hyphen_values = true)]
        pub(in crate::cli) attempts: Option<Attempts>,

        /// Limit for the whole run: attempts and delays
        ///
        /// When it expires, the running attempt is terminated as by --timeout, and the exit status
        /// is 124. If the next delay does not fit, retry gives up at once. The default, 0 and inf
        /// mean no limit.
        #[arg(long, value_name = "DUR", value_parser = parse_limit, allow_hyphen_values = true)]
        pub(in crate::cli) deadline: Option<Limit>,

        /// Limit for one attempt
        ///
        /// An attempt that takes longer is terminated (see --signal and --kill-after) and counts as
        /// failed. All of its processes are terminated: the command's process group and, on Linux,
        /// all of its descendants whose parents are still alive, in whatever group. The next
        /// attempt starts when all of them are gone. Without /proc, and on other systems, only the
        /// group is terminated; see --process-group. The default, 0 and inf mean no limit.
        #[arg(long, value_name = "DUR", value_parser = parse_limit, allow_hyphen_values = true)]
        pub(in crate::cli) timeout: Option<Limit>,

        /// Start no retry with less of --deadline left
        ///
        /// If less time than this would be left after the next delay, retry gives up at once with
        /// the status of the last attempt. Set it to the shortest time that an attempt needs, so
        /// that none is started in vain. It needs --deadline.
        #[arg(long, value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
        pub(in crate::cli) reserve: Option<Duration>,

        /// Signal that a limit sends first [default: TERM]
        ///
        /// A name such as INT, HUP or SIGQUIT, or a number. Use the one that makes the command
        /// clean up. It goes to all processes of the attempt, and --kill-after is the time they
        /// have to exit. KILL terminates them at once.
        #[arg(long, value_name = "SIG")]
        #[arg(value_parser = parse_signal, allow_hyphen_values = true)]
        pub(in crate::cli) signal: Option<Signal>,

        /// Time from that signal to KILL [default: 5s]
        ///
        /// Processes of the attempt that are still running then are sent KILL. 0 sends KILL right
        /// after the signal.
        #[arg(short, long, value_name = "DUR")]
        #[arg(value_parser = parse_duration, allow_hyphen_values = true)]
        pub(in crate::cli) kill_after: Option<Duration>,

        /// End an attempt that writes nothing this long
        ///
        /// Output on stdout or stderr restarts the time. The attempt is terminated as by --timeout.
        /// To see the output, retry puts a pipe between the command and the terminal. The default,
        /// 0 and inf mean no limit.
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
