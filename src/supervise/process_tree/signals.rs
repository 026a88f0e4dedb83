//! Signals to the members of a process tree.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, getpgid, test_kill_process_group};

use super::{Member, Process, ProcessTree, Scope, has_ended, has_lost_parent, outside, watch};
use crate::signal::Signal;
use crate::sys;

/// The most rounds of STOP and refresh before KILL.
const MOST_ROUNDS: usize = 8;

impl ProcessTree {
    /// Whether the group has a process left, as far as a null signal can tell.
    pub(super) fn answers(&self) -> bool {
        match self.scope {
            Scope::Group(leader) => test_kill_process_group(leader) != Err(Errno::SRCH),
            Scope::Descendants(_) => false,
        }
    }

    /// Sends a signal where it would have gone without retry: to the child, or to its group.
    ///
    /// # Errors
    /// EPERM when we may not signal a process, ESRCH when there is none.
    pub(in crate::supervise) fn pass(&self, signal: Signal) -> io::Result<()> {
        match self.scope {
            Scope::Descendants(child) => send(child, signal),
            Scope::Group(leader) => {
                let group = sys::kill(-leader.as_raw_nonzero().get(), signal);
                // The child may have moved to another group.
                match getpgid(Some(leader)) {
                    Ok(group_now) if group_now != leader && !self.is_reaped => {
                        group.or(send(leader, signal))
                    }
                    _ => group,
                }
            }
        }
    }

    /// Sends a signal to the child and all members.
    ///
    /// # Errors
    /// EPERM when we may not signal a process; one that is gone is no error.
    pub(in crate::supervise) fn signal(&self, signal: Signal) -> io::Result<()> {
        let passed = self.pass(signal);
        let mut sent = vec![passed];
        for Member { process, .. } in &self.members {
            if !has_ended(*process) && !self.is_in_group(*process) {
                sent.push(send(process.pid, signal));
            }
        }
        let is_refusal = |error: &io::Error| error.raw_os_error() == Some(libc::EPERM);
        let refusal = sent.into_iter().filter_map(Result::err).find(is_refusal);
        refusal.map_or(Ok(()), Err)
    }

    /// Whether a signal to the child's group reaches a process.
    fn is_in_group(&self, process: Process) -> bool {
        matches!(self.scope, Scope::Group(leader) if getpgid(Some(process.pid)) == Ok(leader))
    }

    /// Sends KILL to the child and all members, those they start meanwhile included.
    ///
    /// # Errors
    /// As [`ProcessTree::signal`].
    pub(in crate::supervise) fn kill(&mut self) -> io::Result<()> {
        self.refresh();
        // A stopped process neither forks nor orphans its children, so that each round can only
        // find what was started before it.
        for _ in 0..MOST_ROUNDS {
            let _ = self.signal(Signal::STOP);
            if !self.refresh() {
                break;
            }
        }
        self.is_news = false;
        self.signal(Signal::KILL)
    }

    /// Whether a group whose leader is reaped still holds a process that we may not signal and
    /// perhaps not see.
    pub(in crate::supervise) fn has_unseen_rest(&self) -> bool {
        let Scope::Group(leader) = self.scope else {
            return false;
        };
        // A null signal does no harm if the id has been reused by another group.
        test_kill_process_group(leader).is_err_and(|error| error == Errno::PERM)
    }

    /// Sends a last KILL to the group after a time limit, while its leader's pid still pins the id.
    pub(in crate::supervise) fn kill_group(&self, after_limit: bool) {
        if let (true, Scope::Group(leader)) = (after_limit && !self.is_reaped, self.scope) {
            let _ = sys::kill(-leader.as_raw_nonzero().get(), Signal::KILL);
        }
    }
}

pub(super) fn send(pid: Pid, signal: Signal) -> io::Result<()> {
    sys::kill(pid.as_raw_nonzero().get(), signal)
}

/// A descendant that was outside the group when a signal came, and its parent then. A signal to the
/// group reaches parents such as timeout(1), which pass it on; once they are gone, nobody does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outsider {
    pub(super) process: Process,
    pub(super) parent: Process,
    /// Whether the parent is in the group, but not the child: it got the signal as well, and may
    /// end a moment later than the child.
    pub(super) may_lose_it_yet: bool,
}

/// The recorded outsiders.
#[derive(Default)]
pub(super) struct Outsiders(Vec<Outsider>);

impl Outsiders {
    /// Records the current ones as a signal comes.
    pub(super) fn note(&mut self, leader: Pid) {
        let now = outside(leader);
        self.0
            .retain(|one| now.iter().all(|other| other.process != one.process));
        self.0.extend(now);
    }

    /// Sends the signal, once, to those that the child's end has left without their parent.
    pub(super) fn pass_to_orphans(&mut self, signal: Signal) {
        for one in self.0.drain(..) {
            if one.may_lose_it_yet {
                await_end(one.parent);
            }
            if has_lost_parent(one.process, one.parent) {
                let _ = send(one.process.pid, signal);
                let _ = send(one.process.pid, Signal::CONT);
            }
        }
    }
}

/// Waits up to 200 ms for a process to end.
fn await_end(process: Process) {
    const MOMENT: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 200_000_000,
    };
    if let Ok(watch) = watch(process) {
        let _ = poll(&mut [PollFd::new(&watch, PollFlags::IN)], Some(&MOMENT));
    }
}
