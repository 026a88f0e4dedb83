//! `retry` runs a command again until it succeeds. This page is its architecture.
//!
//! A pure core that decides, one small loop that asks it, and one edge that touches the world:
//!
//! ```text
//! lib           wires the rooms; knows the real world
//! cli           the options as typed, and what they mean (job); the only room that knows clap
//! ── pure: no clock, no generator, no I/O ──────────────────────────────────────────────
//! signal        signals by name and number
//! escape        foreign text made safe to print; the control sequences of terminals
//! numbers       decimals, factors, shares and counts as users write them
//! duration      durations as users write and read them
//! backoff       how long: a ceiling, then jitter from a given u in [0, 1)
//! status        how an attempt ended; the one table from an ending to an exit status
//! status_set    sets of endings, and the LIST that names one
//! patterns      what is looked for in the output, and whether it is there
//! retry_after   a server's wait from response heads
//! policy        whether: one decision from history, ending and time
//! bucket        the arithmetic of a budget that many runs share
//! escalation    how an attempt is brought to an end: the signal, a grace, KILL, as a table
//! event         what happened, as data
//! ── the loop ──────────────────────────────────────────────────────────────────────────
//! engine        attempts until the policy says stop; `trait World` is all it needs from outside
//! simulation    worlds of virtual time
//! plan          what a job would do, from simulations
//! ── the outside ───────────────────────────────────────────────────────────────────────
//! sys           system calls without a safe form; every `unsafe` but the entry
//! clock         the time of day
//! shared        the bucket in a locked file
//! stream        what flows in and out of the command: replayed, looked at, held back
//! supervise     the real world: one command at a time, its processes and signals
//! report        how events are said: to people, and to programs
//! chance        what is random: the name of a run, and what its delays are drawn from
//! ```
//!
//! Arrows run one way, from the bottom up: the pure rooms know only each other, `engine` knows
//! them, `os` knows `engine`, `report` knows events, and only `lib` knows everything. A test checks
//! that.
//!
//! What a reader may rely on, said as absences:
//!
//! * Nothing below the loop knows what time it is, draws a random number or does I/O. Time comes
//!   in as a `Duration` since the start, chance as a number in [0, 1).
//! * Nothing but `os` signals, waits for or reaps a process, and it never signals one that it has
//!   reaped.
//! * Nothing of ours goes to stdout but what `--help`, `--version` and `--plan` print, and no line
//!   that cannot be written changes an exit status.

mod backoff;
mod bucket;
mod chance;
mod cli;
mod clock;
mod duration;
mod engine;
mod escalation;
mod escape;
mod event;
mod job;
mod numbers;
mod patterns;
mod plan;
mod policy;
mod report;
mod retry_after;
mod shared;
mod signal;
mod simulation;
mod status;
mod status_set;
mod stream;
mod supervise;
mod sys;

use std::ffi::OsString;
use std::{env, io};

use std::process;
use std::time::Instant;

use anyhow::{Context as _, Error, Result};

use crate::chance::draws;
use crate::cli::{Leftovers, PolicySource, Request};
use crate::event::Event;
use crate::job::{Format, Job};
use crate::policy::Decision;
use crate::report::json::Json;
use crate::report::sink::{self, Sink};
use crate::report::text::prefix;
use crate::report::{Reporter, stderr};
use crate::signal::Signal;
use crate::status::{Exit, OWN_FAILURE};

pub use crate::cli::command;
pub use crate::sys::startup::argv;

/// Does all that the command line (program name first) asks for, and tells the code to exit with.
/// Where the command died of a signal this does not return: it dies of the same signal.
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let begun = Instant::now();
    let words: Vec<OsString> = args.into_iter().collect();
    let policy_source = PolicySource {
        path: env::var_os("RETRY_POLICY"),
        read: &|path| cli::read_policy_file(path),
    };
    let mut leftovers = Leftovers::default();
    let ready = sys::startup::sanitize_std_fds()
        .context("cannot open /dev/null for a stream that is closed");
    let done = match ready.and_then(|()| cli::parse(&words, &policy_source, &mut leftovers)) {
        Ok(Request::Run(job)) => execute(&job, begun, leftovers),
        Ok(Request::Plan(job, clients)) => foretell(&job, clients),
        Ok(Request::Show(text)) => show(&text),
        Err(error) => Err(error),
    };
    match done {
        Ok(exit) => {
            if let Exit::Raise(signal) = exit {
                sys::die_of(signal);
            }
            exit.code()
        }
        Err(error) => {
            let format = cli::format_of(&words, &policy_source);
            stderr::say(&complaint(&error, format, begun), false);
            OWN_FAILURE
        }
    }
}

/// The line that is said where no run hears of an error.
fn complaint(error: &Error, format: Format, begun: Instant) -> String {
    let said = escape::with_reasons(error);
    match format {
        Format::Text | Format::Github => format!("{}{said}\n", line_prefix()),
        Format::Json => {
            let run_id = chance::run_id().ok();
            sink::refusal(&said, run_id.as_deref(), process::id(), begun)
        }
    }
}

/// Runs the job in the real world.
fn execute(job: &Job, begun: Instant, mut leftovers: Leftovers) -> Result<Exit> {
    let (seed, run_id) = chance::of(job)?;
    let mut world = supervise::Supervisor::new(job, &run_id, begun)?;
    let reporter = Reporter::new(job, line_prefix);
    let json = Json::new(job, &run_id, process::id());
    let mut sink = Sink::new(job, begun, reporter, json);
    let mut draw = draws(seed, 0);
    let mut emit = |event: &Event<'_>| {
        sink.tell(event);
        // Before the first delay there is time, and a thousand may wait beside us.
        if matches!(event, Event::Ended(_, Decision::Retry { .. })) && leftovers.clear() {
            sys::give_back_memory();
        }
    };
    let end = engine::run(&job.policy, &mut world, &mut draw, &mut emit);
    sink.end(&end.as_ref().copied().map_err(escape::with_reasons));
    match end {
        // Where lines are objects, the last one has told why.
        Err(_) if job.format == Format::Json => Ok(Exit::Code(OWN_FAILURE)),
        end => end,
    }
}

/// Shows what the job would do.
fn foretell(job: &Job, clients: Option<u32>) -> Result<Exit> {
    let seed = job
        .seed
        .map_or_else(|| chance::short_seed(&job.policy), Ok)?;
    let draws = |client| draws(seed, client);
    show(&plan::shown(job, clients, seed, &draws))
}

/// Prints on stdout what was asked for.
fn show(text: &str) -> Result<Exit> {
    match stderr::print(text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Raise(Signal::PIPE)),
        printed => printed
            .context("cannot write to stdout")
            .map(|()| Exit::Code(0)),
    }
}

/// Lines of parallel runs must be told apart where they are not read as they come.
fn line_prefix() -> String {
    prefix((!sys::terminal::stderr_is_terminal()).then(process::id))
}

/// How often a property of a parser is tried; `PROPTEST_CASES` says otherwise.
#[cfg(test)]
fn many_cases() -> proptest::test_runner::Config {
    let mut config = proptest::test_runner::Config::default();
    if env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 100_000;
    }
    config
}
