//! Output that comes when its attempt is over: of background jobs, and what a reader has not taken.

use rustix::event::PollFd;

use super::tap::Tap;
use crate::patterns::{Matched, Stream};

/// How many jobs are heard at a time, at two descriptors each that writes to both streams.
const MOST: usize = 64;

/// The taps of attempts that are over, the oldest first.
#[derive(Default)]
pub(super) struct BackgroundTaps(Vec<Tap>);

impl BackgroundTaps {
    /// Hears further who still writes there.
    pub(super) fn add(&mut self, tap: Tap) {
        self.0.push(tap);
        // Where all have closed their ends, it is over.
        self.pump();
        let too_many = self.0.len().saturating_sub(MOST);
        self.0.drain(..too_many);
    }

    /// Passes on what there is.
    pub(super) fn pump(&mut self) {
        for tap in &mut self.0 {
            // For the attempt it is too late.
            tap.pump(&mut Matched::default());
        }
        self.0.retain(|tap| !tap.is_closed());
    }

    /// Whether something that belongs to an attempt has still to go there, before what a later
    /// attempt writes.
    pub(super) fn has_undelivered(&self, stream: Stream) -> bool {
        self.0
            .iter()
            .any(|tap| tap.stream() == stream && tap.has_undelivered())
    }

    /// Descriptors that are ready when there is something to carry.
    pub(super) fn watched(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.0.iter().filter_map(Tap::watched)
    }

    /// Whether any of it would be passed on.
    pub(super) fn has_reader(&self) -> bool {
        self.0.iter().any(Tap::has_reader)
    }

    /// Closes what they write to.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
