//! Those outside the child's group who were linked to it when a signal came.
//!
//! The group is told by one call. They are not in it, and those who have put them there, such as
//! timeout(1), pass a signal on by themselves; but nobody does once their parents are gone.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;

use super::signals::send;
use super::{Process, has_lost_parent, outside, watch};
use crate::signal::Signal;

/// A process outside the group, and its parent when a signal came.
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
