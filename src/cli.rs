//! The options as typed, and what they mean: the only room that knows clap.

mod options;
mod sentences;
mod values;

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Result, anyhow, bail, ensure};
use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};

use crate::backoff::{Backoff, Curve};
use crate::job::{Grouping, Input, Job, Streams, Supervision, Verbosity};
use crate::numbers::Factor;
use crate::patterns::Patterns;
use crate::policy::Policy;
use crate::units::{Limit, Shown};
use options::{Cli, CurveName, GroupName, InputName, OutputName, ServerOptions};

/// How long a server may have us wait unless the user says otherwise.
const LONGEST_SERVER_WAIT: Duration = Duration::from_secs(5 * 60);

/// What the user asks for.
#[derive(Debug)]
pub(crate) enum Request {
    /// Run a command.
    Run(Box<Job>),
    /// Print this on stdout.
    Show(String),
}

/// The one definition of the options, for the man page and the completions.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Reads the command line, program name first.
///
/// # Errors
/// One lower-case sentence that says what is wrong and what to do about it.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Request> {
    match Cli::try_parse_from(args) {
        Ok(cli) => cli.meant().map(|job| Request::Run(Box::new(job))),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                Ok(Request::Show(format!("{}\n", error.to_string().trim_end())))
            }
            _ => Err(anyhow!(sentences::of(&error))),
        },
    }
}

impl Cli {
    /// Turns what was typed into what it means, or says which options do not go together.
    fn meant(self) -> Result<Job> {
        let supervision = self.supervision();
        let verbosity = self.verbosity();
        let streams = self.streams();
        let policy = Policy {
            backoff: self.backoff()?,
            attempts: self.limits.attempts,
            deadline: self.limits.deadline.and_then(|limit| limit.0),
            reserve: self.reserve()?,
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
        ensure!(
            !self.command.is_empty(),
            "there is no command to run; write it after the options, as in 'retry curl -fsS URL', or see 'retry -h'"
        );
        Ok(Job {
            command: self.command,
            policy,
            supervision,
            streams,
            before_retry: self.between.before_retry.map(OsString::from),
            seed: self.backoff.seed,
            verbosity,
        })
    }

    fn backoff(&self) -> Result<Backoff> {
        let curve = match (self.backoff.backoff, self.backoff.factor) {
            (CurveName::Exponential, factor) => Curve::Exponential(factor.unwrap_or(Factor::TWO)),
            (CurveName::Linear, None) => Curve::Linear,
            (CurveName::Constant, None) => Curve::Constant,
            (CurveName::Linear, Some(_)) => bail!(
                "--factor means nothing with --backoff linear; leave it out, or use --backoff exponential"
            ),
            (CurveName::Constant, Some(_)) => bail!(
                "--factor means nothing with --backoff constant; leave it out, or use --backoff exponential"
            ),
        };
        let cap = self
            .backoff
            .cap
            .unwrap_or(Duration::from_secs(30).max(self.backoff.base));
        Ok(Backoff {
            base: self.backoff.base,
            cap,
            curve,
            jitter: self.backoff.jitter,
        })
    }

    fn reserve(&self) -> Result<Duration> {
        match (self.limits.reserve, self.limits.deadline) {
            (None, _) => Ok(Duration::ZERO),
            (Some(_), None) => {
                bail!("--reserve is a part of the deadline; give --deadline too, or leave it out")
            }
            (Some(reserve), Some(Limit(Some(deadline)))) if reserve >= deadline => bail!(
                "--reserve {} leaves no time for a retry within --deadline {}; make it shorter",
                Shown(reserve),
                Shown(deadline)
            ),
            (Some(reserve), Some(_)) => Ok(reserve),
        }
    }

    fn supervision(&self) -> Supervision {
        let group = match self.policy.process_group {
            GroupName::Auto => Grouping::Auto,
            GroupName::New => Grouping::New,
            GroupName::Inherit => Grouping::Inherit,
        };
        Supervision {
            signal: self.limits.signal,
            kill_after: self.limits.kill_after,
            idle_timeout: self.limits.idle_timeout.and_then(|limit| limit.0),
            group,
        }
    }

    fn streams(&self) -> Streams {
        let stdin = match self.streams.stdin {
            InputName::Inherit => Input::Inherit,
            InputName::Replay => Input::Replay,
            InputName::Null => Input::Null,
        };
        Streams {
            stdin,
            stdout_once: self.streams.stdout == OutputName::Once,
            heads: self.server.retry_after.clone(),
        }
    }

    fn verbosity(&self) -> Verbosity {
        match (self.reports.quiet, self.reports.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }
}

/// What a server may ask for without being asked what it says would mean nothing.
fn longest_server_wait(server: &ServerOptions) -> Result<Duration> {
    ensure!(
        server.retry_after.is_some() || server.retry_after_max.is_none(),
        "--retry-after-max means nothing without --retry-after; give that too, or leave it out"
    );
    Ok(server.retry_after_max.unwrap_or(LONGEST_SERVER_WAIT))
}

/// Says so when the lists contradict each other or themselves.
fn check_lists(policy: &Policy) -> Result<()> {
    if let Some(list) = &policy.retry_on {
        ensure!(
            !list.set.has_code(0),
            "--retry-on {} holds 0, which is success; leave out the 0",
            list.written
        );
    }
    if let Some(list) = &policy.success_on {
        ensure!(
            !list.set.timeout && !list.set.spawn,
            "--success-on {} holds the word timeout or spawn, but an attempt that was ended or never started is no success; leave it out",
            list.written
        );
    }
    ensure!(
        !policy.retryable().is_empty() || !policy.patterns.fail_if.is_empty(),
        "--stop-on and --success-on leave nothing to retry; take something out of them"
    );
    Ok(())
}

#[cfg(test)]
mod tests;
