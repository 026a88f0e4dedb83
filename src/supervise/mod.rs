//! The real world: real commands, real signals, real time.
//!
//! One thread and one blocking call. A child's end is just another signal, so only the loops of
//! this room reap or kill, and no signal can go to a process that is reaped.

mod attempt;
mod child;
mod delay;
mod process_tree;
mod signal_queue;
mod spawn;
mod spawn_error;
mod watch;

use std::time::{Duration, Instant};
use std::{env, io, mem};

use anyhow::{Context as _, Result};

use crate::bucket::BudgetOp;
use crate::engine::{Attempt, DeliveryAbort, Emit, Token, World};
use crate::event::Event;
use crate::job::{Format, Grouping, Job, Supervision, Verbosity};
use crate::shared::Shared;
use crate::signal::Signal;
use crate::status::Ending;
use crate::stream::{Progress, Streams};
use crate::sys::fd::ChildStdio;
use crate::sys::{self, Mask, startup, terminal};
use attempt::{Launch, NOT_WRITTEN, PATIENCE, hook_not_started, not_started};
use child::{ChildEnd, reap_orphans};
use signal_queue::SignalQueue;
use spawn::{Role, Spawner};

/// The [`World`] of real processes, signals and time, for one job.
pub(crate) struct Supervisor<'a> {
    begun: Instant,
    signal_queue: SignalQueue,
    spawner: Spawner,
    supervision: Supervision,
    shares_group: bool,
    streams: Streams<'a>,
    /// `None` if no budget is shared, or it could not be used.
    shared: Option<Shared<'a>>,
    /// The time by which the whole run must be over.
    deadline: Option<Duration>,
    /// The fatal signal received during the last attempt, if any.
    interrupted: Option<Signal>,
    warns: Warnings,
    /// Whether delays show a countdown, where there is a terminal for it.
    counts_down: bool,
}

/// Warnings still to be given, once each, before a retry.
struct Warnings {
    /// retry runs below another retry, so that attempts multiply.
    nested: bool,
    /// Input that an attempt has read from stdin is lost; checked until it is said.
    spent: bool,
}

impl<'a> Supervisor<'a> {
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
        let spawner =
            Spawner::new(job, run_id, !shares_group, signals).context("cannot use these words")?;
        Ok(Self {
            begun,
            signal_queue,
            spawner,
            supervision: job.supervision,
            shares_group,
            streams: Streams::open(job, startup::output_was_closed())?,
            shared: job.sharing.as_ref().map(Shared::new),
            counts_down: job.format == Format::Text && job.verbosity != Verbosity::Quiet,
            deadline: job.policy.deadline,
            interrupted: None,
            warns: Warnings {
                nested: env::var_os("RETRY_ATTEMPT").is_some(),
                spent: true,
            },
        })
    }

    /// Returns the handled signals that are pending and were not blocked in `held`, the mask before
    /// ours.
    fn held_back(&self, held: &Mask) -> Vec<Signal> {
        let pending = sys::pending();
        let ours = self.signal_queue.handled().iter().copied();
        ours.filter(|signal| pending.has(*signal) && !held.has(*signal))
            .collect()
    }
}

impl World for Supervisor<'_> {
    fn now(&self) -> Duration {
        self.begun.elapsed()
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

    fn deliver(&mut self, success: bool, emit: &mut Emit<'_>) -> Result<Option<DeliveryAbort>> {
        let Some(mut held_output) = self.streams.held_output(success) else {
            return Ok(None);
        };
        let patience_ends = self.interrupted.map(|_| self.now() + PATIENCE);
        let gives_up = patience_ends.into_iter().chain(self.deadline).min();
        loop {
            if let Some(signal) = self.drain_signals(emit) {
                return Ok(Some(DeliveryAbort::Signal(signal)));
            }
            reap_orphans(None);
            self.streams.pump();
            let left = gives_up.map(|ends| ends.saturating_sub(self.now()));
            match held_output.pump() {
                Ok(Progress::Done) => return Ok(None),
                Ok(Progress::WouldBlock) if left.is_some_and(|left| left.is_zero()) => {
                    let abort = self
                        .interrupted
                        .map_or(DeliveryAbort::Deadline, DeliveryAbort::Signal);
                    return Ok(success.then_some(abort));
                }
                Ok(Progress::WouldBlock) => {
                    let watched = self
                        .streams
                        .watched()
                        .into_iter()
                        .chain(held_output.watched());
                    self.signal_queue.wait(left, watched)?;
                }
                Ok(Progress::More) => {}
                // Output of a failed attempt is for people, and there is nowhere else to put it.
                Err(_) if !success => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Ok(Some(DeliveryAbort::Signal(Signal::PIPE)));
                }
                Err(error) => return Err(error).context(NOT_WRITTEN),
            }
        }
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

    fn prepare(&mut self, retry: &Attempt<'_>, emit: &mut Emit<'_>) -> Result<Option<Ending>> {
        if !self.spawner.has_hook() {
            return Ok(None);
        }
        let escalation = self.escalation(retry);
        let end = match ChildStdio::for_hook() {
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
        Ok(Some(end.into()))
    }
}
