//! Whether what goes to stderr has ended its line.
//!
//! There is one stderr, and two who write to it: what passes on the command's output, and what says
//! our own lines. Who cannot know of the other writes behind a line that has no end.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether all that the command writes to stderr passes through us.
static IS_KNOWN: AtomicBool = AtomicBool::new(false);

/// Whether the last that went there was not the end of a line.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// From now on it all passes through us.
pub(super) fn know() {
    IS_KNOWN.store(true, Ordering::Relaxed);
}

/// Notes the last byte that has passed.
pub(super) fn note(last: u8) {
    IS_OPEN.store(last != b'\n', Ordering::Relaxed);
}

/// Whether it is known how the last line of stderr stands.
pub(crate) fn is_known() -> bool {
    IS_KNOWN.load(Ordering::Relaxed) || is_open()
}

/// Whether the last line of stderr has no end.
pub(crate) fn is_open() -> bool {
    IS_OPEN.load(Ordering::Relaxed)
}

/// A line of our own was written.
pub(crate) fn end() {
    note(b'\n');
}
