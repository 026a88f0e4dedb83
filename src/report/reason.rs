//! Sentences about why a run ends.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use crate::duration::{Shown, parse_duration};
use crate::escape;
use crate::event::Ended;
use crate::job::Sharing;
use crate::patterns::Pattern;
use crate::policy::{Policy, Reason};
use crate::status::{FaultClass, Outcome};
use crate::status_set::StatusList;

/// Returns why there is no retry, after a colon; empty if the numbers in the line say it.
pub(super) fn because(
    policy: &Policy,
    sharing: Option<&Sharing>,
    ended: &Ended<'_>,
    reason: &Reason,
) -> String {
    let noun = ended.ending.outcome.noun();
    match reason {
        Reason::Budget => format!(": budget: {}", budget(sharing)),
        Reason::Stdin => {
            ": stdin: input already read from the pipe is lost; use --stdin replay to repeat it, --stdin null to send none, or --stdin inherit to retry without it".into()
        }
        Reason::Undelivered => format!(
            ": undelivered: its output was not fully read by the deadline of {}",
            Shown(policy.deadline.unwrap_or(Duration::MAX))
        ),
        Reason::Attempts | Reason::NeverStarts | Reason::Signal(_) => String::new(),
        Reason::LeftBehind(pid) => format!(
            ": left behind: process {pid} could not be killed, so no other attempt may start"
        ),
        Reason::AskedFor => {
            format!(": not retryable: {noun} is retried only if --retry-on names it")
        }
        Reason::StopOn => {
            let listed = list(policy.stop_on.as_ref());
            format!(": not retryable: {noun} is in --stop-on{listed}")
        }
        Reason::StopIf(index) => {
            let found = found("--stop-if", &policy.patterns.stop_if, *index);
            format!(": not retryable: {found}")
        }
        Reason::NotInRetryOn => format!(": {}", not_listed(policy, &ended.ending.outcome)),
        Reason::NotInRetryIf => format!(": {}", not_found(&ended.ending.outcome)),
        Reason::RetryAfter { wait } => format!(
            ": retry-after: the server asks for {}, more than --retry-after-max {}",
            Shown(*wait),
            Shown(policy.retry_after_max)
        ),
        Reason::Deadline { delay, server_wait } => {
            format!(": {}", deadline(policy, *delay, *server_wait, ended.total))
        }
    }
}

/// Says that the shared budget allows no retry.
fn budget(sharing: Option<&Sharing>) -> String {
    let (tokens, path) = sharing.map_or((0, Path::new("")), |sharing| {
        let tokens = sharing.budget.map_or(0, |budget| budget.tokens);
        (tokens, sharing.path.as_path())
    });
    if tokens == 0 {
        return "--budget 0 allows no retries".into();
    }
    let path = escape::shortened(&escape::escaped(path.as_os_str()));
    format!("the shared retry budget of {tokens} in {path} is used up (--budget)")
}

fn not_listed(policy: &Policy, outcome: &Outcome) -> String {
    let (noun, listed) = (outcome.noun(), list(policy.retry_on.as_ref()));
    // A range never includes these, although the list may seem to hold them.
    let word = match outcome {
        Outcome::TimedOut => Some("timeout".to_owned()),
        Outcome::NotStarted(_) => Some("spawn".to_owned()),
        Outcome::Killed(signal) if signal.is_asked_for() => Some(signal.to_string()),
        Outcome::Exited(_) | Outcome::Killed(_) => None,
    };
    let remedy = word.map_or_else(String::new, |word| format!("; add {word} to retry it"));
    format!("not retryable: {noun} is not in --retry-on{listed}{remedy}")
}

/// Says that no pattern was found; a time-out can be retried without one if it is listed.
fn not_found(outcome: &Outcome) -> String {
    let remedy = match outcome {
        Outcome::TimedOut => "; add --retry-on any,timeout to retry time-outs without a match",
        _ => "",
    };
    format!("not retryable: no line of the output matches --retry-if{remedy}")
}

/// Says why a delay does not fit in the deadline.
pub(super) fn deadline(
    policy: &Policy,
    delay: Duration,
    server_wait: Option<Duration>,
    total: Duration,
) -> String {
    let deadline = policy.deadline.unwrap_or(Duration::MAX);
    let (delay, reserve) = (Shown(delay), policy.reserve);
    let left = deadline.saturating_sub(total);
    if left.is_zero() {
        return format!("the deadline of {} has expired", Shown(deadline));
    }
    let left = Shown(left);
    let deadline = Shown(deadline);
    let asked = server_wait.map_or_else(String::new, |wait| {
        format!("retry-after: the server asks for {}, and ", Shown(wait))
    });
    if reserve.is_zero() {
        format!(
            "{asked}a delay of {delay} does not fit in the {left} left of the deadline of {deadline}"
        )
    } else {
        let reserve = Shown(reserve);
        format!(
            "{asked}a delay of {delay} and the reserve of {reserve} do not fit in the {left} left of the deadline of {deadline}"
        )
    }
}

/// Says that no slot was free in time for the attempt after this one.
pub(super) fn no_slot(policy: &Policy, attempt: u64) -> String {
    let deadline = Shown(policy.deadline.unwrap_or(Duration::MAX));
    let reserve = Some(policy.reserve).filter(|reserve| attempt > 0 && !reserve.is_zero());
    let less = reserve.map_or_else(String::new, |reserve| {
        format!(", less the reserve of {}", Shown(reserve))
    });
    format!("concurrency: no slot was free before the deadline of {deadline}{less}")
}

/// Says that the pattern of this option matched.
pub(super) fn found(option: &str, patterns: &[Pattern], index: usize) -> String {
    let pattern = patterns.get(index).map_or("", Pattern::written);
    let pattern = escape::shortened(&escape::escaped(OsStr::new(pattern)));
    format!("the output matches {option} '{pattern}'")
}

/// Returns the list as the user wrote it, after a blank.
pub(super) fn list(list: Option<&StatusList>) -> String {
    list.map_or_else(String::new, |list| format!(" {}", list.written))
}

/// Returns a hint for a command that could not be started, in parentheses; empty if there is none.
pub(super) fn hint(outcome: &Outcome, program: &OsStr) -> String {
    let mistake = match outcome {
        Outcome::NotStarted(fault) if fault.class == FaultClass::NotFound => {
            program.to_str().and_then(mistake)
        }
        _ => None,
    };
    mistake.map_or_else(String::new, |remedy| format!(" ({remedy})"))
}

/// Returns the remedy for the likely mistake behind a word that is not a program.
fn mistake(word: &str) -> Option<String> {
    let name = escape::program_name(OsStr::new(word));
    let option = name.trim_start_matches(DASHES);
    if word.is_empty() {
        return None;
    }
    if word.contains(|c: char| c.is_ascii_whitespace()) {
        return Some(
            "it contains spaces: remove the quotes, or to run a script: retry -- sh -c '...'"
                .into(),
        );
    }
    if ["help", "version"].contains(&word) {
        return Some(format!("to print it: retry --{word}"));
    }
    if SHELL_WORDS.contains(&word) {
        return Some("a shell builtin or keyword; to run a script: retry -- sh -c '...'".into());
    }
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(format!(
            "for the number of runs: retry --attempts {name} ..."
        ));
    }
    if is_part_of_duration(word) {
        return Some("write a duration as one word, like 100ms or 1m30s".into());
    }
    if word.starts_with(DASHES) {
        return match (word.starts_with('-'), option.chars().count()) {
            (true, 0) => None,
            (true, _) => Some(format!(
                "options of retry go before the --: retry {name} ... -- COMMAND"
            )),
            (false, 1) => Some(format!("typographic dash; type a plain hyphen: -{option}")),
            (false, _) => Some(format!("typographic dash; type plain hyphens: --{option}")),
        };
    }
    if word.split_once('=').is_some_and(|(name, _)| is_name(name)) {
        return Some("to set a variable: retry -- env NAME=VALUE ...".into());
    }
    is_name(word).then(|| {
        format!(
            "not in PATH; for a shell function: export -f {name}; retry -- bash -c '{name} \"$@\"' {name} ...; for an alias: write its command"
        )
    })
}

/// Whether the word is a duration, or a unit that was split from its number.
fn is_part_of_duration(word: &str) -> bool {
    parse_duration(word).is_ok()
        || parse_duration(&format!("1{word}")).is_ok()
        || ["sec", "second", "min", "minute", "hour", "day"]
            .iter()
            .any(|unit| word.strip_suffix('s').unwrap_or(word) == *unit)
}

/// Whether a word could be the name of a shell's variable, function or alias.
fn is_name(word: &str) -> bool {
    let rest = word.strip_prefix(|c: char| c.is_ascii_alphabetic() || c == '_');
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    rest.is_some_and(|rest| rest.bytes().all(fits))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::StartFault;

    #[track_caller]
    fn hints(program: &str, expected: &str) {
        let fault = StartFault {
            class: FaultClass::NotFound,
            reason: "not found".into(),
        };
        assert_eq!(
            hint(&Outcome::NotStarted(fault), OsStr::new(program)),
            expected
        );
    }

    #[test]
    fn a_word_that_is_no_program_gets_the_hint_that_fits_it() {
        let shell = " (a shell builtin or keyword; to run a script: retry -- sh -c '...')";
        let duration = " (write a duration as one word, like 100ms or 1m30s)";
        let hyphens = " (typographic dash; type plain hyphens: --";
        for (program, expected) in [
            (
                "sh -c x",
                " (it contains spaces: remove the quotes, or to run a script: retry -- sh -c '...')",
            ),
            ("cd", shell),
            ("!", shell),
            ("5", " (for the number of runs: retry --attempts 5 ...)"),
            ("30s", duration),
            ("ms", duration),
            ("minutes", duration),
            ("help", " (to print it: retry --help)"),
            ("A=1", " (to set a variable: retry -- env NAME=VALUE ...)"),
            (
                "ll",
                " (not in PATH; for a shell function: export -f ll; retry -- bash -c 'll \"$@\"' ll ...; for an alias: write its command)",
            ),
            (
                "-a",
                " (options of retry go before the --: retry -a ... -- COMMAND)",
            ),
            ("\u{2013}attempts", &format!("{hyphens}attempts)")),
            ("\u{2014}base", &format!("{hyphens}base)")),
            ("\u{2013}a", " (typographic dash; type a plain hyphen: -a)"),
            ("\u{2014}", &format!("{hyphens})")),
            ("--", ""),
            ("", ""),
            ("./x", ""),
        ] {
            hints(program, expected);
        }
    }

    #[test]
    fn a_program_that_is_there_needs_no_hint() {
        for class in [FaultClass::NotExecutable, FaultClass::NoInterpreter] {
            let fault = StartFault {
                class,
                reason: String::new(),
            };
            assert_eq!(hint(&Outcome::NotStarted(fault), OsStr::new("f")), "");
        }
    }
}
