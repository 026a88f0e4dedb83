//! The signals of macOS and the BSDs.

/// The names that Linux lacks.
pub(super) const NAMES: &[(&str, i32)] = &[("EMT", libc::SIGEMT), ("INFO", libc::SIGINFO)];

/// The signals that terminate a process by default here, but not on every system.
pub(super) const FATAL: &[i32] = &[];

/// Returns the first and last real-time signal: an empty range.
pub(super) fn real_time() -> (i32, i32) {
    (0, -1)
}
