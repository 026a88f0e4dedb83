//! Options for streams, the hook and reports, and the remaining ones.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum, ValueHint};

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
        /// attempt; if a failed attempt has read from a pipe, that input is lost, and there is no
        /// retry. inherit: the same, but retry goes on with the rest of the pipe. replay: every
        /// attempt gets all of the piped input; up to 1 MiB of it is kept in memory, more in an
        /// unnamed file in $TMPDIR. null: nothing.
        #[arg(long, value_name = "MODE")]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) stdin: Option<InputName>,

        /// stream, or once (success only) [default: stream]
        ///
        /// stream: output appears as the command writes it, that of failed attempts too. once:
        /// stdout is kept in an unnamed file in $TMPDIR until the attempt is over; then a
        /// successful attempt's goes to stdout, a failed one's to stderr. If the disk is full,
        /// retry exits with 125, never with 0.
        #[arg(long, value_name = "MODE")]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) stdout: Option<OutputName>,

        /// stream, last or on-failure [default: stream]
        ///
        /// Which output is shown, and when. stream: all of it, at once. last: only the last
        /// attempt's, when it is over. on-failure: nothing at all, not even retry's own lines,
        /// unless the run fails; then everything that all attempts wrote, in order, with retry's
        /// lines in between (for cron, which mails all output). Held output is kept in an unnamed
        /// file in $TMPDIR. If the disk is full, last exits with 125, and on-failure shows what it
        /// holds and passes on the rest. The command writes to a pipe, not to a terminal.
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
        /// Shell command to run before each retry
        ///
        /// It runs by sh -c after the delay, but not before the first attempt and not after the
        /// last. RETRY_ATTEMPT is the number of the coming attempt, and RETRY_LAST_STATUS the
        /// outcome of the last one. Its stdin is empty, and its output goes to stderr. --timeout
        /// and --deadline apply to it; --idle-timeout does not. If it fails, there is no retry, and
        /// the exit status is that of the last attempt.
        #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
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
        /// Usage errors are still reported. The last of -q and -v wins.
        #[arg(short, long, overrides_with = "verbose")]
        pub(in crate::cli) quiet: bool,

        /// Report every step on stderr
        ///
        /// The start of each attempt, a success at the first attempt, forwarded signals, and what a
        /// time limit does.
        #[arg(short, long, overrides_with = "quiet")]
        pub(in crate::cli) verbose: bool,

        /// text, json or github [default: text]
        ///
        /// Format of the lines on stderr. json: one object per line, as in --log. github: groups
        /// and annotations for GitHub Actions, with a group for each attempt, a warning for each
        /// failed one, and an error if all failed.
        #[arg(long, value_name = "FORMAT")]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) log_format: Option<FormatName>,

        /// Append every event to FILE as JSON, one per line
        ///
        /// Several runs may write to the same file. It records each attempt and its outcome, each
        /// delay, and why the run ended, but never the command's arguments. If the file cannot be
        /// written, retry warns once and goes on.
        #[arg(long, value_name = "FILE", value_parser = path(), allow_hyphen_values = true)]
        #[arg(value_hint = ValueHint::FilePath)]
        pub(in crate::cli) log: Option<PathBuf>,

        /// What messages and events call this run
        ///
        /// Without it, that is the name of the command. A name tells apart runs of the same command, such as
        /// several of curl or sh.
        #[arg(long, value_name = "TEXT", value_parser = text(parse_name), allow_hyphen_values = true)]
        pub(in crate::cli) name: Option<String>,

        /// Print the schedule, run nothing (also --dry-run)
        ///
        /// One line per retry: the delay before jitter, its range and mean with jitter, and the longest time
        /// until then. It needs no COMMAND.
        #[arg(long, alias = "dry-run")]
        pub(in crate::cli) plan: bool,

        /// With --plan: what N clients do that fail together
        ///
        /// It shows when they come back, as a chart, the busiest 10 ms with this jitter and without any, and
        /// how many attempts all of them make at most.
        #[arg(long, value_name = "N", value_parser = parse_clients, allow_hyphen_values = true)]
        pub(in crate::cli) clients: Option<u32>,

        /// With --clients: a server that serves only so many
        ///
        /// Of the attempts in each window of DUR, the server serves the first M and fails the rest, as in
        /// 100/1s. It shows how many clients are served, how many give up, and how many attempts they
        /// make, with this jitter and without any.
        #[arg(long, value_name = "M/DUR", value_parser = parse_capacity, allow_hyphen_values = true)]
        pub(in crate::cli) capacity: Option<Capacity>,
    }
}

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Policy")]
    pub(in crate::cli) struct PolicyOptions {
        /// Read options from FILE; the command line wins
        ///
        /// Each line is 'name value' or 'name=value', without dashes or quotes. A line that begins
        /// with # is a comment. The file cannot name the command. Without this option, the file
        /// named by RETRY_POLICY is read.
        #[arg(long, value_name = "FILE", value_parser = path(), allow_hyphen_values = true)]
        #[arg(value_hint = ValueHint::FilePath)]
        pub(in crate::cli) policy: Option<PathBuf>,

        /// auto, new or inherit [default: auto]
        ///
        /// The process group of the command. new: each attempt has its own group, so keys typed at
        /// the terminal do not reach it, and reading from the terminal stops it. inherit: the
        /// command stays in retry's group, so whoever kills that group kills the command too. auto:
        /// inherit if there is a controlling terminal, else new. A time limit terminates all
        /// processes of the attempt either way; but without /proc, and on systems other than Linux,
        /// new terminates only the group, and inherit only the command itself.
        #[arg(long, value_name = "GROUP")]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) process_group: Option<GroupName>,

        /// Print man, or a bash, zsh or fish completion
        ///
        /// The manual is for man -l -, as in retry --generate man | man -l -; a completion is for the
        /// directory where the shell looks for them.
        #[arg(long, value_name = "WHAT")]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) generate: Option<Artifact>,

        /// Print help; -h prints one line per option
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

/// The text that `--generate` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Artifact {
    Man,
    Bash,
    Zsh,
    Fish,
}

impl Artifact {
    /// Returns the file as it is shipped.
    pub(in crate::cli) fn text(self) -> &'static str {
        match self {
            Self::Man => include_str!("../../../man/retry.1"),
            Self::Bash => include_str!("../../../completions/retry.bash"),
            Self::Zsh => include_str!("../../../completions/_retry"),
            Self::Fish => include_str!("../../../completions/retry.fish"),
        }
    }
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
