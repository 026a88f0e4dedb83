//! The real world: real commands, real signals, real time.
//!
//! One thread and one blocking call. A child's end is just another signal, so nothing but the loops
//! of this room ever reap or kill, and no signal can go to a process that is gone.

mod attempt;
mod family;
mod inbox;
mod outlet;
mod reap;
mod run;
mod spawn;
mod supervise;
mod sys;
mod terminal;

use std::time::{Duration, Instant};
use std::{env, io, mem};

use anyhow::{Context as _, Result};

use crate::engine::{Attempt, Cut, Emit, World};
use crate::event::Event;
use crate::job::{Grouping, Job, Supervision};
use crate::signal::Signal;
use crate::status::Ending;
use crate::stream::{Ends, Flow, Step};
use attempt::{NOT_WRITTEN, not_started};
use inbox::{Arrival, Inbox};
use run::PATIENCE;
use spawn::{Role, Spawner};
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
    flow: Flow<'a>,
    /// When everything must be over.
    deadline: Option<Duration>,
    /// Whether a fatal signal has reached us during the last attempt.
    is_interrupted: bool,
    warns: Warnings,
}

/// What is to be said once, when there is a retry.
struct Warnings {
    /// That attempts multiply.
    nested: bool,
    /// That what was read from stdin is gone, if it is.
    spent: bool,
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
            flow: Flow::open(job, sys::output_was_closed())?,
            deadline: job.policy.deadline,
            is_interrupted: false,
            warns: Warnings {
                nested: env::var_os("RETRY_ATTEMPT").is_some(),
                spent: true,
            },
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
        let silence = self.supervision.idle_timeout;
        let leash = self.leash(attempt).with_silence(silence, self.now());
        let mut ending = match self.flow.start() {
            Ok(ends) => self.run(Role::Command, attempt, leash, ends, emit),
            Err(error) => not_started(error),
        };
        let findings = self.flow.findings();
        if let Ok(ending) = &mut ending {
            self.note(findings?, ending, emit)?;
        }
        ending
    }

    fn deliver(&mut self, success: bool, emit: &mut Emit<'_>) -> Result<Option<Cut>> {
        let parcel = self.flow.parcel(success);
        let Some(mut parcel) = parcel.context("cannot read what was held back of stdout")? else {
            return Ok(None);
        };
        let patience_ends = self.is_interrupted.then(|| self.now() + PATIENCE);
        let gives_up = patience_ends.into_iter().chain(self.deadline).min();
        loop {
            if let Some(signal) = self.fatal_arrival(emit) {
                return Ok(Some(Cut::Signal(signal)));
            }
            reap::reap_orphans(None);
            self.flow.carry();
            let left = gives_up.map(|ends| ends.saturating_sub(self.now()));
            match parcel.carry() {
                Ok(Step::Done) => return Ok(None),
                Ok(Step::Stuck) if left.is_some_and(|left| left.is_zero()) => {
                    return Ok(success.then_some(Cut::Deadline));
                }
                Ok(Step::Stuck) => {
                    let watched = self.flow.watched().into_iter().chain(parcel.watched());
                    self.inbox.wait(left, watched)?;
                }
                Ok(Step::More) => {}
                // What a failed attempt has said is for people, and there is nowhere else.
                Err(_) if !success => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Ok(Some(Cut::Signal(Signal::PIPE)));
                }
                Err(error) => return Err(error).context(NOT_WRITTEN),
            }
        }
    }

    fn pause(&mut self, until: Duration, emit: &mut Emit<'_>) -> Result<Option<Signal>> {
        if mem::take(&mut self.warns.nested) {
            emit(&Event::Nested);
        }
        if self.warns.spent && self.flow.is_spent() {
            self.warns.spent = false;
            emit(&Event::InputSpent);
        }
        loop {
            if let Some(signal) = self.fatal_arrival(emit) {
                return Ok(Some(signal));
            }
            reap::reap_orphans(None);
            self.flow.carry();
            let left = until.saturating_sub(self.now());
            if left.is_zero() {
                return Ok(None);
            }
            self.inbox.wait(Some(left), self.flow.watched())?;
        }
    }

    fn prepare(&mut self, retry: &Attempt<'_>, emit: &mut Emit<'_>) -> Result<Option<Ending>> {
        if !self.spawner.has_hook() {
            return Ok(None);
        }
        let leash = self.leash(retry);
        let ending = match Ends::for_hook() {
            Ok(ends) => self.run(Role::Hook, retry, leash, ends, emit),
            Err(error) => not_started(error),
        };
        ending.map(Some)
    }
}
