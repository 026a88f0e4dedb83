//! Options for the streams of an attempt, and for the hook between two.

use clap::{Args, ValueEnum};

use super::explained::options;
use crate::cli::values::parse_hook;

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
