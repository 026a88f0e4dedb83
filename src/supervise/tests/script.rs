//! Scenarios as lines of text: `options | script / script | outside`.
//!
//! The options are those of the command line, and `@init` (we are PID 1), `@tty` (the command shares
//! our group, and keys reach both), `@noproc` (processes cannot be listed), `@full` (another run holds
//! the slot). There is a script for
//! each attempt, the last one for all that follow; that of the hook begins with `hook:`. A script is
//! a list of steps, and what happens outside is a list of events, whose order is that of the line
//! and whose times are anybody's guess.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::rc::Rc;
use std::time::Duration;

use super::world::Slot;
use crate::cli::{self, Request};
use crate::job::Job;
use crate::signal::Signal;

/// A step of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// `exit N`
    Exit(u8),
    /// `die SIGNAL`: it sends that to itself.
    Die(Signal),
    /// `ignore SIGNAL`
    Ignore(Signal),
    /// `trap SIGNAL N`: a handler that exits with N. `trap SIGNAL` only takes note.
    Trap(Signal, Option<u8>),
    /// `stop`: it stops itself.
    Stop,
    /// `fork (...)`: a child that goes through these steps.
    Fork(Script),
    /// `group`: it leads a new group.
    Group,
    /// `session`: it leads a new session.
    Session,
    /// `exec`: another program with the same environment, which cannot be read meanwhile.
    Exec,
    /// `write N`: bytes to stdout.
    Write(usize),
    /// `wait`: until its children have ended.
    Wait,
    /// `other`: it becomes another user's.
    Other,
    /// `stuck`: no signal ends it any more.
    Stuck,
    /// `hang`: it waits for a signal.
    Hang,
    /// `absent`: there is no such program. Only as the first step.
    Absent,
    /// `shortage`: the system cannot start it now. Only as the first step.
    Shortage,
}

/// The steps of a process, behind which it exits with 0.
pub(super) type Script = Rc<[Step]>;

/// An event outside of all attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outside {
    /// `SIGNAL`: somebody sends it to us.
    Send(Signal),
    /// `key SIGNAL`: the terminal sends it to its foreground group.
    Key(Signal),
    /// `hits SIGNAL`: somebody sends it to the command.
    Hits(Signal),
    /// `stranger`: a process that has nothing to do with us gets the lowest free pid.
    Stranger,
    /// `sleep DURATION`: the machine does.
    Sleep(Duration),
    /// `takes N`: the reader of our stdout reads so much.
    Takes(usize),
    /// `leaves`: the reader of our stdout closes it.
    Leaves,
    /// `frees`: another run gives back the slot that it holds.
    Frees,
    /// `fills`: another run takes the slot, as soon as it can.
    Fills,
}

/// A scenario.
pub(super) struct Scenario {
    pub(super) line: String,
    pub(super) job: Rc<Job>,
    pub(super) is_init: bool,
    pub(super) shares_group: bool,
    pub(super) lists_processes: bool,
    /// Who holds the slot at the start.
    pub(super) slot: Slot,
    /// The scripts of the attempts, the last one for all that follow.
    pub(super) commands: Vec<Script>,
    pub(super) hook: Script,
    pub(super) outside: Vec<Outside>,
}

impl Scenario {
    /// Parses a line.
    #[track_caller]
    pub(super) fn new(line: &str) -> Self {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [options, scripts, outside] = parts[..] else {
            panic!("{line} has not three parts");
        };
        let mut words = vec!["retry", "--stdin", "null"];
        let mut marks = Vec::new();
        for word in options.split_whitespace() {
            if word.starts_with('@') {
                marks.push(word);
            } else {
                words.push(word);
            }
        }
        let mut commands = Vec::new();
        let mut hook: Script = Rc::new([]);
        for script in scripts.split('/').map(str::trim) {
            match script.strip_prefix("hook:") {
                Some(steps) => hook = parsed(steps),
                None => commands.push(parsed(script)),
            }
        }
        if scripts.contains("hook:") {
            words.extend(["--before-retry", "hook"]);
        }
        words.extend(["--", "cmd"]);
        Self {
            line: line.to_owned(),
            job: job(&words),
            is_init: marks.contains(&"@init"),
            shares_group: marks.contains(&"@tty"),
            lists_processes: !marks.contains(&"@noproc"),
            slot: if marks.contains(&"@full") {
                Slot::Anothers
            } else {
                Slot::Free
            },
            commands,
            hook,
            outside: list(outside).iter().map(|text| event(text)).collect(),
        }
    }

    /// Returns the script of an attempt.
    pub(super) fn command(&self, attempt: u64) -> Script {
        let index = usize::try_from(attempt.saturating_sub(1)).expect("few attempts");
        let last = self.commands.len() - 1;
        self.commands[index.min(last)].clone()
    }
}

thread_local! {
    /// The jobs of the command lines so far: thousands of scenarios share a few, and to parse one
    /// takes as long as to run it.
    static JOBS: RefCell<HashMap<String, Rc<Job>>> = RefCell::default();
}

/// Returns the job of a command line.
fn job(words: &[&str]) -> Rc<Job> {
    let parsed = || match cli::alone(words.iter().map(OsString::from)) {
        Ok(Request::Run(job)) => Rc::from(job),
        other => panic!("{words:?} are no job: {other:?}"),
    };
    JOBS.with_borrow_mut(|jobs| jobs.entry(words.join(" ")).or_insert_with(parsed).clone())
}

fn parsed(text: &str) -> Script {
    list(text).iter().map(|text| step(text)).collect()
}

/// Splits a text at commas that are not in parentheses.
fn list(text: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 {
            items.push(String::new());
        } else {
            items.last_mut().expect("there is one").push(c);
        }
    }
    let items = items.iter().map(|item| item.trim().to_owned());
    items.filter(|item| !item.is_empty()).collect()
}

fn step(text: &str) -> Step {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let rest = rest.trim();
    match word {
        "exit" => Step::Exit(number(rest)),
        "die" => Step::Die(signal(rest)),
        "ignore" => Step::Ignore(signal(rest)),
        "trap" => match rest.split_once(' ') {
            Some((name, code)) => Step::Trap(signal(name), Some(number(code))),
            None => Step::Trap(signal(rest), None),
        },
        "stop" => Step::Stop,
        "fork" => {
            let inner = rest
                .strip_prefix('(')
                .and_then(|rest| rest.strip_suffix(')'));
            Step::Fork(parsed(inner.expect("steps in parentheses")))
        }
        "group" => Step::Group,
        "session" => Step::Session,
        "exec" => Step::Exec,
        "write" => Step::Write(number(rest)),
        "wait" => Step::Wait,
        "other" => Step::Other,
        "stuck" => Step::Stuck,
        "hang" => Step::Hang,
        "absent" => Step::Absent,
        "shortage" => Step::Shortage,
        _ => panic!("no step: {text}"),
    }
}

fn event(text: &str) -> Outside {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    match word {
        "key" => Outside::Key(signal(rest)),
        "hits" => Outside::Hits(signal(rest)),
        "stranger" => Outside::Stranger,
        "sleep" => Outside::Sleep(Duration::from_secs(number(rest))),
        "takes" => Outside::Takes(number(rest)),
        "leaves" => Outside::Leaves,
        "frees" => Outside::Frees,
        "fills" => Outside::Fills,
        name => Outside::Send(signal(name)),
    }
}

fn signal(name: &str) -> Signal {
    Signal::from_name(name).unwrap_or_else(|| panic!("no signal: {name}"))
}

fn number<N: std::str::FromStr>(text: &str) -> N {
    text.parse().unwrap_or_else(|_| panic!("no number: {text}"))
}
