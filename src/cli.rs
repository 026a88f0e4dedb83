//! The options as typed, and what they mean: the only room that knows clap.

mod sentences;

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use anyhow::{Result, anyhow, bail, ensure};
use clap::error::ErrorKind;
use clap::{ArgAction, CommandFactory as _, Parser, ValueEnum, ValueHint};

use crate::backoff::{Backoff, Curve, Jitter};
use crate::job::{Grouping, Job, Supervision, Verbosity};
use crate::lists::{StatusList, StatusSet};
use crate::numbers::{Attempts, Factor, Share};
use crate::plain::escaped;
use crate::policy::Policy;
use crate::signal::Signal;
use crate::units::{self, Limit, Shown};

/// Run COMMAND again until it succeeds, with capped and jittered exponential backoff.
///
/// COMMAND is executed directly, never through a shell. An attempt is one run of it; a retry is an
/// attempt after a failed one, so `--attempts 4` is one first attempt and at most three retries.
/// Unless a list says otherwise every failure is retried, but a command that cannot be executed
/// and death by SIGINT, SIGQUIT or SIGPIPE.
#[derive(Debug, Parser)]
#[command(
    name = "retry",
    version,
    override_usage = "retry [OPTIONS] [--] COMMAND [ARG]...",
    args_override_self = true,
    disable_help_flag = true,
    disable_version_flag = true,
    max_term_width = 100,
    after_help = SHORT_NOTES,
    after_long_help = LONG_NOTES,
)]
struct Cli {
    /// The command to run, and its arguments
    ///
    /// Options of `retry` end at the first word that is not one, or at `--`; everything from there
    /// on belongs to the command.
    #[arg(value_name = "COMMAND", trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments, hide = true)]
    command: Vec<OsString>,

    /// Longest delay before the first retry, or 0 for no delays
    #[arg(long, value_name = "DUR", default_value = "1s", value_parser = units::parse_duration, help_heading = "Backoff")]
    base: Duration,

    /// Longest delay, jitter included [default: 30s, or base if longer]
    ///
    /// No computed delay is ever longer. Without --cap it is 30s, or the base if that is longer.
    #[arg(long, value_name = "DUR", value_parser = units::parse_duration, help_heading = "Backoff")]
    cap: Option<Duration>,

    /// How the delays grow: exponential, linear or constant
    ///
    /// The ceiling of the n-th retry is base·factor^(n-1), base·n, or base; never more than the
    /// cap.
    #[arg(
        long,
        value_name = "CURVE",
        default_value = "exponential",
        hide_possible_values = true,
        help_heading = "Backoff"
    )]
    backoff: CurveName,

    /// Growth of exponential delays, 1 or more [default: 2]
    #[arg(long, value_name = "F", value_parser = Factor::parse, help_heading = "Backoff")]
    factor: Option<Factor>,

    /// none, full, equal, decorrelated, or a share as 20% or 0.2
    ///
    /// With c for the ceiling of a retry, its delay is drawn evenly from a range: none: c itself;
    /// full: 0 to c; equal: c/2 to c; a share P: c·(1-P) to c·(1+P), cut at the cap; decorrelated:
    /// base to three times the previous delay, cut at the cap. Keep `full` where many callers may
    /// fail together: they will not come back together. (A crontab ends a line at `%`: write 0.2.)
    #[arg(long, value_name = "JITTER", default_value = "full", value_parser = parse_jitter, help_heading = "Backoff")]
    jitter: Jitter,

    /// Make the delays reproducible [default: random]
    #[arg(long, value_name = "N", value_parser = parse_seed, help_heading = "Backoff")]
    seed: Option<u64>,

    /// Runs in total, the first one included, or inf
    #[arg(short, long, value_name = "N", default_value = "5", value_parser = Attempts::parse, help_heading = "Limits")]
    attempts: Attempts,

    /// Time for everything: attempts and delays [default: none]
    ///
    /// When it is over the running attempt is ended, as by --timeout, and the exit status is 124.
    /// When the next delay would not fit, retry gives up at once instead of waiting in vain.
    #[arg(long, value_name = "DUR", value_parser = units::parse_limit, help_heading = "Limits")]
    deadline: Option<Limit>,

    /// Time for one attempt [default: none]
    ///
    /// An attempt that takes longer is ended (see --signal and --kill-after), with all processes of
    /// its group, and counts as failed. The next attempt starts when all of them are gone.
    #[arg(long, value_name = "DUR", value_parser = units::parse_limit, help_heading = "Limits")]
    timeout: Option<Limit>,

    /// Start no retry with less than this left of the deadline
    #[arg(long, value_name = "DUR", value_parser = units::parse_duration, help_heading = "Limits")]
    reserve: Option<Duration>,

    /// Signal that a time limit sends first
    #[arg(long, value_name = "SIG", default_value = "TERM", value_parser = parse_signal, help_heading = "Limits")]
    signal: Signal,

    /// Send KILL so long after that signal
    ///
    /// It goes to whatever is left of the attempt then. 0 sends KILL at once after the signal.
    #[arg(short, long, value_name = "DUR", default_value = "5s", value_parser = units::parse_duration, help_heading = "Limits")]
    kill_after: Duration,

    /// Retry only these endings
    ///
    /// LIST holds exit codes and ranges (1,5-9,75), signal names (KILL, SIGTERM), and the words any
    /// (1-255), signal, timeout, spawn, with commas between them. 129-192 also mean death by that
    /// signal, but INT, QUIT and PIPE only if named or given singly. A time-out is meant by the word
    /// timeout alone.
    #[arg(long, value_name = "LIST", value_parser = parse_list, help_heading = "What counts")]
    retry_on: Option<StatusList>,

    /// Never retry these endings; wins over --retry-on
    #[arg(long, value_name = "LIST", value_parser = parse_list, help_heading = "What counts")]
    stop_on: Option<StatusList>,

    /// Take these endings for success besides exit 0
    ///
    /// retry then exits 0.
    #[arg(long, value_name = "LIST", value_parser = parse_list, help_heading = "What counts")]
    success_on: Option<StatusList>,

    /// Say nothing on stderr
    #[arg(short, long, overrides_with = "verbose", help_heading = "Reports")]
    quiet: bool,

    /// Say more on stderr
    #[arg(short, long, overrides_with = "quiet", help_heading = "Reports")]
    verbose: bool,

    /// Process group of the command: auto, new or inherit
    ///
    /// auto: a new one for each attempt, unless there is a controlling terminal: then the command
    /// stays in the group of retry, so that ^C, ^Z and reading the terminal work as without retry.
    #[arg(
        long,
        value_name = "GROUP",
        default_value = "auto",
        hide_possible_values = true,
        help_heading = "Policy"
    )]
    process_group: GroupName,

    /// Print help (-h: one line an option)
    #[arg(short, long, action = ArgAction::Help, help_heading = "Policy")]
    help: Option<bool>,

    /// Print the version
    #[arg(short = 'V', long, action = ArgAction::Version, help_heading = "Policy")]
    version: Option<bool>,
}

const SHORT_NOTES: &str = "\
DUR: 500ms, 1.5s, 1m 30s, 2h; a bare number is seconds. LIST: 1,5-9,KILL,timeout.
See --help for the whole story.";

const LONG_NOTES: &str = "\
Durations:
  Whole or decimal numbers with ns us ms s m h d w, also together (1m 30s); a bare number is
  seconds. For --deadline and --timeout, 0 or inf means no limit.

Two time limits:
  --timeout 10s    each attempt may take 10 seconds
  --deadline 1m    everything together may take a minute

Exit status:
  that of the last attempt; a command that died of a signal: the same signal, 128+n to a shell
  0      success, also by --success-on
  124    a time limit ended the last attempt
  125    retry was called wrongly, or failed itself
  126    the command cannot be executed
  127    the command was not found

Signals:
  HUP, INT, QUIT, TERM and other fatal signals end the retrying, always. While the command runs
  they are passed on, and its status is reported; during a delay retry dies of them at once. USR1
  and USR2 are passed on.";

/// `--backoff` as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CurveName {
    Exponential,
    Linear,
    Constant,
}

/// `--process-group` as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GroupName {
    Auto,
    New,
    Inherit,
}

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
        let policy = Policy {
            backoff: self.backoff()?,
            attempts: self.attempts,
            deadline: self.deadline.and_then(|limit| limit.0),
            reserve: self.reserve()?,
            timeout: self.timeout.and_then(|limit| limit.0),
            retry_on: self.retry_on,
            stop_on: self.stop_on,
            success_on: self.success_on,
        };
        check_lists(&policy)?;
        ensure!(
            !self.command.is_empty(),
            "there is no command to run; write it behind the options, as in 'retry -- curl -fsS URL'"
        );
        Ok(Job {
            command: self.command,
            policy,
            supervision,
            seed: self.seed,
            verbosity,
        })
    }

    fn backoff(&self) -> Result<Backoff> {
        let curve = match (self.backoff, self.factor) {
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
        let cap = self.cap.unwrap_or(Duration::from_secs(30).max(self.base));
        Ok(Backoff {
            base: self.base,
            cap,
            curve,
            jitter: self.jitter,
        })
    }

    fn reserve(&self) -> Result<Duration> {
        match (self.reserve, self.deadline) {
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
        let group = match self.process_group {
            GroupName::Auto => Grouping::Auto,
            GroupName::New => Grouping::New,
            GroupName::Inherit => Grouping::Inherit,
        };
        Supervision {
            signal: self.signal,
            kill_after: self.kill_after,
            group,
        }
    }

    fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }
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
        !policy.retryable().is_empty(),
        "--stop-on and --success-on leave nothing to retry; take something out of them, or use --attempts 1"
    );
    Ok(())
}

fn parse_list(text: &str) -> Result<StatusList, String> {
    let set = StatusSet::parse(text)?;
    Ok(StatusList {
        set,
        written: escaped(OsStr::new(text.trim())),
    })
}

fn parse_jitter(text: &str) -> Result<Jitter, String> {
    match text {
        "none" => Ok(Jitter::None),
        "full" => Ok(Jitter::Full),
        "equal" => Ok(Jitter::Equal),
        "decorrelated" => Ok(Jitter::Decorrelated),
        share => Share::parse(share).map(Jitter::Around).ok_or_else(|| {
            "use none, full, equal, decorrelated, or a share from 0 to 100 %, such as 20% or 0.2".into()
        }),
    }
}

fn parse_seed(text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let seed = if digits { text.parse().ok() } else { None };
    seed.ok_or_else(|| format!("write a whole number from 0 to {}", u64::MAX))
}

fn parse_signal(text: &str) -> Result<Signal, String> {
    let by_number = || text.parse().ok().and_then(Signal::from_number);
    Signal::from_name(text)
        .or_else(by_number)
        .ok_or_else(|| "there is no such signal; use a name such as TERM, INT or KILL".into())
}

#[cfg(test)]
mod tests;
