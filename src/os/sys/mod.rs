//! Everything that needs `unsafe`: signal dispositions and masks, and in `start` the way from here
//! to the command. Nothing here decides anything.

#![expect(
    unsafe_code,
    reason = "the calls of these files have no safe form in std or rustix"
)]

mod entropy;
mod handler;
#[cfg(target_os = "linux")]
mod linux;
mod origin;
#[cfg(not(target_os = "linux"))]
mod other;
mod start;

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd as _;
use std::ptr;

use rustix::process::Pid;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;

use crate::signal::Signal;
use crate::status::{OWN_FAILURE, SIGNAL_BASE};
use crate::stream::Ends;

pub(crate) use entropy::entropy;
pub(super) use handler::{Original, RECORD, hear, hear_unless_ignored, obey_stops, stop, write_to};
use origin::close_what_was_closed;
pub(crate) use origin::take_over;
pub use origin::words;
pub(super) use origin::{environment, original_of_sigpipe, output_was_closed};
pub(super) use start::{Recipe, Started, start};
pub(crate) use system::give_back_memory;

/// Whether this signal is ignored.
pub(super) fn is_ignored(signal: Signal) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action changes nothing; the old one is written to memory of its type, and
    // zeroes are a valid action if the call fails.
    let action = unsafe {
        libc::sigaction(signal.number(), ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}

/// A set of blocked signals.
#[derive(Clone, Copy)]
pub(super) struct Mask(libc::sigset_t);

impl Mask {
    fn none() -> Self {
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: sigemptyset fills the set it is given.
        Self(unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            set.assume_init()
        })
    }

    fn one(signal: Signal) -> Self {
        let mut mask = Self::none();
        mask.add(signal);
        mask
    }

    fn add(&mut self, signal: Signal) {
        // SAFETY: the set is initialized and the signal exists.
        unsafe { libc::sigaddset(&raw mut self.0, signal.number()) };
    }

    /// Whether a signal is in the set.
    pub(super) fn has(&self, signal: Signal) -> bool {
        // SAFETY: the set is initialized.
        unsafe { libc::sigismember(&raw const self.0, signal.number()) == 1 }
    }

    fn all() -> Self {
        let mut mask = Self::none();
        // SAFETY: the set is initialized.
        unsafe { libc::sigfillset(&raw mut mask.0) };
        mask
    }
}

/// Changes the mask of this, the only thread, and returns what it was.
fn change_mask(how: libc::c_int, change: &Mask) -> Mask {
    let mut old = Mask::none();
    // SAFETY: both sets are initialized, and `how` is one of the three that exist.
    unsafe { libc::pthread_sigmask(how, &raw const change.0, &raw mut old.0) };
    old
}

/// Unblocks a signal.
pub(super) fn unblock(signal: Signal) {
    change_mask(libc::SIG_UNBLOCK, &Mask::one(signal));
}

/// The signals that are held back and have arrived.
pub(super) fn pending() -> Mask {
    let mut mask = Mask::none();
    // SAFETY: the set is initialized.
    unsafe { libc::sigpending(&raw mut mask.0) };
    mask
}

/// Holds back all signals until they are released with what this returns; but not those that stop a
/// process, because whoever stops a job waits for it.
pub(super) fn hold_signals() -> Mask {
    let mut mask = Mask::all();
    for stop in [Signal::TSTP, Signal::TTIN, Signal::TTOU] {
        // SAFETY: the set is initialized and the signal exists.
        unsafe { libc::sigdelset(&raw mut mask.0, stop.number()) };
    }
    change_mask(libc::SIG_SETMASK, &mask)
}

/// Lets signals through again.
pub(super) fn release_signals(held: &Mask) {
    change_mask(libc::SIG_SETMASK, held);
}

/// Does this while those signals are held back that wake us or are told to the command, and end
/// nothing: they must not cut a wait short either.
pub(super) fn hearing_fatal_only<T>(wait: impl FnOnce() -> T) -> T {
    let mut mask = Mask::none();
    for signal in [Signal::CHLD, Signal::CONT, Signal::USR1, Signal::USR2] {
        mask.add(signal);
    }
    let before = change_mask(libc::SIG_BLOCK, &mask);
    let done = wait();
    release_signals(&before);
    done
}

/// Gives a signal its default action.
fn reset(signal: Signal) {
    // SAFETY: the default action is no code of ours.
    unsafe { libc::signal(signal.number(), libc::SIG_DFL) };
}

/// Ignores a signal.
pub(super) fn ignore(signal: Signal) {
    // SAFETY: ignoring a signal is no code of ours.
    unsafe { libc::signal(signal.number(), libc::SIG_IGN) };
}

/// Dies of this signal, without a core file of our own beside the command's. Where that has no
/// effect (PID 1), the exit code to end with is returned.
pub(crate) fn die_of(signal: Signal) -> u8 {
    system::forbid_core_files();
    reset(signal);
    unblock(signal);
    // SAFETY: sends a signal to this very process.
    unsafe { libc::kill(libc::getpid(), signal.number()) };
    u8::try_from(signal.number()).map_or(OWN_FAILURE, |number| SIGNAL_BASE.saturating_add(number))
}

/// Puts what the command is to have for standard streams where it looks for them, in its process.
fn put_in_place(ends: &Ends) {
    let ends = [&ends.stdin, &ends.stdout, &ends.stderr];
    for (number, end) in (libc::STDIN_FILENO..).zip(ends) {
        if let Some(end) = end {
            // SAFETY: nothing of the command's process uses the number before it executes. It
            // cannot fail: no end has the number of a standard stream, because the runtime sees to
            // it that all of these are open.
            unsafe { libc::dup2(end.as_raw_fd(), number) };
        }
    }
}

/// Sends a signal to a process, or to a group if `target` is negative.
pub(super) fn kill(target: i32, signal: Signal) -> io::Result<()> {
    // SAFETY: kill touches no memory of ours.
    match unsafe { libc::kill(target, signal.number()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Some child that has ended and is not reaped, if any.
pub(super) fn some_ended_child() -> Option<Pid> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the result is written to memory of its type; where nothing is written it stays zero,
    // and a pid of zero is nobody's.
    let pid = unsafe {
        libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), options);
        info.assume_init().si_pid()
    };
    Pid::from_raw(pid)
}
