//! Starting the command.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use super::spawn_error::fault;
use crate::engine::Attempt;
use crate::job::Job;
use crate::status::{NOT_EXECUTABLE, NOT_FOUND, OWN_FAILURE, Outcome, StartFault};
use crate::sys::path_search::candidates;
use crate::sys::spawn::Codes;
use crate::sys::stdio::ChildStdio;
use crate::sys::{self, SignalState, SpawnSpec, Started, startup};

/// What the command is told of the run in its environment.
const RETRY_VARS: [&str; 4] = [
    "RETRY_ATTEMPT",
    "RETRY_MAX_ATTEMPTS",
    "RETRY_LAST_STATUS",
    "RETRY_RUN_ID",
];

/// How a child that does not become the command is told from one that does, where nothing else can
/// tell.
const CODES: Codes = Codes {
    not_found: NOT_FOUND,
    not_executable: NOT_EXECUTABLE,
    abandoned: OWN_FAILURE,
};

/// Starts one command again and again.
pub(super) struct Spawner {
    leads_group: bool,
    /// The state of signals that the command is to find.
    signals: SignalState,
    command: Program,
    /// What is run before a retry.
    hook: Option<Program>,
    /// Our environment but for what the command is told anew.
    inherited: Vec<&'static CStr>,
    /// What the command is told each time.
    static_vars: [CString; 2],
}

/// Something to start.
struct Program {
    /// Where it may be.
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

/// Which of the two is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The command.
    Command,
    /// What is run before a retry.
    Hook,
}

impl Spawner {
    /// For this job; with `leads_group` each attempt has a process group of its own.
    ///
    /// # Errors
    /// When a word of the command cannot be one.
    pub(super) fn new(
        job: &Job,
        run_id: &str,
        leads_group: bool,
        signals: SignalState,
    ) -> io::Result<Self> {
        let is_told = |entry: &&CStr| {
            let entry = entry.to_bytes();
            entry.starts_with(b"RETRY_")
                && RETRY_VARS
                    .iter()
                    .any(|var| entry.split(|byte| *byte == b'=').next() == Some(var.as_bytes()))
        };
        let [_, most, _, run] = RETRY_VARS;
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
        })
    }

    /// Whether something is to be run before a retry.
    pub(super) fn has_hook(&self) -> bool {
        self.hook.is_some()
    }

    /// Starts the one or the other. All signals but those that stop a process must be held back meanwhile;
    /// the child lets them through again as they were at the start.
    ///
    /// # Errors
    /// Why it could not be started.
    pub(super) fn spawn(
        &self,
        role: Role,
        attempt: &Attempt<'_>,
        stdio: &ChildStdio,
    ) -> Result<Started, StartFault> {
        let program = match (role, &self.hook) {
            (Role::Hook, Some(hook)) => hook,
            _ => &self.command,
        };
        let started = attempt_vars(attempt).and_then(|now| {
            let attempt_vars = self.static_vars.iter().chain(&now).map(CString::as_c_str);
            let environment: Vec<&CStr> =
                self.inherited.iter().copied().chain(attempt_vars).collect();
            sys::start(&SpawnSpec {
                paths: &program.paths,
                words: &program.words,
                environment: &environment,
                codes: CODES,
                stdio,
                leads_group: self.leads_group,
                signals: &self.signals,
            })
        });
        let name = program
            .words
            .first()
            .map_or(OsStr::new(""), |name| OsStr::from_bytes(name.as_bytes()));
        started.map_err(|error| fault(&error, name))
    }

    /// The entries by which a process of this attempt, and no other's, is known.
    pub(super) fn env_markers(&self, attempt: &Attempt<'_>) -> [Vec<u8>; 2] {
        let number = assignment(RETRY_VARS[0], &attempt.number.to_string());
        let [_, run] = &self.static_vars;
        [number.into_bytes(), run.to_bytes().to_vec()]
    }
}

/// The entries of the environment that tell the command of this attempt.
fn attempt_vars(attempt: &Attempt<'_>) -> io::Result<[CString; 2]> {
    let [number, _, last, _] = RETRY_VARS;
    let last_status = attempt.last.map_or_else(String::new, Outcome::last_status);
    let attempt = attempt.number.to_string();
    Ok([entry(number, &attempt)?, entry(last, &last_status)?])
}

fn entry(name: &str, value: &str) -> io::Result<CString> {
    CString::new(assignment(name, value)).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn assignment(name: &str, value: &str) -> String {
    [name, "=", value].concat()
}

/// What has a shell run this.
fn by_shell(script: OsString) -> io::Result<Program> {
    Program::new(vec!["sh".into(), "-c".into(), script])
}

/// Strings for the system; what holds a NUL cannot be one, and cannot have come from there.
fn c_strings(strings: impl IntoIterator<Item = OsString>) -> io::Result<Vec<CString>> {
    let strings = strings
        .into_iter()
        .map(|string| CString::new(string.into_vec()));
    strings
        .collect::<Result<_, _>>()
        .map_err(|_| io::ErrorKind::InvalidInput.into())
}
