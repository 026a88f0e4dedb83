//! inotify tells of what has been read from a pipe, and keeps still at its end, at a write and at a
//! close.

use std::os::fd::OwnedFd;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use crate::stream::pipes::is_ready;

/// What watches for reads.
pub(in crate::stream) struct Reads(OwnedFd);

impl Reads {
    /// Watches from now on; nothing where the system will not have it, as with too many watchers.
    pub(in crate::stream) fn of_stdin() -> Option<Self> {
        let watcher = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        inotify::add_watch(&watcher, "/proc/self/fd/0", WatchFlags::ACCESS).ok()?;
        Some(Self(watcher))
    }

    /// Whether there was one since the watch began, or since they were forgotten.
    pub(in crate::stream) fn have_been(&self) -> bool {
        is_ready(&self.0)
    }

    /// Forgets those that there were.
    pub(in crate::stream) fn forget(&self) {
        let mut events = [0; 4096];
        while rustix::io::read(&self.0, &mut events).is_ok_and(|length| length > 0) {}
    }
}
