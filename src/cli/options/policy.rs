//! Options for where options come from, and the remaining ones.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use super::options;
use crate::cli::values::path;

options! {
    #[derive(Debug, Args)]
    #[group(skip)]
    #[command(next_help_heading = "Policy")]
    pub(in crate::cli) struct PolicyOptions {
        /// Read options from FILE; the command line wins
        ///
        /// Write one option per line, as 'name value' or 'name=value', without dashes or quotes. A
        /// line that begins with # is a comment. The file cannot name the command. Without this
        /// option, retry reads the file named by RETRY_POLICY.
        #[value("FILE")]
        #[arg(long, allow_hyphen_values = true)]
        #[arg(value_parser = path("options are not read from stdin"))]
        pub(in crate::cli) policy: Option<PathBuf>,

        /// auto, new or inherit [default: auto]
        ///
        /// The process group of the command. new: each attempt gets its own group, so ^C at the
        /// terminal does not reach it, and it stops if it reads from the terminal. inherit: the
        /// command stays in retry's group, so a signal to that group reaches the command too. auto:
        /// inherit if there is a controlling terminal, else new. On Linux, a time limit terminates
        /// the same processes with each of these. Elsewhere, or without /proc, it terminates only
        /// the group with new, and only the command itself with inherit.
        #[value("GROUP")]
        #[arg(long)]
        #[arg(hide_possible_values = true, allow_hyphen_values = true)]
        pub(in crate::cli) process_group: Option<GroupName>,

        /// Print man page or completion (bash, zsh, fish)
        ///
        /// To read the manual: retry --generate man | man -l -. Write a completion to
        /// ~/.local/share/bash-completion/completions/retry, to
        /// ~/.config/fish/completions/retry.fish, or to _retry in a directory of $fpath (zsh).
        #[value("WHAT")]
        #[arg(long)]
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

/// `--process-group` as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum GroupName {
    Auto,
    New,
    Inherit,
}
