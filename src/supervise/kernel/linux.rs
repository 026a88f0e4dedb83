//! The table of processes: entries of /proc, and pidfds.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};

use super::{Process, Stat, Which, raw};

/// Returns the entries of processes; `None` where /proc is missing or belongs to another pid
/// namespace, or there is no descriptor left to read it.
pub(in crate::supervise) fn processes(which: Which) -> Option<Vec<Stat>> {
    match which {
        Which::All => all(),
        Which::ChildrenOf(parent) => children(parent),
        Which::One(pid) => Some(entry(pid).ok()?.into_iter().collect()),
    }
}

fn all() -> Option<Vec<Stat>> {
    let ourselves = fs::read_link("/proc/self").ok()?;
    if ourselves.to_str()? != getpid().as_raw_nonzero().to_string() {
        return None;
    }
    let mut stats = Vec::new();
    for entry in fs::read_dir("/proc").ok()? {
        let name = entry.ok()?.file_name();
        let number = name.to_str().and_then(|name| name.parse().ok());
        if let Some(pid) = number.filter(|number| *number > 0).and_then(Pid::from_raw) {
            stats.extend(live(pid).ok()?);
        }
    }
    Some(stats)
}

/// The kernel lists children by thread; if it was built without that, all processes are scanned.
fn children(parent: Pid) -> Option<Vec<Stat>> {
    let threads = fs::read_dir(format!("/proc/{}/task", raw(parent)));
    let lists = threads.into_iter().flatten().map(|thread| {
        let list = thread.and_then(|thread| fs::read_to_string(thread.path().join("children")));
        list.ok()
    });
    let Some(lists): Option<Vec<String>> = lists.collect() else {
        let mut children = all()?;
        children.retain(|stat| stat.parent == raw(parent));
        return Some(children);
    };
    let numbers = lists.iter().flat_map(|list| list.split_ascii_whitespace());
    let pids = numbers.filter_map(|number| Pid::from_raw(number.parse().ok()?));
    Some(pids.filter_map(|pid| live(pid).ok().flatten()).collect())
}

/// Reads the entry of a process; `None` if it has ended.
fn live(pid: Pid) -> io::Result<Option<Stat>> {
    Ok(entry(pid)?.filter(|stat| !stat.has_ended))
}

/// Reads the entry of a process, which may be a zombie; `None` if it is gone.
fn entry(pid: Pid) -> io::Result<Option<Stat>> {
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

/// Returns the text of the environment that a process was started with.
pub(super) fn environment(pid: Pid) -> Vec<u8> {
    fs::read(format!("/proc/{}/environ", raw(pid))).unwrap_or_default()
}

/// Opens a pidfd.
///
/// # Errors
/// When the process is gone, or there is no descriptor left.
pub(super) fn watch(pid: Pid) -> io::Result<OwnedFd> {
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
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
