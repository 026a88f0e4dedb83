//! The signals of Linux.

/// The names that other systems do not have.
pub(super) const NAMES: &[(&str, i32)] = &[("STKFLT", libc::SIGSTKFLT), ("PWR", libc::SIGPWR)];

/// The signals that end a process by default here and not on every system.
pub(super) const FATAL: &[i32] = &[libc::SIGIO, libc::SIGPWR, libc::SIGSTKFLT];

/// The real-time signals free for use, first and last: the C library keeps some for itself.
pub(super) fn real_time() -> (i32, i32) {
    (libc::SIGRTMIN(), libc::SIGRTMAX())
}
