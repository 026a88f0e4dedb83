//! The standard streams of the `--before-retry` command.

use anyhow::Result;

use super::Streams;
use super::findings::Scanner;
use super::tap::Tap;
use crate::patterns::{Matched, Stream};
use crate::sys::fd::ChildStdio;

impl Streams<'_> {
    /// Prepares the standard streams of the hook, whose output is held back like our own lines.
    ///
    /// # Errors
    /// When the system is short of a resource.
    pub(crate) fn start_hook(&mut self) -> Result<ChildStdio> {
        let mut ends = ChildStdio::for_hook()?;
        let held = self
            .held
            .as_ref()
            .filter(|held| held.for_our_lines().is_some());
        if let Some(held) = held {
            let destination = held.destination(Stream::Stderr, &self.writers);
            let scanner = Scanner::idle(Stream::Stderr);
            let (tap, end) = Tap::new(Stream::Stderr, destination, scanner)?;
            self.taps.push(tap);
            ends.stdout = Some(end.try_clone()?);
            ends.stderr = Some(end);
        }
        Ok(ends)
    }

    /// Ends the streams of the hook. Processes that still write keep theirs.
    pub(crate) fn end_hook(&mut self) {
        for mut tap in std::mem::take(&mut self.taps) {
            tap.finish(&mut Matched::default());
            self.background.add(tap);
        }
    }
}
