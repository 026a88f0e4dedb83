//! What is known of the attempt that runs.

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
    /// What arrived for it before it was there.
    pub(super) early_signals: Vec<SignalEvent>,
    /// What was sent to our group before it was in it, a bit each.
    pub(super) missed: u64,
    /// What marks the environment of this attempt's processes.
    pub(super) env_markers: [Vec<u8>; 2],
}

/// How a child has ended.
pub(super) struct ChildEnd {
    pub(super) outcome: Outcome,
    /// The first fatal signal that reached us meanwhile.
    pub(super) interrupted: Option<Signal>,
    /// The process that could not be ended, if a time limit met one.
    pub(super) left_behind: Option<u32>,
    /// Whether the time limit was that for silence.
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

/// What is known of the attempt that runs.
pub(super) struct RunningChild {
    pub(super) child: Pid,
    pub(super) escalation: Escalation,
    pub(super) process_tree: ProcessTree,
    /// What the terminal has not given to it, although it has to us, a bit each.
    pub(super) missed: u64,
    /// The first fatal signal that reached us.
    pub(super) interrupted: Option<Signal>,
    /// The last one that was passed on to the group of the command.
    pub(super) passed_on: Option<Signal>,
    /// How the child ended, if it was reaped before the rest of its group is gone.
    reaped: Option<WaitIdStatus>,
    /// The messages for the command that we passed on.
    pub(super) told: Vec<Signal>,
}

impl RunningChild {
    /// A child that was just started, with its limits.
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
            passed_on: None,
            reaped: None,
            told: Vec::new(),
        }
    }

    /// How the child has ended, if it has. It is not reaped as long as its pid is needed.
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

    /// Reaps the child, which has ended, if that is not done.
    pub(super) fn reap(&mut self) -> io::Result<()> {
        if self.reaped.is_none() {
            wait_for(self.child, WaitIdOptions::empty())?;
            self.process_tree.note_reaped();
        }
        Ok(())
    }

    /// The child, as long as its pid is its own.
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

    /// How the attempt ended, for a child that ended with `status`.
    pub(super) fn end(&self, status: &WaitIdStatus) -> ChildEnd {
        let died_of = status.terminating_signal().and_then(Signal::from_number);
        let code = status
            .exit_status()
            .and_then(|code| u8::try_from(code & 0xff).ok());
        let outcome = match (self.escalation.has_timed_out(), died_of, code) {
            (true, _, _) => Outcome::TimedOut,
            (false, Some(signal), _) => Outcome::Killed(signal),
            // One of both is always there; if not, it must not look like a success.
            (false, None, code) => Outcome::Exited(code.unwrap_or(OWN_FAILURE)),
        };
        // A message that the command died of would have ended the pipeline without us, too.
        let died_of_message = died_of.filter(|signal| self.told.contains(signal));
        ChildEnd {
            interrupted: self.interrupted.or(died_of_message),
            by_idle_timeout: self.escalation.is_idle_timeout(),
            ..outcome.into()
        }
    }

    /// The attempt cannot be ended.
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

/// Reaps what is not `ours`: as PID 1 we are given the orphans of the whole container. One that
/// stands behind our own child, while that may not be reaped yet, waits for it.
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

/// Looks whether the child has ended, and reaps it unless told not to.
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
