//! What is done on Linux in a way of its own.

use std::io;

use rustix::io::retry_on_intr;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::rand::{GetRandomFlags, getrandom};

/// Fills all of this with random bits, without the C library, which may not have the call.
///
/// # Errors
/// When the kernel does not know the call, or a sandbox refuses it.
pub(crate) fn fill_with_random_bits(mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let filled = retry_on_intr(|| getrandom(&mut *bytes, GetRandomFlags::empty()))?;
        bytes = &mut bytes[filled..];
    }
    Ok(())
}

/// Lets no death of this process leave a core file, not even by a handler that `core_pattern` names.
pub(crate) fn forbid_core_files() {
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Whether the kernel made a signal by itself. The sender's pid does not tell: it is 0 for a sender
/// in another pid namespace, such as `docker stop`.
pub(crate) fn is_from_kernel(info: &libc::siginfo_t) -> bool {
    info.si_code == libc::SI_KERNEL
}

/// Gives memory that is free back to the system, which glibc does not do by itself.
pub(crate) fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes from nobody what is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
