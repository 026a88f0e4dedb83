//! Starting the command.

use std::env;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use super::sys::{self, Hooked, Mask, Recipe, Started};
use crate::engine::Attempt;
use crate::job::Job;
use crate::status::{FaultClass, Outcome, StartFault};

/// Where programs are looked for if there is no PATH, as execvp(3) does.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Starts one command again and again.
pub(super) struct Spawner<'a> {
    job: &'a Job,
    run_id: String,
    leads_group: bool,
}

impl<'a> Spawner<'a> {
    /// For this job; with `leads_group` each attempt has a process group of its own.
    pub(super) fn new(job: &'a Job, run_id: String, leads_group: bool) -> Self {
        Self {
            job,
            run_id,
            leads_group,
        }
    }

    /// Starts the command. All signals must be held back meanwhile; the child lets them through
    /// again as they were at the start.
    ///
    /// # Errors
    /// Why it could not be started.
    pub(super) fn spawn(
        &self,
        attempt: &Attempt<'_>,
        hooked: &[Hooked],
        mask: &Mask,
    ) -> Result<Started, StartFault> {
        let program = self.job.command.first().map_or(OsStr::new(""), |word| word);
        self.start(program, attempt, hooked, mask)
            .map_err(|error| fault(&error, program))
    }

    fn start(
        &self,
        program: &OsStr,
        attempt: &Attempt<'_>,
        hooked: &[Hooked],
        mask: &Mask,
    ) -> io::Result<Started> {
        let paths = c_strings(places_of(program))?;
        let words = c_strings(self.job.command.iter().cloned())?;
        let told = self.told(attempt);
        let is_told = |entry: &&CStr| {
            let name = entry.to_bytes().split(|byte| *byte == b'=').next();
            told.iter().any(|(told, _)| name == Some(told.as_bytes()))
        };
        let inherited = sys::environment()
            .into_iter()
            .filter(|entry| !is_told(entry));
        let added = told
            .iter()
            .map(|(name, value)| format!("{name}={value}").into());
        let added = c_strings(added)?;
        let environment: Vec<&CStr> = inherited
            .chain(added.iter().map(CString::as_c_str))
            .collect();
        sys::start(&Recipe {
            paths: &paths,
            words: &words,
            environment: &environment,
            leads_group: self.leads_group,
            hooked,
            mask,
        })
    }

    /// What the command is told of the run in its environment.
    pub(super) fn told(&self, attempt: &Attempt<'_>) -> [(&'static str, String); 4] {
        [
            ("RETRY_ATTEMPT", attempt.number.to_string()),
            ("RETRY_MAX_ATTEMPTS", self.job.policy.attempts.to_string()),
            (
                "RETRY_LAST_STATUS",
                attempt.last.map_or_else(String::new, Outcome::last_status),
            ),
            ("RETRY_RUN_ID", self.run_id.clone()),
        ]
    }

    /// The entries by which a process of this attempt, and no other's, is known.
    pub(super) fn marks(&self, attempt: &Attempt<'_>) -> Vec<Vec<u8>> {
        let [number, _, _, run] = self.told(attempt);
        [number, run]
            .map(|(name, value)| format!("{name}={value}").into_bytes())
            .to_vec()
    }
}

/// Where a program may be: the place itself if the word holds a slash, else below each directory of
/// PATH.
fn places_of(program: &OsStr) -> Vec<OsString> {
    if program.is_empty() || has_slash(program) {
        return vec![program.to_owned()];
    }
    let path = env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    // An empty directory is the current one, and joining to it gives the bare name.
    env::split_paths(&path)
        .map(|directory: PathBuf| directory.join(program).into_os_string())
        .collect()
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

/// Sorts the reasons why a command does not start: some pass by themselves, most do not.
fn fault(error: &io::Error, program: &OsStr) -> StartFault {
    let (class, reason) = match error.raw_os_error() {
        Some(libc::ENOENT) if Path::new(program).is_file() && has_slash(program) => {
            let reason = "not found: the interpreter or loader that it names does not exist";
            (FaultClass::NotFound, reason.into())
        }
        Some(libc::ENOENT) => (FaultClass::NotFound, "not found".into()),
        Some(libc::ETXTBSY) => (FaultClass::Busy, described(error)),
        Some(libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE | libc::EIO) => {
            (FaultClass::Shortage, described(error))
        }
        _ => (FaultClass::NotExecutable, described(error)),
    };
    StartFault { class, reason }
}

fn has_slash(program: &OsStr) -> bool {
    program.as_encoded_bytes().contains(&b'/')
}

/// The system's words for an error, without the number, in lower case.
fn described(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_lowercase()
}
