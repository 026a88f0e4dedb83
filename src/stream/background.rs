//! Output that arrives after its attempt: from background jobs, or left by a slow reader.

use rustix::event::PollFd;

use super::tap::Tap;
use crate::patterns::{Matched, Stream};

/// The most taps that are kept; a job that writes to both streams takes two.
const MOST_TAPS: usize = 64;

/// The taps of attempts that are over, the oldest first.
#[derive(Default)]
pub(super) struct BackgroundTaps(Vec<Tap>);

impl BackgroundTaps {
    /// Adds a tap that may still have writers.
    pub(super) fn add(&mut self, tap: Tap) {
        self.0.push(tap);
        // A tap whose writers have all closed their ends goes at once.
        self.pump();
        let too_many = self.0.len().saturating_sub(MOST_TAPS);
        self.0.drain(..too_many);
    }

    /// Passes on what is available.
    pub(super) fn pump(&mut self) {
        for tap in &mut self.0 {
            // It comes too late to count for the attempt.
            tap.pump(&mut Matched::default());
        }
        self.0.retain(|tap| !tap.is_closed());
    }

    /// Whether output of a finished attempt is still due on this stream, ahead of a later
    /// attempt's.
    pub(super) fn has_undelivered(&self, stream: Stream) -> bool {
        self.0
            .iter()
            .any(|tap| tap.stream() == stream && tap.has_undelivered())
    }

    /// Returns the descriptors that become ready when there is something to pump.
    pub(super) fn watched(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.0.iter().filter_map(Tap::watched)
    }

    /// Whether any late output would be passed on.
    pub(super) fn has_reader(&self) -> bool {
        self.0.iter().any(Tap::has_reader)
    }

    /// Closes all taps.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
