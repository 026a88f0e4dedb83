//! As `posix_spawn` does it, and what it cannot do besides.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::ptr;

use rustix::process::{
    Pid, Signal as Number, getpid, getppid, set_parent_process_death_signal, setpgid,
};

use super::{Recipe, Started};
use crate::os::sys::{self, Mask};
use crate::signal::Signal;
use crate::status::{NOT_EXECUTABLE, NOT_FOUND, OWN_FAILURE};

/// What runs a script without an interpreter line, as execvp(3) has it.
const SHELL: &CStr = c"/bin/sh";

/// Bytes of stack for the child, which calls little and keeps nothing there.
const STACK: usize = 64 * 1024;

/// What the child needs, laid out before it is there, and where it tells of an error. It must
/// not allocate: a lock may be held and nobody there to release it.
struct Child<'a> {
    recipe: &'a Recipe<'a>,
    words: Vec<*const c_char>,
    /// The same behind a shell and the place for a script.
    script: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    parent: Pid,
    given: Mask,
    error: c_int,
}

/// Starts the command. All signals must be blocked meanwhile.
///
/// # Errors
/// Why there is no process, or why it could not execute the command at the path that came
/// closest.
pub(in crate::os) fn start(recipe: &Recipe<'_>) -> io::Result<Started> {
    let words = pointers(recipe.words.iter().map(CString::as_c_str));
    let script = [SHELL.as_ptr(), ptr::null()].into_iter();
    let script = script.chain(words.iter().skip(1).copied()).collect();
    let environment = pointers(recipe.environment.iter().copied());
    let parent = getpid();
    let mut child = Child {
        recipe,
        words,
        script,
        environment,
        parent,
        given: Mask::none(),
        error: 0,
    };
    let mut stack = vec![0_u128; STACK / size_of::<u128>()];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack is ours, aligned to 16 bytes, unused, and grows down from its end on
    // every system that Rust knows; CLONE_VFORK has us stand still until the child has left
    // both it and `child`, whose type is the one that `run` takes it for.
    let pid = unsafe {
        let top = stack.as_mut_ptr_range().end.cast::<c_void>();
        libc::clone(run, top, flags, (&raw mut child).cast::<c_void>())
    };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    let pid = Pid::from_raw(pid).ok_or_else(|| io::Error::from_raw_os_error(libc::EAGAIN))?;
    match child.error {
        0 => Ok(Started {
            pid,
            given: child.given,
        }),
        error => {
            // It has exited without a trace of the command, and is taken away before anybody
            // looks for it.
            while rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty())
                .is_err_and(|error| error == rustix::io::Errno::INTR)
            {}
            Err(io::Error::from_raw_os_error(error))
        }
    }
}

fn pointers<'a>(strings: impl Iterator<Item = &'a CStr>) -> Vec<*const c_char> {
    strings.map(CStr::as_ptr).chain([ptr::null()]).collect()
}

/// The child's way to the command.
extern "C" fn run(child: *mut c_void) -> c_int {
    // SAFETY: this is what `start` gave to clone, and `start` stands still.
    let child = unsafe { &mut *child.cast::<Child<'_>>() };
    prepare(child);
    child.given = sys::pending();
    let stops = Stops::shut();
    sys::release_signals(child.recipe.mask);
    child.error = execute(child, &stops);
    // Where memory is not shared after all, as under an emulator, the status must tell.
    let status = if child.error == libc::ENOENT {
        NOT_FOUND
    } else {
        NOT_EXECUTABLE
    };
    // SAFETY: nothing of the parent's may run here, such as what it does at its exit.
    unsafe { libc::_exit(status.into()) }
}

/// Our handlers gone, signals as our caller left them, and a TERM for the command should we
/// die.
fn prepare(child: &Child<'_>) {
    // A handler must be gone before its signal is let through, or it would run here, take the
    // signal from the command and write it into our pipe.
    for hooked in child.recipe.hooked {
        hooked.restore();
    }
    // Rust's runtime has ignored it, and an ignored signal stays so in the command.
    if !sys::sigpipe_was_ignored() {
        sys::reset(Signal::PIPE);
    }
    sys::close_what_was_closed();
    if child.recipe.leads_group {
        // A new process can always lead a group of its own.
        let _ = setpgid(None, None);
    }
    // Where this is forbidden, the command merely outlives our death.
    let _ = set_parent_process_death_signal(Some(Number::TERM));
    // From another pid namespace than ours, as the first process of a new one has it, we have no
    // pid that could be compared.
    if getppid().is_some_and(|parent| parent != child.parent) {
        // SAFETY: we died in between, and the signal will not come any more.
        unsafe { libc::_exit(OWN_FAILURE.into()) };
    }
}

/// The signals that stop a process. A stop of this one, while it still shares our memory, would keep
/// us standing still as well, deaf to everything; so none gets through before the last instant.
/// Whoever starts us sees to it that a stop is not lost.
struct Stops([(Signal, bool); 3]);

impl Stops {
    /// Lets none through, and drops those that have arrived.
    fn shut() -> Self {
        let stops = [Signal::TSTP, Signal::TTIN, Signal::TTOU];
        let stops = Self(stops.map(|stop| (stop, sys::is_ignored(stop))));
        stops.shut_again();
        stops
    }

    fn shut_again(&self) {
        for (stop, _) in self.0 {
            sys::ignore(stop);
        }
    }

    /// Lets them through as they were.
    fn open(&self) {
        for (stop, _) in self.0.into_iter().filter(|(_, was_ignored)| !was_ignored) {
            sys::reset(stop);
        }
    }
}

/// Executes the command from the first path that can be executed. It returns only if there is
/// none, with the error that says most, as execvp(3) does: a file that may not be executed says
/// more than places where there is none.
fn execute(child: &mut Child<'_>, stops: &Stops) -> c_int {
    let mut error = libc::ENOENT;
    for path in child.recipe.paths {
        let path = path.as_ptr();
        match execute_at(path, &child.words, child, stops) {
            libc::EACCES => error = libc::EACCES,
            libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT
                if child.recipe.paths.len() > 1 => {}
            libc::ENOEXEC => {
                // A script that does not say by what it is to be run.
                child.script[1] = path;
                return execute_at(child.script[0], &child.script, child, stops);
            }
            final_error => return final_error,
        }
    }
    error
}

/// Executes what is at this path, or tells why not.
fn execute_at(
    path: *const c_char,
    words: &[*const c_char],
    child: &Child<'_>,
    stops: &Stops,
) -> c_int {
    let error = || {
        io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or(libc::EIO)
    };
    // SAFETY: the path ends in NUL.
    if unsafe { libc::faccessat(libc::AT_FDCWD, path, libc::X_OK, libc::AT_EACCESS) } != 0 {
        return error();
    }
    stops.open();
    // SAFETY: all three point to strings that end in NUL and to lists that end in null.
    unsafe { libc::execve(path, words.as_ptr(), child.environment.as_ptr()) };
    let error = error();
    stops.shut_again();
    error
}
