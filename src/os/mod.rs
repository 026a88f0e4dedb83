//! The real world: real commands, real signals, real time.
//!
//! One thread and one blocking call. A child's end is just another signal, so nothing but the loops
//! of this room ever reap or kill, and no signal can go to a process that is gone.

mod family;
mod inbox;
mod outlet;
mod reap;
mod spawn;
mod supervise;
mod sys;
mod terminal;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::engine::{Attempt, Emit, World};
use crate::event::Event;
use crate::job::{Grouping, Job, Supervision};
use crate::signal::Signal;
use crate::status::{Ending, Outcome};
use inbox::{Arrival, Inbox};
use spawn::Spawner;
use supervise::Newborn;
use sys::Mask;

pub(crate) use outlet::{print, say};
pub(crate) use sys::die_of;
pub(crate) use terminal::stderr_is_terminal;

/// This process and its surroundings, ready to run one job.
pub(crate) struct Machine<'a> {
    begun: Instant,
    inbox: Inbox,
    spawner: Spawner<'a>,
    supervision: Supervision,
    shares_group: bool,
}

impl<'a> Machine<'a> {
    /// Takes over the signals of this process. `begun` is when the run began.
    ///
    /// # Errors
    /// When the system has no descriptor or handler left.
    pub(crate) fn new(job: &'a Job, run_id: String, begun: Instant) -> Result<Self> {
        let inbox = Inbox::open()
            .context("cannot watch for signals; try again with more free descriptors")?;
        let shares_group = match job.supervision.group {
            Grouping::Auto => terminal::is_controlled(),
            Grouping::New => false,
            Grouping::Inherit => true,
        };
        let spawner = Spawner::new(job, run_id, !shares_group).context("cannot use these words")?;
        Ok(Self {
            begun,
            inbox,
            spawner,
            supervision: job.supervision,
            shares_group,
        })
    }

    /// The signals that have arrived since they were held back, of those that would reach us.
    fn held_back(&self, held: &Mask) -> Vec<Signal> {
        let pending = sys::pending();
        let ours = self.inbox.hooked().iter().map(|hooked| hooked.signal);
        ours.filter(|signal| pending.has(*signal) && !held.has(*signal))
            .collect()
    }

    /// The first fatal signal that has arrived, if any; others are told to `emit`.
    fn fatal_arrival(&mut self, emit: &mut Emit<'_>) -> Option<Signal> {
        let mut fatal = None;
        for Arrival { signal, .. } in self.inbox.take() {
            if !inbox::is_fatal(signal) {
                if inbox::is_for_the_command(signal) {
                    emit(&Event::Ignored(signal));
                }
            } else if fatal.is_none() {
                fatal = Some(signal);
            }
        }
        fatal
    }
}

impl World for Machine<'_> {
    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    fn attempt(&mut self, attempt: &Attempt<'_>, emit: &mut Emit<'_>) -> Result<Ending> {
        // With signals held back, what comes from here on waits until it can be passed on.
        let held = sys::hold_signals();
        let early = self.inbox.take();
        let arrived = early
            .iter()
            .map(|arrival| arrival.signal)
            .chain(self.held_back(&held));
        if let Some(signal) = arrived.into_iter().find(|signal| inbox::is_fatal(*signal)) {
            sys::release_signals(&held);
            let outcome = Outcome::Killed(signal);
            return Ok(Ending {
                interrupted: Some(signal),
                ..outcome.into()
            });
        }
        let (hooked, mask) = (self.inbox.hooked(), self.inbox.mask_at_start());
        let newborn = self
            .spawner
            .spawn(attempt, hooked, mask)
            .map(|started| Newborn {
                missed: started.missed,
                pid: started.pid,
                marks: self.spawner.marks(attempt),
                early,
            });
        sys::release_signals(&held);
        match newborn {
            Ok(newborn) => self.supervise(newborn, attempt.ends_by, emit),
            Err(fault) => Ok(Outcome::NotStarted(fault).into()),
        }
    }

    fn pause(&mut self, until: Duration, emit: &mut Emit<'_>) -> Result<Option<Signal>> {
        loop {
            if let Some(signal) = self.fatal_arrival(emit) {
                return Ok(Some(signal));
            }
            reap::reap_orphans(None);
            let left = until.saturating_sub(self.now());
            if left.is_zero() {
                return Ok(None);
            }
            self.inbox.wait(Some(left), &[])?;
        }
    }
}
