//! The signals of macOS and the BSDs.

/// The names that Linux does not have.
pub(super) const NAMES: &[(&str, i32)] = &[("EMT", libc::SIGEMT), ("INFO", libc::SIGINFO)];

/// The signals that end a process by default here and not on every system.
pub(super) const FATAL: &[i32] = &[];

/// The real-time signals, first and last: none.
pub(super) fn real_time() -> (i32, i32) {
    (0, -1)
}
