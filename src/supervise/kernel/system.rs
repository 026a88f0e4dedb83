//! The real kernel.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitIdStatus, waitid};

use super::{Kernel, Stat, Target, Then, Which, raw, table};
use crate::signal::Signal;
use crate::status::{OWN_FAILURE, Outcome};
use crate::supervise::signal_queue::{SignalEvent, SignalQueue};
use crate::sys::{self, Mask, SpawnSpec, Started};

/// The real [`Kernel`].
pub(crate) struct System {
    begun: Instant,
    signal_queue: SignalQueue,
}

impl System {
    /// A kernel whose time began at `begun`, and whose signals come to this queue.
    pub(in crate::supervise) fn new(begun: Instant, signal_queue: SignalQueue) -> Self {
        Self {
            begun,
            signal_queue,
        }
    }
}

/// The signals that are blocked, and the mask before.
pub(crate) struct Hold(Mask);

impl Drop for Hold {
    fn drop(&mut self) {
        sys::release_signals(&self.0);
    }
}

impl Kernel for System {
    type Hold = Hold;

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    fn take_signals(&self) -> Vec<SignalEvent> {
        self.signal_queue.take()
    }

    fn wait(
        &self,
        time: Option<Duration>,
        is_for_signals: bool,
        others: Vec<PollFd<'_>>,
    ) -> io::Result<()> {
        let mut watched = others;
        if is_for_signals {
            watched.push(self.signal_queue.watched());
        }
        // A time beyond the system's range means forever.
        let time = time.and_then(|time| Timespec::try_from(time).ok());
        match poll(&mut watched, time.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn hold_signals(&self) -> Hold {
        Hold(sys::hold_signals())
    }

    fn held_back(&self, Hold(mask): &Hold) -> Vec<Signal> {
        let pending = sys::pending();
        let ours = self.signal_queue.handled().iter().copied();
        ours.filter(|signal| pending.has(*signal) && !mask.has(*signal))
            .collect()
    }

    fn start(&self, spec: &SpawnSpec<'_>) -> io::Result<Started> {
        sys::start(spec)
    }

    fn ended(&self, child: Option<Pid>, then: Then) -> io::Result<Option<(Pid, Outcome)>> {
        let Some(child) = child.or_else(sys::some_ended_child) else {
            return Ok(None);
        };
        let keep = match then {
            Then::Keep => WaitIdOptions::NOWAIT,
            Then::Reap => WaitIdOptions::empty(),
        };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | keep;
        loop {
            match waitid(WaitId::Pid(child), options) {
                Err(Errno::INTR) => {}
                status => return Ok(status?.map(|status| (child, outcome(&status)))),
            }
        }
    }

    fn kill(&self, target: Target, signal: Option<Signal>) -> io::Result<()> {
        let target = match target {
            Target::Process(pid) => raw(pid),
            Target::Group(leader) => -raw(leader),
        };
        sys::kill(target, signal)
    }

    fn processes(&self, which: Which) -> Option<Vec<Stat>> {
        table::processes(which)
    }

    fn group(&self, pid: Pid) -> Option<i32> {
        sys::group_of(Some(pid)).ok()
    }

    fn environment(&self, pid: Pid) -> Vec<u8> {
        table::environment(pid)
    }

    fn watch(&self, pid: Pid) -> io::Result<OwnedFd> {
        table::watch(pid)
    }
}

/// Returns how a child has ended.
pub(in crate::supervise) fn outcome(status: &WaitIdStatus) -> Outcome {
    let code = status
        .exit_status()
        .and_then(|code| u8::try_from(code & 0xff).ok());
    match status.terminating_signal().and_then(Signal::from_number) {
        Some(signal) => Outcome::Killed(signal),
        // One of the two is always there; if not, it must not look like a success.
        None => Outcome::Exited(code.unwrap_or(OWN_FAILURE)),
    }
}
