//! Options for a budget that many runs share.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::explained::options;
use crate::bucket::{Budget, Refill};
use crate::cli::values::path;

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
