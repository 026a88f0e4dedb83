//! The wait for a slot, where several runs share a bound on their attempts.

use std::env;
use std::mem;
use std::time::Duration;

use anyhow::Result;

use super::Supervisor;
use super::child::reap_orphans;
use super::kernel::Kernel;
use crate::engine::{Emit, Entrance, Slot, World as _};
use crate::event::Event;
use crate::job::Job;
use crate::shared::{Entry, FileSlots, Slots};

/// The variable that tells a command which slots its attempt holds.
pub(super) const RETRY_SLOT: &str = "RETRY_SLOT";

/// The shortest wait while another process takes a slot, and how much longer it may be.
const NAP: Duration = Duration::from_micros(200);
const NAP_SPREAD: Duration = Duration::from_millis(2);

/// The first and the longest wait where the system does not tell of a freed slot, each at its
/// shortest: it may be five times as long, a second at most.
const LOOK: Duration = Duration::from_millis(20);
const LONGEST_LOOK: Duration = Duration::from_millis(200);

/// The bound on the attempts of several runs, if there is one.
#[derive(Default)]
pub(super) struct Bound {
    /// `None` if there is no bound, or it could not be used.
    slots: Option<Box<dyn Slots>>,
    /// Whether it is still to be said that another run holds the slot for us.
    is_inherited: bool,
    /// Whether it was said that a slot is awaited.
    was_awaited: bool,
}

impl Bound {
    /// The bound of a job, and the slots that its attempts hold.
    pub(super) fn of(job: &Job) -> (Self, Holds) {
        let slots = job.sharing.as_ref().and_then(|sharing| {
            let most = sharing.concurrency?;
            Some(FileSlots::new(&sharing.path, most))
        });
        let holds = Holds::with(slots.as_ref());
        let bound = Self {
            slots: slots
                .filter(|_| !holds.is_inherited)
                .map(|slots| Box::new(slots) as Box<dyn Slots>),
            is_inherited: holds.is_inherited,
            was_awaited: false,
        };
        (bound, holds)
    }

    /// The bound of these slots.
    #[cfg(test)]
    pub(super) fn with(slots: Box<dyn Slots>) -> Self {
        Self {
            slots: Some(slots),
            ..Self::default()
        }
    }

    /// Gives the slot back, if we hold one.
    pub(super) fn leave(&mut self) {
        if let Some(slots) = &mut self.slots {
            slots.leave();
        }
    }
}

/// The slots that the attempts of this run hold, by their places.
pub(super) struct Holds {
    /// The value of [`RETRY_SLOT`] for the command, if it differs from ours.
    pub(super) told: Option<String>,
    /// Whether the attempt that this run is part of holds a slot of the same place.
    pub(super) is_inherited: bool,
}

impl Holds {
    /// With a slot of this place, beside those that we have inherited.
    pub(super) fn with(slots: Option<&FileSlots>) -> Self {
        let inherited = slots.and_then(|_| env::var(RETRY_SLOT).ok());
        let inherited = inherited.unwrap_or_default();
        let place = slots.map(FileSlots::place);
        let is_inherited = place
            .as_ref()
            .is_some_and(|place| inherited.split(' ').any(|held| held == place));
        let told = place.filter(|_| !is_inherited);
        Self {
            told: told.map(|place| format!("{inherited} {place}").trim_start().to_owned()),
            is_inherited,
        }
    }
}

impl<K: Kernel> Supervisor<'_, K> {
    /// Takes a slot as soon as one is free. If the slots cannot be used, this warns once, and
    /// attempts run without a bound: it protects others, and must not fail a run.
    pub(super) fn enter_slot(&mut self, entrance: Entrance, emit: &mut Emit<'_>) -> Result<Slot> {
        if mem::take(&mut self.bound.is_inherited) {
            emit(&Event::SlotInherited);
        }
        let begun = self.now();
        let mut look = LOOK;
        loop {
            let Some(slots) = &mut self.bound.slots else {
                return Ok(Slot::Taken);
            };
            let wait = match slots.enter() {
                Entry::Had => {
                    let (attempt, waited) = (entrance.attempt, self.now().saturating_sub(begun));
                    emit(&Event::SlotTaken { attempt, waited });
                    return Ok(Slot::Taken);
                }
                Entry::Unusable(reason) => {
                    self.bound.slots = None;
                    if mem::take(&mut self.warns.unusable) {
                        emit(&Event::SlotsUnusable(reason));
                    }
                    return Ok(Slot::Taken);
                }
                Entry::Busy => Some(NAP + self.spread(NAP_SPREAD)),
                Entry::Full if slots.watched().is_some() => None,
                Entry::Full => {
                    if !mem::replace(&mut self.bound.was_awaited, true) {
                        emit(&Event::SlotAwaited(slots.most()));
                    }
                    slots.watch();
                    if slots.watched().is_some() {
                        // One may have been freed just before.
                        continue;
                    }
                    let wait = look + self.spread(look * 4);
                    look = (look * 2).min(LONGEST_LOOK);
                    Some(wait)
                }
            };
            if let Some(slot) = self.wait_for_slot(wait, entrance, emit)? {
                self.bound.leave();
                return Ok(slot);
            }
        }
    }

    /// Waits for so long, or until a slot may be free; returns what ends the wait for good, if
    /// anything.
    fn wait_for_slot(
        &mut self,
        wait: Option<Duration>,
        entrance: Entrance,
        emit: &mut Emit<'_>,
    ) -> Result<Option<Slot>> {
        if let Some(signal) = self.drain_signals(emit) {
            return Ok(Some(Slot::Interrupted(signal)));
        }
        reap_orphans(&self.kernel, self.us, None);
        self.streams.pump();
        self.warn_of_shortage(emit);
        let left = entrance.until.map(|until| until.saturating_sub(self.now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(Some(Slot::TooLate));
        }
        let mut watched = self.streams.watched();
        watched.extend(self.bound.slots.as_ref().and_then(|slots| slots.watched()));
        let wait = wait.into_iter().chain(left).min();
        self.kernel.wait(wait, true, watched)?;
        Ok(None)
    }

    /// Returns a time below this one that differs between processes, so that those who wait do not
    /// all look at once.
    fn spread(&self, most: Duration) -> Duration {
        let most = u32::try_from(most.as_nanos()).unwrap_or(u32::MAX).max(1);
        Duration::from_nanos((self.now().subsec_nanos() % most).into())
    }
}
