//! Notes on a command line that works, but does not do what its author may think.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use crate::event::Event;
use crate::job::Job;

/// Options of ours that few commands have. Many have a `--timeout`, `--name`, `--output` or `-a`.
const OURS: [&str; 24] = [
    "--attempts",
    "--base",
    "--delay",
    "--cap",
    "--backoff",
    "--factor",
    "--jitter",
    "--deadline",
    "--reserve",
    "--kill-after",
    "--idle-timeout",
    "--retry-on",
    "--stop-on",
    "--success-on",
    "--retry-if",
    "--stop-if",
    "--success-if",
    "--fail-if",
    "--retry-after",
    "--retry-after-max",
    "--before-retry",
    "--budget",
    "--budget-refill",
    "--process-group",
];

/// Programs that expand variables in their words.
const SHELLS: [&str; 11] = [
    "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "busybox",
];

/// Returns the notes on a job whose run is over.
pub(crate) fn on(job: &Job, has_failed: bool, leads_group: bool) -> Vec<Event<'static>> {
    let [program, words @ ..] = job.command.as_slice() else {
        return Vec::new();
    };
    let passed = passed_option(words).filter(|_| has_failed && !job.is_set_apart);
    let is_setsid = leads_group && is_named(program, "setsid");
    let forks = is_setsid && setsid_forks(words);
    [
        passed.map(Event::OptionPassed),
        forks.then_some(Event::Forks),
        not_expanded(&job.command).map(Event::NotExpanded),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether this is the basename of a program.
fn is_named(program: &OsStr, name: &str) -> bool {
    let directory = program.as_bytes().strip_suffix(name.as_bytes());
    directory.is_some_and(|directory| directory.is_empty() || directory.ends_with(b"/"))
}

/// Returns the first of our options among these words.
fn passed_option(words: &[OsString]) -> Option<String> {
    let options = words.iter().filter_map(|word| word.to_str());
    let mut options = options.map(|word| word.split('=').next().unwrap_or_default());
    options
        .find(|option| OURS.contains(option))
        .map(String::from)
}

/// Whether setsid, with these words, returns before its command: it forks if it leads a group.
fn setsid_forks(words: &[OsString]) -> bool {
    let words = words.iter().filter_map(|word| word.to_str());
    let options: Vec<&str> = words.take_while(|word| word.starts_with('-')).collect();
    let has = |letter: char, long: &str| {
        options.iter().any(|option| {
            let is_long = option.len() > 3 && long.starts_with(option);
            is_long || !option.starts_with("--") && option.contains(letter)
        })
    };
    has('f', "--fork") || !has('w', "--wait")
}

/// Returns the variable of ours that a word holds, where nothing expands it.
fn not_expanded(command: &[OsString]) -> Option<String> {
    let words = command.iter().filter_map(|word| word.to_str());
    // Nearly no command has such a word.
    let mut words = words.filter(|word| word.as_bytes().contains(&b'$'));
    let found = words.find_map(variable)?;
    let is_shell = |word: &OsString| SHELLS.iter().any(|shell| is_named(word, shell));
    (!command.iter().any(is_shell)).then_some(found)
}

/// Returns `$RETRY_NAME` in a word.
fn variable(word: &str) -> Option<String> {
    let braced = word.replace("${RETRY_", "$RETRY_");
    let name = &braced[braced.find("$RETRY_")? + 1..];
    let is_part = |c: char| c.is_ascii_uppercase() || c == '_';
    let end = name.find(|c| !is_part(c)).unwrap_or(name.len());
    Some(format!("${}", &name[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{self, Request};

    /// The notes on a call, by kind.
    fn notes(call: &str, has_failed: bool) -> Vec<Event<'static>> {
        let words = std::iter::once("retry").chain(call.split_whitespace());
        match cli::alone(words.map(OsString::from)) {
            Ok(Request::Run(job)) => on(&job, has_failed, true),
            other => panic!("{call}: {other:?}"),
        }
    }

    #[test]
    fn an_option_behind_the_command_of_a_failed_run_is_noted() {
        let passed = |option: &str| vec![Event::OptionPassed(option.into())];
        assert_eq!(notes("curl --attempts 3 URL", true), passed("--attempts"));
        assert_eq!(notes("curl --cap=3s URL", true), passed("--cap"));
        assert_eq!(notes("curl --delay=3s URL", true), passed("--delay"));
        for option in OURS {
            let call = format!("curl {option} 3 URL");
            assert_eq!(notes(&call, true), passed(option), "{call}");
        }
        for call in [
            "-a 3 -- curl --attempts 3 URL",
            "curl --retry 3 URL",
            "curl --timeout 3",
            "docker run --name x",
            "ls -a",
        ] {
            assert_eq!(notes(call, true), [], "{call}");
        }
        assert_eq!(notes("curl --attempts 3 URL", false), []);
    }

    #[test]
    fn a_setsid_that_does_not_wait_is_noted() {
        for call in ["setsid cmd", "/usr/bin/setsid -c cmd -w", "setsid -wf cmd"] {
            assert_eq!(notes(call, false), [Event::Forks], "{call}");
        }
        for call in [
            "setsid -w cmd",
            "setsid --wait cmd",
            "setsid -cw cmd",
            "cmd setsid",
        ] {
            assert_eq!(notes(call, true), [], "{call}");
        }
    }

    #[test]
    fn a_variable_of_ours_that_nothing_expands_is_noted() {
        for call in ["curl -H Key:$RETRY_RUN_ID URL", "curl x${RETRY_RUN_ID}y"] {
            let expected = Event::NotExpanded("$RETRY_RUN_ID".into());
            assert_eq!(notes(call, false), [expected], "{call}");
        }
        for call in [
            "sh -c $RETRY_RUN_ID",
            "env X=1 /bin/bash -c $RETRY_RUN_ID",
            "curl RETRY_RUN_ID $HOME",
        ] {
            assert_eq!(notes(call, true), [], "{call}");
        }
    }
}
