//! The state inherited from our caller, as it was before we changed it.
//!
//! Rust's runtime would change it before `main`, so the program does without: its entry is the C
//! library's, and the runtime's safety measures are taken here, after a look.

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::fcntl_getfd;
use rustix::stdio::{stderr, stdin, stdout};

use super::SavedDisposition;
use crate::signal::Signal;

/// Whether SIGPIPE was ignored when the process started.
static SIGPIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

/// Whether stdin, stdout and stderr were closed when the process started.
static WAS_CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Records the disposition of SIGPIPE and which standard streams are closed, and makes both safe: a
/// write to a pipe without a reader is an error and no death, and no file of ours takes the place
/// of a standard stream.
///
/// # Errors
/// When nothing can be opened in place of a closed standard stream.
pub(crate) fn sanitize_std_fds() -> io::Result<()> {
    let saved = SavedDisposition::ignoring(Signal::PIPE);
    SIGPIPE_WAS_IGNORED.store(saved.was_ignored, Ordering::Relaxed);
    for (was_closed, stream) in WAS_CLOSED.iter().zip([stdin(), stdout(), stderr()]) {
        if fcntl_getfd(stream).is_err() {
            was_closed.store(true, Ordering::Relaxed);
            // The lowest number that is free is the one that is missing. A directory can neither be
            // read nor written, and is there even where devices are not.
            let null = open("/dev/null", OFlags::RDWR, Mode::empty());
            let any = null.or_else(|_| open("/", OFlags::RDONLY, Mode::empty()))?;
            let _ = any.into_raw_fd();
        }
    }
    Ok(())
}

/// Returns the words of our command line, as the C library gives them to `main`.
///
/// # Safety
/// `words` must be a list of `count` strings that end in NUL.
#[must_use]
pub unsafe fn argv(count: c_int, words: *const *const c_char) -> Vec<OsString> {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller has promised it.
    let word = |index| OsStr::from_bytes(unsafe { CStr::from_ptr(*words.add(index)) }.to_bytes());
    (0..count).map(|index| word(index).to_owned()).collect()
}

/// Whether stdout and stderr were closed when the process started.
pub(crate) fn output_was_closed() -> [bool; 2] {
    [1, 2].map(|index: usize| WAS_CLOSED[index].load(Ordering::Relaxed))
}

/// Returns our stdout and stderr, unless they were closed when the process started.
pub(crate) fn open_outputs() -> [Option<BorrowedFd<'static>>; 2] {
    let [no_stdout, no_stderr] = output_was_closed();
    [(!no_stdout).then(stdout), (!no_stderr).then(stderr)]
}

/// Closes stdout and stderr again where they were closed at the start, in the command's process.
/// Its writes must fail as they would without us. A stdin that was closed stays /dev/null.
pub(crate) fn close_what_was_closed() {
    for (was_closed, number) in output_was_closed().into_iter().zip(libc::STDOUT_FILENO..) {
        if was_closed {
            // SAFETY: nothing of the command's process uses the number before it executes.
            unsafe { libc::close(number) };
        }
    }
}

/// The disposition of SIGPIPE when the process started.
pub(crate) fn saved_sigpipe() -> SavedDisposition {
    SavedDisposition {
        signal: Signal::PIPE,
        was_ignored: SIGPIPE_WAS_IGNORED.load(Ordering::Relaxed),
    }
}

/// Returns our environment as inherited, malformed entries included.
pub(crate) fn environment() -> Vec<&'static CStr> {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    let mut entries = Vec::with_capacity(128);
    // SAFETY: the list ends in null, its entries in NUL, and nothing in this program changes them.
    unsafe {
        let mut next = environ;
        while !next.is_null() && !(*next).is_null() {
            entries.push(CStr::from_ptr(*next));
            next = next.add(1);
        }
    }
    entries
}
