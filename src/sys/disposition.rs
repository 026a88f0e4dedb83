//! The one handler of signals: it writes what arrives into a pipe.
//!
//! signal-hook's registry would do the same, but copies its table for each signal, and there are
//! fifty: half of all instructions of a run of `true`.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::io::Errno;

use super::system::is_from_kernel;
use super::{Mask, ignore, is_ignored, kill, own_pid, reset};
use crate::signal::Signal;

/// The bytes that the handler writes for a signal: its number, and whether the kernel made it.
pub(crate) const RECORD: usize = 2;

/// The pipe that the handler writes to.
static PIPE: AtomicI32 = AtomicI32::new(-1);

/// The process whose signals are heard.
static OWNER: AtomicI32 = AtomicI32::new(0);

/// Has the handler write what comes to this process to this pipe, which is never closed.
pub(crate) fn write_to(pipe: &'static OwnedFd) {
    PIPE.store(pipe.as_raw_fd(), Ordering::Relaxed);
    OWNER.store(own_pid(), Ordering::Relaxed);
}

extern "C" fn tell(number: libc::c_int, info: *const libc::siginfo_t, _: *const libc::c_void) {
    if own_pid() != OWNER.load(Ordering::Relaxed) {
        return give_back(number);
    }
    // SAFETY: the system gives a pointer to what it says of the signal, or none.
    let is_from_kernel = unsafe { info.as_ref() }.is_some_and(is_from_kernel);
    let number = u8::try_from(number).unwrap_or(0);
    let record: [u8; RECORD] = [number, u8::from(is_from_kernel)];
    // SAFETY: the pipe is never closed.
    let pipe = unsafe { BorrowedFd::borrow_raw(PIPE.load(Ordering::Relaxed)) };
    // A pipe that is full holds thousands of signals that we have not been let hear. Anything else
    // that comes between must not lose the one that we wait for.
    let written = rustix::io::write(pipe, &record);
    if written.is_err_and(|error| error != Errno::AGAIN) {
        let _ = rustix::io::write(pipe, &record);
    }
}

/// A child that is about to execute the command has been given what is the command's. It takes
/// effect when the handler returns, as it would have behind the exec, which resets all handlers: to
/// reset them before would take a system call for each.
fn give_back(number: libc::c_int) {
    if let Some(signal) = Signal::from_number(number) {
        reset(signal);
        let _ = kill(own_pid(), signal);
    }
}

/// What was done with a signal before us, where the command would not find it so by itself: an exec
/// makes a handler the default, and leaves ignored what is ignored.
#[derive(Clone, Copy)]
pub(crate) struct SavedDisposition {
    pub(super) signal: Signal,
    pub(super) was_ignored: bool,
}

impl SavedDisposition {
    /// Ignores this signal, and tells what was before, should that be something else.
    pub(crate) fn of_ignored(signal: Signal) -> Option<Self> {
        let was_ignored = is_ignored(signal);
        ignore(signal);
        (!was_ignored).then_some(Self {
            signal,
            was_ignored,
        })
    }

    /// Puts it back.
    pub(crate) fn restore(self) {
        if self.was_ignored {
            ignore(self.signal);
        } else {
            reset(self.signal);
        }
    }
}

/// Hears this signal, unless it was ignored when we were started: then it stays so. Tells whether
/// it is heard.
///
/// # Errors
/// When the system does not let us.
pub(crate) fn handle_unless_ignored(signal: Signal) -> io::Result<bool> {
    let was_ignored = handle(signal)?.is_some();
    if was_ignored {
        ignore(signal);
    }
    Ok(!was_ignored)
}

/// Hears this signal in any case, and tells what was before, should it have been ignored.
///
/// # Errors
/// When the system does not let us.
pub(crate) fn handle(signal: Signal) -> io::Result<Option<SavedDisposition>> {
    let was_ignored = set(signal)?.sa_sigaction == libc::SIG_IGN;
    Ok(was_ignored.then_some(SavedDisposition {
        signal,
        was_ignored,
    }))
}

/// Installs the handler, and returns what was there.
fn set(signal: Signal) -> io::Result<libc::sigaction> {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: zeroes are a valid action; the handler is of the type that goes with its flags, and
    // calls nothing that a handler may not; the old action is written to memory of its type.
    unsafe {
        let mut new = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        new.sa_sigaction = tell as *const () as libc::sighandler_t;
        // One at a time: the stack of a child has room for few, and the kernel's order is that of
        // the numbers, which nested handlers would turn round.
        new.sa_mask = Mask::all().0;
        new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_NOCLDSTOP;
        match libc::sigaction(signal.number(), ptr::from_ref(&new), old.as_mut_ptr()) {
            0 => Ok(old.assume_init()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Has ^Z stop us again, after it was heard.
pub(crate) fn obey_stops() {
    if !is_ignored(Signal::TSTP) {
        reset(Signal::TSTP);
    }
}

/// Stops here, as ^Z would have, until we are told to go on.
pub(crate) fn stop() {
    obey_stops();
    let _ = kill(own_pid(), Signal::TSTP);
}
