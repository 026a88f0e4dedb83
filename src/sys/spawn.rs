//! Spawning a process that executes the command.
//!
//! A child in our own group is forked, because a key of the terminal may stop it. For one that
//! leads a group Linux has a faster way. `std::process::Command` does not fit: before its hook
//! runs, it unblocks all signals while our handlers are still installed, and these must never run
//! in a child.

mod execute;

use std::ffi::{CStr, CString, c_int, c_void};
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, getpid, getppid, setpgid, waitpid};

use super::fd::ChildStdio;
use super::fd::private_pipe;
use super::startup::close_what_was_closed;
use super::{SignalState, kill, pending, release_signals, system};
use crate::signal::Signal;
use execute::Lists;

/// Everything needed to spawn a command.
pub(crate) struct SpawnSpec<'a> {
    /// The paths to try, in order; at least one.
    pub(crate) paths: &'a [CString],
    /// The program's name and its arguments.
    pub(crate) words: &'a [CString],
    /// The entries of the environment.
    pub(crate) environment: &'a [&'a CStr],
    /// The exit codes of a child that cannot execute the command.
    pub(crate) codes: Codes,
    /// The standard streams of the child.
    pub(crate) stdio: &'a ChildStdio,
    /// Whether the command leads a process group of its own.
    pub(crate) leads_group: bool,
    /// The signal state that the child starts with.
    pub(crate) signals: &'a SignalState,
}

/// The exit codes of a child that fails to execute the command.
#[derive(Clone, Copy)]
pub(crate) struct Codes {
    /// There is nothing to execute.
    pub(crate) not_found: u8,
    /// There is a file, but it cannot be executed.
    pub(crate) not_executable: u8,
    /// Its parent is gone already.
    pub(crate) abandoned: u8,
}

/// A command that was started.
pub(crate) struct Started {
    /// Its pid, which is not reused before it is reaped.
    pub(crate) pid: Pid,
    /// Signals sent to our group before the child was in it, a bit each.
    pub(crate) missed: u64,
}

/// Everything the child needs, prepared before the fork. The child must not allocate: a lock may be
/// held and nobody there to release it.
pub(super) struct Child<'a> {
    spec: &'a SpawnSpec<'a>,
    lists: Lists<'a>,
    parent: Pid,
    pub(super) report: ChildReport,
    /// Carries the report where memory is not shared.
    pipe: Option<OwnedFd>,
    /// The pipe that it waits on until all writers are closed.
    start_gate: Option<(OwnedFd, OwnedFd)>,
}

/// The report of the child to its parent.
#[derive(Clone, Copy, Default)]
pub(super) struct ChildReport {
    /// Signals pending before it executed the command, a bit each.
    pending_at_exec: u64,
    /// The error number of the exec; 0 if it succeeded.
    error: c_int,
}

impl ChildReport {
    const LENGTH: usize = size_of::<u64>() + size_of::<c_int>();

    /// Decodes the bytes that [`run`] writes; missing ones are zero.
    fn from_bytes(bytes: [u8; Self::LENGTH]) -> Self {
        let (pending_at_exec, error) = bytes.split_at(size_of::<u64>());
        Self {
            pending_at_exec: pending_at_exec.try_into().map_or(0, u64::from_ne_bytes),
            error: error.try_into().map_or(0, c_int::from_ne_bytes),
        }
    }
}

impl Child<'_> {
    fn tell(&self, bytes: &[u8]) {
        if let Some(pipe) = &self.pipe {
            // The pipe has room for more than this, and its reader is open.
            let _ = rustix::io::write(pipe, bytes);
        }
    }
}

/// Spawns the command. All signals but those that stop a process must be blocked meanwhile.
///
/// # Errors
/// Why there is no process, or why it could not execute the command at the path that came
/// closest.
pub(crate) fn start(spec: &SpawnSpec<'_>) -> io::Result<Started> {
    let parent = getpid();
    let child = Child {
        spec,
        lists: Lists::new(spec),
        parent,
        report: ChildReport::default(),
        pipe: None,
        start_gate: None,
    };
    let (pid, report, arrived) = if spec.leads_group {
        system::spawn_in_new_group(child)?
    } else {
        spawn_fork(child)?
    };
    match report.error {
        0 => Ok(Started {
            pid,
            missed: arrived & !report.pending_at_exec,
        }),
        error => {
            // It never became the command; reap it before anybody looks for it.
            reap(pid);
            Err(io::Error::from_raw_os_error(error))
        }
    }
}

/// Forks a child, which has memory of its own and reports through a pipe. In the group of a
/// terminal a key may stop it at any moment; it must then not keep us from stopping, too.
pub(super) fn spawn_fork(mut child: Child<'_>) -> io::Result<(Pid, ChildReport, u64)> {
    let (reader, writer) = private_pipe()?;
    child.pipe = Some(writer);
    child.start_gate = Some(private_pipe()?);
    // SAFETY: there are no other threads, so that the child may do what we may.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        run((&raw mut child).cast::<c_void>());
    }
    // A signal from before the fork is pending here alone. One from after it is pending in the
    // child as well, which waits with signals blocked until we have looked. Later we would find
    // signals that the command has got.
    let arrived = pending_bits();
    child.start_gate = None;
    let pid = pid_or_error(pid)?;
    // The read ends when the last writer is closed: by exec, or by exit.
    child.pipe = None;
    let (mut said, mut length) = ([0; ChildReport::LENGTH], 0);
    while length < said.len() {
        match rustix::io::read(&reader, &mut said[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(Errno::INTR) => {}
            Err(error) => {
                // Leave no child running in an unknown state.
                let _ = kill(pid.as_raw_nonzero().get(), Some(Signal::KILL));
                reap(pid);
                return Err(error.into());
            }
        }
    }
    Ok((pid, ChildReport::from_bytes(said), arrived))
}

fn reap(pid: Pid) {
    while waitpid(Some(pid), WaitOptions::empty()).is_err_and(|error| error == Errno::INTR) {}
}

pub(super) fn pid_or_error(pid: c_int) -> io::Result<Pid> {
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    Pid::from_raw(pid).ok_or_else(|| io::Error::from_raw_os_error(libc::EAGAIN))
}

/// Returns the pending signals, a bit each.
fn pending_bits() -> u64 {
    let pending = pending();
    let arrived = Signal::all().filter(|signal| pending.has(*signal));
    arrived.fold(0, |bits, signal| bits | signal.bit())
}

/// Runs in the child: prepares it and executes the command.
pub(super) extern "C" fn run(child: *mut c_void) -> c_int {
    // SAFETY: the pointer is to the child of the caller, who stands still or has memory of its own.
    let child = unsafe { &mut *child.cast::<Child<'_>>() };
    if let Some((reader, writer)) = child.start_gate.take() {
        drop(writer);
        while rustix::io::read(&reader, &mut [0]).is_err_and(|error| error == Errno::INTR) {}
    }
    prepare(child);
    child.report.pending_at_exec = pending_bits();
    child.tell(&child.report.pending_at_exec.to_ne_bytes());
    release_signals(&child.spec.signals.mask);
    child.report.error = child.lists.execute();
    child.tell(&child.report.error.to_ne_bytes());
    // Where memory is not shared after all, as under an emulator, the status must tell.
    let not_found = child.report.error == libc::ENOENT;
    let codes = child.spec.codes;
    let status = if not_found {
        codes.not_found
    } else {
        codes.not_executable
    };
    // SAFETY: nothing of the parent's may run here, such as what it does at its exit.
    unsafe { libc::_exit(status.into()) }
}

/// Restores signals and streams, and requests TERM for the command should we die.
fn prepare(child: &Child<'_>) {
    for saved in &child.spec.signals.dispositions {
        saved.restore();
    }
    close_what_was_closed();
    child.spec.stdio.put_in_place();
    if child.spec.leads_group {
        // A new process can always lead a group of its own.
        let _ = setpgid(None, None);
    }
    system::die_with_parent();
    // The first process of a new pid namespace sees no pid of a parent outside it to compare.
    if getppid().is_some_and(|parent| parent != child.parent) {
        // SAFETY: as in [`run`]; the parent has died, and its signal will not come any more.
        unsafe { libc::_exit(child.spec.codes.abandoned.into()) };
    }
}
