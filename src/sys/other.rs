//! What macOS and the BSDs do in a way of their own.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};

/// Fills all of this, at most 256 bytes, with random bits.
///
/// # Errors
/// When the system has none to give.
pub(crate) fn fill_with_random_bits(bytes: &mut [u8]) -> io::Result<()> {
    // SAFETY: all of the bytes are ours, and every pattern of bits is a byte.
    match unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), bytes.len()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets no death of this process leave a core file.
pub(crate) fn forbid_core_files() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = setrlimit(Resource::Core, none);
}

/// Whether the kernel made a signal by itself.
pub(crate) fn is_from_kernel(info: &libc::siginfo_t) -> bool {
    // SAFETY: the member is there for every signal on these systems.
    unsafe { info.si_pid() == 0 }
}

/// Does nothing: these systems take free memory back when they need it.
pub(crate) fn give_back_memory() {}
