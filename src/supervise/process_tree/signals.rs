//! Signals to the processes of an attempt.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, getpgid, test_kill_process_group};

use super::{Member, Process, ProcessTree, Scope, has_ended, has_lost_parent, outside, watch};
use crate::signal::Signal;
use crate::sys;

/// How often what was started at the last moment is looked for at a time.
const MOST_ROUNDS: usize = 8;

impl ProcessTree {
    /// Whether somebody is left in the group, for all that can be learned of it.
    pub(super) fn answers(&self) -> bool {
        match self.scope {
            Scope::Group(leader) => test_kill_process_group(leader) != Err(Errno::SRCH),
            Scope::Descendants(_) => false,
        }
    }

    /// Sends a signal to where it would have gone without us: the child, or its group.
    ///
    /// # Errors
    /// EPERM when one may not be signalled by us, ESRCH when nobody is there.
    pub(in crate::supervise) fn pass(&self, signal: Signal) -> io::Result<()> {
        match self.scope {
            Scope::Descendants(child) => send(child, signal),
            Scope::Group(leader) => {
                let group = sys::kill(-leader.as_raw_nonzero().get(), signal);
                // It may have gone to another group meanwhile.
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
    /// EPERM when one may not be signalled by us; that one is gone is no error.
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

    /// Whether a process is reached with the group that the child leads.
    fn is_in_group(&self, process: Process) -> bool {
        matches!(self.scope, Scope::Group(leader) if getpgid(Some(process.pid)) == Ok(leader))
    }

    /// Sends KILL to all, and to whom they have started before it reached them.
    ///
    /// # Errors
    /// As [`ProcessTree::signal`].
    pub(in crate::supervise) fn kill(&mut self) -> io::Result<()> {
        self.refresh();
        // Whoever is stopped starts nobody and leaves nobody without a parent, so that each round
        // can only find what was started before it.
        for _ in 0..MOST_ROUNDS {
            let _ = self.signal(Signal::STOP);
            if !self.refresh() {
                break;
            }
        }
        self.is_news = false;
        self.signal(Signal::KILL)
    }

    /// Whether, of a group whose leader is reaped, somebody is left whom we may not signal and
    /// perhaps not see.
    pub(in crate::supervise) fn has_unseen_rest(&self) -> bool {
        let Scope::Group(leader) = self.scope else {
            return false;
        };
        // Nothing is sent, so that nothing is lost if the number has been given to another group.
        test_kill_process_group(leader).is_err_and(|error| error == Errno::PERM)
    }

    /// A last KILL to a group after a time limit, while its leader's pid still pins the group's.
    pub(in crate::supervise) fn kill_group(&self, after_limit: bool) {
        if let (true, Scope::Group(leader)) = (after_limit && !self.is_reaped, self.scope) {
            let _ = sys::kill(-leader.as_raw_nonzero().get(), Signal::KILL);
        }
    }
}

pub(super) fn send(pid: Pid, signal: Signal) -> io::Result<()> {
    sys::kill(pid.as_raw_nonzero().get(), signal)
}

/// A process outside the group that was linked to it when a signal came, and its parent then. The
/// group is told by one call, and those who have put others outside of it, such as timeout(1), pass a
/// signal on by themselves; but nobody does once the parents are gone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outsider {
    pub(super) process: Process,
    pub(super) parent: Process,
    /// Whether the parent stands in the group, and is not the child: it was told as well, and may
    /// end a moment later than the child.
    pub(super) may_lose_it_yet: bool,
}

/// All of them.
#[derive(Default)]
pub(super) struct Outsiders(Vec<Outsider>);

impl Outsiders {
    /// Notes those that there are as a signal comes.
    pub(super) fn note(&mut self, leader: Pid) {
        let now = outside(leader);
        self.0
            .retain(|one| now.iter().all(|other| other.process != one.process));
        self.0.extend(now);
    }

    /// The child has ended: tells the signal, once, to those who have lost their parent.
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

/// Waits a moment for a process to end.
fn await_end(process: Process) {
    const MOMENT: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 200_000_000,
    };
    if let Ok(watch) = watch(process) {
        let _ = poll(&mut [PollFd::new(&watch, PollFlags::IN)], Some(&MOMENT));
    }
}
