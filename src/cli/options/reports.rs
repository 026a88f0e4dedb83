//! Options for streams, the hook and reports.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::options;
use crate::cli::values::{parse_capacity, parse_clients, parse_hook, parse_name, path, text};
use crate::job::{Capacity, Format};

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Streams")]
    pub(in crate::cli) struct StreamOptions {
        /// auto, inherit, replay or null [default: auto]
        ///
        /// What each attempt reads. auto: the stdin of retry. A regular file is rewound for each
        /// attempt. If a failed attempt has read from a pipe, that input is lost, and retry gives
        /// up. inherit: like auto, but a retry reads the rest of the pipe. replay: every attempt
        /// reads all of the piped input; up to 1 MiB of it is kept in memory, more in an unnamed
        /// file in $TMPDIR. null: nothing.
        #[value("MODE")]
        #[arg(long)]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) stdin: Option<InputName>,

        /// stream, or once (success only) [default: stream]
        ///
        /// stream: stdout appears as the command writes it, even if the attempt then fails. once:
        /// stdout is kept in an unnamed file in $TMPDIR until the attempt is over. Then the output
        /// of a success goes to stdout, and that of a failure to stderr. If the disk is full, retry
        /// exits with 125, never with 0.
        #[value("MODE")]
        #[arg(long)]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) stdout: Option<OutputName>,

        /// stream, last or on-failure [default: stream]
        ///
        /// Which output is shown, and when. stream: all of it, as the command writes it. last: only
        /// that of the last attempt, when it is over. on-failure: if the run fails, that of all
        /// attempts with retry's lines in between; else nothing. This is for cron, which mails all
        /// output. Held output is kept in an unnamed file in $TMPDIR. If the disk is full, last
        /// exits with 125, and on-failure shows what it holds and passes on the rest. The command
        /// writes to a pipe, not to a terminal.
        #[value("MODE")]
        #[arg(long)]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) output: Option<ShownName>,
    }
}

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Between attempts")]
    pub(in crate::cli) struct BetweenOptions {
        /// Shell command to run before each retry
        ///
        /// sh -c runs CMD after the delay, but not before the first attempt. If CMD fails, there is
        /// no retry, and the exit status is that of the last attempt. CMD sees the number of the
        /// coming attempt as RETRY_ATTEMPT, and the outcome of the previous one as
        /// RETRY_LAST_STATUS. Its stdin is empty, and its output goes to stderr. --timeout and
        /// --deadline apply to it; --idle-timeout does not.
        #[value("CMD")]
        #[arg(long, allow_hyphen_values = true)]
        #[arg(value_parser = text(parse_hook))]
        pub(in crate::cli) before_retry: Option<String>,
    }
}

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Reports")]
    pub(in crate::cli) struct ReportOptions {
        /// Write nothing to stderr
        ///
        /// Usage errors and failures of retry itself are still reported; a command that cannot be
        /// run is not. The last of -q and -v wins.
        #[arg(short, long, overrides_with = "verbose")]
        pub(in crate::cli) quiet: bool,

        /// Report every step on stderr
        ///
        /// It adds the start of each attempt, a success at the first attempt, forwarded signals,
        /// and the signals that a time limit sends.
        #[arg(short, long, overrides_with = "quiet")]
        pub(in crate::cli) verbose: bool,

        /// text, json or github [default: text]
        ///
        /// Format of the lines on stderr. json: one object per line, as in --log. github: groups
        /// and annotations for GitHub Actions, with a group for each attempt, a warning for each
        /// failed attempt, and an error if the run fails.
        #[value("FORMAT")]
        #[arg(long)]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) log_format: Option<FormatName>,

        /// Append every event to FILE as JSON, one per line
        ///
        /// It records each attempt and its outcome, each delay, and why the run ended, but never
        /// the command's arguments. Several runs may write to the same file. If the file cannot be
        /// written, retry warns once and goes on.
        #[value("FILE")]
        #[arg(long, allow_hyphen_values = true)]
        #[arg(value_parser = path("for events on stderr use --log-format json"))]
        pub(in crate::cli) log: Option<PathBuf>,

        /// Name of this run in messages and events
        ///
        /// The default is the name of the command. A name tells apart several runs of, say, curl.
        #[value("TEXT")]
        #[arg(long, value_parser = text(parse_name), allow_hyphen_values = true)]
        pub(in crate::cli) name: Option<String>,

        /// Print the schedule, run nothing (also --dry-run)
        ///
        /// One row per retry: the delay before jitter, its range and mean with jitter, and the
        /// latest time at which the retry starts. It needs no COMMAND.
        #[arg(long, alias = "dry-run")]
        pub(in crate::cli) plan: bool,

        /// With --plan: simulate N clients that fail together
        ///
        /// It shows a chart of their retries, the number of retries in the busiest 10 ms, with this
        /// jitter and with none, and the most attempts that all of them make together.
        #[value("N")]
        #[arg(long, value_parser = parse_clients, allow_hyphen_values = true)]
        pub(in crate::cli) clients: Option<u32>,

        /// With --clients: limit what the server can serve
        ///
        /// The server serves the first M attempts in each window of DUR and fails the rest, as in
        /// 100/1s. It shows how many clients are served, how many give up, and how many attempts
        /// they make, with this jitter and with none.
        #[value("M/DUR")]
        #[arg(long, value_parser = parse_capacity, allow_hyphen_values = true)]
        pub(in crate::cli) capacity: Option<Capacity>,
    }
}

/// `--stdin` as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum InputName {
    Auto,
    Inherit,
    Replay,
    Null,
}

/// `--stdout` as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum OutputName {
    Stream,
    Once,
}

/// `--output` as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ShownName {
    Stream,
    Last,
    OnFailure,
}

/// `--log-format` as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum FormatName {
    Text,
    Json,
    Github,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Text => Self::Text,
            FormatName::Json => Self::Json,
            FormatName::Github => Self::Github,
        }
    }
}
