//! The command line, from options as typed to a job: the only module that uses clap.

mod checks;
mod delay;
mod options;
mod parse;
mod policy_file;
mod usage_error;
mod values;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::{Command, FromArgMatches as _};

use crate::backoff::{Backoff, Curve, Jitter};
use crate::job::{Crowd, Format, Grouping, Input, Job, StreamPolicy, Supervision, Verbosity};
use crate::numbers::{Attempts, Factor};
use crate::patterns::Patterns;
use crate::policy::Policy;
use crate::signal::Signal;
use checks::{
    check_lists, crowd, factor_without_meaning, longest_server_wait, output, reserve, sharing,
};
use delay::same_delay;
use options::{Artifact, BASE, CAP, Cli, CurveName, GroupName, InputName, KILL_AFTER};
use parse::Typed;

pub(crate) use parse::Leftovers;
pub(crate) use policy_file::read_policy_file;
pub(crate) use usage_error::format_of;

/// A request from the command line.
#[derive(Debug)]
pub(crate) enum Request {
    /// Run a command.
    Run(Box<Job>),
    /// Show the plan of the job, and that of many clients together.
    Plan(Box<Job>, Option<Crowd>),
    /// Print a text on stdout.
    Show(String),
}

impl Request {
    /// Adds whether `--` stands before the command, which only the words show.
    fn with_words(mut self, words: &[OsString]) -> Self {
        if let Self::Run(job) = &mut self {
            let before = words.len().checked_sub(job.command.len() + 1);
            job.is_set_apart = before.is_some_and(|before| words[before] == "--");
        }
        self
    }
}

/// Returns the one definition of the options, for the man page and the completions.
#[must_use]
pub fn command() -> Command {
    options::command()
}

/// The source of a policy file.
pub(crate) struct PolicySource<'a> {
    /// The policy file to read unless the command line names another.
    pub(crate) path: Option<OsString>,
    /// Reads such a file.
    pub(crate) read: &'a dyn Fn(&Path) -> Result<String>,
}

/// Parses the command line, program name first.
///
/// # Errors
/// One lower-case sentence with the fault and its remedy.
pub(crate) fn parse(
    argv: &[OsString],
    policy_source: &PolicySource<'_>,
    leftovers: &mut Leftovers,
) -> Result<Request> {
    let words = after_name(argv);
    ensure!(!words.is_empty(), usage_error::NOTHING_TYPED);
    let parser = leftovers.parser();
    let mut typed = match parse::parse(words, parser)? {
        Typed::Options(typed) => typed,
        Typed::Text(text) => return Ok(Request::Show(text)),
    };
    if let Some(artifact) = typed.get_one::<Artifact>("generate") {
        // It works with a broken policy file, too.
        ensure!(
            typed.get_raw("command").is_none(),
            "--generate prints a file and runs nothing; remove the command"
        );
        return Ok(Request::Show(artifact.text().into()));
    }
    let named = typed.get_one::<PathBuf>("policy").cloned();
    let usual = policy_source.path.clone().filter(|path| !path.is_empty());
    match named.or_else(|| usual.map(PathBuf::from)) {
        Some(path) => {
            let text = (policy_source.read)(&path)?;
            policy_file::merge(&typed, &path, &text, parser)
        }
        None => Cli::from_arg_matches_mut(&mut typed)?.meant(),
    }
    .map(|request| request.with_words(words))
}

/// Returns the words after the program's name, which is a path that the option parser must not see.
fn after_name(argv: &[OsString]) -> &[OsString] {
    argv.get(1..).unwrap_or_default()
}

impl Cli {
    /// Turns the typed options into a request, or says which of them clash.
    fn meant(self) -> Result<Request> {
        let supervision = self.supervision();
        let verbosity = self.verbosity();
        let streams = self.streams()?;
        let format = self.reports.log_format.map_or(Format::Text, Format::from);
        let policy = Policy {
            backoff: self.backoff()?,
            attempts: self.limits.attempts.unwrap_or(Attempts::USUAL),
            deadline: self.limits.deadline.and_then(|limit| limit.0),
            reserve: reserve(&self.limits)?,
            timeout: self.limits.timeout.and_then(|limit| limit.0),
            retry_on: self.counts.retry_on,
            stop_on: self.counts.stop_on,
            success_on: self.counts.success_on,
            patterns: Patterns {
                retry_if: self.counts.retry_if,
                stop_if: self.counts.stop_if,
                success_if: self.counts.success_if,
                fail_if: self.counts.fail_if,
            },
            retry_after_max: longest_server_wait(&self.server)?,
        };
        check_lists(&policy)?;
        let is_plan = self.reports.plan;
        ensure!(
            is_plan || !self.command.is_empty(),
            "there is no command to run; write it after the options, as in 'retry curl -fsS URL', or see 'retry -h'"
        );
        let crowd = crowd(&self.reports)?;
        let job = Box::new(Job {
            command: self.command,
            is_set_apart: false,
            policy,
            supervision,
            streams,
            before_retry: self.between.before_retry.map(OsString::from),
            sharing: sharing(self.sharing)?,
            seed: self.backoff.seed,
            verbosity,
            format,
            log: self.reports.log,
            name: self.reports.name,
        });
        Ok(if is_plan {
            Request::Plan(job, crowd)
        } else {
            Request::Run(job)
        })
    }

    fn backoff(&self) -> Result<Backoff> {
        if let Some(delay) = self.backoff.delay {
            return same_delay(&self.backoff, delay);
        }
        let base = self.backoff.base.unwrap_or(BASE);
        let name = self.backoff.backoff.unwrap_or(CurveName::Exponential);
        let curve = match (name, self.backoff.factor) {
            (CurveName::Exponential, factor) => Curve::Exponential(factor.unwrap_or(Factor::TWO)),
            (CurveName::Linear, None) => Curve::Linear,
            (CurveName::Constant, None) => Curve::Constant,
            (CurveName::Linear, Some(_)) => bail!(factor_without_meaning("linear")),
            (CurveName::Constant, Some(_)) => bail!(factor_without_meaning("constant")),
        };
        let cap = self.backoff.cap.unwrap_or(CAP.max(base));
        Ok(Backoff {
            base,
            cap,
            curve,
            jitter: self.backoff.jitter.unwrap_or(Jitter::Full),
        })
    }

    fn supervision(&self) -> Supervision {
        let group = match self.policy.process_group {
            None | Some(GroupName::Auto) => Grouping::Auto,
            Some(GroupName::New) => Grouping::New,
            Some(GroupName::Inherit) => Grouping::Inherit,
        };
        Supervision {
            signal: self.limits.signal.unwrap_or(Signal::TERM),
            kill_after: self.limits.kill_after.unwrap_or(KILL_AFTER),
            idle_timeout: self.limits.idle_timeout.and_then(|limit| limit.0),
            group,
        }
    }

    fn streams(&self) -> Result<StreamPolicy> {
        let stdin = match self.streams.stdin {
            None | Some(InputName::Auto) => Input::Auto,
            Some(InputName::Inherit) => Input::Inherit,
            Some(InputName::Replay) => Input::Replay,
            Some(InputName::Null) => Input::Null,
        };
        Ok(StreamPolicy {
            stdin,
            output: output(&self.streams)?,
            heads: self.server.retry_after.clone(),
        })
    }

    fn verbosity(&self) -> Verbosity {
        match (self.reports.quiet, self.reports.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }
}

/// Parses a command line without a policy file.
#[cfg(test)]
pub(crate) fn alone(args: impl IntoIterator<Item = OsString>) -> Result<Request> {
    let words: Vec<OsString> = args.into_iter().collect();
    let none = PolicySource {
        path: None,
        read: &|_| Ok(String::new()),
    };
    parse(&words, &none, &mut Leftovers::default())
}

#[cfg(test)]
mod tests;
