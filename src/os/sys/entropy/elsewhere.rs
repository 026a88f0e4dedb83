//! The call of macOS and the BSDs.

use std::io;

/// Fills all of this, at most 256 bytes, with random bits.
///
/// # Errors
/// When the system has none to give.
pub(super) fn fill(bytes: &mut [u8]) -> io::Result<()> {
    // SAFETY: all of the bytes are ours, and every pattern of bits is a byte.
    match unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), bytes.len()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
