//! The kernel as the supervisor sees it: a dozen calls, made by [`System`], and simulated by tests.

#[cfg(target_os = "linux")]
pub(super) mod linux;
#[cfg(target_os = "linux")]
use linux as table;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
use other as table;
pub(super) mod system;

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::PollFd;
use rustix::process::Pid;

use super::signal_queue::SignalEvent;
use crate::signal::Signal;
use crate::status::Outcome;
use crate::sys::{SpawnSpec, Started};

pub(crate) use system::System;

/// The calls of a kernel. Only [`Kernel::wait`] blocks.
pub(crate) trait Kernel {
    /// Signals that are blocked for as long as this lives.
    type Hold;

    /// Returns the time since the start of the run, which never goes back.
    fn now(&self) -> Duration;

    /// Takes the signals that have arrived, in order.
    fn take_signals(&self) -> Vec<SignalEvent>;

    /// Waits until one of these is ready or the time is over, and until a signal arrives if the wait
    /// is for signals. It may return early; callers check the clock.
    ///
    /// # Errors
    /// When the system cannot wait.
    fn wait(
        &self,
        time: Option<Duration>,
        is_for_signals: bool,
        others: Vec<PollFd<'_>>,
    ) -> io::Result<()>;

    /// Blocks all signals but those that stop a process.
    fn hold_signals(&self) -> Self::Hold;

    /// Returns the signals that have arrived since they were blocked.
    fn held_back(&self, hold: &Self::Hold) -> Vec<Signal>;

    /// Starts the command, with signals blocked.
    ///
    /// # Errors
    /// Why there is no process, or why it could not execute the command.
    fn start(&self, spec: &SpawnSpec<'_>) -> io::Result<Started>;

    /// Returns a child that has ended, and how; any child if `child` is `None`.
    ///
    /// # Errors
    /// When there is no such child.
    fn ended(&self, child: Option<Pid>, then: Then) -> io::Result<Option<(Pid, Outcome)>>;

    /// Sends a signal; without one, it only tells whether it could be sent.
    ///
    /// # Errors
    /// EPERM when no process may be signalled, ESRCH when there is none.
    fn kill(&self, target: Target, signal: Option<Signal>) -> io::Result<()>;

    /// Returns the entries of these processes; `None` where the system cannot list them.
    fn processes(&self, which: Which) -> Option<Vec<Stat>>;

    /// Returns the id of the group that a process, which may be a zombie, is in; `None` if it is
    /// gone.
    fn group(&self, pid: Pid) -> Option<i32>;

    /// Returns the text of the environment that a process was started with, as far as we may read it.
    fn environment(&self, pid: Pid) -> Vec<u8>;

    /// Returns a descriptor that becomes readable when a process has ended.
    ///
    /// # Errors
    /// When it is gone, or there is no descriptor left.
    fn watch(&self, pid: Pid) -> io::Result<OwnedFd>;
}

/// The fate of a child that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// It stays a zombie, which keeps its pid from being reused.
    Keep,
    /// It is gone, and its pid may be another's.
    Reap,
}

/// The receiver of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// One process.
    Process(Pid),
    /// The group with this leader, who may be gone.
    Group(Pid),
}

/// The processes to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// All that are alive.
    All,
    /// The live children of one.
    ChildrenOf(Pid),
    /// This one, which may be a zombie.
    One(Pid),
}

/// A process, identified by pid and start time, because pids are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(crate) started: u64,
}

/// The entry of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) process: Process,
    /// The pid of its parent; 0 if that is outside our pid namespace.
    pub(crate) parent: i32,
    /// The id of its group.
    pub(crate) group: i32,
    pub(crate) has_ended: bool,
    /// Whether it is in the middle of an exec.
    pub(crate) is_executing: bool,
    /// The length of its environment in bytes; 0 where we may not read it.
    pub(crate) environment: usize,
}

/// Who we are; it does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Us {
    pub(crate) pid: Pid,
    /// Whether we lead our session, so that the terminal's hang-up goes to us alone.
    pub(crate) leads_session: bool,
}

impl Us {
    /// Whether we are PID 1, and adopt every orphan of the container.
    pub(crate) fn is_init(self) -> bool {
        self.pid == Pid::INIT
    }
}

/// Returns a pid as a number.
pub(crate) fn raw(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}
