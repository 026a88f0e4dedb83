//! The world of commands, signals and time, on top of a [`Kernel`], which tests simulate.
//!
//! One thread and one blocking call. A child's end is just another signal. Only the loops of this
//! module reap or kill, so no signal can go to a process that is already reaped.

mod attempt;
mod child;
mod delay;
mod delivery;
mod kernel;
mod process_tree;
mod signal_queue;
mod slots;
mod spawn;
mod spawn_error;
mod watch;

use std::time::{Duration, Instant};
use std::{env, mem};

use anyhow::{Context as _, Result};
use rustix::process::getpid;

use crate::bucket::BudgetOp;
use crate::engine::{Attempt, DeliveryAbort, Emit, Entrance, Slot, Token, Verdict, World};
use crate::escape::described;
use crate::event::Event;
use crate::job::{Format, Grouping, Job, Output, Supervision, Verbosity};
use crate::shared::Shared;
use crate::signal::Signal;
use crate::status::Ending;
use crate::stream::{Due, SharedRecording, Streams};
use crate::sys::{self, StopHandler, startup, terminal};
use attempt::{Launch, hook_not_started, not_started};
use child::ChildEnd;
use kernel::{Kernel, System, Us};
use signal_queue::SignalQueue;
use slots::Bound;
use spawn::{Role, Spawner};

/// The [`World`] of processes, signals and time, for one job.
pub(crate) struct Supervisor<'a, K> {
    kernel: K,
    us: Us,
    spawner: Spawner,
    supervision: Supervision,
    shares_group: bool,
    streams: Streams<'a>,
    /// `None` if no budget is shared, or it could not be used.
    shared: Option<Shared<'a>>,
    bound: Bound,
    /// The time by which the whole run must be over.
    deadline: Option<Duration>,
    /// The fatal signal received during the last attempt, if any.
    interrupted: Option<Signal>,
    warns: Warnings,
    /// Handles ^Z in a delay with a countdown; none if delays show none.
    stop_handler: Option<StopHandler>,
}

/// Warnings still to be given, once each, before a retry.
struct Warnings {
    /// retry runs inside another retry, so attempts multiply.
    nested: bool,
    /// Input that an attempt has read from stdin is lost; checked until it is said.
    spent: bool,
    /// What is shared cannot be used.
    unusable: bool,
}

impl<'a> Supervisor<'a, System> {
    /// Installs the signal handlers and opens the streams. `begun` is when the run began.
    ///
    /// # Errors
    /// When the system has no descriptor or handler left.
    pub(crate) fn new(job: &'a Job, run_id: &str, begun: Instant) -> Result<Self> {
        let (signal_queue, signals) = SignalQueue::open()
            .context("cannot watch for signals; try again with more free descriptors")?;
        let shares_group = match job.supervision.group {
            Grouping::Auto => terminal::is_controlled(),
            Grouping::New => false,
            Grouping::Inherit => true,
        };
        let (bound, holds) = Bound::of(job);
        let spawner = Spawner::new(job, run_id, (!shares_group, signals), &holds)
            .context("cannot use these words")?;
        let counts_down = job.format == Format::Text
            && job.verbosity != Verbosity::Quiet
            && job.streams.output != Output::OnFailure;
        Ok(Self {
            stop_handler: counts_down.then(|| signal_queue.stop_handler()),
            kernel: System::new(begun, signal_queue),
            us: Us {
                pid: getpid(),
                leads_session: shares_group && sys::leads_session(),
            },
            spawner,
            supervision: job.supervision,
            shares_group,
            streams: Streams::open(job, startup::open_outputs())?,
            shared: job.sharing.as_ref().and_then(|sharing| {
                let budget = sharing.budget.as_ref()?;
                Some(Shared::new(&sharing.path, budget))
            }),
            bound,
            deadline: job.policy.deadline,
            interrupted: None,
            warns: Warnings {
                nested: env::var_os("RETRY_ATTEMPT").is_some(),
                spent: true,
                unusable: true,
            },
        })
    }
}

impl<K: Kernel> Supervisor<'_, K> {
    /// Whether the command leads a process group of its own.
    pub(crate) fn leads_group(&self) -> bool {
        !self.shares_group
    }

    /// Returns where our own lines are held back, if they are.
    pub(crate) fn for_our_lines(&self) -> Option<SharedRecording> {
        self.streams.for_our_lines()
    }

    /// Warns if there is no room to hold more output back.
    fn warn_of_shortage(&mut self, emit: &mut Emit<'_>) {
        if let Some(error) = self.streams.take_shortage() {
            emit(&Event::NoRoomForOutput(described(&error)));
        }
    }
}

impl<K: Kernel> World for Supervisor<'_, K> {
    fn now(&self) -> Duration {
        self.kernel.now()
    }

    fn attempt(&mut self, attempt: &Attempt<'_>, emit: &mut Emit<'_>) -> Result<Ending> {
        let idle_timeout = self.supervision.idle_timeout;
        let escalation = self
            .escalation(attempt)
            .with_idle_timeout(idle_timeout, self.now());
        let stdio = self.streams.start().or_else(|_| {
            // Taps kept open for background writers may hold the descriptors that are missing.
            self.streams.close_background_taps();
            self.streams.start()
        });
        let end = match stdio {
            Ok(stdio) => self.run(
                Launch {
                    role: Role::Command,
                    attempt,
                    escalation,
                    stdio,
                },
                emit,
            ),
            Err(error) => not_started(error),
        };
        let interrupted = match &end {
            Ok(end) => self.drain(end, emit)?,
            Err(_) => None,
        };
        let findings = self.streams.findings();
        let end = ChildEnd {
            interrupted,
            ..end?
        };
        self.ending(end, findings?, emit)
    }

    fn deliver(&mut self, verdict: Verdict, emit: &mut Emit<'_>) -> Result<Option<DeliveryAbort>> {
        let due = Due {
            success: verdict == Verdict::Succeeded,
            is_last: verdict != Verdict::Retrying,
            interrupted: self.interrupted.is_some(),
        };
        if !self.streams.begin_delivery(due) {
            return Ok(None);
        }
        let aborted = self.deliver_until_done(verdict, emit);
        let fault = self.streams.end_delivery();
        // A success does not stay one, so that its last line says why.
        if let Some(error) = fault.filter(|_| verdict == Verdict::Failed) {
            emit(&Event::OutputLost(described(&error)));
        }
        aborted
    }

    fn charge_budget(&mut self, op: BudgetOp, emit: &mut Emit<'_>) -> Result<Token> {
        self.charge_shared_budget(op, emit)
    }

    fn pause(&mut self, until: Duration, emit: &mut Emit<'_>) -> Result<Option<Signal>> {
        if mem::take(&mut self.warns.nested) {
            emit(&Event::Nested);
        }
        if self.warns.spent && self.streams.is_consumed() {
            self.warns.spent = false;
            emit(&Event::InputSpent);
        }
        self.wait_until(until, emit)
    }

    fn enter(&mut self, entrance: Entrance, emit: &mut Emit<'_>) -> Result<Slot> {
        self.enter_slot(entrance, emit)
    }

    fn leave(&mut self) {
        self.bound.leave();
    }

    fn prepare(&mut self, retry: &Attempt<'_>, emit: &mut Emit<'_>) -> Result<Option<Ending>> {
        if !self.spawner.has_hook() {
            return Ok(None);
        }
        let escalation = self.escalation(retry);
        let end = match self.streams.start_hook() {
            Ok(stdio) => self.run(
                Launch {
                    role: Role::Hook,
                    attempt: retry,
                    escalation,
                    stdio,
                },
                emit,
            )?,
            Err(error) => hook_not_started(&error),
        };
        let interrupted = self.drain(&end, emit)?;
        self.streams.end_hook();
        let end = ChildEnd { interrupted, ..end };
        Ok(Some(end.into()))
    }
}

#[cfg(test)]
mod tests;
