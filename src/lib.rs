//! `retry` runs a command again until it succeeds. This page is its architecture.
//!
//! A pure core makes the decisions, a small loop asks it, and an outer layer deals with the real
//! world:
//!
//! ```text
//! lib           connects the modules; knows the real world
//! cli           the command line, from options to a job; the only module that uses clap
//! ── pure: no clock, no generator, no I/O ──────────────────────────────────────────────
//! signal        signals by name and number
//! escape        foreign text made safe to print; the control sequences of terminals
//! numbers       decimals, factors, shares and counts as users write them
//! duration      durations as users write and read them
//! backoff       how long: a ceiling, then jitter from a given u in [0, 1)
//! status        how an attempt ended; the one table from an ending to an exit status
//! status_set    sets of endings, and the LIST that names one
//! patterns      patterns for the output, and the search for them
//! retry_after   a server's wait from response heads
//! policy        whether: one decision from history, ending and time
//! bucket        the arithmetic of a budget that many runs share
//! escalation    how an attempt is ended: the signal, a grace, KILL, as a table
//! event         events, as data
//! job           a job: the command, the policy and all else that the options mean
//! notes         notes on command lines that may not do what is meant
//! ── the loop ──────────────────────────────────────────────────────────────────────────
//! engine        attempts until the policy says stop; `trait World` is all it needs from outside
//! simulation    worlds of virtual time
//! plan          the plan of a job, from simulations
//! ── the outside ───────────────────────────────────────────────────────────────────────
//! sys           system calls without a safe form; every `unsafe` but the entry
//! clock         the time of day
//! shared        the bucket in a locked file
//! stream        the streams of the command: replayed, searched, held back
//! supervise     the real world: one command at a time, its processes and signals
//! report        reports of events, for people and for programs
//! chance        randomness: the id of a run, and the draws for its delays
//! ```
//!
//! Arrows run one way, from the bottom up: the pure modules use only each other, `engine` uses
//! them, `supervise` uses `engine`, `report` uses events, and only `lib` uses everything. A test
//! checks that.
//!
//! Invariants:
//!
//! * No pure module reads the clock, draws a random number or does I/O. Time is passed in as a
//!   `Duration` since the start, chance as a number in [0, 1).
//! * Only `supervise` and `sys` signal, wait for or reap a process. They never signal a process
//!   that they have reaped.
//! * We write to stdout only what `--help`, `--version`, `--generate` and `--plan` print. A line
//!   that cannot be written never changes the exit status.

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
mod notes;
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

use std::cell::Cell;
use std::ffi::OsString;
use std::{env, io};

use std::process;
use std::time::Instant;

use anyhow::{Context as _, Error, Result};

use crate::chance::draws;
use crate::cli::{Leftovers, PolicySource, Request};
use crate::engine::{Verdict, World as _};
use crate::event::Event;
use crate::job::{Crowd, Format, Job, Output};
use crate::policy::Decision;
use crate::report::json::Json;
use crate::report::sink::{self, HoldLine, Sink};
use crate::report::style::{Style, prefix};
use crate::report::{Reporter, stderr};
use crate::signal::Signal;
use crate::status::{Exit, OWN_FAILURE};

pub use crate::cli::command;
pub use crate::sys::startup::argv;

/// Runs the command line (program name first) and returns the code to exit with. If the command
/// died of a signal, this process dies of the same signal instead.
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
        Ok(Request::Plan(job, crowd)) => foretell(&job, crowd),
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

/// Returns the message for an error outside a run.
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
    let (seed, run_id) = chance::seed_and_run_id(job)?;
    let mut world = supervise::Supervisor::new(job, &run_id, begun)?;
    let style = Style {
        prefix: line_prefix,
        has_colours: match job.streams.output {
            // Lines that are held back may not be read on a terminal.
            Output::OnFailure => || false,
            Output::Stream | Output::Once | Output::Last => sys::terminal::has_colours,
        },
    };
    let reporter = Reporter::new(job, style);
    let json = Json::new(job, &run_id, process::id());
    let hold = world.for_our_lines().map(|recording| -> HoldLine {
        Box::new(move |line| recording.borrow_mut().hold_line(line))
    });
    let mut sink = Sink::new(job, begun, (reporter, json), hold);
    let mut draw = draws(seed, 0);
    let is_interrupted = Cell::new(false);
    let mut emit = |event: &Event<'_>| {
        sink.tell(event);
        is_interrupted.set(is_interrupted.get() || event.follows_fatal_signal());
        // Before the first delay there is time to free memory, and a thousand runs may wait beside
        // us.
        if matches!(event, Event::Ended(_, Decision::Retry { .. })) && leftovers.clear() {
            sys::give_back_memory();
        }
    };
    let end = engine::run(&job.policy, &mut world, &mut draw, &mut emit);
    if end.is_err() {
        // Deliver what is held before we exit.
        let _ = world.deliver(Verdict::Failed, &mut emit);
    }
    if let Ok(exit) = &end {
        let has_failed = *exit != Exit::Code(0) && !is_interrupted.get();
        for note in notes::on(job, has_failed, world.leads_group()) {
            emit(&note);
        }
    }
    sink.end(&end.as_ref().copied().map_err(escape::with_reasons));
    match end {
        // In JSON, the last line has the reason.
        Err(_) if job.format == Format::Json => Ok(Exit::Code(OWN_FAILURE)),
        end => end,
    }
}

/// Prints the plan of the job.
fn foretell(job: &Job, crowd: Option<Crowd>) -> Result<Exit> {
    let seed = job
        .seed
        .map_or_else(|| chance::short_seed(&job.policy), Ok)?;
    show(&plan::shown(job, crowd, seed, &draws))
}

/// Prints a text on stdout.
fn show(text: &str) -> Result<Exit> {
    match stderr::print(text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Raise(Signal::PIPE)),
        printed => printed
            .context("cannot write to stdout")
            .map(|()| Exit::Code(0)),
    }
}

/// Returns the prefix of our lines, with the pid where stderr is no terminal, so that lines of
/// parallel runs can be told apart.
fn line_prefix() -> String {
    prefix((!sys::terminal::stderr_is_terminal()).then(process::id))
}

/// The cases tried for each property of a parser, unless `PROPTEST_CASES` is set.
#[cfg(test)]
fn many_cases() -> proptest::test_runner::Config {
    let mut config = proptest::test_runner::Config::default();
    if env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 100_000;
    }
    config
}
