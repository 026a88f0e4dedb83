//! Hints for a command that does not exist.

use std::ffi::OsStr;

use crate::duration::parse_duration;
use crate::escape;
use crate::status::{FaultClass, Outcome};

/// Returns a hint for a command that could not be started, in parentheses; empty if there is none.
pub(super) fn render(outcome: &Outcome, program: &OsStr) -> String {
    match outcome {
        Outcome::NotStarted(fault) if fault.class == FaultClass::NotFound => {}
        _ => return String::new(),
    }
    let name = escape::program_name(program);
    match Mistake::of(program) {
        Some(Mistake::Line) => {
            " (one word with spaces: leave out its quotes, or to run a script: retry -- sh -c '...')"
                .into()
        }
        Some(Mistake::Number) => format!(" (for the number of runs: retry --attempts {name} ...)"),
        Some(Mistake::Duration) => {
            " (if it is part of a duration, write that as one word, like 1m30s)".into()
        }
        Some(Mistake::Dash) => {
            let option = name.trim_start_matches(DASHES);
            let hyphens = if option.chars().count() == 1 {
                "-"
            } else {
                "--"
            };
            format!(" (a dash as printed in texts; write {hyphens}{option} with hyphens)")
        }
        Some(Mistake::Option) => {
            format!(" (options of retry's stand before the --: retry {name} ... -- COMMAND)")
        }
        Some(Mistake::Assignment) => " (to set a variable: retry -- env NAME=VALUE ...)".into(),
        Some(Mistake::ShellWord) => {
            " (a word of the shell; to run a script: retry -- sh -c '...')".into()
        }
        Some(Mistake::Function) => {
            format!(
                " (not in PATH; if it is a shell function: export -f {name}; retry -- bash -c '{name} \"$@\"' {name} ...)"
            )
        }
        None => String::new(),
    }
}

/// A likely mistake behind a word that is not a program.
enum Mistake {
    /// A whole command line in one word.
    Line,
    /// The number of attempts, as other tools take it.
    Number,
    /// The rest of a duration that contains a blank.
    Duration,
    /// An option with a typographic dash instead of a hyphen.
    Dash,
    /// An option after the `--`.
    Option,
    /// A variable assignment for the command.
    Assignment,
    /// A keyword or builtin of the shell.
    ShellWord,
    /// A function of the calling script.
    Function,
}

/// Hyphens, and what typesetting makes of one or two: everything from the hyphen to the horizontal
/// bar, and the minus sign.
const DASHES: &[char] = &[
    '\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2015}', '\u{2212}', '-',
];

/// Words that only shells know.
const SHELL_WORDS: &[&str] = &[
    "!", "(", ".", "[[", "alias", "case", "cd", "declare", "do", "eval", "exec", "exit", "export",
    "for", "function", "if", "local", "read", "return", "set", "shift", "shopt", "source", "time",
    "trap", "type", "typeset", "ulimit", "umask", "unset", "until", "wait", "while", "{",
];

impl Mistake {
    fn of(program: &OsStr) -> Option<Self> {
        let word = program.to_str()?;
        let is_name = |word: &str| {
            let rest = word.strip_prefix(|c: char| c.is_ascii_alphabetic() || c == '_');
            rest.is_some_and(|rest| {
                rest.bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
            })
        };
        if word.contains(|c: char| c.is_ascii_whitespace()) {
            Some(Self::Line)
        } else if SHELL_WORDS.contains(&word) {
            Some(Self::ShellWord)
        } else if word.bytes().all(|byte| byte.is_ascii_digit()) && !word.is_empty() {
            Some(Self::Number)
        } else if parse_duration(word).is_ok() {
            Some(Self::Duration)
        } else if word.starts_with(DASHES) {
            let name = word.trim_start_matches(DASHES);
            match (word.starts_with('-'), name.is_empty()) {
                (true, true) => None,
                (true, false) => Some(Self::Option),
                (false, _) => Some(Self::Dash),
            }
        } else if word.split_once('=').is_some_and(|(name, _)| is_name(name)) {
            Some(Self::Assignment)
        } else if is_name(word) {
            Some(Self::Function)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::StartFault;

    #[track_caller]
    fn hints(program: &str, hint: &str) {
        let fault = StartFault {
            class: FaultClass::NotFound,
            reason: "not found".into(),
        };
        assert_eq!(
            render(&Outcome::NotStarted(fault), OsStr::new(program)),
            hint
        );
    }

    #[test]
    fn a_word_that_is_no_program_gets_the_hint_that_fits_it() {
        hints(
            "sh -c x",
            " (one word with spaces: leave out its quotes, or to run a script: retry -- sh -c '...')",
        );
        hints("5", " (for the number of runs: retry --attempts 5 ...)");
        hints(
            "30s",
            " (if it is part of a duration, write that as one word, like 1m30s)",
        );
        hints("A=1", " (to set a variable: retry -- env NAME=VALUE ...)");
        hints(
            "cd",
            " (a word of the shell; to run a script: retry -- sh -c '...')",
        );
        hints(
            "!",
            " (a word of the shell; to run a script: retry -- sh -c '...')",
        );
        hints(
            "f",
            " (not in PATH; if it is a shell function: export -f f; retry -- bash -c 'f \"$@\"' f ...)",
        );
        hints("--", "");
        hints(
            "-a",
            " (options of retry's stand before the --: retry -a ... -- COMMAND)",
        );
        hints(
            "\u{2013}attempts",
            " (a dash as printed in texts; write --attempts with hyphens)",
        );
        hints(
            "\u{2014}base",
            " (a dash as printed in texts; write --base with hyphens)",
        );
        hints(
            "\u{2013}a",
            " (a dash as printed in texts; write -a with hyphens)",
        );
        hints(
            "\u{2014}",
            " (a dash as printed in texts; write -- with hyphens)",
        );
        hints("", "");
        hints("./x", "");
    }

    #[test]
    fn a_program_that_is_there_needs_no_hint() {
        for class in [FaultClass::NotExecutable, FaultClass::NoInterpreter] {
            let fault = StartFault {
                class,
                reason: String::new(),
            };
            assert_eq!(render(&Outcome::NotStarted(fault), OsStr::new("f")), "");
        }
    }
}
