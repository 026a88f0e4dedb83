//! From here to the command.
//!
//! In the group of a terminal the child is forked, because a key may stop it. For a group of its own
//! Linux has a faster way. std's way is neither: before its hook runs it unblocks all signals, with
//! our handlers still in place, which must never run in a child.

mod execute;

use std::ffi::{CStr, CString, c_int, c_void};
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, getpid, getppid, setpgid, waitpid};

use super::fd::private_pipe;
use super::startup::close_what_was_closed;
use super::stdio::ChildStdio;
use super::{SignalState, kill, pending, release_signals, system};
use crate::signal::Signal;
use execute::Lists;

/// All that is needed to start a command.
pub(crate) struct SpawnSpec<'a> {
    /// Where the program may be, in the order in which to try; at least one.
    pub(crate) paths: &'a [CString],
    /// The program's name and its arguments.
    pub(crate) words: &'a [CString],
    /// The environment, an entry each.
    pub(crate) environment: &'a [&'a CStr],
    /// What its process exits with if it cannot execute the command.
    pub(crate) codes: Codes,
    /// What it has for standard streams where ours would not do.
    pub(crate) stdio: &'a ChildStdio,
    /// Whether the command leads a process group of its own.
    pub(crate) leads_group: bool,
    /// The state of signals that it is to find.
    pub(crate) signals: &'a SignalState,
}

/// Exit codes of a child that does not become the command.
#[derive(Clone, Copy)]
pub(crate) struct Codes {
    /// There is nothing to execute.
    pub(crate) not_found: u8,
    /// What there is cannot be executed.
    pub(crate) not_executable: u8,
    /// Its parent is gone already.
    pub(crate) abandoned: u8,
}

/// A command that was started.
pub(crate) struct Started {
    /// Its process; until it is reaped this pid is its own.
    pub(crate) pid: Pid,
    /// The signals that were sent to our group before it was in it, a bit each.
    pub(crate) missed: u64,
}

/// What the child needs, laid out before it is there. It must not allocate: a lock may be held and
/// nobody there to release it.
pub(super) struct Child<'a> {
    spec: &'a SpawnSpec<'a>,
    lists: Lists<'a>,
    parent: Pid,
    pub(super) report: ChildReport,
    /// Where it tells what memory that is not shared cannot.
    pipe: Option<OwnedFd>,
    /// Both ends of what it waits for: the end of all writers.
    start_gate: Option<(OwnedFd, OwnedFd)>,
}

/// What the child tells us.
#[derive(Clone, Copy, Default)]
pub(super) struct ChildReport {
    /// The signals that it was given before it executed the command, a bit each.
    pending_at_exec: u64,
    /// Why it could not; 0 if it could.
    error: c_int,
}

impl ChildReport {
    const LENGTH: usize = size_of::<u64>() + size_of::<c_int>();

    /// Reads what [`run`] writes; what was not written is zero.
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
            // It has room for more than this, and whoever reads it is there.
            let _ = rustix::io::write(pipe, bytes);
        }
    }
}

/// Starts the command. All signals but those that stop a process must be held back meanwhile.
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
            // It has exited without a trace of the command, and is taken away before anybody
            // looks for it.
            reap(pid);
            Err(io::Error::from_raw_os_error(error))
        }
    }
}

/// A child with memory of its own, which tells through a pipe. In the group of a terminal a key may
/// stop it at any moment; it must then not keep us from stopping, too.
pub(super) fn spawn_fork(mut child: Child<'_>) -> io::Result<(Pid, ChildReport, u64)> {
    let (reader, writer) = private_pipe()?;
    child.pipe = Some(writer);
    child.start_gate = Some(private_pipe()?);
    // SAFETY: there are no other threads, so that the child may do what we may.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        run((&raw mut child).cast::<c_void>());
    }
    // What came before the fork has come to us alone, and is told from what comes to both by the child,
    // which holds it back, too, until we have looked. Later we would find what the command has got.
    let arrived = pending_bits();
    child.start_gate = None;
    let pid = pid_or_error(pid)?;
    // The end is heard of when the only writers are gone: by exec, or by exit.
    child.pipe = None;
    let (mut said, mut length) = ([0; ChildReport::LENGTH], 0);
    while length < said.len() {
        match rustix::io::read(&reader, &mut said[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(Errno::INTR) => {}
            Err(error) => {
                // Nothing may run that nobody knows the state of.
                let _ = kill(pid.as_raw_nonzero().get(), Signal::KILL);
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

/// The signals that are held back and have arrived, a bit each.
fn pending_bits() -> u64 {
    let pending = pending();
    let arrived = Signal::all().filter(|signal| pending.has(*signal));
    arrived.fold(0, |bits, signal| bits | signal.bit())
}

/// The child's way to the command.
pub(super) extern "C" fn run(child: *mut c_void) -> c_int {
    // SAFETY: this is what the caller has, who stands still or has memory of its own.
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

/// Signals as our caller left them, and a TERM for the command should we die.
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
    // From another pid namespace than ours, as the first process of a new one has it, we have no
    // pid that could be compared.
    if getppid().is_some_and(|parent| parent != child.parent) {
        // SAFETY: we died in between, and the signal will not come any more.
        unsafe { libc::_exit(child.spec.codes.abandoned.into()) };
    }
}
