//! Members found in /proc and watched by pidfd.

use std::cell::Cell;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getpgrp, getpid, pidfd_open};

use super::{Found, Knowledge, Outsider, Process, Scope};

/// The fields of /proc/PID/stat that are used.
#[derive(Clone, Copy)]
struct Stat {
    process: Process,
    parent: i32,
    group: i32,
    has_ended: bool,
    /// Whether it is in the middle of an exec.
    is_executing: bool,
    /// The length of its environment in bytes; 0 where we may not read it.
    environment: usize,
}

/// Finds the live members that are not in `known`; `None` if processes cannot be listed. With
/// `struck`, the newest start time when the limit was reached, processes orphaned since are found
/// as well.
pub(super) fn find(
    scope: Scope,
    env_markers: &[Vec<u8>],
    known: &[Process],
    struck: Option<u64>,
) -> Option<Found> {
    let all = processes()?;
    let (Scope::Group(child) | Scope::Descendants(child)) = scope;
    let below = below(child, known, &all);
    let knowledge = Cell::new(Knowledge::Whole);
    let bears = |pid| {
        bears(pid, env_markers).unwrap_or_else(|| {
            knowledge.set(Knowledge::Partial);
            false
        })
    };
    // The hook has the same markers, and may have left a daemon.
    let since = match scope {
        Scope::Group(_) => None,
        Scope::Descendants(_) => read(child).ok().flatten().map(|is| is.process.started),
    };
    let is_in_group = |stat: &Stat| match scope {
        Scope::Group(leader) => stat.group == raw(leader),
        Scope::Descendants(_) => {
            stat.group == raw(getpgrp())
                && since.is_none_or(|since| stat.process.started >= since)
                && bears(stat.process.pid)
        }
    };
    // A process orphaned since the limit was reached is no daemon that had left before.
    let is_abandoned = |stat: &Stat| {
        let is_new = |struck| stat.process.started >= struck;
        struck.is_some_and(is_new)
            && bears(stat.process.pid)
            && !Pid::from_raw(stat.parent).is_some_and(&bears)
    };
    let is_member = |stat: &&Stat| {
        let process = stat.process;
        !known.contains(&process)
            && process.pid != child
            && process.pid != getpid()
            && (below.contains(&process) || is_in_group(stat) || is_abandoned(stat))
    };
    let members = all.iter().filter(is_member).map(|stat| stat.process);
    let newest = all.iter().map(|stat| stat.process.started).max();
    Some(Found {
        members: members.collect(),
        newest: newest.unwrap_or_default(),
        knowledge: knowledge.get(),
    })
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
pub(super) fn outside(leader: Pid) -> Vec<Outsider> {
    let Ok(Some(child)) = read(leader) else {
        return Vec::new();
    };
    let (mut parents, mut outside) = (vec![child], Vec::new());
    // Each is found once, below its one parent; the bound ends a cycle that never existed.
    for _ in 0..MOST_PARENTS {
        let Some(parent) = parents.pop() else { break };
        for stat in children(parent.process.pid) {
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

/// Returns the live children of a process. The kernel lists them by thread; if it was built without
/// that, all processes are scanned.
fn children(parent: Pid) -> Vec<Stat> {
    let threads = fs::read_dir(format!("/proc/{}/task", raw(parent)));
    let lists = threads.into_iter().flatten().map(|thread| {
        let list = thread.and_then(|thread| fs::read_to_string(thread.path().join("children")));
        list.ok()
    });
    let Some(lists): Option<Vec<String>> = lists.collect() else {
        let all = processes().unwrap_or_default();
        let is_child = |stat: &Stat| stat.parent == raw(parent);
        return all.into_iter().filter(is_child).collect();
    };
    let numbers = lists.iter().flat_map(|list| list.split_ascii_whitespace());
    let pids = numbers.filter_map(|number| Pid::from_raw(number.parse().ok()?));
    pids.filter_map(|pid| stat(pid).ok().flatten()).collect()
}

/// Whether a process is alive and no longer a child of this parent.
pub(super) fn has_lost_parent(process: Process, parent: Process) -> bool {
    let now = stat(process.pid).ok().flatten();
    now.is_some_and(|now| now.process == process && now.parent != raw(parent.pid))
}

fn raw(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

/// Whether a process was started with all these entries in its environment; `None` if an exec was
/// under way, which leaves the text read empty or cut off.
fn bears(pid: Pid, env_markers: &[Vec<u8>]) -> Option<bool> {
    let environment = fs::read(format!("/proc/{}/environ", raw(pid))).unwrap_or_default();
    let entries: Vec<&[u8]> = environment.split(|byte| *byte == 0).collect();
    if env_markers
        .iter()
        .all(|mark| entries.contains(&mark.as_slice()))
    {
        return Some(true);
    }
    let is_whole = |now: Stat| !now.is_executing && now.environment == environment.len();
    let is_other = stat(pid).ok()?.is_none_or(is_whole);
    is_other.then_some(false)
}

/// Returns all live processes; `None` where /proc is missing or belongs to another pid namespace,
/// or there is no descriptor left to read it.
fn processes() -> Option<Vec<Stat>> {
    let ourselves = fs::read_link("/proc/self").ok()?;
    if ourselves.to_str()? != getpid().as_raw_nonzero().to_string() {
        return None;
    }
    let mut stats = Vec::new();
    for entry in fs::read_dir("/proc").ok()? {
        let name = entry.ok()?.file_name();
        let number = name.to_str().and_then(|name| name.parse().ok());
        if let Some(pid) = number.filter(|number| *number > 0).and_then(Pid::from_raw) {
            stats.extend(stat(pid).ok()?);
        }
    }
    Some(stats)
}

/// Reads the entry of a process; `None` if it has ended.
fn stat(pid: Pid) -> io::Result<Option<Stat>> {
    Ok(read(pid)?.filter(|stat| !stat.has_ended))
}

/// Reads the entry of a process, which may be a zombie; `None` if it is gone.
fn read(pid: Pid) -> io::Result<Option<Stat>> {
    match fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())) {
        Ok(text) => Ok(parse(pid, &text)),
        Err(error) => match error.raw_os_error() {
            // Gone, or another user's where those are hidden.
            Some(libc::ENOENT | libc::ESRCH | libc::EACCES | libc::EPERM) => Ok(None),
            _ => Err(error),
        },
    }
}

fn parse(pid: Pid, text: &[u8]) -> Option<Stat> {
    // The name in parentheses may hold anything, parentheses included.
    let fields = text.get(text.iter().rposition(|byte| *byte == b')')? + 2..)?;
    let fields = std::str::from_utf8(fields).ok()?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    // The numbers of proc(5) count from 1, and the state is the third.
    let field = |number: usize| fields.get(number - 3).copied();
    let threads: u64 = field(20)?.parse().ok()?;
    // With other threads alive, a main thread that has exited is a zombie as well.
    let has_ended = matches!(field(3)?, "Z" | "X" | "x") && threads <= 1;
    let process = Process {
        pid,
        started: field(22)?.parse().ok()?,
    };
    let (parent, group) = (field(4)?.parse().ok()?, field(5)?.parse().ok()?);
    let place = |number| field(number).map_or(Some(0_usize), |place| place.parse().ok());
    // Kernel threads have the flag PF_KTHREAD.
    let is_program = field(9)?.parse::<u32>().ok()? & 0x20_0000 == 0;
    Some(Stat {
        process,
        parent,
        group,
        has_ended,
        is_executing: is_program && field(26) == Some("0"),
        environment: place(51)?.saturating_sub(place(50)?),
    })
}

/// Whether a process has ended, a zombie included. One that cannot be read may be alive.
pub(super) fn has_ended(process: Process) -> bool {
    stat(process.pid).is_ok_and(|now| now.is_none_or(|now| now.process != process))
}

/// Opens a pidfd for exactly this process.
///
/// # Errors
/// When it has ended, or there is no descriptor left.
pub(super) fn watch(process: Process) -> io::Result<OwnedFd> {
    let watch = pidfd_open(process.pid, PidfdFlags::empty())?;
    // The pid may have been reused before it was opened.
    if has_ended(process) {
        Err(Errno::SRCH.into())
    } else {
        Ok(watch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_hides_no_field() {
        let fields = "7 8 8 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0";
        let pid = Pid::from_raw(9).expect("a pid");
        let stat = parse(pid, format!("9 (a) Z 1 (b) S {fields}").as_bytes()).expect("a process");
        assert_eq!(
            (stat.parent, stat.group, stat.process.started),
            (7, 8, 4242)
        );
    }

    #[test]
    fn a_zombie_has_ended_unless_other_threads_live_on() {
        let pid = Pid::from_raw(9).expect("a pid");
        let line =
            |threads| format!("9 (x) Z 7 8 8 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 4242 0 0");
        let has_ended = |threads| {
            parse(pid, line(threads).as_bytes())
                .expect("a process")
                .has_ended
        };
        assert!(has_ended(1) && !has_ended(3));
    }

    #[test]
    fn a_program_in_the_middle_of_an_exec_has_an_environment_to_come() {
        let pid = Pid::from_raw(9).expect("a pid");
        for (flags, code, environment, is_executing, length) in [
            (
                "4194304",
                "94560921686016",
                "140728292677954 140728292679658",
                false,
                1704,
            ),
            // As `env -i` leaves it.
            (
                "4194304",
                "94560921686016",
                "140728292677954 140728292677954",
                false,
                0,
            ),
            ("4194304", "0", "0 0", true, 0),
            ("4194304", "0", "140728292677954 140728292677954", true, 0),
            // A kernel thread.
            ("69238880", "0", "0 0", false, 0),
        ] {
            let between = "0 ".repeat(23);
            let line = format!(
                "9 (x) S 7 8 8 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0 0 {code} {between}{environment} 0"
            );
            let stat = parse(pid, line.as_bytes()).expect("a process");
            let told = (stat.is_executing, stat.environment);
            assert_eq!(told, (is_executing, length), "{line}");
        }
    }

    #[test]
    fn what_is_no_line_of_proc_is_no_process() {
        let pid = Pid::from_raw(9).expect("a pid");
        for text in ["", ")", "9 (x)", "9 (x) S", "9 (x) S a b c"] {
            assert!(parse(pid, text.as_bytes()).is_none(), "{text}");
        }
    }
}
