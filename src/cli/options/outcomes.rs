//! Options for which outcomes are retried, after which waits, and out of which shared budget.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::options;
use crate::bucket::{Budget, Refill};
use crate::cli::values::{parse_concurrency, parse_heads, parse_list, parse_pattern, path, text};
use crate::duration::parse_duration;
use crate::job::RetryAfterSource;
use crate::patterns::Pattern;
use crate::status_set::StatusList;

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Outcomes")]
    pub(in crate::cli) struct CountOptions {
        /// Retry only these outcomes
        ///
        /// LIST is a comma-separated list of exit codes and ranges (1,5-9,75), signal names (KILL,
        /// SIGTERM), and the words any (1-255), signal (death by any signal), timeout (a time limit
        /// expired) and spawn (the system was short of resources to start the command). A code from
        /// 129 to 192 also means death by a signal: 137 is KILL. INT, QUIT and PIPE match only by
        /// name or by a single code (130), not by a range or a word. Only the word timeout matches
        /// a time-out.
        #[value("LIST")]
        #[arg(long, value_parser = parse_list, allow_hyphen_values = true)]
        pub(in crate::cli) retry_on: Option<StatusList>,

        /// Never retry these outcomes; wins over --retry-on
        ///
        /// A LIST as for --retry-on. A shell that cannot find its command exits with 127; to stop
        /// there, use --stop-on 126,127.
        #[value("LIST")]
        #[arg(long, value_parser = parse_list, allow_hyphen_values = true)]
        pub(in crate::cli) stop_on: Option<StatusList>,

        /// Treat these outcomes as success, like exit 0
        ///
        /// A LIST as for --retry-on. If the outcome is in it, retry exits with 0.
        #[value("LIST")]
        #[arg(long, value_parser = parse_list, allow_hyphen_values = true)]
        pub(in crate::cli) success_on: Option<StatusList>,

        /// Retry only if a line of output matches; repeatable
        ///
        /// RE is a regular expression (docs.rs/regex). It is matched against each line of stdout
        /// and stderr. LF or CR ends a line; ^ and $ match at the ends of a line. The prefix
        /// stdout: or stderr: limits RE to that stream. If the option is repeated, one match is
        /// enough. With --retry-on, both must match, but a time-out or signal that LIST names needs
        /// no output. The command writes to a pipe, not to a terminal.
        #[value("RE")]
        #[arg(long, value_parser = text(parse_pattern), allow_hyphen_values = true)]
        pub(in crate::cli) retry_if: Vec<Pattern>,

        /// Never retry a failure if a line matches
        ///
        /// It wins over --retry-on, --retry-if and --fail-if. A success stays a success.
        #[value("RE")]
        #[arg(long, value_parser = text(parse_pattern), allow_hyphen_values = true)]
        pub(in crate::cli) stop_if: Vec<Pattern>,

        /// Success if a line matches, whatever the status
        ///
        /// retry then exits with 0. A match of --fail-if wins over it.
        #[value("RE")]
        #[arg(long, value_parser = text(parse_pattern), allow_hyphen_values = true)]
        pub(in crate::cli) success_if: Vec<Pattern>,

        /// Failure if a line matches, even with exit 0
        ///
        /// Such a failure is retried even if --retry-on or --retry-if does not match. If the last
        /// attempt exits with 0 and still matches, retry exits with 1.
        #[value("RE")]
        #[arg(long, value_parser = text(parse_pattern), allow_hyphen_values = true)]
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
        /// --headers and gh api -i. output means stdout and stderr. @FILE is a file that the
        /// command writes, as with curl -D FILE. The last response decides. The delay is never
        /// shorter than the server asks, and a random part is added, because other clients were
        /// told the same. Without such headers the normal backoff is used. With output, stdout or
        /// stderr, the command writes to a pipe, not to a terminal.
        #[value("WHERE")]
        #[arg(long, value_parser = parse_heads, allow_hyphen_values = true)]
        pub(in crate::cli) retry_after: Option<RetryAfterSource>,

        /// Give up if a server asks for more [default: 5m]
        ///
        /// With 0, retry gives up if a server asks for any wait at all.
        #[value("DUR")]
        #[arg(long, value_parser = parse_duration, allow_hyphen_values = true)]
        pub(in crate::cli) retry_after_max: Option<Duration>,
    }
}

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Sharing")]
    pub(in crate::cli) struct SharingOptions {
        /// File shared by all runs that name it
        ///
        /// It holds what --budget and --concurrency count. Each retry of any of these runs takes
        /// one from the budget. First attempts take nothing, and a success gives back a tenth of a
        /// retry. The file is created if it does not exist. If it cannot be used, retry warns once,
        /// and nothing is limited.
        #[value("PATH")]
        #[arg(long, allow_hyphen_values = true)]
        #[arg(value_parser = path("what is shared needs a file"))]
        pub(in crate::cli) shared: Option<PathBuf>,

        /// Retries that a full budget allows [default: 10]
        ///
        /// With --concurrency there is no budget unless this option is given.
        /// When the budget is used up, retry gives up with the status of the last attempt. 0 allows
        /// no retries.
        #[value("N")]
        #[arg(long, value_parser = Budget::parse_tokens, allow_hyphen_values = true)]
        pub(in crate::cli) budget: Option<u32>,

        /// Retries added back over time, like 1/10s
        ///
        /// They come back evenly until the budget is full. This uses the wall clock; the clocks of
        /// the runs may differ by up to five minutes. Without this option, only successes give
        /// anything back.
        #[value("N/DUR")]
        #[arg(long, value_parser = Refill::parse, allow_hyphen_values = true)]
        pub(in crate::cli) budget_refill: Option<Refill>,

        /// Attempts of all these runs that may run at once
        ///
        /// Each attempt, and its --before-retry command, takes one of N slots, and waits for one
        /// if none is free. A delay takes none. If --deadline expires before a slot is free, retry
        /// gives up with the status of the last attempt, or 124 before the first. The slots are
        /// kept in the file PATH.slots.
        #[value("N")]
        #[arg(long, value_parser = parse_concurrency, allow_hyphen_values = true)]
        pub(in crate::cli) concurrency: Option<u32>,
    }
}
