//! The processes of an attempt: whom a time limit ends, whom a signal is passed on to, and whether
//! all of them are gone.
//!
//! Where the system does not list processes (no /proc, not Linux), the members are not known: then
//! signals go to the group, and the group is asked whether there is somebody left in it.

use std::os::fd::OwnedFd;

use rustix::process::Pid;

use crate::signal::Signal;
use crate::sys::fd::is_ready;
use signals::{Outsider, Outsiders};

#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
use other::{find, has_ended, has_lost_parent, outside, watch};
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux::{find, has_ended, has_lost_parent, outside, watch};
mod signals;

/// How many members are watched at a time, whatever their number: descriptors are few.
const MOST_WATCHES: usize = 16;

/// Where the attempt runs. Whoever is linked to the child by parents belongs to it in either case,
/// whatever its group: a script's own `timeout 60 curl` is no daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// In a group that this child leads, all of which belongs to it.
    Group(Pid),
    /// In our own group, of which this child and its descendants belong to it.
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

/// What [`find`] has found.
struct Found {
    members: Vec<Process>,
    /// When the newest of all processes was started.
    newest: u64,
    knowledge: Knowledge,
}

/// What is known of who is a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knowledge {
    /// Nothing: the system does not list processes.
    None,
    /// There is a process of which it cannot be told yet.
    Partial,
    /// Everything.
    Whole,
}

/// The members besides the child itself, which is waited for by its parent, us.
pub(super) struct ProcessTree {
    scope: Scope,
    /// What the environment of every process of this attempt begins with, unless it has been
    /// changed: it tells a descendant whose parents are gone.
    env_markers: [Vec<u8>; 2],
    members: Vec<Member>,
    knowledge: Knowledge,
    /// Whether somebody was found since KILL was sent, if it was.
    is_news: bool,
    /// When the newest process had been started when members were first looked for. Who has left
    /// before that is not to be found later.
    struck: Option<u64>,
    /// Whether the child's pid is no longer its own.
    is_reaped: bool,
    /// Who is to hear of a signal if the child leaves it without a parent.
    outsiders: Outsiders,
}

impl ProcessTree {
    /// Nobody is looked for before [`ProcessTree::refresh`].
    pub(super) fn new(scope: Scope, env_markers: [Vec<u8>; 2]) -> Self {
        Self {
            scope,
            env_markers,
            members: Vec::new(),
            knowledge: Knowledge::Whole,
            is_news: false,
            struck: None,
            is_reaped: false,
            outsiders: Outsiders::default(),
        }
    }

    /// Finds the members that are alive, and tells whether there are any that were not known.
    pub(super) fn refresh(&mut self) -> bool {
        let known: Vec<Process> = self.members.iter().map(|member| member.process).collect();
        let found = find(self.scope, &self.env_markers, &known, self.struck);
        let Some(found) = found else {
            self.knowledge = Knowledge::None;
            self.prune_exited();
            return false;
        };
        let Found {
            members, newest, ..
        } = found;
        self.knowledge = found.knowledge;
        self.struck = self.struck.or(Some(newest));
        let any = !members.is_empty();
        self.is_news |= any;
        self.members
            .extend(members.into_iter().map(|process| Member {
                process,
                watch: None,
            }));
        self.prune_exited();
        any
    }

    /// Forgets the members that have ended, and sees to it that some of the others are watched.
    pub(super) fn prune_exited(&mut self) {
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

    /// Whether somebody is left, or may be, to whom KILL was not sent when it was sent to the others.
    pub(super) fn may_have_missed_kill(&self) -> bool {
        self.is_news || self.knowledge != Knowledge::Whole
    }

    /// Whether nobody that is known of is left besides the child: time for another look.
    pub(super) fn seems_gone(&self) -> bool {
        self.members.is_empty() && self.knowledge == Knowledge::Whole
    }

    /// Whether nobody is left besides the child.
    pub(super) fn is_gone(&mut self) -> bool {
        self.prune_exited();
        if self.members.is_empty() {
            // Whoever was started by a member in its last moments is found by a second look.
            self.refresh();
        }
        self.members.is_empty()
            && match self.knowledge {
                Knowledge::None => !self.answers(),
                Knowledge::Partial => false,
                Knowledge::Whole => true,
            }
    }

    /// Whether it takes a question to the group to learn that it is empty: the child must be reaped
    /// first, because as a zombie it would answer.
    pub(super) fn must_be_asked(&self) -> bool {
        self.knowledge == Knowledge::None && matches!(self.scope, Scope::Group(_))
    }

    /// Whether nothing tells when the last member ends, so that it has to be looked for again.
    pub(super) fn must_be_looked_at(&self) -> bool {
        self.must_be_asked() || self.knowledge == Knowledge::Partial
    }

    /// Notes that the child is reaped. Nothing is sent to its pid from here on; that of the group is
    /// not given away as long as anybody is in it.
    pub(super) fn note_reaped(&mut self) {
        self.is_reaped = true;
    }

    /// Descriptors of which one becomes readable before all members are gone, if there can be any.
    pub(super) fn watches(&self) -> Vec<&OwnedFd> {
        self.members
            .iter()
            .filter_map(|member| member.watch.as_ref())
            .collect()
    }

    /// Some member that is left.
    pub(super) fn any_survivor(&self) -> Option<Pid> {
        self.members.first().map(|member| member.process.pid)
    }

    /// Notes who is to hear of a signal that comes now, should the child leave it without a parent.
    pub(super) fn note_outsiders(&mut self) {
        if let Scope::Group(leader) = self.scope {
            self.outsiders.note(leader);
        }
    }

    /// The child has ended after it was told a signal: tells it to those outside its group that it
    /// has left without a parent.
    pub(super) fn pass_to_orphans(&mut self, signal: Signal) {
        self.outsiders.pass_to_orphans(signal);
    }
}
