//! Supervision of one child from its start to its end.

use std::io;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::event::{PollFd, PollFlags};

use super::Supervisor;
use super::child::{ChildEnd, RunningChild, SpawnedChild, number, reap_orphans};
use super::kernel::{Kernel, Target};
use super::signal_queue::{self, SignalEvent};
use crate::engine::{Emit, World as _};
use crate::escalation::{Escalation, Step};
use crate::event::Event;
use crate::signal::Signal;
use crate::status::Outcome;

/// The poll interval for members, where no descriptor tells that the last has ended.
const ASKING: Duration = Duration::from_millis(20);

impl<K: Kernel> Supervisor<'_, K> {
    /// Supervises the child until it, and after a time limit all of its process tree, is gone.
    pub(super) fn watch(
        &mut self,
        spawned: SpawnedChild,
        escalation: Escalation,
        emit: &mut Emit<'_>,
    ) -> Result<ChildEnd> {
        let mut spawned = spawned;
        let early_signals = std::mem::take(&mut spawned.early_signals);
        let mut run = RunningChild::new(self.us, spawned, escalation);
        for event in early_signals {
            self.pass_on(&mut run, event, emit);
        }
        loop {
            match self.look(&mut run, emit) {
                Ok(None) => {}
                Ok(Some(ending)) => return Ok(ending),
                Err(error) => {
                    // Leave nothing running unsupervised.
                    let _ = run.process_tree.kill(&self.kernel);
                    return Err(error).context("cannot supervise the command any more");
                }
            }
        }
    }

    /// Runs one round: takes signals, checks the child, does what is due, waits. The order matters:
    /// a signal that arrives after its step is still in the pipe when the wait begins, and ends it
    /// at once.
    fn look(
        &mut self,
        run: &mut RunningChild,
        emit: &mut Emit<'_>,
    ) -> io::Result<Option<ChildEnd>> {
        for event in self.kernel.take_signals() {
            self.pass_on(run, event, emit);
        }
        reap_orphans(&self.kernel, self.us, run.unreaped());
        let ended = run.ended(&self.kernel)?;
        self.pump(run);
        self.warn_of_shortage(emit);
        if let Some(outcome) = &ended {
            if !run.escalation.has_timed_out() || run.process_tree.is_gone(&self.kernel) {
                return self.end(run, outcome.clone()).map(Some);
            }
        }
        let mut has_stepped = false;
        while let Some(step) = run.escalation.next_step(self.now()) {
            has_stepped = true;
            match step {
                Step::Signal => self.ask(run, emit),
                Step::Kill => {
                    run.kill(&self.kernel);
                    emit(&Event::Killed);
                }
                Step::Abandon => {
                    return match &ended {
                        // A group that still answers may hold only zombies that nobody has reaped.
                        Some(outcome) if run.process_tree.must_be_asked() => {
                            self.end(run, outcome.clone())
                        }
                        _ => Ok(run.let_go(ended.is_some())),
                    }
                    .map(Some);
                }
            }
            run.escalation.record_sent(self.now());
        }
        if run.escalation.kill_sent() && run.process_tree.may_have_missed_kill() {
            // Processes that a member started before it died must not outlive it.
            run.kill(&self.kernel);
        }
        run.process_tree.prune_exited(&self.kernel);
        if ended.is_some() && (has_stepped || run.process_tree.seems_gone()) {
            // A child that is a zombie already raises no CHLD when the rest of its process tree
            // ends.
            return Ok(None);
        }
        let members = run.process_tree.watches().into_iter();
        let members = members.map(|member| PollFd::new(member, PollFlags::IN));
        let left = run
            .escalation
            .due()
            .map(|due| due.saturating_sub(self.now()));
        let is_to_ask = ended.is_some() && run.process_tree.must_be_looked_at();
        let left = left.into_iter().chain(is_to_ask.then_some(ASKING)).min();
        let watched = members.chain(self.streams.watched()).collect();
        self.kernel.wait(left, true, watched)?;
        Ok(None)
    }

    /// Ends an attempt whose child has ended like this, when no member is left that a limit must
    /// end.
    fn end(&mut self, run: &mut RunningChild, child: Outcome) -> io::Result<ChildEnd> {
        self.streams.end();
        let mut end = run.end(child);
        if let Some(signal) = run
            .fatal_passed_on
            .filter(|_| !run.escalation.has_timed_out())
        {
            run.process_tree.pass_to_orphans(&self.kernel, signal);
        }
        run.process_tree
            .kill_group(&self.kernel, run.escalation.has_timed_out());
        run.reap(&self.kernel)?;
        if run.escalation.has_timed_out() && run.process_tree.has_unseen_rest(&self.kernel) {
            end.left_behind = number(run.child);
        }
        Ok(end)
    }

    /// Pumps the streams. A command that waits for our readers is not idle.
    fn pump(&mut self, run: &mut RunningChild) {
        let is_alive = self.streams.pump();
        let now = self.now();
        if is_alive {
            run.escalation.record_activity(now);
        }
        if self.streams.is_broken() {
            run.escalation.expire_now(now);
        }
    }

    /// Passes a signal on where it would have gone without retry.
    fn pass_on(
        &self,
        run: &mut RunningChild,
        SignalEvent {
            signal,
            from_kernel,
        }: SignalEvent,
        emit: &mut Emit<'_>,
    ) {
        if signal_queue::is_message(signal) {
            // A message is for the command itself; its children would not expect it.
            if let Some(child) = run.unreaped() {
                let _ = self.kernel.kill(Target::Process(child), Some(signal));
            }
            run.messages_sent.push(signal);
            emit(&Event::Forwarded(signal));
        } else if signal_queue::is_fatal(signal) {
            run.interrupted = run.interrupted.or(Some(signal));
            let is_given = run.missed & signal.bit() == 0;
            run.missed &= !signal.bit();
            if self.shares_group
                && from_kernel
                && is_given
                && signal_queue::is_given_to_the_group(signal, self.us)
            {
                // It has the signal, but if it is stopped the signal has no effect.
                let _ = run.process_tree.pass(&self.kernel, Signal::CONT);
                return;
            }
            // Snapshot the descendants outside the group before parents die.
            run.process_tree.note_outsiders(&self.kernel);
            run.fatal_passed_on = Some(signal);
            // It may be gone already, or not ours to signal; either way its end is what counts. A
            // stopped process would leave the signal pending, hence CONT.
            let _ = run.process_tree.pass(&self.kernel, signal);
            let _ = run.process_tree.pass(&self.kernel, Signal::CONT);
            emit(&Event::Forwarded(signal));
        }
    }

    /// Starts the escalation: sends the signal of the time limit.
    fn ask(&self, run: &mut RunningChild, emit: &mut Emit<'_>) {
        // Snapshot the tree first: once a parent dies, its children are reparented.
        run.process_tree.refresh(&self.kernel);
        run.send(&self.kernel, self.supervision.signal);
        run.send(&self.kernel, Signal::CONT);
        emit(&Event::LimitReached(self.supervision.signal));
    }
}
