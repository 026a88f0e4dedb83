//! Signals to the members of a process tree.

use std::io;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::Pid;

use super::members::{has_ended, has_lost_parent, outside, watch};
use super::{MOST_ROUNDS, Member, Process, ProcessTree, Scope};
use crate::signal::Signal;
use crate::supervise::kernel::{Kernel, Target, raw};

impl ProcessTree {
    /// Whether the group has a process left, as far as a null signal can tell.
    pub(super) fn answers(&self, kernel: &impl Kernel) -> bool {
        match self.scope {
            Scope::Group(leader) => {
                !failed_with(&kernel.kill(Target::Group(leader), None), libc::ESRCH)
            }
            Scope::Descendants(_) => false,
        }
    }

    /// Sends a signal where it would have gone without retry: to the child, or to its group.
    ///
    /// # Errors
    /// EPERM when we may not signal a process, ESRCH when there is none.
    pub(in crate::supervise) fn pass(
        &self,
        kernel: &impl Kernel,
        signal: Signal,
    ) -> io::Result<()> {
        match self.scope {
            Scope::Descendants(child) => send(kernel, child, signal),
            Scope::Group(leader) => {
                let group = kernel.kill(Target::Group(leader), Some(signal));
                // The child may have moved to another group.
                match kernel.group(leader) {
                    Some(group_now) if group_now != raw(leader) && !self.is_reaped => {
                        group.or(send(kernel, leader, signal))
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
    pub(in crate::supervise) fn signal(
        &self,
        kernel: &impl Kernel,
        signal: Signal,
    ) -> io::Result<()> {
        let passed = self.pass(kernel, signal);
        let mut sent = vec![passed];
        for Member { process, .. } in &self.members {
            if !has_ended(kernel, *process) && !self.is_in_group(kernel, *process) {
                sent.push(send(kernel, process.pid, signal));
            }
        }
        let refusal = sent.into_iter().find(|sent| failed_with(sent, libc::EPERM));
        refusal.unwrap_or(Ok(()))
    }

    /// Whether a signal to the child's group reaches a process.
    fn is_in_group(&self, kernel: &impl Kernel, process: Process) -> bool {
        matches!(self.scope, Scope::Group(leader) if kernel.group(process.pid) == Some(raw(leader)))
    }

    /// Sends KILL to the child and all members, those they start meanwhile included.
    ///
    /// # Errors
    /// As [`ProcessTree::signal`].
    pub(in crate::supervise) fn kill(&mut self, kernel: &impl Kernel) -> io::Result<()> {
        self.refresh(kernel);
        // A stopped process neither forks nor orphans its children, so that each round can only
        // find what was started before it.
        for _ in 0..MOST_ROUNDS {
            let _ = self.signal(kernel, Signal::STOP);
            if !self.refresh(kernel) {
                break;
            }
        }
        self.is_news = false;
        self.signal(kernel, Signal::KILL)
    }

    /// Whether a group whose leader is reaped still holds a process that we may not signal and
    /// perhaps not see.
    pub(in crate::supervise) fn has_unseen_rest(&self, kernel: &impl Kernel) -> bool {
        let Scope::Group(leader) = self.scope else {
            return false;
        };
        // A null signal does no harm if the id has been reused by another group.
        failed_with(&kernel.kill(Target::Group(leader), None), libc::EPERM)
    }

    /// Sends a last KILL to the group after a time limit, while its leader's pid still pins the id.
    pub(in crate::supervise) fn kill_group(&self, kernel: &impl Kernel, after_limit: bool) {
        if let (true, Scope::Group(leader)) = (after_limit && !self.is_reaped, self.scope) {
            let _ = kernel.kill(Target::Group(leader), Some(Signal::KILL));
        }
    }
}

fn send(kernel: &impl Kernel, pid: Pid, signal: Signal) -> io::Result<()> {
    kernel.kill(Target::Process(pid), Some(signal))
}

/// Whether a signal was refused with this error number.
pub(in crate::supervise) fn failed_with(sent: &io::Result<()>, number: i32) -> bool {
    let error = sent.as_ref().err();
    error.is_some_and(|error| error.raw_os_error() == Some(number))
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
    pub(super) fn note(&mut self, kernel: &impl Kernel, leader: Pid) {
        let now = outside(kernel, leader);
        self.0
            .retain(|one| now.iter().all(|other| other.process != one.process));
        self.0.extend(now);
    }

    /// Sends the signal, once, to those that the child's end has left without their parent.
    pub(super) fn pass_to_orphans(&mut self, kernel: &impl Kernel, signal: Signal) {
        for one in self.0.drain(..) {
            if one.may_lose_it_yet {
                await_end(kernel, one.parent);
            }
            if has_lost_parent(kernel, one.process, one.parent) {
                let _ = send(kernel, one.process.pid, signal);
                let _ = send(kernel, one.process.pid, Signal::CONT);
            }
        }
    }
}

/// Waits up to 200 ms for a process to end.
fn await_end(kernel: &impl Kernel, process: Process) {
    const MOMENT: Duration = Duration::from_millis(200);
    if let Ok(watch) = watch(kernel, process) {
        let ends = vec![PollFd::new(&watch, PollFlags::IN)];
        let _ = kernel.wait(Some(MOMENT), false, ends);
    }
}
