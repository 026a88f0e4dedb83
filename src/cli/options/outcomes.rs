//! Options for which outcomes are retried, after which waits, and out of which shared budget.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::options;
use crate::bucket::{Budget, Refill};
use crate::cli::values::{parse_heads, parse_list, parse_pattern, path};
use crate::duration::parse_duration;
use crate::job::RetryAfterSource;
use crate::patterns::Pattern;
use crate::status_set::StatusList;

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "What counts")]
    pub(in crate::cli) struct CountOptions {
        /// Retry only these endings
        ///
        /// LIST holds exit codes and ranges (1,5-9,75), signal names (KILL, SIGTERM), and the words any
        /// (1-255), signal, timeout, spawn, with commas between them. 129-192 also mean death by that
        /// signal, but INT, QUIT and PIPE only if named or given singly. A time-out is meant by the word
        /// timeout alone.
        #[arg(long, value_name = "LIST", value_parser = parse_list, allow_hyphen_values = true)]
        pub(in crate::cli) retry_on: Option<StatusList>,

        /// Never retry these endings; wins over --retry-on
        ///
        /// A LIST as above. With 126,127 a shell that does not find its command is not run again.
        #[arg(long, value_name = "LIST", value_parser = parse_list, allow_hyphen_values = true)]
        pub(in crate::cli) stop_on: Option<StatusList>,

        /// Take these endings for success, as exit 0 is
        ///
        /// retry then exits 0.
        #[arg(long, value_name = "LIST", value_parser = parse_list, allow_hyphen_values = true)]
        pub(in crate::cli) success_on: Option<StatusList>,

        /// Retry only if a line of output matches; repeatable
        ///
        /// RE is a regular expression (docs.rs/regex), looked for in each line of stdout and stderr as
        /// it passes through; LF or CR ends a line, ^ and $ are its ends. A prefix stdout: or stderr:
        /// narrows it to one of them. Given more than once, one match is enough. With --retry-on both
        /// must hold, but a time-out or a signal that is listed by its name needs no output. What is
        /// looked at is a pipe to the command, not a terminal.
        #[arg(long, value_name = "RE", value_parser = parse_pattern, allow_hyphen_values = true)]
        pub(in crate::cli) retry_if: Vec<Pattern>,

        /// Never retry if one matches; wins over all others
        #[arg(long, value_name = "RE", value_parser = parse_pattern, allow_hyphen_values = true)]
        pub(in crate::cli) stop_if: Vec<Pattern>,

        /// Success if one matches, whatever the status
        ///
        /// retry then exits 0.
        #[arg(long, value_name = "RE", value_parser = parse_pattern, allow_hyphen_values = true)]
        pub(in crate::cli) success_if: Vec<Pattern>,

        /// Failure if one matches, even with exit 0
        ///
        /// It is retried without being listed. If it is the last attempt and its exit status is 0, that
        /// of retry is 1.
        #[arg(long, value_name = "RE", value_parser = parse_pattern, allow_hyphen_values = true)]
        pub(in crate::cli) fail_if: Vec<Pattern>,
    }
}

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Server waits")]
    pub(in crate::cli) struct ServerOptions {
        /// Obey Retry-After in output|stdout|stderr|@FILE
        ///
        /// Where HTTP response heads are looked for, as curl -i, curl -v, wget -S, http --headers and gh
        /// api -i print them; @FILE is one that the command writes, as with curl -D FILE. The last head
        /// decides. The delay is never shorter than the server asks, and random on top, because other
        /// clients were told the same. Without it, or if there is no such head, retry waits by itself.
        #[arg(long, value_name = "WHERE", value_parser = parse_heads, allow_hyphen_values = true)]
        pub(in crate::cli) retry_after: Option<RetryAfterSource>,

        /// Give up if a server asks for more [default: 5m]
        ///
        /// 0 gives up whenever a server asks to wait at all.
        #[arg(long, value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
        pub(in crate::cli) retry_after_max: Option<Duration>,
    }
}

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Sharing")]
    pub(in crate::cli) struct SharingOptions {
        /// File that keeps what all who name it have spent
        ///
        /// All runs that name the same file may make only so many retries together as --budget says. A
        /// first attempt costs nothing, a success gives back a tenth of a retry. The file is made if it
        /// is not there. If it cannot be used this is said once, and retries are not bounded.
        #[arg(long, value_name = "PATH", value_parser = path(), allow_hyphen_values = true)]
        #[arg(value_hint = ValueHint::FilePath)]
        pub(in crate::cli) shared: Option<PathBuf>,

        /// Retries that they may make together [default: 10]
        ///
        /// 0 allows none. When it is spent, retry gives up with the status of the last attempt.
        #[arg(long, value_name = "N", value_parser = Budget::parse_tokens, allow_hyphen_values = true)]
        pub(in crate::cli) budget: Option<u32>,

        /// Retries that come back with time, like 1/10s
        ///
        /// Evenly, by the clock on the wall, until the budget is full. Clocks may differ by up to five
        /// minutes. Without it only successes give back.
        #[arg(long, value_name = "N/DUR", value_parser = Refill::parse, allow_hyphen_values = true)]
        pub(in crate::cli) budget_refill: Option<Refill>,
    }
}
