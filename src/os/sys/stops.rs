//! ^Z while a countdown stands on the terminal.

use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

use super::{RECORD, is_ignored, kill, reset};
use crate::signal::Signal;

/// Has ^Z written to the pipe as a record instead of stopping us, unless it is ignored. Nothing of
/// the command's may be there meanwhile.
pub(in crate::os) fn hear_stops(pipe: &'static OwnedFd) {
    STOPS_GO_TO.store(pipe.as_raw_fd(), Ordering::Relaxed);
    if !is_ignored(Signal::TSTP) {
        let handler = tell_of_stop as extern "C" fn(libc::c_int);
        // SAFETY: the handler makes a write(2), which it may, and keeps errno.
        unsafe { libc::signal(libc::SIGTSTP, handler as libc::sighandler_t) };
    }
}

/// Has ^Z stop us again.
pub(in crate::os) fn obey_stops() {
    if !is_ignored(Signal::TSTP) {
        reset(Signal::TSTP);
    }
}

/// Stops here, as ^Z would have, until we are told to go on.
pub(in crate::os) fn stop() {
    obey_stops();
    let _ = kill(std::process::id().cast_signed(), Signal::TSTP);
}

static STOPS_GO_TO: AtomicI32 = AtomicI32::new(-1);

extern "C" fn tell_of_stop(number: libc::c_int) {
    let record: [u8; RECORD] = [u8::try_from(number).unwrap_or(0), 0];
    // SAFETY: the descriptor is that of a pipe that is never closed.
    let pipe = unsafe { BorrowedFd::borrow_raw(STOPS_GO_TO.load(Ordering::Relaxed)) };
    // Where this touches errno, it is because the pipe is full, and then nobody loses anything.
    let _ = rustix::io::write(pipe, &record);
}
