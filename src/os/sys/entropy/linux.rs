//! The call of Linux, without the C library, which may not have it.

use std::io;

use rustix::io::retry_on_intr;
use rustix::rand::{GetRandomFlags, getrandom};

/// Fills all of this with random bits.
///
/// # Errors
/// When the kernel does not know the call, or a sandbox refuses it.
pub(super) fn fill(mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let filled = retry_on_intr(|| getrandom(&mut *bytes, GetRandomFlags::empty()))?;
        bytes = &mut bytes[filled..];
    }
    Ok(())
}
