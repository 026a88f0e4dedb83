//! What our caller has given to us, as it was before Rust's runtime touched it.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, Ordering};

use super::is_ignored;
use crate::signal::Signal;

/// What `sigpipe_was_ignored` tells.
static SIGPIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

/// Whether stdout and stderr were closed when the process started.
static OUTPUT_WAS_CLOSED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

/// Rust's runtime ignores SIGPIPE before `main`, and opens /dev/null where a standard stream is
/// closed. Both would hide from the command what our caller chose, so it is looked at before the
/// runtime starts.
// SAFETY: the section holds pointers to functions that take nothing, or the arguments of `main`,
// and return nothing; this one needs no part of the runtime.
#[used]
#[cfg_attr(
    target_vendor = "apple",
    unsafe(link_section = "__DATA,__mod_init_func")
)]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static BEFORE_MAIN: extern "C" fn() = look_before_main;

extern "C" fn look_before_main() {
    SIGPIPE_WAS_IGNORED.store(is_ignored(Signal::PIPE), Ordering::Relaxed);
    for (was_closed, number) in OUTPUT_WAS_CLOSED.iter().zip(libc::STDOUT_FILENO..) {
        // SAFETY: fcntl may be asked about any number.
        let is_closed = unsafe { libc::fcntl(number, libc::F_GETFD) } == -1;
        was_closed.store(is_closed, Ordering::Relaxed);
    }
}

/// Whether stdout and stderr were closed when the process started.
pub(in crate::os) fn output_was_closed() -> [bool; 2] {
    [0, 1].map(|index: usize| OUTPUT_WAS_CLOSED[index].load(Ordering::Relaxed))
}

/// Closes stdout and stderr again where they were closed at the start, in the command's process.
/// Its writes must fail as they would without us. A stdin that was closed stays /dev/null.
pub(super) fn close_what_was_closed() {
    for (was_closed, number) in OUTPUT_WAS_CLOSED.iter().zip(libc::STDOUT_FILENO..) {
        if was_closed.load(Ordering::Relaxed) {
            // SAFETY: nothing of the command's process uses the number before it executes.
            unsafe { libc::close(number) };
        }
    }
}

/// Whether SIGPIPE was ignored when the process started.
pub(super) fn sigpipe_was_ignored() -> bool {
    SIGPIPE_WAS_IGNORED.load(Ordering::Relaxed)
}

/// Our environment as it was given to us, whatever its entries look like.
pub(in crate::os) fn environment() -> Vec<&'static CStr> {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    let mut entries = Vec::new();
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
