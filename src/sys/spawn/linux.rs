//! By shared memory in a group of its own, by fork in the group of a terminal.

mod execute;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::OwnedFd;
use std::ptr;

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, Signal as Number, WaitOptions, getpid, getppid, set_parent_process_death_signal, setpgid,
    waitpid,
};

use super::{SpawnSpec, Started};
use crate::signal::Signal;
use crate::sys;
use crate::sys::startup::close_what_was_closed;
use execute::{SHELL, execute};

/// Bytes of stack for the child, which calls little and keeps nothing there. The largest thing on it
/// may be what the kernel keeps of the processor when a signal is handed over, some 11 KiB; of that
/// there is never more than one.
const STACK: usize = 32 * 1024;

/// What the child needs, laid out before it is there. It must not allocate: a lock may be held and
/// nobody there to release it.
struct Child<'a> {
    spec: &'a SpawnSpec<'a>,
    words: Vec<*const c_char>,
    /// The same behind a shell and the place for a script.
    script: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    parent: Pid,
    report: ChildReport,
    /// Where it tells what memory that is not shared cannot.
    pipe: Option<OwnedFd>,
    /// Both ends of what it waits for: the end of all writers.
    start_gate: Option<(OwnedFd, OwnedFd)>,
}

/// What the child tells us.
#[derive(Clone, Copy, Default)]
struct ChildReport {
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
    let words = pointers(spec.words.iter().map(CString::as_c_str));
    let script = [SHELL.as_ptr(), ptr::null()].into_iter();
    let script = script.chain(words.iter().skip(1).copied()).collect();
    let environment = pointers(spec.environment.iter().copied());
    let parent = getpid();
    let child = Child {
        spec,
        words,
        script,
        environment,
        parent,
        report: ChildReport::default(),
        pipe: None,
        start_gate: None,
    };
    let (pid, report, arrived) = if spec.leads_group {
        spawn_vfork(child)?
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

/// A child that shares our memory while we stand still. In a group of its own it misses nothing,
/// because it is given nothing but what we pass on.
fn spawn_vfork(mut child: Child<'_>) -> io::Result<(Pid, ChildReport, u64)> {
    let mut stack = Box::<[u128]>::new_uninit_slice(STACK / size_of::<u128>());
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack is ours, aligned to 16 bytes, unused, and grows down from its end on
    // every system that Rust knows; CLONE_VFORK has us stand still until the child has left
    // both it and `child`, whose type is the one that `run` takes it for.
    let pid = unsafe {
        let top = stack.as_mut_ptr_range().end.cast::<c_void>();
        libc::clone(run, top, flags, (&raw mut child).cast::<c_void>())
    };
    Ok((pid_or_error(pid)?, child.report, 0))
}

/// A child with memory of its own, which tells through a pipe. In the group of a terminal a key may
/// stop it at any moment; it must then not keep us from stopping, too.
fn spawn_fork(mut child: Child<'_>) -> io::Result<(Pid, ChildReport, u64)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    child.pipe = Some(writer);
    child.start_gate = Some(pipe_with(PipeFlags::CLOEXEC)?);
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
                let _ = sys::kill(pid.as_raw_nonzero().get(), Signal::KILL);
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

fn pid_or_error(pid: c_int) -> io::Result<Pid> {
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    Pid::from_raw(pid).ok_or_else(|| io::Error::from_raw_os_error(libc::EAGAIN))
}

fn pointers<'a>(strings: impl Iterator<Item = &'a CStr>) -> Vec<*const c_char> {
    strings.map(CStr::as_ptr).chain([ptr::null()]).collect()
}

/// The signals that are held back and have arrived, a bit each.
fn pending_bits() -> u64 {
    let pending = sys::pending();
    let arrived = Signal::all().filter(|signal| pending.has(*signal));
    arrived.fold(0, |bits, signal| bits | signal.bit())
}

/// The child's way to the command.
extern "C" fn run(child: *mut c_void) -> c_int {
    // SAFETY: this is what the caller has, who stands still or has memory of its own.
    let child = unsafe { &mut *child.cast::<Child<'_>>() };
    if let Some((reader, writer)) = child.start_gate.take() {
        drop(writer);
        while rustix::io::read(&reader, &mut [0]).is_err_and(|error| error == Errno::INTR) {}
    }
    prepare(child);
    child.report.pending_at_exec = pending_bits();
    child.tell(&child.report.pending_at_exec.to_ne_bytes());
    sys::release_signals(child.spec.mask);
    child.report.error = execute(child);
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
    for original in child.spec.saved_dispositions {
        original.restore();
    }
    close_what_was_closed();
    child.spec.ends.put_in_place();
    if child.spec.leads_group {
        // A new process can always lead a group of its own.
        let _ = setpgid(None, None);
    }
    // Where this is forbidden, the command merely outlives our death.
    let _ = set_parent_process_death_signal(Some(Number::TERM));
    // From another pid namespace than ours, as the first process of a new one has it, we have no
    // pid that could be compared.
    if getppid().is_some_and(|parent| parent != child.parent) {
        // SAFETY: we died in between, and the signal will not come any more.
        unsafe { libc::_exit(child.spec.codes.abandoned.into()) };
    }
}
