//! The calls of the simulated kernel.

use std::cell::{RefCell, RefMut};
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use rustix::event::PollFd;
use rustix::process::Pid;

use super::script::{Script, Step};
use super::world::{Looks, Process, SHELL, State, World};
use crate::signal::Signal;
use crate::status::Outcome;
use crate::supervise::kernel::{self, Kernel, Stat, Target, Then, Which};
use crate::supervise::signal_queue::{SignalEvent, is_fatal};
use crate::sys::fd::state;
use crate::sys::{SpawnSpec, Started};

/// A process that is sent a signal runs within this time.
const SOON: Duration = Duration::from_millis(20);

/// The simulated kernel.
pub(super) struct Simulated {
    pub(super) world: Rc<RefCell<World>>,
    /// Our stdout, which a command inherits.
    pub(super) stdout: Option<Rc<OwnedFd>>,
}

impl Simulated {
    fn looking(&self, looks: Looks) -> RefMut<'_, World> {
        let mut world = self.world.borrow_mut();
        world.interleave(looks);
        world
    }
}

/// Signals that are held back.
pub(super) struct Hold(Rc<RefCell<World>>);

impl Drop for Hold {
    fn drop(&mut self) {
        let mut world = self.0.borrow_mut();
        world.interleave(Looks::Signals);
        world.release();
    }
}

impl Kernel for Simulated {
    type Hold = Hold;

    fn now(&self) -> Duration {
        self.world.borrow().now
    }

    fn take_signals(&self) -> Vec<SignalEvent> {
        let mut world = self.looking(Looks::Signals);
        let taken = std::mem::take(&mut world.queue);
        world.note_taken_signals(&taken);
        if !taken.is_empty() {
            world.tell(|| format!("we take {taken:?}"));
        }
        taken
    }

    fn wait(
        &self,
        time: Option<Duration>,
        is_for_signals: bool,
        others: Vec<PollFd<'_>>,
    ) -> io::Result<()> {
        let mut world = self.world.borrow_mut();
        world.law_of_waits(time);
        world.tell(|| format!("we wait for {time:?}, and {} more", others.len()));
        let (begun, handled) = (world.now, world.queue.len());
        let mut skipped = Vec::new();
        loop {
            if world.is_over() {
                return Err(io::Error::other("the run is cut off"));
            }
            let is_ready = others.iter().any(|fd| !state(fd.clone()).is_empty());
            let is_signalled = if is_for_signals {
                !world.queue.is_empty()
            } else {
                world.queue.len() > handled
            };
            if is_ready || is_signalled {
                world.law_of_wakes();
                return Ok(());
            }
            let mut moves = world.moves();
            moves.retain(|next| !skipped.contains(next));
            // A process that is sent a signal, or executes a program, runs soon.
            let is_soon = time.is_some_and(|time| time <= SOON) && world.laws.short_waits < 3;
            let is_idle = !moves.iter().any(|next| world.is_soon(*next));
            // Events that can happen do not wait for ever.
            let is_due = world.laws.short_waits >= if moves.is_empty() { 300 } else { 8 };
            let may_end = time.filter(|_| (is_idle || is_soon) && !is_due);
            let alternatives = moves.len() + usize::from(may_end.is_some());
            // In the end somebody reads what there is.
            if alternatives == 0 && world.drain_reader() {
                continue;
            }
            if alternatives == 0 {
                world.law_of_hangs();
                return Err(io::Error::other("nothing happens any more"));
            }
            let chosen = world.choices.pick(alternatives);
            match may_end {
                Some(time) if chosen == 0 => {
                    world.now = world.now.max(begun.saturating_add(time));
                    if is_for_signals {
                        world.law_of_time(time);
                    }
                    world.laws.short_waits += 1;
                    return Ok(());
                }
                Some(_) => world.make_one(&moves, chosen - 1, &mut skipped),
                None => world.make_one(&moves, chosen, &mut skipped),
            }
        }
    }

    fn hold_signals(&self) -> Hold {
        self.looking(Looks::Signals).is_holding = true;
        Hold(self.world.clone())
    }

    fn held_back(&self, _: &Hold) -> Vec<Signal> {
        let mut world = self.looking(Looks::Signals);
        world.law_of_the_last_look();
        world.pending.iter().map(|event| event.signal).collect()
    }

    fn start(&self, spec: &SpawnSpec<'_>) -> io::Result<Started> {
        let mut world = self.world.borrow_mut();
        let words: Vec<&[u8]> = spec.words.iter().map(|word| word.to_bytes()).collect();
        let is_hook = words == [b"sh", b"-c", b"hook".as_slice()];
        let number = spec.environment.iter().find_map(|entry| {
            let value = entry.to_bytes().strip_prefix(b"RETRY_ATTEMPT=")?;
            std::str::from_utf8(value).ok()?.parse().ok()
        });
        let number: u64 = number.expect("the number of the attempt");
        world.tell(|| format!("we start attempt {number}"));
        world.law_of_the_start(is_hook);
        let script: Script = if is_hook {
            world.scenario.hook.clone()
        } else {
            world.scenario.command(number)
        };
        match script.first() {
            Some(Step::Absent) => return Err(io::Error::from_raw_os_error(libc::ENOENT)),
            Some(Step::Shortage) => return Err(io::Error::from_raw_os_error(libc::EAGAIN)),
            _ => {}
        }
        let ours = self.stdout.clone();
        let stdio = [&spec.stdio.stdout, &spec.stdio.stderr];
        let [out, err] = stdio.map(|end| end.as_ref().map(World::dup));
        let is_told = |entry: &&&std::ffi::CStr| entry.to_bytes().starts_with(b"RETRY_");
        let entries = spec.environment.iter().filter(is_told);
        let environment = entries.flat_map(|entry| entry.to_bytes_with_nul());
        let arrived = world.pending.iter().map(|event| event.signal.bit());
        let missed = arrived.fold(0, |bits, bit| bits | bit);
        let pid = world.launch(
            script,
            spec.leads_group,
            environment.copied().collect(),
            [out.or(ours), err],
        );
        // From here on a key of the terminal reaches the child as well.
        if world.next_is_a_key() {
            world.interleave(Looks::Signals);
        }
        Ok(Started {
            pid: Pid::from_raw(pid).expect("a pid"),
            missed,
        })
    }

    fn ended(&self, child: Option<Pid>, then: Then) -> io::Result<Option<(Pid, Outcome)>> {
        let mut world = self.looking(Looks::Child);
        let us = world.our_pid();
        let wanted = child.map(kernel::raw);
        let mut children = world
            .processes
            .iter()
            .filter(|one| one.parent == us && wanted.is_none_or(|pid| pid == one.pid))
            .peekable();
        if children.peek().is_none() {
            return if wanted.is_some() {
                Err(io::Error::from_raw_os_error(libc::ECHILD))
            } else {
                Ok(None)
            };
        }
        let ended = children.find_map(|one| match &one.state {
            State::Zombie(outcome) => Some((one.pid, outcome.clone())),
            _ => None,
        });
        let Some((pid, outcome)) = ended else {
            return Ok(None);
        };
        if then == Then::Reap {
            world.note_reaped(pid, &outcome);
            world.reap(pid);
        }
        Ok(Some((Pid::from_raw(pid).expect("a pid"), outcome)))
    }

    fn kill(&self, target: Target, signal: Option<Signal>) -> io::Result<()> {
        let mut world = self.looking(Looks::Receivers);
        world.tell(|| format!("we send {signal:?} to {target:?}"));
        if let Some(signal) = signal {
            world.law_of_signals(target, signal);
        }
        let reached = world.reached(target);
        let meant: Vec<(i32, bool)> = reached.iter().map(|one| (one.pid, one.is_other)).collect();
        if meant.is_empty() {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        if meant.iter().all(|(_, is_other)| *is_other) {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        for (pid, is_other) in meant {
            if let Some(signal) = signal.filter(|_| !is_other) {
                if is_fatal(signal) {
                    world.note_asked(pid, signal);
                }
                world.send(pid, signal);
            }
        }
        Ok(())
    }

    fn processes(&self, which: Which) -> Option<Vec<Stat>> {
        let mut world = self.looking(Looks::Processes);
        if which == Which::All {
            world.note_listing();
        }
        world.tell(|| format!("we list {which:?}"));
        if !world.scenario.lists_processes {
            return None;
        }
        let alive = world.processes.iter().filter(|one| one.is_alive());
        Some(match which {
            Which::All => alive.map(stat).chain([ourselves(&world)]).collect(),
            Which::ChildrenOf(pid) => {
                let is_child = |one: &&Process| one.parent == kernel::raw(pid);
                alive.filter(is_child).map(stat).collect()
            }
            Which::One(pid) => {
                let one = world.find(kernel::raw(pid)).map(stat);
                one.into_iter().collect()
            }
        })
    }

    fn group(&self, pid: Pid) -> Option<i32> {
        let world = self.looking(Looks::Processes);
        if pid == world.us.pid {
            return Some(world.group);
        }
        world.find(kernel::raw(pid)).map(|process| process.group)
    }

    fn environment(&self, pid: Pid) -> Vec<u8> {
        let world = self.looking(Looks::Processes);
        let process = world.find(kernel::raw(pid));
        let process = process.filter(|process| process.is_alive() && !process.is_executing);
        process.map_or_else(Vec::new, |process| process.environment.clone())
    }

    fn watch(&self, pid: Pid) -> io::Result<OwnedFd> {
        let mut world = self.looking(Looks::Processes);
        let watch = world.watch(kernel::raw(pid));
        watch.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))
    }
}

fn stat(process: &Process) -> Stat {
    let is_readable = !process.is_executing && process.is_alive();
    Stat {
        process: kernel::Process {
            pid: Pid::from_raw(process.pid).expect("a pid"),
            started: process.started,
        },
        parent: process.parent,
        group: process.group,
        has_ended: !process.is_alive(),
        is_executing: process.is_executing,
        environment: if is_readable {
            process.environment.len()
        } else {
            0
        },
    }
}

fn ourselves(world: &World) -> Stat {
    Stat {
        process: kernel::Process {
            pid: world.us.pid,
            started: 0,
        },
        parent: if world.us.is_init() { 0 } else { SHELL },
        group: world.group,
        has_ended: false,
        is_executing: false,
        environment: 0,
    }
}
