//! Where the output on one stream of an attempt goes.

use std::rc::Rc;

use rustix::event::PollFd;
use rustix::io::Errno;

use super::recording::{SharedRecording, Stage};
use super::writer::Writer;
use crate::patterns::Stream;

/// The destination of one stream of an attempt.
pub(super) enum Destination {
    /// Whoever reads our own stream.
    Writer(Rc<Writer>),
    /// A recording that holds it back, and the writer to use when the recording is closed.
    Recording(SharedRecording, Stream, Option<Rc<Writer>>),
    /// Nobody: it came too late to be held.
    Nowhere,
}

impl Destination {
    /// Passes on as much as is taken without waiting.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        match self {
            Self::Writer(writer) => return writer.write(bytes),
            Self::Recording(recording, stream, writer) => {
                let mut recording = recording.borrow_mut();
                match (recording.stage(), writer) {
                    (Stage::Open, Some(writer)) => return writer.write(bytes),
                    (Stage::Full, _) => return Err(Errno::AGAIN),
                    (Stage::Holding, _) => {
                        let held = recording.write(*stream, bytes);
                        return if held == 0 {
                            Err(Errno::AGAIN)
                        } else {
                            Ok(held)
                        };
                    }
                    (Stage::Open | Stage::Discarded, _) => {}
                }
            }
            Self::Nowhere => {}
        }
        Ok(bytes.len())
    }

    /// Returns the descriptor that becomes ready when it takes something; none while that depends
    /// on the delivery of a recording.
    pub(super) fn watched(&self) -> Option<PollFd<'_>> {
        match self {
            Self::Writer(writer) => Some(writer.watched()),
            Self::Recording(recording, _, Some(writer))
                if recording.borrow().stage() == Stage::Open =>
            {
                Some(writer.watched())
            }
            Self::Recording(..) | Self::Nowhere => None,
        }
    }
}
