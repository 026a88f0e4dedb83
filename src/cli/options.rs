//! The options as typed. This is their one definition: parser, help, man page and completions are
//! made from it.

mod counts;
mod explained;
mod reports;
mod sharing;
mod streams;

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, CommandFactory as _, Parser, ValueEnum, ValueHint};

use explained::{explained, options};

use super::values::{parse_jitter, parse_seed, parse_signal};
use crate::backoff::Jitter;
use crate::duration::{Limit, parse_duration, parse_limit};
use crate::numbers::{Attempts, Factor};
use crate::signal::Signal;

pub(super) use counts::{CountOptions, ServerOptions};
pub(super) use reports::{FormatName, GroupName, PolicyOptions, ReportOptions};
pub(super) use sharing::SharingOptions;
pub(super) use streams::{BetweenOptions, InputName, OutputName, StreamOptions};

/// The defaults that the help states. They are none of clap's, which would write each of them out
/// and read it again.
pub(super) const BASE: Duration = Duration::from_secs(1);
pub(super) const CAP: Duration = Duration::from_secs(30);
pub(super) const KILL_AFTER: Duration = Duration::from_secs(5);

/// Run COMMAND again until it succeeds, with jittered exponential backoff.
///
/// COMMAND is executed directly, not through a shell. An attempt is one run of it; a retry is an
/// attempt after a failed one, so `--attempts 4` is one first attempt and at most three retries.
/// Every failure is retried, unless a list says otherwise, except a command that cannot be executed
/// and death by SIGINT, SIGQUIT or SIGPIPE. Of an option given twice, the last one counts.
#[derive(Debug, Parser)]
#[group(skip)]
#[command(
    name = "retry",
    version,
    override_usage = "retry [OPTIONS] [--] COMMAND [ARG]...",
    args_override_self = true,
    no_binary_name = true,
    disable_help_flag = true,
    disable_version_flag = true,
    max_term_width = 100
)]
pub(super) struct Cli {
    /// The command to run, and its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true, hide = true)]
    #[arg(value_hint = ValueHint::CommandWithArguments)]
    pub(super) command: Vec<OsString>,

    #[command(flatten)]
    pub(super) backoff: BackoffOptions,

    #[command(flatten)]
    pub(super) limits: LimitOptions,

    #[command(flatten)]
    pub(super) counts: CountOptions,

    #[command(flatten)]
    pub(super) server: ServerOptions,

    #[command(flatten)]
    pub(super) streams: StreamOptions,

    #[command(flatten)]
    pub(super) between: BetweenOptions,

    #[command(flatten)]
    pub(super) sharing: SharingOptions,

    #[command(flatten)]
    pub(super) reports: ReportOptions,

    #[command(flatten)]
    pub(super) policy: PolicyOptions,
}

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Backoff")]
    pub(super) struct BackoffOptions {
        /// Delay before the first retry [default: 1s]
        ///
        /// It is the first of the growing delays that jitter is applied to. 0 means no delays at all.
        #[arg(long, value_name = "DUR")]
        #[arg(value_parser = parse_duration, allow_hyphen_values = true)]
        pub(super) base: Option<Duration>,

        /// Longest delay, jitter included [default: 30s, or base]
        ///
        /// No computed delay is ever longer. Without --cap it is 30s, or the base if that is longer.
        #[arg(long, value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
        pub(super) cap: Option<Duration>,

        /// exponential, linear or constant [default: exponential]
        ///
        /// How the delays grow. The n-th one is base·factor^(n-1), base·n, or base, before jitter; never
        /// more than the cap.
        #[arg(long, value_name = "CURVE")]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(super) backoff: Option<CurveName>,

        /// Growth of exponential delays, 1 or more [default: 2]
        ///
        /// An error with linear or constant delays.
        #[arg(long, value_name = "F", value_parser = Factor::parse, allow_hyphen_values = true)]
        pub(super) factor: Option<Factor>,

        /// none, full, equal, decorrelated, or 20% [default: full]
        ///
        /// Which part of a delay is random. With c for the delay before jitter, it is drawn evenly from
        /// a range: none: c itself; full: 0 to c; equal: c/2 to c; a share P, as 20% or 0.2: c·(1-P) to
        /// c·(1+P), cut at the cap; decorrelated: base to three times the previous delay (at first, the
        /// base), cut at the cap. Keep full where many callers may fail together: they will not come
        /// back together. (A crontab ends a line at %: write 0.2.)
        #[arg(long, value_name = "JITTER")]
        #[arg(value_parser = parse_jitter, allow_hyphen_values = true)]
        pub(super) jitter: Option<Jitter>,

        /// Draw the same delays each time
        ///
        /// With the same options the same number draws the same delays, on every platform and in every
        /// later version: to repeat a run, or to make the one that --plan has shown. Callers that share a
        /// number come back together, so give it to one at a time.
        #[arg(long, value_name = "N", value_parser = parse_seed, allow_hyphen_values = true)]
        pub(super) seed: Option<u64>,
    }
}

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Limits")]
    pub(super) struct LimitOptions {
        /// Runs in total, with the first, or inf [default: 5]
        ///
        /// The first one counts: 1 means no retry, 4 at most three of them. With inf it ends at a success,
        /// at a failure that is not retried, or by --deadline.
        #[arg(short, long, value_name = "N")]
        #[arg(value_parser = Attempts::parse, allow_hyphen_values = true)]
        pub(super) attempts: Option<Attempts>,

        /// Time for everything: attempts and delays
        ///
        /// Without it, or with 0 or inf, there is no limit. When it is over the running attempt is
        /// ended, as by --timeout, and the exit status is 124. When the next delay does not fit, retry
        /// gives up at once instead of waiting in vain.
        #[arg(long, value_name = "DUR", value_parser = parse_limit, allow_hyphen_values = true)]
        pub(super) deadline: Option<Limit>,

        /// Time for one attempt
        ///
        /// Without it, or with 0 or inf, there is no limit. An attempt that takes longer is ended (see
        /// --signal and --kill-after) and counts as failed. All of its processes are ended: its process
        /// group, and every descendant of the command whose parents are still there, whatever group it
        /// is in. The next attempt starts when all of them are gone. Without /proc, and on systems other
        /// than Linux, only the group is ended; see --process-group.
        #[arg(long, value_name = "DUR", value_parser = parse_limit, allow_hyphen_values = true)]
        pub(super) timeout: Option<Limit>,

        /// Start no retry with less than this left
        ///
        /// Of --deadline, which it needs: retry gives up at once, with the status of the last attempt, if
        /// less time than this would be left when the next delay is over. Give what an attempt takes at
        /// least, so that none is begun in vain.
        #[arg(long, value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
        pub(super) reserve: Option<Duration>,

        /// What a time limit sends first [default: TERM]
        ///
        /// A name such as INT, HUP or SIGQUIT, or a number: the one at which the command cleans up. It
        /// goes to all processes of the attempt, and --kill-after says how long they have for it. KILL
        /// ends them at once.
        #[arg(long, value_name = "SIG")]
        #[arg(value_parser = parse_signal, allow_hyphen_values = true)]
        pub(super) signal: Option<Signal>,

        /// Time from that signal to KILL [default: 5s]
        ///
        /// KILL goes to whatever is left of the attempt then. 0 sends it at once after the signal.
        #[arg(short, long, value_name = "DUR")]
        #[arg(value_parser = parse_duration, allow_hyphen_values = true)]
        pub(super) kill_after: Option<Duration>,

        /// End an attempt that writes nothing for so long
        ///
        /// Nothing to stdout and stderr, that is. Without it, or with 0 or inf, there is no limit. The
        /// attempt is ended as by --timeout. To see the output it must pass through retry, so that the
        /// command writes to a pipe and not to a terminal.
        #[arg(long, value_name = "DUR", value_parser = parse_limit, allow_hyphen_values = true)]
        pub(super) idle_timeout: Option<Limit>,
    }
}

/// Returns the parser with the help of all options.
pub(super) fn command() -> clap::Command {
    let texts = [
        BackoffOptions::TEXTS,
        LimitOptions::TEXTS,
        CountOptions::TEXTS,
        ServerOptions::TEXTS,
        StreamOptions::TEXTS,
        BetweenOptions::TEXTS,
        SharingOptions::TEXTS,
        ReportOptions::TEXTS,
        PolicyOptions::TEXTS,
    ];
    explained(Cli::command(), &texts)
}

/// `--backoff` as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CurveName {
    Exponential,
    Linear,
    Constant,
}
