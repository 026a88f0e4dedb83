//! The help of each option. It stands at the option, as its description; but only a call for help
//! copies it into the parser, which is a tenth of all instructions of a run.

use clap::{Arg, Command};

/// Options, by name, and the lines of their descriptions.
pub(in crate::cli) type Texts = &'static [(&'static str, &'static str)];

/// Defines a struct of options, and `TEXTS` with the description of each.
macro_rules! options {
    (
        $(#[$attribute:meta])*
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $line:literal])*
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
            $vis const TEXTS: $crate::cli::options::explained::Texts =
                &[$((stringify!($field), concat!($($line, "\n"),*))),*];
        }
    };
}
pub(super) use options;

/// Adds the help of its options to a command.
pub(super) fn explained(command: Command, texts: &[Texts]) -> Command {
    let texts = texts.iter().copied().flatten();
    texts.fold(command, |command, (option, text)| {
        command.mut_arg(option, |option| explain(option, text))
    })
}

/// Sets the help of an option: the first paragraph is the short one, all of them are the long one.
fn explain(option: Arg, text: &str) -> Arg {
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
