//! The running child of an attempt.

use std::io;

use rustix::process::Pid;

use super::kernel::{Kernel, Then, Us};
use super::process_tree::{ProcessTree, Scope, failed_with};
use super::signal_queue::SignalEvent;
use crate::escalation::Escalation;
use crate::signal::Signal;
use crate::status::{Ending, Outcome};

/// A child that was just started.
pub(super) struct SpawnedChild {
    pub(super) pid: Pid,
    /// Signals that arrived before it was spawned, still to be passed on.
    pub(super) early_signals: Vec<SignalEvent>,
    /// Signals sent to our group before the child was in it, a bit each.
    pub(super) missed: u64,
    /// The environment entries that mark this attempt's processes.
    pub(super) env_markers: [Vec<u8>; 2],
    /// Whether it is in our own group.
    pub(super) shares_group: bool,
}

/// How a child ended.
pub(super) struct ChildEnd {
    pub(super) outcome: Outcome,
    /// The first fatal signal received meanwhile.
    pub(super) interrupted: Option<Signal>,
    /// The pid of a process that survived KILL, or refused it, after a time limit.
    pub(super) left_behind: Option<u32>,
    /// Whether the idle timeout ended it.
    pub(super) by_idle_timeout: bool,
}

impl From<Outcome> for ChildEnd {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            interrupted: None,
            left_behind: None,
            by_idle_timeout: false,
        }
    }
}

impl From<ChildEnd> for Ending {
    fn from(end: ChildEnd) -> Self {
        Self {
            interrupted: end.interrupted,
            left_behind: end.left_behind,
            by_idle_timeout: end.by_idle_timeout,
            ..end.outcome.into()
        }
    }
}

/// The running child of an attempt.
pub(super) struct RunningChild {
    pub(super) child: Pid,
    pub(super) escalation: Escalation,
    pub(super) process_tree: ProcessTree,
    /// Signals the terminal has sent to us but not to the child, a bit each.
    pub(super) missed: u64,
    /// The first fatal signal received.
    pub(super) interrupted: Option<Signal>,
    /// The last fatal signal passed on to the command's group.
    pub(super) fatal_passed_on: Option<Signal>,
    /// How the child ended, if it was reaped before the rest of its group was gone.
    reaped: Option<Outcome>,
    /// The messages (USR1, USR2) passed on to the command.
    pub(super) messages_sent: Vec<Signal>,
}

impl RunningChild {
    /// Supervises a child that was just spawned, with its limits.
    pub(super) fn new(us: Us, spawned: SpawnedChild, escalation: Escalation) -> Self {
        let child = spawned.pid;
        let scope = if spawned.shares_group {
            Scope::Descendants(child)
        } else {
            Scope::Group(child)
        };
        Self {
            child,
            escalation,
            process_tree: ProcessTree::new(us, scope, spawned.env_markers),
            missed: spawned.missed,
            interrupted: None,
            fatal_passed_on: None,
            reaped: None,
            messages_sent: Vec::new(),
        }
    }

    /// Returns how the child ended, once it has. It is not reaped while its pid is needed.
    pub(super) fn ended(&mut self, kernel: &impl Kernel) -> io::Result<Option<Outcome>> {
        if self.reaped.is_some() {
            return Ok(self.reaped.clone());
        }
        let ended = kernel.ended(Some(self.child), Then::Keep)?;
        let ended = ended.map(|(_, outcome)| outcome);
        if ended.is_some() && self.escalation.has_timed_out() && self.process_tree.must_be_asked() {
            self.reap(kernel)?;
            self.reaped.clone_from(&ended);
        }
        Ok(ended)
    }

    /// Reaps the child, which must have ended, unless that has been done.
    pub(super) fn reap(&mut self, kernel: &impl Kernel) -> io::Result<()> {
        if self.reaped.is_none() {
            kernel.ended(Some(self.child), Then::Reap)?;
            self.process_tree.note_reaped();
        }
        Ok(())
    }

    /// The child's pid, unless it is reaped and may be reused.
    pub(super) fn unreaped(&self) -> Option<Pid> {
        self.reaped.is_none().then_some(self.child)
    }

    /// Sends a signal to the child and all members.
    pub(super) fn send(&mut self, kernel: &impl Kernel, signal: Signal) {
        let sent = self.process_tree.signal(kernel, signal);
        self.heed(&sent);
    }

    /// Sends KILL to the child and all members.
    pub(super) fn kill(&mut self, kernel: &impl Kernel) {
        let sent = self.process_tree.kill(kernel);
        self.heed(&sent);
    }

    fn heed(&mut self, sent: &io::Result<()>) {
        if failed_with(sent, libc::EPERM) {
            self.escalation.record_refusal();
        }
    }

    /// Returns how the attempt ended, given how the child did.
    pub(super) fn end(&self, child: Outcome) -> ChildEnd {
        let died_of = match child {
            Outcome::Killed(signal) => Some(signal),
            _ => None,
        };
        let outcome = if self.escalation.has_timed_out() {
            Outcome::TimedOut
        } else {
            child
        };
        // A message that killed the command would have ended the pipeline without retry, too.
        let died_of_message = died_of.filter(|signal| self.messages_sent.contains(signal));
        ChildEnd {
            interrupted: self.interrupted.or(died_of_message),
            by_idle_timeout: self.escalation.is_idle_timeout(),
            ..outcome.into()
        }
    }

    /// Returns the end of an attempt that is abandoned, with the pid of a process left behind.
    pub(super) fn let_go(&self, child_ended: bool) -> ChildEnd {
        let left = if child_ended {
            self.process_tree.any_survivor()
        } else {
            None
        }
        .unwrap_or(self.child);
        ChildEnd {
            interrupted: self.interrupted,
            by_idle_timeout: self.escalation.is_idle_timeout(),
            left_behind: number(left),
            ..Outcome::TimedOut.into()
        }
    }
}

pub(super) fn number(pid: Pid) -> Option<u32> {
    u32::try_from(pid.as_raw_nonzero().get()).ok()
}

/// Reaps all ended children but `ours`: as PID 1 we adopt every orphan of the container. An orphan
/// queued behind our own child, while that may not be reaped yet, has to wait.
pub(super) fn reap_orphans(kernel: &impl Kernel, us: Us, ours: Option<Pid>) {
    if !us.is_init() {
        return;
    }
    while let Ok(Some((orphan, _))) = kernel.ended(None, Then::Keep) {
        let is_kept = Some(orphan) == ours;
        if is_kept || !matches!(kernel.ended(Some(orphan), Then::Reap), Ok(Some(_))) {
            return;
        }
    }
}
