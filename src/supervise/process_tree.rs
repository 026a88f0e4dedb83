//! The process tree of an attempt: finds its members, signals them, and tells when all are gone.
//!
//! Where processes cannot be listed (no /proc, not Linux), the members are unknown: signals go to
//! the group, and a null signal tells whether the group is empty.

use std::os::fd::OwnedFd;

use rustix::process::Pid;

use super::kernel::{Kernel, Process, Us};
use crate::signal::Signal;
use crate::sys::fd::is_ready;
use members::{has_ended, watch};
pub(super) use signals::failed_with;
use signals::{Outsider, Outsiders};

mod members;
mod signals;

/// The most searches for members in a row, while each still finds new ones.
const MOST_ROUNDS: usize = 8;

/// The most members watched at a time, because descriptors are few.
const MOST_WATCHES: usize = 16;

/// The processes that are members. Descendants of the child are in either case, whatever their
/// group: a script's own `timeout 60 curl` is no daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The whole group that this child leads.
    Group(Pid),
    /// This child and its descendants, in our own group.
    Descendants(Pid),
}

/// A member, and if it is watched, a descriptor that becomes readable when it ends.
struct Member {
    process: Process,
    watch: Option<OwnedFd>,
}

/// The result of [`ProcessTree::find`].
struct Found {
    members: Vec<Process>,
    /// The strike, if this is the first time.
    strike: Option<Strike>,
    knowledge: Knowledge,
    /// Whether a process that may have been a member ended while the others were looked at.
    has_vanished: bool,
}

/// The newest processes when a limit struck.
struct Strike {
    /// When they were started, in ticks that are much longer than a start takes.
    newest: u64,
    /// Those of them that were no members.
    bystanders: Vec<Process>,
}

/// How complete the list of members is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knowledge {
    /// Unknown: the system does not list processes.
    None,
    /// Incomplete: for some process it cannot be told yet whether it is a member.
    Partial,
    /// Complete.
    Whole,
}

/// The members other than the child itself, for which we wait as its parent.
pub(super) struct ProcessTree {
    us: Pid,
    scope: Scope,
    /// Entries in the environment of every process of this attempt, unless it has changed them.
    /// They identify a descendant whose parents are gone.
    env_markers: [Vec<u8>; 2],
    members: Vec<Member>,
    knowledge: Knowledge,
    /// Whether a member was found after KILL was sent.
    is_news: bool,
    /// The limit's strike, at the first refresh. A process that had left the tree by then is no
    /// member.
    strike: Option<Strike>,
    /// Whether the child is reaped, so that its pid may be reused.
    is_reaped: bool,
    /// Processes outside the group that get a signal if the child's end orphans them.
    outsiders: Outsiders,
}

impl ProcessTree {
    /// Has no members before [`ProcessTree::refresh`].
    pub(super) fn new(us: Us, scope: Scope, env_markers: [Vec<u8>; 2]) -> Self {
        Self {
            us: us.pid,
            scope,
            env_markers,
            members: Vec::new(),
            knowledge: Knowledge::Whole,
            is_news: false,
            strike: None,
            is_reaped: false,
            outsiders: Outsiders::default(),
        }
    }

    /// Looks for live members, and returns whether it found new ones, or traces of them.
    pub(super) fn refresh(&mut self, kernel: &impl Kernel) -> bool {
        let Some(found) = self.find(kernel) else {
            self.knowledge = Knowledge::None;
            self.prune_exited(kernel);
            return false;
        };
        let Found {
            members, strike, ..
        } = found;
        self.knowledge = found.knowledge;
        self.strike = self.strike.take().or(strike);
        let any = !members.is_empty() || found.has_vanished;
        self.is_news |= any;
        self.members
            .extend(members.into_iter().map(|process| Member {
                process,
                watch: None,
            }));
        self.prune_exited(kernel);
        any
    }

    /// Drops the members that have ended, and keeps some of the others watched.
    pub(super) fn prune_exited(&mut self, kernel: &impl Kernel) {
        self.members
            .retain(|member| !member.watch.as_ref().is_some_and(is_ready));
        while self.members.iter().all(|member| member.watch.is_none()) && !self.members.is_empty() {
            for member in self.members.iter_mut().take(MOST_WATCHES) {
                member.watch = watch(kernel, member.process).ok();
            }
            // One that cannot be watched may have ended just now.
            let before = self.members.len();
            self.members
                .retain(|member| member.watch.is_some() || !has_ended(kernel, member.process));
            if self.members.len() == before {
                return;
            }
        }
    }

    /// Whether a member may be alive that did not get the KILL sent to the others.
    pub(super) fn may_have_missed_kill(&self) -> bool {
        self.is_news || self.knowledge != Knowledge::Whole
    }

    /// Whether no known member is left: time for another refresh.
    pub(super) fn seems_gone(&self) -> bool {
        self.members.is_empty() && self.knowledge == Knowledge::Whole
    }

    /// Whether no member is left.
    pub(super) fn is_gone(&mut self, kernel: &impl Kernel) -> bool {
        self.prune_exited(kernel);
        // A second look finds processes that a member started in its last moments, and another look
        // finds what these have started. On a busy machine strangers come and go all the time.
        for _ in 0..MOST_ROUNDS {
            if !self.members.is_empty() || !self.refresh(kernel) {
                break;
            }
        }
        self.members.is_empty()
            && match self.knowledge {
                Knowledge::None => !self.answers(kernel),
                Knowledge::Partial => false,
                Knowledge::Whole => true,
            }
    }

    /// Whether only a null signal can tell that the group is empty. The child must be reaped first,
    /// because a zombie would answer.
    pub(super) fn must_be_asked(&self) -> bool {
        self.knowledge == Knowledge::None && matches!(self.scope, Scope::Group(_))
    }

    /// Whether no descriptor tells when the last member ends, so that members must be polled for.
    pub(super) fn must_be_looked_at(&self) -> bool {
        self.must_be_asked() || self.knowledge == Knowledge::Partial
    }

    /// Notes that the child is reaped. From here on nothing is sent to its pid; the group's id is
    /// not reused while the group has a process.
    pub(super) fn note_reaped(&mut self) {
        self.is_reaped = true;
    }

    /// Returns the descriptors of the watched members. One becomes readable before all members are
    /// gone.
    pub(super) fn watches(&self) -> Vec<&OwnedFd> {
        self.members
            .iter()
            .filter_map(|member| member.watch.as_ref())
            .collect()
    }

    /// Returns a surviving member, if any.
    pub(super) fn any_survivor(&self) -> Option<Pid> {
        self.members.first().map(|member| member.process.pid)
    }

    /// Records the processes outside the group that get the signal arriving now if the child's end
    /// orphans them.
    pub(super) fn note_outsiders(&mut self, kernel: &impl Kernel) {
        if let Scope::Group(leader) = self.scope {
            self.outsiders.note(kernel, leader);
        }
    }

    /// Sends a signal that the child got before it ended to the processes outside its group that
    /// its end has orphaned.
    pub(super) fn pass_to_orphans(&mut self, kernel: &impl Kernel, signal: Signal) {
        self.outsiders.pass_to_orphans(kernel, signal);
    }
}
