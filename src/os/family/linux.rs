//! Members found in /proc and watched by pidfd.

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
