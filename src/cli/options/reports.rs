//! Options for streams, the hook and reports, and the remaining ones.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum, ValueHint};

use super::options;
use crate::cli::values::{parse_clients, parse_hook, path};
use crate::job::Format;

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Streams")]
    pub(in crate::cli) struct StreamOptions {
        /// auto, inherit, replay or null [default: auto]
        ///
        /// What each attempt reads. auto: retry's own stdin; a regular file is rewound for each attempt.
        /// If a failed attempt has read from a pipe, that input is lost, and there is no retry. inherit:
        /// the same, but retry goes on with what is left of a pipe. replay: every attempt gets all that
        /// comes through a pipe; up to 1 MiB of it is kept in memory, more in an unnamed file in
        /// $TMPDIR. null: nothing.
        #[arg(long, value_name = "MODE")]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) stdin: Option<InputName>,

        /// stream, or once: of the success only [default: stream]
        ///
        /// stream: what the command writes appears at once, that of failed attempts too. once: what an
        /// attempt writes to stdout is kept in an unnamed file in $TMPDIR until the attempt is over;
        /// that of the successful attempt then goes to stdout, that of a failed one to stderr. If the
        /// disk is full, the status is 125, never 0.
        #[arg(long, value_name = "MODE")]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) stdout: Option<OutputName>,

        /// stream, last or on-failure [default: stream]
        ///
        /// Which output is shown, and when. stream: all of it, as it comes. last: only that of the last
        /// attempt, when it is over. on-failure: nothing at all, not even the lines of retry, unless
        /// the run fails in the end; then everything that all attempts wrote, in order, with the lines
        /// of retry in between (for cron, which mails what is written). Held output is kept in an
        /// unnamed file in $TMPDIR. If the disk is full, last exits with 125; on-failure shows what it
        /// holds, and passes the rest on. The command writes to a pipe and not to a terminal.
        #[arg(long, value_name = "MODE")]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) output: Option<ShownName>,
    }
}

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Between attempts")]
    pub(in crate::cli) struct BetweenOptions {
        /// Run by sh -c after the delay, before each retry
        ///
        /// Not before the first attempt and not after the last. It finds the number of the coming attempt
        /// in RETRY_ATTEMPT and how the failed one ended in RETRY_LAST_STATUS, reads nothing, and writes
        /// to stderr. --timeout and --deadline hold for it too, --idle-timeout does not. If it fails
        /// there is no retry, and the status is that of the last attempt.
        #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
        #[arg(value_parser = parse_hook)]
        pub(in crate::cli) before_retry: Option<String>,
    }
}

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Reports")]
    pub(in crate::cli) struct ReportOptions {
        /// Say nothing on stderr
        ///
        /// A wrong call is complained of all the same. Of -q and -v the last one counts.
        #[arg(short, long, overrides_with = "verbose")]
        pub(in crate::cli) quiet: bool,

        /// Say every step on stderr
        ///
        /// Each start of an attempt, a success at first, signals passed on, what a time limit does.
        #[arg(short, long, overrides_with = "quiet")]
        pub(in crate::cli) verbose: bool,

        /// text, json or github [default: text]
        ///
        /// How lines on stderr look. json: an object each, as in --log. github: with the groups and
        /// annotations of GitHub Actions: a group for each attempt, a warning for each that failed, an
        /// error if all did.
        #[arg(long, value_name = "FORMAT")]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) log_format: Option<FormatName>,

        /// Append every event to FILE, a JSON object a line
        ///
        /// Several runs may write to the same file. It tells each attempt, how it ended, each delay, and
        /// why the run ended; never arguments. A file that cannot be written is said once, and the run
        /// goes on.
        #[arg(long, value_name = "FILE", value_parser = path(), allow_hyphen_values = true)]
        #[arg(value_hint = ValueHint::FilePath)]
        pub(in crate::cli) log: Option<PathBuf>,

        /// Print the schedule, run nothing (also --dry-run)
        ///
        /// A line for each retry: its delay before jitter, the range and the mean with jitter, and how
        /// long it takes to get there at worst. It needs no COMMAND.
        #[arg(long, alias = "dry-run")]
        pub(in crate::cli) plan: bool,

        /// With --plan: what N clients that failed together do
        ///
        /// When they come back, as a chart; the busiest 10 ms with this jitter and with none; and how
        /// many attempts they make together.
        #[arg(long, value_name = "N", value_parser = parse_clients, allow_hyphen_values = true)]
        pub(in crate::cli) clients: Option<u32>,
    }
}

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Policy")]
    pub(in crate::cli) struct PolicyOptions {
        /// Read options from FILE; the command line wins
        ///
        /// A line is 'name value' or 'name=value', without dashes and quotes; a line that begins with # is a comment. It
        /// cannot name the command. Without it, the file that RETRY_POLICY names is read.
        #[arg(long, value_name = "FILE", value_parser = path(), allow_hyphen_values = true)]
        #[arg(value_hint = ValueHint::FilePath)]
        pub(in crate::cli) policy: Option<PathBuf>,

        /// auto, new or inherit [default: auto]
        ///
        /// Which process group the command runs in. new: each attempt leads one of its own; keys of a
        /// terminal do not reach it, and reading the terminal stops it. inherit: that of retry; whoever
        /// kills the group of retry kills the command too. auto: inherit if there is a controlling
        /// terminal, else new. A time limit ends all processes of the attempt in either case; but
        /// without /proc, and on systems other than Linux, with new only those of the group, and with
        /// inherit only the command itself.
        #[arg(long, value_name = "GROUP")]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) process_group: Option<GroupName>,

        /// Print help; -h is one line an option
        #[arg(short, long, action = ArgAction::Help)]
        help: Option<bool>,

        /// Print the version
        #[arg(short = 'V', long, action = ArgAction::Version)]
        version: Option<bool>,
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

/// `--process-group` as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum GroupName {
    Auto,
    New,
    Inherit,
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
