//! The options as typed. This is their one definition: parser, help, man page and completions are
//! made from it.
//!
//! The help of each option is its doc comment. It is copied into the parser only if help is asked
//! for, because copying takes a tenth of all instructions of a run.

mod outcomes;
mod policy;
mod reports;
mod schedule;

use std::ffi::OsString;
use std::time::Duration;

use clap::{Arg, Command, CommandFactory as _, Parser, ValueHint};

pub(super) use outcomes::{CountOptions, ServerOptions, SharingOptions};
pub(super) use policy::{Artifact, GroupName, PolicyOptions};
pub(super) use reports::{
    BetweenOptions, FormatName, InputName, OutputName, ReportOptions, ShownName, StreamOptions,
};
pub(super) use schedule::{BackoffOptions, CurveName, LimitOptions};

/// The defaults that the help states. They are not given to clap, which would format and parse each
/// of them.
pub(super) const BASE: Duration = Duration::from_secs(1);
pub(super) const CAP: Duration = Duration::from_secs(30);
pub(super) const KILL_AFTER: Duration = Duration::from_secs(5);

/// Run COMMAND again until it succeeds, with jittered exponential backoff.
///
/// COMMAND is executed directly, not through a shell. An attempt is one run of it; a retry is an
/// attempt after a failed one. `--attempts 4` means one first attempt and at most three retries.
/// Unless options say otherwise, every failure is retried, except a command that is not found or
/// cannot be executed, death by SIGINT, SIGQUIT or SIGPIPE, and an attempt that has read input from
/// a pipe. If an option is given twice, the last one wins.
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

/// Returns the parser with the help of all options.
pub(super) fn command() -> Command {
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

/// Options by name, with the names of their values and the lines of their descriptions.
pub(super) type Texts = &'static [(&'static str, Option<&'static str>, &'static str)];

/// Defines a struct of options, and `TEXTS` with what only the help needs of each: a call is parsed
/// without it.
macro_rules! options {
    (@value) => { None };
    (@value $value:literal) => { Some($value) };
    (
        $(#[$attribute:meta])*
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $line:literal])*
                $(#[value($value:literal)])?
                $(#[arg($($arg:tt)*)])*
                $field_vis:vis $field:ident: $type:ty,
            )*
        }
    ) => {
        $(#[$attribute])*
        $vis struct $name {
            $(
                $(#[arg($($arg)*)])*
                $field_vis $field: $type,
            )*
        }

        impl $name {
            /// The help of each of these options.
            $vis const TEXTS: $crate::cli::options::Texts = &[$((
                stringify!($field),
                $crate::cli::options::options!(@value $($value)?),
                concat!($($line, "\n"),*),
            )),*];
        }
    };
}
use options;

/// Adds the help of its options to a command.
fn explained(command: Command, texts: &[Texts]) -> Command {
    let texts = texts.iter().copied().flatten();
    texts.fold(command, |command, (option, value, text)| {
        command.mut_arg(option, |option| explain(option, *value, text))
    })
}

/// Sets the name of an option's value, and its help: the first paragraph is the short one, all of
/// them are the long one.
fn explain(option: Arg, value: Option<&'static str>, text: &str) -> Arg {
    let option = match value {
        Some(value @ ("FILE" | "PATH")) => option.value_name(value).value_hint(ValueHint::FilePath),
        Some(value) => option.value_name(value),
        None => option,
    };
    let paragraphs: Vec<String> = text
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    match paragraphs.as_slice() {
        [short] => option.help(short),
        [short, ..] => option.help(short).long_help(paragraphs.join("\n\n")),
        [] => option,
    }
}
