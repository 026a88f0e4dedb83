//! The processes of an attempt: whom a time limit ends, and whether all of them are gone.
//!
//! Where the system can neither list processes nor watch them (no /proc, no pidfd, not Linux), the
//! members are not known: then the signals still go to the group, and the whole grace is waited.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::Pid;

use super::sys;
use crate::signal::Signal;

/// Whom a time limit means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The group that this child leads. Who left it by setsid or setpgid has opted out.
    Group(Pid),
    /// This child and its descendants that are still in our own group.
    Descendants(Pid),
}

/// A process that is watched; its descriptor becomes readable when it ends.
struct Member {
    pid: Pid,
    watch: OwnedFd,
}

/// The members besides the child itself, which is waited for by its parent, us.
pub(super) struct Family {
    scope: Scope,
    members: Vec<Member>,
    known: bool,
}

impl Family {
    /// Nobody is looked for before [`Family::look`].
    pub(super) fn new(scope: Scope) -> Self {
        Self {
            scope,
            members: Vec::new(),
            known: true,
        }
    }

    /// Whom a time limit means.
    pub(super) fn scope(&self) -> Scope {
        self.scope
    }

    /// Finds the members that are alive and not watched yet.
    pub(super) fn look(&mut self) {
        self.members.retain(|member| !has_ended(&member.watch));
        let watched: Vec<Pid> = self.members.iter().map(|member| member.pid).collect();
        match living(self.scope, &watched) {
            Some(found) => self.members.extend(found),
            None => self.known = false,
        }
    }

    /// Whether nobody is left besides the child. Members that are not known are gone when KILL has
    /// been `sent`.
    pub(super) fn is_gone(&mut self, sent: bool) -> bool {
        self.members.retain(|member| !has_ended(&member.watch));
        if self.members.is_empty() {
            // Whoever was started by a member in its last moments is found by a second look.
            self.look();
        }
        self.members.is_empty() && (self.known || sent)
    }

    /// The watches of the members.
    pub(super) fn watched(&self) -> Vec<&OwnedFd> {
        self.members.iter().map(|member| &member.watch).collect()
    }

    /// Some member that is left.
    pub(super) fn someone(&self) -> Option<Pid> {
        self.members.first().map(|member| member.pid)
    }

    /// Sends a signal to the child and all members.
    ///
    /// # Errors
    /// EPERM when one may not be signalled by us; that one is gone is no error.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        match self.scope {
            Scope::Group(leader) => sys::kill(-leader.as_raw_nonzero().get(), signal),
            Scope::Descendants(child) => {
                let own = sys::kill(child.as_raw_nonzero().get(), signal);
                self.members
                    .iter()
                    .map(|member| send(member, signal))
                    .fold(own, io::Result::and)
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

#[cfg(target_os = "linux")]
use linux::{has_ended, living, send};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;
    use rustix::process::{Pid, PidfdFlags, getpgrp, pidfd_open};

    use super::{Member, Scope};
    use crate::os::sys;
    use crate::signal::Signal;

    /// What /proc/PID/stat says of a process.
    #[derive(Clone, Copy, PartialEq, Eq)]
    struct Stat {
        pid: Pid,
        parent: i32,
        group: i32,
        ended: bool,
        started: u64,
    }

    /// The members that are alive and not in `watched`, with a watch each; nothing if that cannot
    /// be known.
    pub(super) fn living(scope: Scope, watched: &[Pid]) -> Option<Vec<Member>> {
        let all = processes()?;
        let mut found = Vec::new();
        for stat in members(scope, watched, &all) {
            match watch(&stat) {
                Ok(Some(watch)) => found.push(Member {
                    pid: stat.pid,
                    watch,
                }),
                Ok(None) => {}
                Err(_) => return None,
            }
        }
        Some(found)
    }

    fn members(scope: Scope, watched: &[Pid], all: &[Stat]) -> Vec<Stat> {
        let new = |stat: &&Stat| !stat.ended && !watched.contains(&stat.pid);
        match scope {
            Scope::Group(leader) => {
                let group = leader.as_raw_nonzero().get();
                let of_group = all
                    .iter()
                    .filter(|stat| stat.group == group && stat.pid != leader);
                of_group.filter(new).copied().collect()
            }
            Scope::Descendants(child) => {
                let group = getpgrp().as_raw_nonzero().get();
                let descendants = descendants(child, watched, all);
                descendants
                    .iter()
                    .filter(|stat| stat.group == group)
                    .filter(new)
                    .copied()
                    .collect()
            }
        }
    }

    /// Everything below the child and the members known already, whose parents may be gone.
    fn descendants(child: Pid, watched: &[Pid], all: &[Stat]) -> Vec<Stat> {
        let mut parents: Vec<i32> = watched
            .iter()
            .chain([&child])
            .map(|pid| pid.as_raw_nonzero().get())
            .collect();
        let mut below = Vec::new();
        while let Some(parent) = parents.pop() {
            for stat in all.iter().filter(|stat| stat.parent == parent) {
                parents.push(stat.pid.as_raw_nonzero().get());
                below.push(*stat);
            }
        }
        below
    }

    /// All processes; nothing without /proc.
    fn processes() -> Option<Vec<Stat>> {
        let entries = fs::read_dir("/proc").ok()?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let stats: Vec<Stat> = names.filter_map(|name| stat(name.parse().ok()?)).collect();
        (!stats.is_empty()).then_some(stats)
    }

    fn stat(pid: i32) -> Option<Stat> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may hold anything, more of them included.
        let fields = text.get(text.iter().rposition(|byte| *byte == b')')? + 2..)?;
        let mut fields = std::str::from_utf8(fields).ok()?.split_ascii_whitespace();
        let ended = matches!(fields.next()?, "Z" | "X" | "x");
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        // Field 22 of proc(5), 16 behind the group.
        let started = fields.nth(16)?.parse().ok()?;
        Some(Stat {
            pid: Pid::from_raw(pid)?,
            parent,
            group,
            ended,
            started,
        })
    }

    /// A watch on this very process; nothing if it is gone, even if its pid has been given away.
    fn watch(member: &Stat) -> io::Result<Option<OwnedFd>> {
        let watch = match pidfd_open(member.pid, PidfdFlags::empty()) {
            Ok(watch) => watch,
            Err(Errno::SRCH) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let now = stat(member.pid.as_raw_nonzero().get());
        Ok(now
            .filter(|now| now.started == member.started && !now.ended)
            .map(|_| watch))
    }

    /// Whether a watched process has ended; as a zombie it has.
    pub(super) fn has_ended(watch: &OwnedFd) -> bool {
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        matches!(
            poll(&mut [PollFd::new(watch, PollFlags::IN)], Some(&at_once)),
            Ok(1..)
        )
    }

    /// Sends a signal to a member, unless it is gone.
    pub(super) fn send(member: &Member, signal: Signal) -> io::Result<()> {
        if has_ended(&member.watch) {
            return Ok(());
        }
        sys::kill(member.pid.as_raw_nonzero().get(), signal)
    }
}

#[cfg(not(target_os = "linux"))]
use elsewhere::{has_ended, living, send};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::process::Pid;

    use super::{Member, Scope};
    use crate::signal::Signal;

    /// Members are never known here.
    pub(super) fn living(_: Scope, _: &[Pid]) -> Option<Vec<Member>> {
        None
    }

    pub(super) fn has_ended(_: &OwnedFd) -> bool {
        true
    }

    pub(super) fn send(_: &Member, _: Signal) -> io::Result<()> {
        Ok(())
    }
}
