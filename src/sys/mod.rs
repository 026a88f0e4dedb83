//! System calls without a safe form in std or rustix, behind safe functions. Nothing here decides
//! anything.

#![expect(
    unsafe_code,
    reason = "the calls of these files have no safe form in std or rustix"
)]

mod disposition;
pub(crate) mod fd;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
pub(crate) mod record_lock;
pub(crate) mod spawn;
pub(crate) mod startup;
pub(crate) mod terminal;

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::mem::MaybeUninit;
use std::os::unix::fs::FileTypeExt as _;

use rustix::process::{Pid, getpid};

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;

use crate::signal::Signal;

use disposition::reset;
pub(crate) use disposition::{RECORD, SavedDisposition, SignalState, StopHandler, handle};
pub(crate) use spawn::{SpawnSpec, Started, start};
pub(crate) use system::{Closes, give_back_memory};

/// A set of blocked signals.
#[derive(Clone, Copy)]
pub(crate) struct Mask(libc::sigset_t);

impl Mask {
    pub(crate) fn none() -> Self {
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
    pub(crate) fn has(&self, signal: Signal) -> bool {
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

/// Changes the signal mask of this, the only thread, and returns the old one.
fn change_mask(how: libc::c_int, change: &Mask) -> Mask {
    let mut old = Mask::none();
    // SAFETY: both sets are initialized, and `how` is one of the three that exist.
    unsafe { libc::pthread_sigmask(how, &raw const change.0, &raw mut old.0) };
    old
}

/// Unblocks a signal.
pub(crate) fn unblock(signal: Signal) {
    change_mask(libc::SIG_UNBLOCK, &Mask::one(signal));
}

/// Returns the blocked signals that are pending.
pub(crate) fn pending() -> Mask {
    let mut mask = Mask::none();
    // SAFETY: the set is initialized.
    unsafe { libc::sigpending(&raw mut mask.0) };
    mask
}

/// Blocks all signals but those that stop a process, because whoever stops a job waits for it.
/// Returns the old mask for [`release_signals`].
pub(crate) fn hold_signals() -> Mask {
    let mut mask = Mask::all();
    for stop in [Signal::TSTP, Signal::TTIN, Signal::TTOU] {
        // SAFETY: the set is initialized and the signal exists.
        unsafe { libc::sigdelset(&raw mut mask.0, stop.number()) };
    }
    change_mask(libc::SIG_SETMASK, &mask)
}

/// Restores a signal mask.
pub(crate) fn release_signals(held: &Mask) {
    change_mask(libc::SIG_SETMASK, held);
}

/// Runs `wait` with CHLD, CONT, USR1 and USR2 blocked: they end nothing, and must not cut it short
/// either.
pub(crate) fn hearing_fatal_only<T>(wait: impl FnOnce() -> T) -> T {
    let mut mask = Mask::none();
    for signal in Signal::all_messages().chain([Signal::CHLD, Signal::CONT]) {
        mask.add(signal);
    }
    let before = change_mask(libc::SIG_BLOCK, &mask);
    let done = wait();
    release_signals(&before);
    done
}

/// Dies of this signal, without a core file of our own beside the command's. It returns where that
/// has no effect (PID 1).
pub(crate) fn die_of(signal: Signal) {
    system::forbid_core_files();
    reset(signal);
    unblock(signal);
    let _ = kill(own_pid(), Some(signal));
}

/// The pid of this process.
fn own_pid() -> i32 {
    getpid().as_raw_nonzero().get()
}

/// Returns the id of the group that a process is in, and of our own if there is no `pid`; 0 if its
/// leader is outside our pid namespace, for which rustix has no value.
///
/// # Errors
/// When there is no such process.
pub(crate) fn group_of(pid: Option<Pid>) -> io::Result<i32> {
    // SAFETY: getpgid touches no memory of ours.
    match unsafe { libc::getpgid(Pid::as_raw(pid)) } {
        -1 => Err(io::Error::last_os_error()),
        group => Ok(group),
    }
}

/// Whether we lead our session, whose leader may be outside our pid namespace.
pub(crate) fn leads_session() -> bool {
    // SAFETY: getsid touches no memory of ours.
    unsafe { libc::getsid(0) == own_pid() }
}

/// Sends a signal to a process, or to a group if `target` is negative; without a signal, it only tells
/// whether one could be sent.
pub(crate) fn kill(target: i32, signal: Option<Signal>) -> io::Result<()> {
    // SAFETY: kill touches no memory of ours.
    match unsafe { libc::kill(target, signal.map_or(0, Signal::number)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns a child that has ended and is not reaped, if any.
pub(crate) fn some_ended_child() -> Option<Pid> {
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

/// The bytes of a word.
const WORD: usize = size_of::<u64>();

/// Returns random words. An old kernel does not know the call for them, and a sandbox may refuse
/// it; the device gives the same bits.
///
/// # Errors
/// When there is no such device, either.
pub(crate) fn entropy<const WORDS: usize>() -> io::Result<[u64; WORDS]> {
    let mut words = [[0; WORD]; WORDS];
    let bytes = words.as_flattened_mut();
    system::fill_with_random_bits(bytes).or_else(|_| read_device(bytes))?;
    Ok(words.map(u64::from_ne_bytes))
}

/// Fills `bytes` from /dev/urandom. A file in its place, as a careless `chroot` may have, would
/// give every run the same bits.
fn read_device(bytes: &mut [u8]) -> io::Result<()> {
    let mut device = File::open("/dev/urandom")?;
    if !device.metadata()?.file_type().is_char_device() {
        return Err(ErrorKind::Unsupported.into());
    }
    device.read_exact(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_call_and_of_the_device_are_random() {
        let [one, two] = entropy::<2>().expect("random words");
        assert_ne!(one, two);
        let mut bytes = [[0; WORD]; 2];
        read_device(bytes.as_flattened_mut()).expect("a device");
        assert!(bytes[0] != bytes[1] && !bytes.contains(&[0; WORD]));
    }
}
