//! Members found among all processes.

use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::Pid;

use super::{Found, Knowledge, Outsider, ProcessTree, Scope, Strike};
use crate::supervise::kernel::{Kernel, Process, Stat, Which, raw};

impl ProcessTree {
    /// Finds the live members that are not known yet; `None` if processes cannot be listed. Once a
    /// limit was reached, processes orphaned since are found as well.
    pub(super) fn find(&self, kernel: &impl Kernel) -> Option<Found> {
        let all = kernel.processes(Which::All)?;
        let known: Vec<Process> = self.members.iter().map(|member| member.process).collect();
        let (Scope::Group(child) | Scope::Descendants(child)) = self.scope;
        let below = below(child, &known, &all);
        let (knowledge, has_vanished) = (Cell::new(Knowledge::Whole), Cell::new(false));
        let bears = |pid| match bears(kernel, pid, &self.env_markers) {
            Bears::Yes => true,
            Bears::No => false,
            Bears::NotYet => {
                knowledge.set(Knowledge::Partial);
                false
            }
            Bears::Vanished => {
                has_vanished.set(true);
                false
            }
        };
        let (group, since) = match self.scope {
            Scope::Group(leader) => (Some(raw(leader)), None),
            // The hook has the same markers, and may have left a daemon.
            Scope::Descendants(_) => {
                let child = entry(kernel, child).ok().flatten();
                (
                    kernel.group(self.us),
                    child.map(|child| child.process.started),
                )
            }
        };
        let is_in_group = |stat: &Stat| {
            group == Some(stat.group)
                && (matches!(self.scope, Scope::Group(_))
                    || since.is_none_or(|since| stat.process.started >= since)
                        && bears(stat.process.pid))
        };
        // A process orphaned since the limit was reached is no daemon that had left before.
        let is_abandoned = |stat: &Stat| {
            let is_new = |strike: &Strike| {
                stat.process.started >= strike.newest && !strike.bystanders.contains(&stat.process)
            };
            self.strike.as_ref().is_some_and(is_new)
                && bears(stat.process.pid)
                && !Pid::from_raw(stat.parent).is_some_and(&bears)
        };
        let is_member = |stat: &&Stat| {
            let process = stat.process;
            !known.contains(&process)
                && process.pid != child
                && process.pid != self.us
                && (below.contains(&process) || is_in_group(stat) || is_abandoned(stat))
        };
        let members: Vec<Process> = all
            .iter()
            .filter(is_member)
            .map(|stat| stat.process)
            .collect();
        let is_first = self.strike.is_none();
        Some(Found {
            strike: is_first.then(|| Strike::new(&all, &members)),
            members,
            knowledge: knowledge.get(),
            has_vanished: has_vanished.get(),
        })
    }
}

impl Strike {
    /// A strike at a moment when `all` are all processes, and `members` are those of the attempt.
    fn new(all: &[Stat], members: &[Process]) -> Self {
        let processes = || all.iter().map(|stat| stat.process);
        let newest = processes().map(|process| process.started).max();
        let newest = newest.unwrap_or_default();
        let is_bystander = |other: &Process| other.started == newest && !members.contains(other);
        Self {
            newest,
            bystanders: processes().filter(is_bystander).collect(),
        }
    }
}

/// Returns the descendants of the child and of the known members, whose parents may be gone.
fn below(child: Pid, known: &[Process], all: &[Stat]) -> Vec<Process> {
    let is_alive = |known: &&Process| all.iter().any(|stat| stat.process == **known);
    let known = known.iter().filter(is_alive).map(|process| process.pid);
    let mut parents: Vec<Pid> = known.chain([child]).collect();
    let mut below: Vec<Process> = Vec::new();
    while let Some(parent) = parents.pop() {
        for stat in all.iter().filter(|stat| stat.parent == raw(parent)) {
            // Entries read one after the other may form a cycle that never existed.
            if !below.contains(&stat.process) {
                parents.push(stat.process.pid);
                below.push(stat.process);
            }
        }
    }
    below
}

/// Returns the descendants of this child that are outside the group it leads.
pub(super) fn outside(kernel: &impl Kernel, leader: Pid) -> Vec<Outsider> {
    let Ok(Some(child)) = entry(kernel, leader) else {
        return Vec::new();
    };
    let (mut parents, mut outside) = (vec![child], Vec::new());
    // Each is found once, below its one parent; the bound ends a cycle that never existed.
    for _ in 0..MOST_PARENTS {
        let Some(parent) = parents.pop() else { break };
        let children = kernel.processes(Which::ChildrenOf(parent.process.pid));
        for stat in children.unwrap_or_default() {
            if stat.group != raw(leader) {
                outside.push(Outsider {
                    process: stat.process,
                    parent: parent.process,
                    may_lose_it_yet: parent.group == raw(leader) && parent.process.pid != leader,
                });
            }
            parents.push(stat);
        }
    }
    outside
}

/// The most processes whose children are listed when a signal comes, which must not be late.
const MOST_PARENTS: usize = 1000;

/// Whether a process is alive and no longer a child of this parent.
pub(super) fn has_lost_parent(kernel: &impl Kernel, process: Process, parent: Process) -> bool {
    let now = live(kernel, process.pid).ok().flatten();
    now.is_some_and(|now| now.process == process && now.parent != raw(parent.pid))
}

/// Whether a process was started with certain entries in its environment.
enum Bears {
    Yes,
    No,
    /// An exec was under way, which leaves the text read empty or cut off.
    NotYet,
    /// It has ended since it was listed, and may have started another.
    Vanished,
}

/// Whether a process was started with all these entries in its environment.
fn bears(kernel: &impl Kernel, pid: Pid, env_markers: &[Vec<u8>]) -> Bears {
    let environment = kernel.environment(pid);
    let entries: Vec<&[u8]> = environment.split(|byte| *byte == 0).collect();
    if env_markers
        .iter()
        .all(|mark| entries.contains(&mark.as_slice()))
    {
        return Bears::Yes;
    }
    match live(kernel, pid) {
        Ok(None) => Bears::Vanished,
        Ok(Some(now)) if !now.is_executing && now.environment == environment.len() => Bears::No,
        Ok(Some(_)) | Err(Unreadable) => Bears::NotYet,
    }
}

/// The error when the entry of a process cannot be read.
struct Unreadable;

/// Returns the entry of a process, which may be a zombie; `None` if it is gone.
fn entry(kernel: &impl Kernel, pid: Pid) -> Result<Option<Stat>, Unreadable> {
    let entries = kernel.processes(Which::One(pid));
    entries.map(|mut entry| entry.pop()).ok_or(Unreadable)
}

/// Returns the entry of a process; `None` if it has ended.
fn live(kernel: &impl Kernel, pid: Pid) -> Result<Option<Stat>, Unreadable> {
    Ok(entry(kernel, pid)?.filter(|stat| !stat.has_ended))
}

/// Whether a process has ended, a zombie included. One that cannot be read may be alive.
pub(super) fn has_ended(kernel: &impl Kernel, process: Process) -> bool {
    let now = live(kernel, process.pid);
    now.is_ok_and(|now| now.is_none_or(|now| now.process != process))
}

/// Opens a watch on exactly this process.
///
/// # Errors
/// When it has ended, or there is no descriptor left.
pub(super) fn watch(kernel: &impl Kernel, process: Process) -> io::Result<OwnedFd> {
    let watch = kernel.watch(process.pid)?;
    // The pid may have been reused before it was opened.
    if has_ended(kernel, process) {
        Err(Errno::SRCH.into())
    } else {
        Ok(watch)
    }
}
