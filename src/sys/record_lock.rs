//! Record locks: POSIX locks on single bytes of a file, which belong to this process. The kernel
//! drops them when the process ends or closes any descriptor of the file, and no child inherits
//! them.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd as _;

use libc::c_short;

use kinds::{LOCK, UNLOCK};

/// The place of a byte in a file.
pub(crate) type Offset = libc::off_t;

/// The kinds of a lock, whose constants have another type than their field on some systems.
mod kinds {
    #![expect(clippy::cast_possible_truncation, reason = "they are single digits")]

    pub(super) const LOCK: libc::c_short = libc::F_WRLCK as libc::c_short;
    pub(super) const UNLOCK: libc::c_short = libc::F_UNLCK as libc::c_short;
}

/// Locks the byte at this offset; returns false if another process has it.
///
/// # Errors
/// When the file system has no such locks.
pub(crate) fn lock(file: &File, at: Offset) -> io::Result<bool> {
    match call(file, libc::F_SETLK, LOCK, (at, 1)) {
        Ok(_) => Ok(true),
        // POSIX allows either.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Unlocks the byte at this offset.
///
/// # Errors
/// As [`lock`].
pub(crate) fn unlock(file: &File, at: Offset) -> io::Result<()> {
    call(file, libc::F_SETLK, UNLOCK, (at, 1)).map(drop)
}

/// Returns the offset of a byte that another process has locked, among `length` of them from this
/// one on, with 0 for all that follow; none if there is no such byte.
///
/// # Errors
/// As [`lock`].
pub(crate) fn locked_in(file: &File, from: Offset, length: Offset) -> io::Result<Option<Offset>> {
    let found = call(file, libc::F_GETLK, LOCK, (from, length))?;
    Ok((found.l_type != UNLOCK).then_some(found.l_start))
}

fn call(
    file: &File,
    command: libc::c_int,
    kind: c_short,
    (start, length): (Offset, Offset),
) -> io::Result<libc::flock> {
    let mut lock = MaybeUninit::<libc::flock>::zeroed();
    // SAFETY: zeros are a valid value of every member, and fcntl writes only to this structure.
    unsafe {
        let fields = &mut *lock.as_mut_ptr();
        (fields.l_type, fields.l_start, fields.l_len) = (kind, start, length);
        match libc::fcntl(file.as_raw_fd(), command, lock.as_mut_ptr()) {
            0 => Ok(lock.assume_init()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
