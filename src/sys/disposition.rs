//! Dispositions of signals: the default, ignored, or a handler that writes into a pipe.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::ptr;

use rustix::io::Errno;
use signal_hook_registry::register_sigaction;

use super::system::is_from_kernel;
use super::{Mask, kill, own_pid};
use crate::signal::Signal;

/// The length of a record in the pipe: the signal's number, and whether the kernel made it.
pub(crate) const RECORD: usize = 2;

/// The signal state at our start, which the command inherits.
pub(crate) struct SignalState {
    /// The original dispositions of the signals that we have changed.
    pub(crate) dispositions: Vec<SavedDisposition>,
    /// The signals that were blocked.
    pub(crate) mask: Mask,
}

/// The disposition of a signal before we changed it.
#[derive(Clone, Copy)]
pub(crate) struct SavedDisposition {
    pub(super) signal: Signal,
    pub(super) was_ignored: bool,
}

impl SavedDisposition {
    /// The disposition that a signal has now.
    pub(crate) fn of(signal: Signal) -> Self {
        Self {
            signal,
            was_ignored: action_of(signal).sa_sigaction == libc::SIG_IGN,
        }
    }

    /// Whether the signal was ignored.
    pub(crate) fn was_ignored(self) -> bool {
        self.was_ignored
    }

    /// Ignores a signal. Returns its disposition before.
    pub(crate) fn ignoring(signal: Signal) -> Self {
        let saved = Self::of(signal);
        ignore(signal);
        saved
    }

    /// Restores the disposition.
    pub(super) fn restore(self) {
        if self.was_ignored {
            ignore(self.signal);
        } else {
            reset(self.signal);
        }
    }
}

/// Installs a handler that writes a record to the pipe, which is never closed, for each arrival of the
/// signal, even if it was ignored.
///
/// # Errors
/// When the system refuses.
pub(crate) fn handle(signal: Signal, pipe: &'static OwnedFd) -> io::Result<()> {
    let number = signal.number();
    let tell = move |info: &libc::siginfo_t| {
        let record: [u8; RECORD] = [
            u8::try_from(number).unwrap_or(0),
            u8::from(is_from_kernel(info)),
        ];
        // A full pipe holds thousands of unread signals already. Any other error must not lose
        // the one that a wait is for.
        let written = rustix::io::write(pipe, &record);
        if written.is_err_and(|error| error != Errno::AGAIN) {
            let _ = rustix::io::write(pipe, &record);
        }
    };
    // SAFETY: it makes system calls that a handler may make, and neither allocates nor locks.
    unsafe { register_sigaction(number, tell) }?;
    Ok(())
}

/// The handler of ^Z, installed only during a countdown.
pub(crate) struct StopHandler {
    pipe: &'static OwnedFd,
    installed: Option<libc::sigaction>,
}

impl StopHandler {
    /// A handler that writes to this pipe, which is never closed.
    pub(crate) fn new(pipe: &'static OwnedFd) -> Self {
        Self {
            pipe,
            installed: None,
        }
    }

    /// Installs it, unless ^Z is ignored. The registry installs a handler only once, so it is kept.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn install(&mut self) -> io::Result<()> {
        if let Some(handler) = &self.installed {
            // SAFETY: the handler is the registry's own, as the system had it.
            unsafe { libc::sigaction(libc::SIGTSTP, ptr::from_ref(handler), ptr::null_mut()) };
        } else if !SavedDisposition::of(Signal::TSTP).was_ignored {
            handle(Signal::TSTP, self.pipe)?;
            self.installed = Some(action_of(Signal::TSTP));
        }
        Ok(())
    }

    /// Restores the default action of ^Z.
    pub(crate) fn remove(&self) {
        if self.installed.is_some() {
            reset(Signal::TSTP);
        }
    }

    /// Stops this process, as ^Z would have, until it is continued.
    pub(crate) fn stop(&self) {
        self.remove();
        let _ = kill(own_pid(), Some(Signal::TSTP));
    }
}

fn action_of(signal: Signal) -> libc::sigaction {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action changes nothing; the old one is written to memory of its type, and
    // zeroes are a valid action if the call fails.
    unsafe {
        libc::sigaction(signal.number(), ptr::null(), action.as_mut_ptr());
        action.assume_init()
    }
}

/// Gives a signal its default action.
pub(super) fn reset(signal: Signal) {
    set(signal, libc::SIG_DFL);
}

/// Ignores a signal.
fn ignore(signal: Signal) {
    set(signal, libc::SIG_IGN);
}

/// Sets an action other than a handler.
fn set(signal: Signal, action: libc::sighandler_t) {
    // SAFETY: the system's own actions run no code of ours.
    unsafe { libc::signal(signal.number(), action) };
}
