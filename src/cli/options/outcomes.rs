//! Options for which outcomes are retried, after which waits, and out of which shared budget.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::options;
use crate::bucket::{Budget, Refill};
use crate::cli::values::{parse_heads, parse_list, parse_pattern, path, text};
use crate::duration::parse_duration;
use crate::job::RetryAfterSource;
use crate::patterns::Pattern;
use crate::status_set::StatusList;

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "What counts")]
    pub(in crate::cli) struct CountOptions {
        /// Retry only these outcomes
        ///
        /// LIST holds exit codes and ranges (1,5-9,75), signal names (KILL, SIGTERM), and the words
        /// any (1-255), signal, timeout, and spawn (the command could not be started), separated by
        /// commas. 129-192 also mean death by that signal, but INT, QUIT and PIPE only if they are
        /// named or given singly. Only the word timeout means a time-out.
        #[arg(long, value_name = "LIST", value_parser = parse_list, allow_hyphen_values = true)]
        pub(in crate::cli) retry_on: Option<StatusList>,

        /// Never retry these outcomes; wins over --retry-on
        ///
        /// A LIST as for --retry-on. A shell that cannot find its command exits with 127: --stop-on
        /// 126,127 does not run it again.
        #[arg(long, value_name = "LIST", value_parser = parse_list, allow_hyphen_values = true)]
        pub(in crate::cli) stop_on: Option<StatusList>,

        /// Treat these outcomes as success, like exit 0
        ///
        /// A LIST as for --retry-on. retry then exits with 0.
        #[arg(long, value_name = "LIST", value_parser = parse_list, allow_hyphen_values = true)]
        pub(in crate::cli) success_on: Option<StatusList>,

        /// Retry only if a line of output matches; repeatable
        ///
        /// RE is a regular expression (docs.rs/regex). It is matched against each line of stdout
        /// and stderr as the line passes through. LF or CR ends a line, and ^ and $ match at its
        /// ends. A prefix stdout: or stderr: limits RE to that stream. If the option is repeated,
        /// one match is enough. With --retry-on, both must hold, but a time-out or a signal that is
        /// listed by name needs no output. The command writes to a pipe, not to a terminal.
        #[arg(long, value_name = "RE", value_parser = text(parse_pattern), allow_hyphen_values = true)]
        pub(in crate::cli) retry_if: Vec<Pattern>,

        /// Never retry if a line matches; wins over all others
        #[arg(long, value_name = "RE", value_parser = text(parse_pattern), allow_hyphen_values = true)]
        pub(in crate::cli) stop_if: Vec<Pattern>,

        /// Success if a line matches, whatever the status
        ///
        /// retry then exits with 0.
        #[arg(long, value_name = "RE", value_parser = text(parse_pattern), allow_hyphen_values = true)]
        pub(in crate::cli) success_if: Vec<Pattern>,

        /// Failure if a line matches, even with exit 0
        ///
        /// Such a failure is retried even if --retry-on does not list it. If the last attempt exits
        /// with 0, retry exits with 1.
        #[arg(long, value_name = "RE", value_parser = text(parse_pattern), allow_hyphen_values = true)]
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
        /// Where to look for HTTP response headers, as printed by curl -i, curl -v, wget -S, http
        /// --headers and gh api -i. @FILE is a file that the command writes, as with curl -D FILE.
        /// The last response decides. The delay is never shorter than the server asks; a random
        /// part is added, because other clients were told the same. Without such headers the normal
        /// backoff is used.
        #[arg(long, value_name = "WHERE", value_parser = parse_heads, allow_hyphen_values = true)]
        pub(in crate::cli) retry_after: Option<RetryAfterSource>,

        /// Give up if a server asks for more [default: 5m]
        ///
        /// 0 gives up whenever a server asks for any wait at all.
        #[arg(long, value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
        pub(in crate::cli) retry_after_max: Option<Duration>,
    }
}

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Sharing")]
    pub(in crate::cli) struct SharingOptions {
        /// File holding the budget of all runs that name it
        ///
        /// Together, these runs make at most as many retries as --budget says. A first attempt
        /// costs nothing, and a success gives back a tenth of a retry. The file is created if it
        /// does not exist. If it cannot be used, retry warns once, and retries are not limited.
        #[arg(long, value_name = "PATH", value_parser = path(), allow_hyphen_values = true)]
        #[arg(value_hint = ValueHint::FilePath)]
        pub(in crate::cli) shared: Option<PathBuf>,

        /// Total retries that it allows [default: 10]
        ///
        /// When it is used up, retry gives up with the status of the last attempt. 0 allows no
        /// retries.
        #[arg(long, value_name = "N", value_parser = Budget::parse_tokens, allow_hyphen_values = true)]
        pub(in crate::cli) budget: Option<u32>,

        /// Retries added back over time, like 1/10s
        ///
        /// They come back evenly until the budget is full. The wall clock counts; clocks may differ
        /// by up to five minutes. Without this option, only successes give anything back.
        #[arg(long, value_name = "N/DUR", value_parser = Refill::parse, allow_hyphen_values = true)]
        pub(in crate::cli) budget_refill: Option<Refill>,
    }
}
