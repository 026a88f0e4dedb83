//! The processes of an attempt: whom a time limit ends, and whether all of them are gone.
//!
//! Where the system can neither list processes nor watch them (no /proc, no pidfd, not Linux), the
//! members are not known: then the signals still go to the group, and the whole grace is waited.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, getpgid};

use super::sys;
use crate::signal::Signal;

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(not(target_os = "linux"))]
use elsewhere::{find, has_ended, watch};
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux::{find, has_ended, watch};

/// How many members are watched at a time, whatever their number: descriptors are few.
const MOST_WATCHES: usize = 16;

/// Whom a time limit means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The group that this child leads. Who left it by setsid or setpgid has opted out.
    Group(Pid),
    /// This child and its descendants that are still in our own group.
    Descendants(Pid),
}

/// A process, told from a later one with the same pid by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: Pid,
    started: u64,
}

/// A member, and perhaps a descriptor that becomes readable when it ends.
struct Member {
    process: Process,
    watch: Option<OwnedFd>,
}

/// The members besides the child itself, which is waited for by its parent, us.
pub(super) struct Family {
    scope: Scope,
    /// What the environment of every process of this attempt begins with, unless it has been
    /// changed: it tells a descendant whose parents are gone.
    marks: Vec<Vec<u8>>,
    members: Vec<Member>,
    is_known: bool,
}

impl Family {
    /// Nobody is looked for before [`Family::look`].
    pub(super) fn new(scope: Scope, marks: Vec<Vec<u8>>) -> Self {
        Self {
            scope,
            marks,
            members: Vec::new(),
            is_known: true,
        }
    }

    /// Finds the members that are alive.
    pub(super) fn look(&mut self) {
        let known: Vec<Process> = self.members.iter().map(|member| member.process).collect();
        match find(self.scope, &self.marks, &known) {
            Some(found) => {
                let member = |process| Member {
                    process,
                    watch: None,
                };
                self.members.extend(found.into_iter().map(member));
            }
            None => self.is_known = false,
        }
        self.sift();
    }

    /// Forgets the members that have ended, and sees to it that some of the others are watched.
    fn sift(&mut self) {
        self.members
            .retain(|member| !member.watch.as_ref().is_some_and(is_readable));
        if self.members.iter().any(|member| member.watch.is_some()) {
            return;
        }
        self.members.retain(|member| !has_ended(member.process));
        for member in self.members.iter_mut().take(MOST_WATCHES) {
            member.watch = watch(member.process).ok();
        }
    }

    /// Whether nobody is left besides the child. Members that are not known are gone when KILL has
    /// been `sent`.
    pub(super) fn is_gone(&mut self, sent: bool) -> bool {
        self.sift();
        if self.members.is_empty() {
            // Whoever was started by a member in its last moments is found by a second look.
            self.look();
        }
        self.members.is_empty() && (self.is_known || sent)
    }

    /// Descriptors of which one becomes readable before all members are gone, if there can be any.
    pub(super) fn watches(&mut self) -> Vec<&OwnedFd> {
        self.sift();
        self.members
            .iter()
            .filter_map(|member| member.watch.as_ref())
            .collect()
    }

    /// Some member that is left.
    pub(super) fn someone(&self) -> Option<Pid> {
        self.members.first().map(|member| member.process.pid)
    }

    /// Sends a signal to where it would have gone without us: the child, or its group.
    ///
    /// # Errors
    /// EPERM when one may not be signalled by us, ESRCH when nobody is there.
    pub(super) fn pass(&self, signal: Signal) -> io::Result<()> {
        match self.scope {
            Scope::Descendants(child) => send(child, signal),
            Scope::Group(leader) => {
                let group = sys::kill(-leader.as_raw_nonzero().get(), signal);
                // It may have gone to another group meanwhile.
                match getpgid(Some(leader)) {
                    Ok(group_now) if group_now != leader => group.or(send(leader, signal)),
                    _ => group,
                }
            }
        }
    }

    /// Sends a signal to the child and all members.
    ///
    /// # Errors
    /// EPERM when one may not be signalled by us; that one is gone is no error.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        let passed = self.pass(signal);
        match self.scope {
            Scope::Group(_) => passed,
            Scope::Descendants(_) => {
                let alive = self
                    .members
                    .iter()
                    .filter(|member| !has_ended(member.process));
                alive
                    .map(|member| send(member.process.pid, signal))
                    .fold(passed, io::Result::and)
            }
        }
    }

    /// A last KILL to a group after a time limit, while its leader's pid still pins the group's.
    pub(super) fn sweep(&self, after_limit: bool) {
        if let (true, Scope::Group(leader)) = (after_limit, self.scope) {
            let _ = sys::kill(-leader.as_raw_nonzero().get(), Signal::KILL);
        }
    }
}

fn is_readable(watch: &OwnedFd) -> bool {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    matches!(
        poll(&mut [PollFd::new(watch, PollFlags::IN)], Some(&at_once)),
        Ok(1..)
    )
}

fn send(pid: Pid, signal: Signal) -> io::Result<()> {
    sys::kill(pid.as_raw_nonzero().get(), signal)
}
