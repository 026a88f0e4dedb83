//! Starting the command.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use rustix::process::Pid;

use super::sys::{self, Mask};
use crate::engine::Attempt;
use crate::job::Job;
use crate::signal::Signal;
use crate::status::{FaultClass, Outcome, StartFault};

/// What came of starting the command.
pub(super) enum Spawned {
    /// It runs; until it is reaped this pid is its own.
    Running(Pid),
    /// It could not be started.
    Failed(StartFault),
}

/// Starts one command again and again.
pub(super) struct Spawner<'a> {
    job: &'a Job,
    run_id: String,
    shares_group: bool,
}

impl<'a> Spawner<'a> {
    /// For this job; `shares_group` keeps the command in our process group.
    pub(super) fn new(job: &'a Job, run_id: String, shares_group: bool) -> Self {
        Self {
            job,
            run_id,
            shares_group,
        }
    }

    /// Starts the command. All signals must be held back meanwhile; the child lets them through
    /// again as they were at the start.
    pub(super) fn spawn(&self, attempt: &Attempt<'_>, hooked: &[Signal], mask: &Mask) -> Spawned {
        let Some((program, args)) = self.job.command.split_first() else {
            return Spawned::Failed(fault(&io::ErrorKind::NotFound.into(), OsStr::new("")));
        };
        let mut command = Command::new(program);
        command
            .args(args)
            .env("RETRY_ATTEMPT", attempt.number.to_string())
            .env("RETRY_MAX_ATTEMPTS", self.job.policy.attempts.to_string())
            .env(
                "RETRY_LAST_STATUS",
                attempt.last.map_or_else(String::new, Outcome::last_status),
            )
            .env("RETRY_RUN_ID", &self.run_id);
        if !self.shares_group {
            command.process_group(0);
        }
        sys::prepare_child(&mut command, hooked, mask);
        match command.spawn() {
            Ok(child) => match i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                Some(pid) => Spawned::Running(pid),
                None => Spawned::Failed(fault(&io::ErrorKind::Other.into(), program)),
            },
            Err(error) => Spawned::Failed(fault(&error, program)),
        }
    }
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
