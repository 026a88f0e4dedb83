//! The running child of an attempt.

use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitIdStatus, getpid, waitid};

use super::process_tree::{ProcessTree, Scope};
use super::signal_queue::SignalEvent;
use crate::escalation::Escalation;
use crate::signal::Signal;
use crate::status::{Ending, OWN_FAILURE, Outcome};
use crate::sys;

/// A child that was just started.
pub(super) struct SpawnedChild {
    pub(super) pid: Pid,
    /// Signals that arrived before it was spawned, still to be passed on.
    pub(super) early_signals: Vec<SignalEvent>,
    /// Signals sent to our group before the child was in it, a bit each.
    pub(super) missed: u64,
    /// The environment entries that mark this attempt's processes.
    pub(super) env_markers: [Vec<u8>; 2],
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
    /// The child's wait status, if it was reaped before the rest of its group was gone.
    reaped: Option<WaitIdStatus>,
    /// The messages (USR1, USR2) passed on to the command.
    pub(super) messages_sent: Vec<Signal>,
}

impl RunningChild {
    /// Supervises a child that was just spawned, with its limits.
    pub(super) fn new(spawned: SpawnedChild, escalation: Escalation, shares_group: bool) -> Self {
        let child = spawned.pid;
        let scope = if shares_group {
            Scope::Descendants(child)
        } else {
            Scope::Group(child)
        };
        Self {
            child,
            escalation,
            process_tree: ProcessTree::new(scope, spawned.env_markers),
            missed: spawned.missed,
            interrupted: None,
            fatal_passed_on: None,
            reaped: None,
            messages_sent: Vec::new(),
        }
    }

    /// Returns the child's wait status once it has ended. It is not reaped while its pid is needed.
    pub(super) fn ended(&mut self) -> io::Result<Option<WaitIdStatus>> {
        if self.reaped.is_some() {
            return Ok(self.reaped);
        }
        let ended = wait_for(self.child, WaitIdOptions::NOWAIT)?;
        if ended.is_some() && self.escalation.has_timed_out() && self.process_tree.must_be_asked() {
            self.reap()?;
            self.reaped = ended;
        }
        Ok(ended)
    }

    /// Reaps the child, which must have ended, unless that has been done.
    pub(super) fn reap(&mut self) -> io::Result<()> {
        if self.reaped.is_none() {
            wait_for(self.child, WaitIdOptions::empty())?;
            self.process_tree.note_reaped();
        }
        Ok(())
    }

    /// The child's pid, unless it is reaped and may be reused.
    pub(super) fn unreaped(&self) -> Option<Pid> {
        self.reaped.is_none().then_some(self.child)
    }

    pub(super) fn send(&mut self, signal: Signal) {
        let sent = self.process_tree.signal(signal);
        self.heed(sent);
    }

    pub(super) fn kill(&mut self) {
        let sent = self.process_tree.kill();
        self.heed(sent);
    }

    fn heed(&mut self, sent: io::Result<()>) {
        if sent.is_err_and(|error| error.raw_os_error() == Some(libc::EPERM)) {
            self.escalation.record_refusal();
        }
    }

    /// Returns how the attempt ended, given the child's wait status.
    pub(super) fn end(&self, status: &WaitIdStatus) -> ChildEnd {
        let died_of = status.terminating_signal().and_then(Signal::from_number);
        let code = status
            .exit_status()
            .and_then(|code| u8::try_from(code & 0xff).ok());
        let outcome = match (self.escalation.has_timed_out(), died_of, code) {
            (true, _, _) => Outcome::TimedOut,
            (false, Some(signal), _) => Outcome::Killed(signal),
            // One of the two is always there; if not, it must not look like a success.
            (false, None, code) => Outcome::Exited(code.unwrap_or(OWN_FAILURE)),
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
pub(super) fn reap_orphans(ours: Option<Pid>) {
    if getpid() != Pid::INIT {
        return;
    }
    while let Some(orphan) = sys::some_ended_child().filter(|ended| Some(*ended) != ours) {
        if !matches!(wait_for(orphan, WaitIdOptions::empty()), Ok(Some(_))) {
            return;
        }
    }
}

/// Polls for the child's end, and reaps it unless `options` holds NOWAIT.
///
/// # Errors
/// When there is no such child.
pub(super) fn wait_for(child: Pid, options: WaitIdOptions) -> io::Result<Option<WaitIdStatus>> {
    loop {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | options;
        match waitid(WaitId::Pid(child), options) {
            Err(Errno::INTR) => {}
            other => return other.map_err(io::Error::from),
        }
    }
}
