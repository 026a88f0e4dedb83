//! Spawning the command and the hook.

use std::env;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::time::Duration;

use super::kernel::Kernel;
use super::slots::{Holds, RETRY_SLOT};
use super::spawn_error::fault;
use crate::engine::Attempt;
use crate::job::Job;
use crate::status::{NOT_EXECUTABLE, NOT_FOUND, OWN_FAILURE, Outcome, StartFault};
use crate::sys::fd::ChildStdio;
use crate::sys::spawn::Codes;
use crate::sys::{SignalState, SpawnSpec, Started, startup};

/// The environment variables that describe the run to the command.
const RETRY_VARS: [&str; 5] = [
    "RETRY_ATTEMPT",
    "RETRY_MAX_ATTEMPTS",
    "RETRY_LAST_STATUS",
    "RETRY_TIME_LEFT",
    "RETRY_RUN_ID",
];

/// The exit codes of a child that fails to execute the command, where only its status can tell.
const CODES: Codes = Codes {
    not_found: NOT_FOUND,
    not_executable: NOT_EXECUTABLE,
    abandoned: OWN_FAILURE,
};

/// Spawns the command and the hook of one job.
pub(super) struct Spawner {
    leads_group: bool,
    /// The signal state that a child starts with.
    signals: SignalState,
    command: Program,
    /// The `--before-retry` command.
    hook: Option<Program>,
    /// Our environment without [`RETRY_VARS`].
    inherited: Vec<&'static CStr>,
    /// The entries that are the same for every attempt.
    static_vars: [CString; 2],
    /// The entry that tells which slots an attempt holds, if this run takes any.
    slots: Option<CString>,
}

/// A program to execute.
struct Program {
    /// The paths to try, in order.
    paths: Vec<CString>,
    /// Its name and its arguments.
    words: Vec<CString>,
}

impl Program {
    fn new(words: Vec<OsString>) -> io::Result<Self> {
        let name = words.first().cloned().unwrap_or_default();
        Ok(Self {
            paths: c_strings(candidates(&name))?,
            words: c_strings(words)?,
        })
    }
}

/// The search path if PATH is not set, as in execvp(3).
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Returns the paths to try: the word itself if it holds a slash, else one below each directory of
/// PATH.
fn candidates(program: &OsStr) -> Vec<OsString> {
    if program.is_empty() || has_slash(program) {
        return vec![program.to_owned()];
    }
    let path = env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    // An empty directory is the current one, and joining to it gives the bare name.
    env::split_paths(&path)
        .map(|directory| directory.join(program).into_os_string())
        .collect()
}

fn has_slash(program: &OsStr) -> bool {
    program.as_encoded_bytes().contains(&b'/')
}

/// Which of a job's two programs to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The command.
    Command,
    /// The `--before-retry` command.
    Hook,
}

impl Spawner {
    /// Prepares the programs of a job. With `leads_group` each child leads a process group of its
    /// own.
    ///
    /// # Errors
    /// When a word of the command holds a NUL byte.
    pub(super) fn new(
        job: &Job,
        run_id: &str,
        (leads_group, signals): (bool, SignalState),
        holds: &Holds,
    ) -> io::Result<Self> {
        let is_told = |entry: &&CStr| {
            let entry = entry.to_bytes();
            entry.starts_with(b"RETRY_")
                && RETRY_VARS
                    .iter()
                    .chain(holds.told.as_ref().map(|_| &RETRY_SLOT))
                    .any(|var| entry.split(|byte| *byte == b'=').next() == Some(var.as_bytes()))
        };
        let [_, most, _, _, run] = RETRY_VARS;
        let most = entry(most, &job.policy.attempts.to_string())?;
        Ok(Self {
            leads_group,
            signals,
            command: Program::new(job.command.clone())?,
            hook: job.before_retry.clone().map(by_shell).transpose()?,
            inherited: startup::environment()
                .into_iter()
                .filter(|entry| !is_told(entry))
                .collect(),
            static_vars: [most, entry(run, run_id)?],
            slots: holds
                .told
                .as_ref()
                .map(|told| entry(RETRY_SLOT, told))
                .transpose()?,
        })
    }

    /// Whether there is a `--before-retry` command.
    pub(super) fn has_hook(&self) -> bool {
        self.hook.is_some()
    }

    /// Spawns the command or the hook. All signals but those that stop a process must be blocked;
    /// the child restores the mask found at the start.
    ///
    /// # Errors
    /// Why it could not be started.
    pub(super) fn spawn(
        &self,
        kernel: &impl Kernel,
        role: Role,
        attempt: &Attempt<'_>,
        stdio: &ChildStdio,
    ) -> Result<Started, StartFault> {
        let program = match (role, &self.hook) {
            (Role::Hook, Some(hook)) => hook,
            _ => &self.command,
        };
        let started = attempt_vars(attempt).and_then(|now| {
            let told = self.static_vars.iter().chain(&self.slots).chain(&now);
            let attempt_vars = told.map(CString::as_c_str);
            let environment: Vec<&CStr> =
                self.inherited.iter().copied().chain(attempt_vars).collect();
            kernel.start(&SpawnSpec {
                paths: &program.paths,
                words: &program.words,
                environment: &environment,
                codes: CODES,
                stdio,
                leads_group: self.leads_group,
                signals: &self.signals,
            })
        });
        started.map_err(|error| fault(&error, &program.paths))
    }

    /// Returns the environment entries that only processes of this attempt have.
    pub(super) fn env_markers(&self, attempt: &Attempt<'_>) -> [Vec<u8>; 2] {
        let number = assignment(RETRY_VARS[0], &attempt.number.to_string());
        let [_, run] = &self.static_vars;
        [number.into_bytes(), run.to_bytes().to_vec()]
    }
}

/// Returns the environment entries that differ between attempts.
fn attempt_vars(attempt: &Attempt<'_>) -> io::Result<[CString; 3]> {
    let [number, _, last, left, _] = RETRY_VARS;
    let last_status = attempt.last.map_or_else(String::new, Outcome::last_status);
    let time_left = attempt.time_left().map_or_else(String::new, seconds);
    let attempt = attempt.number.to_string();
    Ok([
        entry(number, &attempt)?,
        entry(last, &last_status)?,
        entry(left, &time_left)?,
    ])
}

/// Formats the time until a limit in seconds, with milliseconds, rounded down. It is never 0, which
/// means no limit to `curl -m`, timeout(1) and our own `--deadline`.
fn seconds(time: Duration) -> String {
    let time = time.max(Duration::from_millis(1));
    format!("{}.{:03}", time.as_secs(), time.subsec_millis())
}

fn entry(name: &str, value: &str) -> io::Result<CString> {
    CString::new(assignment(name, value)).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn assignment(name: &str, value: &str) -> String {
    [name, "=", value].concat()
}

/// Returns the program that runs a script with sh.
fn by_shell(script: OsString) -> io::Result<Program> {
    Program::new(vec!["sh".into(), "-c".into(), script])
}

/// Converts to C strings. A NUL byte, which no argument from the system can hold, is an error.
fn c_strings(strings: impl IntoIterator<Item = OsString>) -> io::Result<Vec<CString>> {
    let strings = strings
        .into_iter()
        .map(|string| CString::new(string.into_vec()));
    strings
        .collect::<Result<_, _>>()
        .map_err(|_| io::ErrorKind::InvalidInput.into())
}
