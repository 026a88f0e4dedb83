//! Parses words into options, or into the help that they ask for.

use std::ffi::OsString;
use std::mem::ManuallyDrop;

use anyhow::{Result, anyhow};
use clap::error::ErrorKind;
use clap::{ArgMatches, Command, CommandFactory as _};

use super::options::{self, Cli};
use super::usage_error;

/// The parser after its use. Freeing it would take longer than exiting with it, so that it stays
/// until there is time.
#[derive(Default)]
pub(crate) struct Leftovers(ManuallyDrop<Option<Command>>);

impl Leftovers {
    /// Frees the parser, and returns whether there was one.
    pub(crate) fn clear(&mut self) -> bool {
        self.0.take().is_some()
    }

    /// The parser of the options.
    pub(super) fn parser(&mut self) -> &mut Command {
        self.0.insert(Cli::command())
    }
}

/// A command line as typed.
pub(super) enum Typed {
    /// Options and a command.
    Options(ArgMatches),
    /// A request to print this text.
    Text(String),
}

impl Typed {
    fn text(text: &str) -> Self {
        Self::Text(format!("{}\n", text.trim_end()))
    }
}

/// Parses the words after the program's name.
///
/// # Errors
/// One sentence with the fault and its remedy.
pub(super) fn parse(words: &[OsString], parser: &mut Command) -> Result<Typed> {
    match parser.try_get_matches_from_mut(words) {
        Ok(matches) => Ok(Typed::Options(matches)),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp => Ok(Typed::text(&help(words))),
            ErrorKind::DisplayVersion => Ok(Typed::text(&error.to_string())),
            _ => Err(anyhow!(usage_error::render(&error, words, parser))),
        },
    }
}

/// Returns the help that these words ask for. The text around the options is added only now,
/// because every start would have to copy it.
fn help(words: &[OsString]) -> String {
    let command = options::command()
        .help_template(TEMPLATE)
        .after_help(SHORT_NOTES)
        .after_long_help(LONG_NOTES);
    match command.try_get_matches_from(words) {
        Err(asked) => asked.to_string(),
        Ok(_) => String::new(),
    }
}

/// clap's own template, with a summary of the defaults.
const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

Without options it makes up to 5 attempts and waits a random part of 1s, 2s, 4s
and 8s between them. Every failure is retried, but not ^C or a missing command.

{all-args}{after-help}";

/// The text below the options in the short help.
const SHORT_NOTES: &str = "\
DUR: 500ms, 1.5s, 1m30s, 2h; a bare number is seconds. LIST: 1,5-9,KILL,timeout.

Examples:
  retry -a 8 --base 250ms -- curl -fsS -o page.html https://example.com/
  retry --timeout 30s --deadline 5m -- git fetch
  retry --fail-if 'Failed to fetch' -- env LC_ALL=C apt-get update

Exit status: that of the last attempt; 0 success, 124 a time limit, 125 a wrong
call, 126 cannot be executed, 127 not found.

--help explains each option; retry(1) has recipes, when not to retry, and what
to write for the options of other retry commands.";

/// The text below the options in the long help.
const LONG_NOTES: &str = "\
Durations:
  Whole or decimal numbers with ns us ms s m h d w, also together (1m30s); a bare number is seconds.

Attempts and retries:
  --attempts 4 is one first attempt and at most three retries. No delay follows the last one.

What is retried:
  Every failure: an exit status other than 0, death by a signal, a time-out. But not a command that
  is not found or cannot be executed, nor death by SIGINT, SIGQUIT or SIGPIPE, which somebody asked
  for. --retry-on and --retry-if retry nothing else; --stop-on and --stop-if win over them. A shell
  that does not find its command exits 127 like any failure; --stop-on 126,127 takes that out.

Two time limits:
                 --timeout 10s                      --deadline 1m
  bounds         one attempt                        all attempts and delays together
  when reached   the attempt is ended and failed;   the running attempt is ended, and there is
                 the next one may follow            no other
  before that    nothing                            if the next delay does not fit, it is not begun
  exit status    124 if it ended the last attempt   124 if it ended an attempt; that of the last
                                                    attempt if the delay did not fit

Environment:
  RETRY_POLICY         read: the file of options, unless --policy names one
  TMPDIR               read: where --stdin replay and --stdout once keep what is large [/tmp]
  RETRY_ATTEMPT        for the command: the number of the attempt, from 1
  RETRY_MAX_ATTEMPTS   for the command: how many there may be, or inf
  RETRY_LAST_STATUS    for the command: how the attempt before ended; empty at first
  RETRY_RUN_ID         for the command: an idempotency key, the same for all attempts of a run

Exit status:
  that of the last attempt; a command that died of a signal: the same signal, 128+n to a shell
  0      success, also by --success-on and --success-if, whatever the command's own status was
  1      the last attempt exited 0, and --fail-if made a failure of it
  124    a time limit ended the last attempt
  125    retry was called wrongly, or failed itself
  126    the command cannot be executed
  127    the command was not found

Signals:
  HUP, INT, QUIT, TERM and other signals that are sent to end a process end the retrying, always.
  While the command runs they are passed on, and its status is reported; during a delay retry dies
  of them at once. USR1 and USR2 are passed on.

Examples:
  A download, half a minute an attempt, only for failures of curl that may pass:
    retry --timeout 30s --retry-on 5-7,18,28,35,52,56,timeout -- curl -fsSO https://example.com/a
  Poll until a service is up, for a minute at most:
    retry -a inf --deadline 1m --backoff constant -- nc -z localhost 5432
  Several commands as one, with what a failed attempt has left removed before the next:
    retry --before-retry 'make clean' -- sh -ec 'make fetch; make'
  What would these options do?
    retry --attempts 8 --base 250ms --deadline 1m --plan

retry(1) has recipes, when not to retry, and what to write for the options of other retry commands.";
