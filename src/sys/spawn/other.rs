//! As std does it, by fork.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::Pid;

use super::{SpawnSpec, Started};
use crate::signal::Signal;
use crate::sys;
use crate::sys::startup::{close_what_was_closed, saved_sigpipe};
use crate::sys::stdio::ChildStdio;

/// Starts the command. All signals but those that stop a process must be held back meanwhile.
///
/// # Errors
/// Why there is no process, or why it could not execute the command at the path that came
/// closest.
pub(crate) fn start(spec: &SpawnSpec<'_>) -> io::Result<Started> {
    let mut error = io::Error::from_raw_os_error(libc::ENOENT);
    for path in spec.paths {
        match start_at(path, spec) {
            Ok(pid) => {
                return Ok(Started { pid, missed: 0 });
            }
            Err(other) => match other.raw_os_error() {
                Some(libc::EACCES) => error = other,
                Some(libc::ENOENT | libc::ENOTDIR | libc::ENAMETOOLONG) if spec.paths.len() > 1 => {
                }
                _ => return Err(other),
            },
        }
    }
    Err(error)
}

fn start_at(path: &CString, spec: &SpawnSpec<'_>) -> io::Result<Pid> {
    let mut command = Command::new(text(path));
    command.env_clear();
    for entry in spec.environment.iter().map(|entry| entry.to_bytes()) {
        let at = entry
            .iter()
            .position(|byte| *byte == b'=')
            .unwrap_or(entry.len());
        let value = entry.get(at + 1..).unwrap_or_default();
        command.env(OsStr::from_bytes(&entry[..at]), OsStr::from_bytes(value));
    }
    if let Some((name, args)) = spec.words.split_first() {
        command.arg0(text(name)).args(args.iter().map(text));
    }
    if spec.leads_group {
        command.process_group(0);
    }
    let (saved_dispositions, mask) = (spec.saved_dispositions.to_vec(), *spec.mask);
    let copy = |end: &Option<OwnedFd>| end.as_ref().map(OwnedFd::try_clone).transpose();
    let ends = ChildStdio {
        stdin: copy(&spec.ends.stdin)?,
        stdout: copy(&spec.ends.stdout)?,
        stderr: copy(&spec.ends.stderr)?,
    };
    let prepare = move || {
        // std has made SIGPIPE the default in any case.
        if saved_sigpipe().is_none() {
            sys::ignore(Signal::PIPE);
        }
        for original in &saved_dispositions {
            original.restore();
        }
        close_what_was_closed();
        ends.put_in_place();
        sys::release_signals(&mask);
        Ok(())
    };
    // SAFETY: sigaction(2), close(2) and sigprocmask(2) are safe between fork and exec; nothing
    // allocates or takes a lock.
    unsafe { command.pre_exec(prepare) };
    let child = command.spawn()?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::from_raw_os_error(libc::EAGAIN))
}

fn text(string: &CString) -> &OsStr {
    OsStr::from_bytes(string.as_bytes())
}
