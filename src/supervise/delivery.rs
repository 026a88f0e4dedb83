//! The delivery of held output: how long its readers may take.

use std::io::ErrorKind;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::Supervisor;
use super::attempt::{NOT_WRITTEN, PATIENCE};
use super::child::reap_orphans;
use super::kernel::Kernel;
use crate::engine::{DeliveryAbort, Emit, Verdict, World as _};
use crate::signal::Signal;
use crate::stream::Progress;

/// The time for what is held when a fatal signal ends a delay.
const HASTE: Duration = Duration::from_millis(50);

impl<K: Kernel> Supervisor<'_, K> {
    /// Delivers what is due until it is done, or until its readers have had their time. Returns
    /// what cut the delivery short, if that changes how the run ends.
    pub(super) fn deliver_until_done(
        &mut self,
        verdict: Verdict,
        emit: &mut Emit<'_>,
    ) -> Result<Option<DeliveryAbort>> {
        let begun = self.now();
        let mut progressed = begun;
        loop {
            if let Some(signal) = self.drain_signals(emit) {
                return Ok(Some(DeliveryAbort::Signal(signal)));
            }
            reap_orphans(&self.kernel, self.us, None);
            self.streams.pump();
            match self.streams.deliver() {
                Ok(Progress::Done) => return Ok(None),
                Ok(Progress::More) => progressed = self.now(),
                Ok(Progress::WouldBlock) => {
                    let ends = self.delivery_ends(verdict, begun, progressed);
                    let left = ends.map(|ends| ends.saturating_sub(self.now()));
                    if left.is_some_and(|left| left.is_zero()) {
                        let signal = self.interrupted.map(DeliveryAbort::Signal);
                        let abort = signal.unwrap_or(DeliveryAbort::Deadline);
                        return Ok((verdict == Verdict::Succeeded).then_some(abort));
                    }
                    self.kernel.wait(left, true, self.streams.watched())?;
                }
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                    return Ok(Some(DeliveryAbort::Signal(Signal::PIPE)));
                }
                Err(error) => return Err(error).context(NOT_WRITTEN),
            }
        }
    }

    /// Returns when to give up on readers who take nothing. Output of a run that has failed is not
    /// lost as long as somebody reads it, however late it is.
    fn delivery_ends(
        &self,
        verdict: Verdict,
        begun: Duration,
        progressed: Duration,
    ) -> Option<Duration> {
        let patience_ends = progressed.saturating_add(PATIENCE);
        match verdict {
            Verdict::Interrupted => Some(begun + HASTE),
            Verdict::Failed if self.interrupted.is_some() => Some(patience_ends),
            Verdict::Failed => self.deadline.map(|deadline| deadline.max(patience_ends)),
            Verdict::Succeeded | Verdict::Retrying => {
                let patience_ends = self.interrupted.map(|_| begun + PATIENCE);
                patience_ends.into_iter().chain(self.deadline).min()
            }
        }
    }
}
