//! The processes of an attempt: whom a time limit ends, and whether all of them are gone.
//!
//! Where the system can neither list processes nor watch them (no /proc, no pidfd, not Linux), the
//! members are not known: then the signals still go to the group, and the whole grace is waited.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, getpgid, test_kill_process_group};

use super::sys;
use crate::signal::Signal;
use crate::stream::is_ready;

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

/// How often what was started at the last moment is looked for at a time.
const MOST_ROUNDS: usize = 8;

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
    marks: [Vec<u8>; 2],
    members: Vec<Member>,
    is_known: bool,
}

impl Family {
    /// Nobody is looked for before [`Family::look`].
    pub(super) fn new(scope: Scope, marks: [Vec<u8>; 2]) -> Self {
        Self {
            scope,
            marks,
            members: Vec::new(),
            is_known: true,
        }
    }

    /// Finds the members that are alive, and tells whether there are any that were not known.
    pub(super) fn look(&mut self) -> bool {
        let known: Vec<Process> = self.members.iter().map(|member| member.process).collect();
        let found = find(self.scope, &self.marks, &known);
        self.is_known &= found.is_some();
        let found = found.unwrap_or_default();
        let any = !found.is_empty();
        self.members.extend(found.into_iter().map(|process| Member {
            process,
            watch: None,
        }));
        self.sift();
        any
    }

    /// Forgets the members that have ended, and sees to it that some of the others are watched.
    pub(super) fn sift(&mut self) {
        self.members
            .retain(|member| !member.watch.as_ref().is_some_and(is_ready));
        while self.members.iter().all(|member| member.watch.is_none()) && !self.members.is_empty() {
            for member in self.members.iter_mut().take(MOST_WATCHES) {
                member.watch = watch(member.process).ok();
            }
            // One that cannot be watched may have ended just now.
            let before = self.members.len();
            self.members
                .retain(|member| member.watch.is_some() || !has_ended(member.process));
            if self.members.len() == before {
                return;
            }
        }
    }

    /// Whether nobody that is known of is left besides the child: time for another look.
    pub(super) fn seems_gone(&self) -> bool {
        self.members.is_empty() && self.is_known
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
    pub(super) fn watches(&self) -> Vec<&OwnedFd> {
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
                let refused = |result: io::Result<()>| {
                    result
                        .err()
                        .filter(|error| error.raw_os_error() == Some(libc::EPERM))
                };
                let refusals = alive.filter_map(|member| refused(send(member.process.pid, signal)));
                refused(passed)
                    .into_iter()
                    .chain(refusals)
                    .next()
                    .map_or(Ok(()), Err)
            }
        }
    }

    /// Sends KILL to all, and to whom they have started before it reached them.
    ///
    /// # Errors
    /// As [`Family::signal`].
    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.look();
        let mut killed = self.signal(Signal::KILL);
        // Each round can only find what the dead of the round before have started.
        for _ in 0..MOST_ROUNDS {
            if !self.look() {
                break;
            }
            killed = killed.and(self.signal(Signal::KILL));
        }
        killed
    }

    /// Whether, of a group whose leader is reaped, somebody is left whom we may not signal and
    /// perhaps not see.
    pub(super) fn has_unseen_rest(&self) -> bool {
        let Scope::Group(leader) = self.scope else {
            return false;
        };
        // Nothing is sent, so that nothing is lost if the number has been given to another group.
        test_kill_process_group(leader).is_err_and(|error| error == Errno::PERM)
    }

    /// A last KILL to a group after a time limit, while its leader's pid still pins the group's.
    pub(super) fn sweep(&self, after_limit: bool) {
        if let (true, Scope::Group(leader)) = (after_limit, self.scope) {
            let _ = sys::kill(-leader.as_raw_nonzero().get(), Signal::KILL);
        }
    }
}

fn send(pid: Pid, signal: Signal) -> io::Result<()> {
    sys::kill(pid.as_raw_nonzero().get(), signal)
}
