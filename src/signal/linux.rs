//! The signals of Linux.

/// The names that other systems lack.
pub(super) const NAMES: &[(&str, i32)] = &[("STKFLT", libc::SIGSTKFLT), ("PWR", libc::SIGPWR)];

/// The signals that terminate a process by default here, but not on every system.
pub(super) const FATAL: &[i32] = &[libc::SIGIO, libc::SIGPWR, libc::SIGSTKFLT];

/// Returns the first and last real-time signal free for use: the C library reserves some.
pub(super) fn real_time() -> (i32, i32) {
    (libc::SIGRTMIN(), libc::SIGRTMAX())
}
