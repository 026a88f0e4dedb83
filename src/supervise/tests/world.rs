//! Simulated processes, by the rules of Linux: signals that are pending, coalesced, blocked and
//! ignored, groups and sessions, orphans and zombies, pids that are reused.
//!
//! A signal that is sent takes effect when its receiver runs next, which may be late.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::Pid;

use super::choice::Choices;
use super::laws::Laws;
use super::script::{Outside, Scenario, Script, Step};
use crate::shared::Entry;
use crate::signal::Signal;
use crate::status::Outcome;
use crate::supervise::kernel::{Target, Us, raw};
use crate::supervise::signal_queue::{SignalEvent, is_fatal};
use crate::sys::fd;

/// The process that started us, which leads our session unless we are PID 1.
pub(super) const SHELL: i32 = 2;
/// Our own pid, unless it is 1.
const OURS: i32 = 3;
/// The first pid of all others.
const FIRST: i32 = 4;

/// The signals that stop a process.
const STOPS: [Signal; 4] = [Signal::STOP, Signal::TSTP, Signal::TTIN, Signal::TTOU];

/// A tick of the clock that start times are given in.
const TICK: Duration = Duration::from_millis(10);

/// The reaction of a process to a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Ignore,
    /// A handler, which may exit.
    Handle(Option<u8>),
}

/// The state of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Stopped,
    Zombie(Outcome),
}

/// A process.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about a process"
)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    pub(super) started: u64,
    pub(super) state: State,
    pub(super) is_executing: bool,
    pub(super) environment: Vec<u8>,
    /// Whether it belongs to another user.
    pub(super) is_other: bool,
    script: Script,
    next: usize,
    actions: BTreeMap<i32, Action>,
    pending: u64,
    stdio: [Option<Rc<OwnedFd>>; 2],
    /// How much of the current step is written.
    written: usize,
    /// The other ends of the descriptors that tell of its end.
    watches: Vec<OwnedFd>,
    /// The run of a program that it belongs to; none for a stranger.
    pub(super) launch: Option<u64>,
    /// Whether it had left its attempt before a limit struck.
    pub(super) is_exempt: bool,
    /// The same, for processes that such a process has started since, and for those that the hook
    /// left in the tick in which the command was started.
    pub(super) has_left: bool,
    /// The signals that we have sent to it, a bit each.
    asked: u64,
}

impl Process {
    pub(super) fn is_alive(&self) -> bool {
        !matches!(self.state, State::Zombie(_))
    }

    /// Whether it is stopped, and will not hear what we have asked of it.
    pub(super) fn is_deaf(&self) -> bool {
        let is_killed = self.pending & Signal::KILL.bit() != 0;
        self.state == State::Stopped && self.asked & self.pending != 0 && !is_killed
    }

    /// Whether no signal ends it.
    fn is_stuck(&self) -> bool {
        self.step() == Some(&Step::Stuck)
    }

    fn step(&self) -> Option<&Step> {
        self.script.get(self.next)
    }
}

/// Something that may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// A process takes its next step.
    Step(i32),
    /// A process receives the pending signals.
    Receive(i32),
    /// The next event outside.
    Outside,
}

/// The aspects of the world that a call of ours looks at. Only a move that changes one of them is
/// tried both before and after the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looks {
    /// The signals sent to us.
    Signals,
    /// Our own child, and what the streams hold.
    Child,
    /// All processes.
    Processes,
    /// All processes, and what a signal does to them.
    Receivers,
    /// The slot that runs share.
    Slot,
}

/// What a move changes.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "any of them may go together")]
struct Changes {
    signals: bool,
    child: bool,
    processes: bool,
    actions: bool,
    slot: bool,
}

/// The world.
pub(super) struct World {
    pub(super) scenario: Rc<Scenario>,
    pub(super) now: Duration,
    pub(super) us: Us,
    pub(super) group: i32,
    session: i32,
    pub(super) processes: Vec<Process>,
    pub(super) outside: usize,
    /// The signals that have reached our handlers.
    pub(super) queue: Vec<SignalEvent>,
    pub(super) pending: Vec<SignalEvent>,
    pub(super) is_holding: bool,
    pub(super) choices: Choices,
    pub(super) laws: Laws,
    /// The runs of programs so far.
    pub(super) launches: u64,
    pub(super) child: Option<i32>,
    /// The group that it was started in.
    launch_group: i32,
    /// What has happened, for a failure's report.
    pub(super) story: Vec<String>,
    pub(super) tells: bool,
    /// Whether a pid is used again as soon as it is free.
    pub(super) reuses_pids: bool,
    calls: usize,
    reader: Option<OwnedFd>,
    slot: Slot,
    /// The other end of what tells us of a freed slot.
    slot_watch: Option<OwnedFd>,
}

/// The holder of the one slot that runs share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Free,
    Ours,
    Anothers,
}

/// The most calls of a run.
const MOST_CALLS: usize = 2000;

impl World {
    pub(super) fn new(scenario: Rc<Scenario>, choices: Choices, reader: Option<OwnedFd>) -> Self {
        let is_init = scenario.is_init;
        let pid = if is_init { 1 } else { OURS };
        Self {
            now: Duration::ZERO,
            us: Us {
                pid: Pid::from_raw(pid).expect("a pid"),
                leads_session: is_init,
            },
            group: pid,
            session: if is_init { 1 } else { SHELL },
            processes: Vec::new(),
            outside: 0,
            queue: Vec::new(),
            pending: Vec::new(),
            is_holding: false,
            choices,
            laws: Laws::default(),
            launches: 0,
            child: None,
            launch_group: 0,
            story: Vec::new(),
            tells: false,
            reuses_pids: true,
            calls: 0,
            reader,
            slot: scenario.slot,
            slot_watch: None,
            scenario,
        }
    }

    /// Notes what happens.
    pub(super) fn tell(&mut self, line: impl FnOnce() -> String) {
        if self.tells {
            self.story.push(line());
        }
    }

    pub(super) fn our_pid(&self) -> i32 {
        raw(self.us.pid)
    }

    /// The child that we look after.
    pub(super) fn our_child(&self) -> Option<&Process> {
        self.find(self.child?)
    }

    /// Returns the processes that a signal to this target reaches.
    pub(super) fn reached(&self, target: Target) -> Vec<&Process> {
        let is_reached = |one: &&Process| match target {
            Target::Process(pid) => one.pid == raw(pid),
            Target::Group(leader) => one.group == raw(leader),
        };
        self.processes.iter().filter(is_reached).collect()
    }

    pub(super) fn find(&self, pid: i32) -> Option<&Process> {
        self.processes.iter().find(|process| process.pid == pid)
    }

    fn find_mut(&mut self, pid: i32) -> Option<&mut Process> {
        self.processes.iter_mut().find(|process| process.pid == pid)
    }

    /// Whether the supervisor may still act; a run that breaks a law or goes on for ever is ended.
    pub(super) fn is_over(&self) -> bool {
        self.laws.is_broken()
    }

    /// Makes moves before a call that looks at these aspects.
    pub(super) fn interleave(&mut self, looks: Looks) {
        self.calls += 1;
        if self.calls > MOST_CALLS {
            self.laws.breaks("the run has no end");
        }
        let mut skipped = Vec::new();
        while !self.is_over() {
            let mut moves = self.moves();
            moves.retain(|next| self.changes(*next).are_seen(looks) && !skipped.contains(next));
            match self.choices.pick(moves.len() + 1) {
                0 => return,
                chosen => self.make_one(&moves, chosen - 1, &mut skipped),
            }
        }
    }

    /// Makes one of these moves. The moves before it wait for another moment if the order makes no
    /// difference, because the other order is tried as well and has the same result.
    pub(super) fn make_one(&mut self, moves: &[Move], chosen: usize, skipped: &mut Vec<Move>) {
        let next = moves[chosen];
        skipped.extend(&moves[..chosen]);
        skipped.retain(|other| !self.are_tied(next, *other));
        self.make(next);
    }

    /// Whether the order of two moves makes a difference.
    fn are_tied(&self, one: Move, other: Move) -> bool {
        match (one, other) {
            (Move::Outside, _) | (_, Move::Outside) => !matches!(
                self.scenario.outside[self.outside],
                Outside::Send(_) | Outside::Sleep(_)
            ),
            (Move::Step(one) | Move::Receive(one), Move::Step(other) | Move::Receive(other)) => {
                one == other
            }
        }
    }

    /// Returns what may happen next.
    pub(super) fn moves(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        for process in &self.processes {
            let pid = process.pid;
            if Self::has_work(process) {
                moves.push(Move::Receive(pid));
                // An action under way may come first.
                let is_ending = matches!(process.step(), None | Some(Step::Exit(_)));
                if process.state == State::Running && is_ending {
                    moves.push(Move::Step(pid));
                }
            } else if process.state == State::Running && self.can_step(process) {
                moves.push(Move::Step(pid));
            }
        }
        if self.can_happen(self.scenario.outside.get(self.outside)) {
            moves.push(Move::Outside);
        }
        moves
    }

    /// Whether a move is made within a moment.
    pub(super) fn is_soon(&self, next: Move) -> bool {
        match next {
            Move::Receive(_) => true,
            Move::Step(pid) => self.find(pid).is_some_and(|process| process.is_executing),
            Move::Outside => false,
        }
    }

    /// Whether the next event outside is a key of the terminal.
    pub(super) fn next_is_a_key(&self) -> bool {
        matches!(
            self.scenario.outside.get(self.outside),
            Some(Outside::Key(_))
        )
    }

    fn can_happen(&self, event: Option<&Outside>) -> bool {
        match event {
            None => false,
            Some(Outside::Hits(_)) => self.child.is_some(),
            Some(Outside::Fills) => self.slot == Slot::Free,
            Some(Outside::Frees) => self.slot == Slot::Anothers,
            Some(Outside::Takes(_)) => self.reader.as_ref().is_some_and(fd::is_ready),
            Some(_) => true,
        }
    }

    /// Whether a pending signal has an effect when the process runs next.
    fn has_work(process: &Process) -> bool {
        let kill = Signal::KILL.bit();
        match process.state {
            State::Zombie(_) => false,
            _ if process.is_stuck() => false,
            State::Stopped => process.pending & kill != 0,
            State::Running => process.pending != 0,
        }
    }

    fn can_step(&self, process: &Process) -> bool {
        match process.step() {
            Some(Step::Hang | Step::Stuck) => false,
            Some(Step::Wait) => !self
                .processes
                .iter()
                .any(|other| other.parent == process.pid && other.is_alive()),
            Some(Step::Write(_)) => match &process.stdio[0] {
                Some(pipe) => !fd::state(PollFd::new(pipe, PollFlags::OUT)).is_empty(),
                None => true,
            },
            _ => true,
        }
    }

    fn changes(&self, next: Move) -> Changes {
        let of = |pid: i32| Changes {
            signals: self.child == Some(pid) || self.us.is_init(),
            child: self.child == Some(pid) || self.us.is_init(),
            processes: true,
            actions: true,
            slot: false,
        };
        match next {
            Move::Receive(pid) => of(pid),
            Move::Step(pid) => match self.find(pid).and_then(Process::step) {
                Some(Step::Write(_)) => Changes {
                    child: true,
                    ..Changes::default()
                },
                Some(Step::Ignore(_) | Step::Trap(..)) => Changes {
                    actions: true,
                    ..Changes::default()
                },
                _ => of(pid),
            },
            Move::Outside => match &self.scenario.outside[self.outside] {
                Outside::Send(_) | Outside::Key(_) => Changes {
                    signals: true,
                    ..Changes::default()
                },
                Outside::Hits(_) => Changes {
                    actions: true,
                    ..Changes::default()
                },
                Outside::Stranger => Changes {
                    processes: true,
                    ..Changes::default()
                },
                Outside::Frees | Outside::Fills => Changes {
                    slot: true,
                    ..Changes::default()
                },
                Outside::Sleep(_) | Outside::Takes(_) | Outside::Leaves => Changes {
                    child: true,
                    ..Changes::default()
                },
            },
        }
    }

    /// Makes a move.
    pub(super) fn make(&mut self, next: Move) {
        self.now += Duration::from_millis(1);
        self.laws.note_move();
        match next {
            Move::Step(pid) => self.take_step(pid),
            Move::Receive(pid) => self.receive(pid),
            Move::Outside => {
                let event = self.scenario.outside[self.outside].clone();
                self.outside += 1;
                self.tell(|| format!("outside: {event:?}"));
                self.happen(&event);
            }
        }
    }

    fn happen(&mut self, event: &Outside) {
        match *event {
            Outside::Send(signal) => self.signal_us(signal, false, false),
            Outside::Key(signal) => {
                // A hang-up goes to the leader of the session alone, as long as there is one.
                let is_for_all = signal != Signal::HUP || !self.us.leads_session;
                // A process that has left our group gets no key, with or without us.
                let is_given = is_for_all && self.scenario.shares_group && self.child.is_some();
                self.signal_us(signal, true, is_given);
                let group = self.group;
                let is_meant = |other: &&Process| is_for_all && other.group == group;
                let pids = self.processes.iter().filter(is_meant);
                let pids: Vec<i32> = pids.map(|process| process.pid).collect();
                for pid in pids {
                    self.note_asked(pid, signal);
                    self.send(pid, signal);
                }
            }
            Outside::Hits(signal) => {
                if let Some(child) = self.child {
                    self.send(child, signal);
                }
            }
            Outside::Stranger => {
                let mut stranger = self.process(Rc::new([Step::Hang]), SHELL);
                // For other pids, only a pidfd could show it in time.
                if !self.laws.is_reaped(stranger.pid) {
                    stranger.pid += 1000;
                }
                let pid = stranger.pid;
                self.processes.push(Process {
                    group: pid,
                    session: pid,
                    ..stranger
                });
            }
            Outside::Sleep(time) => self.now += time,
            Outside::Takes(most) => {
                if let Some(reader) = &self.reader {
                    let mut buffer = vec![0; most];
                    let taken = rustix::io::read(reader, &mut buffer).unwrap_or(0);
                    self.laws.note_taken(&buffer[..taken]);
                }
            }
            Outside::Leaves => self.reader = None,
            Outside::Fills => self.slot = Slot::Anothers,
            Outside::Frees => {
                self.slot = Slot::Free;
                if let Some(told) = &self.slot_watch {
                    let _ = rustix::io::write(told, b"x");
                }
            }
        }
    }

    /// Takes the slot for us, if it is free.
    pub(super) fn take_slot(&mut self) -> Entry {
        match self.slot {
            Slot::Anothers => Entry::Full,
            Slot::Free | Slot::Ours => {
                (self.slot, self.slot_watch) = (Slot::Ours, None);
                Entry::Had
            }
        }
    }

    /// Gives back the slot, if we have it.
    pub(super) fn leave_slot(&mut self) {
        self.slot_watch = None;
        if self.slot == Slot::Ours {
            self.slot = Slot::Free;
        }
    }

    /// Tells through this when the slot is freed.
    pub(super) fn watch_slot(&mut self, told: OwnedFd) {
        self.slot_watch = Some(told);
        self.note_entrance();
    }

    /// Whether we hold the slot.
    pub(super) fn has_slot(&self) -> bool {
        self.slot == Slot::Ours
    }

    /// Reads the rest of what was written to our stdout; returns whether there was any.
    pub(super) fn drain_reader(&mut self) -> bool {
        let mut any = false;
        while self.reader.as_ref().is_some_and(fd::is_ready) {
            let Some(reader) = &self.reader else { break };
            let mut buffer = vec![0; 65536];
            match rustix::io::read(reader, &mut buffer) {
                Ok(taken @ 1..) => self.laws.note_taken(&buffer[..taken]),
                _ => break,
            }
            any = true;
        }
        any
    }

    /// A process with the lowest free pid.
    fn process(&self, script: Script, parent: i32) -> Process {
        let first = if self.reuses_pids {
            FIRST
        } else {
            self.laws.highest_pid().max(FIRST - 1) + 1
        };
        let is_free = |pid: &i32| {
            // A pid is not reused while it is the id of a group or a session.
            self.processes
                .iter()
                .all(|process| ![process.pid, process.group, process.session].contains(pid))
        };
        let pid = (first..1000).find(is_free).expect("a free pid");
        let tick = u64::try_from(self.now.as_millis() / TICK.as_millis()).expect("a short time");
        Process {
            pid,
            parent,
            group: self.group,
            session: self.session,
            started: tick.max(self.laws.last_start_of(pid) + 1),
            state: State::Running,
            is_executing: false,
            environment: Vec::new(),
            is_other: false,
            script,
            next: 0,
            actions: BTreeMap::new(),
            pending: 0,
            stdio: [None, None],
            written: 0,
            watches: Vec::new(),
            launch: None,
            is_exempt: false,
            has_left: false,
            asked: 0,
        }
    }

    /// Starts a program of ours; its pid.
    pub(super) fn launch(
        &mut self,
        script: Script,
        leads_group: bool,
        environment: Vec<u8>,
        stdio: [Option<Rc<OwnedFd>>; 2],
    ) -> i32 {
        self.launches += 1;
        let mut process = self.process(script, self.our_pid());
        let pid = process.pid;
        if leads_group {
            process.group = pid;
        }
        self.launch_group = process.group;
        process.environment = environment;
        process.stdio = stdio;
        process.launch = Some(self.launches);
        self.laws.note_start_of(pid, process.started);
        self.processes.push(process);
        self.child = Some(pid);
        pid
    }

    fn take_step(&mut self, pid: i32) {
        let step = self.find(pid).and_then(Process::step).cloned();
        self.tell(|| format!("{pid}: {step:?}"));
        let Some(process) = self.find_mut(pid) else {
            return;
        };
        process.next += 1;
        match step {
            None => self.end(pid, Outcome::Exited(0)),
            Some(Step::Exit(code)) => self.end(pid, Outcome::Exited(code)),
            Some(Step::Die(signal)) => self.send(pid, signal),
            Some(Step::Ignore(signal)) => {
                process.actions.insert(signal.number(), Action::Ignore);
                process.pending &= !signal.bit();
            }
            Some(Step::Trap(signal, code)) => {
                let action = Action::Handle(code);
                process.actions.insert(signal.number(), action);
            }
            Some(Step::Stop) => self.send(pid, Signal::STOP),
            Some(Step::Fork(script)) => self.fork(pid, script),
            Some(Step::Group) => process.group = pid,
            Some(Step::Session) => {
                // The leader of a group cannot, and forks first.
                if process.group != pid {
                    (process.group, process.session) = (pid, pid);
                }
            }
            Some(Step::Exec) => {
                if process.is_executing {
                    process.is_executing = false;
                } else {
                    process.is_executing = true;
                    process.next -= 1;
                    // Handlers are gone.
                    process
                        .actions
                        .retain(|_, action| *action == Action::Ignore);
                }
            }
            Some(Step::Write(length)) => {
                if let Some(pipe) = process.stdio[0].clone() {
                    let letter = b'a' + u8::try_from(process.next % 26).unwrap_or(0);
                    let bytes = vec![letter; length - process.written];
                    match written_without_waiting(&pipe, &bytes) {
                        Ok(written) => {
                            process.written += written;
                            if process.written < length {
                                process.next -= 1;
                            } else {
                                process.written = 0;
                            }
                            let launch = process.launch.unwrap_or_default();
                            let is_late = self.launches != launch
                                || !self.our_child().is_some_and(Process::is_alive);
                            self.laws.note_written(launch, &bytes[..written], is_late);
                        }
                        // Its reader is gone.
                        Err(_) => self.send(pid, Signal::PIPE),
                    }
                }
            }
            Some(Step::Wait) => self
                .processes
                .retain(|one| one.is_alive() || one.parent != pid),
            Some(Step::Hang | Step::Stuck | Step::Absent | Step::Shortage) => {}
            Some(Step::Other) => process.is_other = true,
        }
    }

    fn fork(&mut self, pid: i32, script: Script) {
        let mut child = self.process(script, pid);
        let Some(parent) = self.find(pid) else { return };
        child.started = child.started.max(parent.started);
        child.group = parent.group;
        child.session = parent.session;
        child.environment.clone_from(&parent.environment);
        child.actions.clone_from(&parent.actions);
        child.stdio.clone_from(&parent.stdio);
        child.launch = parent.launch;
        child.is_other = parent.is_other;
        child.is_exempt = parent.is_exempt;
        self.laws.note_start_of(child.pid, child.started);
        self.processes.push(child);
    }

    /// Ends a process.
    fn end(&mut self, pid: i32, outcome: Outcome) {
        self.tell(|| format!("{pid} ends: {outcome:?}"));
        let (us, adopts) = (self.our_pid(), self.us.is_init());
        let orphans = self.leave_children(pid);
        let Some(process) = self.find_mut(pid) else {
            return;
        };
        process.state = State::Zombie(outcome);
        process.stdio = [None, None];
        process.watches.clear();
        let is_ours = process.parent == us;
        let is_adopted = |one: &Process| orphans.contains(&one.pid) && !one.is_alive();
        let tells_us = is_ours || adopts && self.processes.iter().any(is_adopted);
        if !adopts {
            // Nobody but us is slow to reap.
            let is_reaped = |one: &Process| !one.is_alive() && [1, SHELL].contains(&one.parent);
            self.processes.retain(|process| !is_reaped(process));
        }
        if tells_us {
            self.signal_us(Signal::CHLD, true, false);
        }
    }

    /// Leaves the children of a process that ends to init, and returns them. Sends HUP and CONT to the
    /// groups that this orphans while one of their members is stopped: nobody is left to continue it.
    fn leave_children(&mut self, pid: i32) -> Vec<i32> {
        let Some(process) = self.find(pid) else {
            return Vec::new();
        };
        let own = (process.group, process.session);
        let children: Vec<(i32, i32, i32)> = self
            .processes
            .iter()
            .filter(|one| one.parent == pid)
            .map(|one| (one.pid, one.group, one.session))
            .collect();
        for (child, group, session) in &children {
            if let Some(child) = self.find_mut(*child) {
                child.parent = 1;
            }
            if *group != own.0 && *session == own.1 {
                self.hang_up_if_orphaned(*group, None);
            }
        }
        let parent = self.find(pid).map_or(0, |process| process.parent);
        let (group, session) = self.place_of(parent);
        if group != own.0 && session == own.1 {
            self.hang_up_if_orphaned(own.0, Some(pid));
        }
        children.into_iter().map(|(child, ..)| child).collect()
    }

    /// Returns the group and the session of a process, which may be ourselves.
    fn place_of(&self, pid: i32) -> (i32, i32) {
        if pid == self.our_pid() {
            return (self.group, self.session);
        }
        let process = self.find(pid);
        process.map_or((pid, pid), |process| (process.group, process.session))
    }

    /// Whether no live member of a group, but for one, has a parent in another group of the session.
    fn is_orphaned(&self, group: i32, but: Option<i32>) -> bool {
        let mut members = self.processes.iter().filter(|one| one.group == group);
        !members.any(|one| {
            let (parents_group, session) = self.place_of(one.parent);
            Some(one.pid) != but
                && one.is_alive()
                && parents_group != group
                && session == one.session
        })
    }

    fn hang_up_if_orphaned(&mut self, group: i32, but: Option<i32>) {
        let members = || self.processes.iter().filter(|one| one.group == group);
        if self.is_orphaned(group, but) && members().any(|one| one.state == State::Stopped) {
            let pids: Vec<i32> = members().map(|one| one.pid).collect();
            for pid in pids {
                self.send(pid, Signal::HUP);
                self.send(pid, Signal::CONT);
            }
        }
    }

    /// Has a process take a step, whatever its script is.
    pub(super) fn perform(&mut self, pid: i32, step: Step) {
        if let Some(process) = self.find_mut(pid) {
            process.script = Rc::new([step, Step::Hang]);
            process.next = 0;
        }
        self.take_step(pid);
    }

    /// Has all processes receive their signals.
    pub(super) fn settle(&mut self) {
        let is_soon = |next: &Move| matches!(next, Move::Receive(_));
        while let Some(next) = self.moves().into_iter().find(is_soon) {
            self.make(next);
        }
    }

    /// Removes a zombie.
    pub(super) fn reap(&mut self, pid: i32) {
        self.tell(|| format!("we reap {pid}"));
        self.processes.retain(|process| process.pid != pid);
        if self.child == Some(pid) {
            self.child = None;
        }
    }

    /// Sends a signal to a process.
    pub(super) fn send(&mut self, pid: i32, signal: Signal) {
        let Some(process) = self.find_mut(pid).filter(|process| process.is_alive()) else {
            return;
        };
        if signal == Signal::CONT {
            for stop in STOPS {
                process.pending &= !stop.bit();
            }
            if process.state == State::Stopped {
                process.state = State::Running;
            }
        } else if STOPS.contains(&signal) {
            process.pending &= !Signal::CONT.bit();
        }
        let action = process.actions.get(&signal.number());
        let is_ignored = match action {
            _ if signal == Signal::KILL || signal == Signal::STOP => false,
            Some(Action::Ignore) => true,
            Some(Action::Handle(_)) => false,
            None => signal == Signal::CONT || signal == Signal::CHLD,
        };
        if !is_ignored {
            process.pending |= signal.bit();
        }
    }

    /// Notes that we have asked a process to end.
    pub(super) fn note_asked(&mut self, pid: i32, signal: Signal) {
        if let Some(process) = self.find_mut(pid) {
            process.asked |= signal.bit();
        }
    }

    /// Has a process receive its pending signals.
    fn receive(&mut self, pid: i32) {
        let Some(process) = self.find_mut(pid) else {
            return;
        };
        let is_killed = process.pending & Signal::KILL.bit() != 0;
        let next = Signal::all().find(|signal| process.pending & signal.bit() != 0);
        let Some(signal) = (if is_killed { Some(Signal::KILL) } else { next }) else {
            return;
        };
        process.pending &= !signal.bit();
        let action = process.actions.get(&signal.number()).copied();
        let group = process.group;
        let is_child = self.child == Some(pid);
        let is_key = STOPS.contains(&signal) && signal != Signal::STOP;
        self.tell(|| format!("{pid} receives {signal}"));
        match action {
            Some(Action::Handle(Some(code))) if signal != Signal::KILL => {
                self.end(pid, Outcome::Exited(code));
            }
            Some(_) if signal != Signal::KILL && signal != Signal::STOP => {}
            // Nobody would continue it.
            _ if is_key && self.is_orphaned(group, None) => {}
            _ if STOPS.contains(&signal) => {
                if let Some(process) = self.find_mut(pid) {
                    process.state = State::Stopped;
                }
                if is_child {
                    self.signal_us(Signal::CHLD, true, false);
                }
            }
            _ => self.end(pid, Outcome::Killed(signal)),
        }
    }

    /// Sends a signal to us. `is_given` says that the terminal has sent it to the command, too.
    fn signal_us(&mut self, signal: Signal, from_kernel: bool, is_given: bool) {
        let event = SignalEvent {
            signal,
            from_kernel,
        };
        if is_fatal(signal) {
            self.laws.note_fatal(signal);
        }
        if self.is_holding {
            // A pending signal is pending once.
            if self.pending.iter().all(|event| event.signal != signal) {
                self.pending.push(event);
                self.laws.note_arrival(signal, is_given);
            }
        } else {
            self.queue.push(event);
            self.laws.note_arrival(signal, is_given);
        }
    }

    /// Unblocks signals.
    pub(super) fn release(&mut self) {
        self.is_holding = false;
        self.pending.sort_by_key(|event| event.signal.number());
        self.queue.append(&mut self.pending);
    }

    /// Returns a descriptor that becomes readable when a process ends.
    pub(super) fn watch(&mut self, pid: i32) -> Option<OwnedFd> {
        let process = self.find_mut(pid)?;
        let (reader, writer) = fd::private_pipe().expect("a pipe");
        if process.is_alive() {
            process.watches.push(writer);
        }
        Some(reader)
    }

    /// Marks those that had left the attempt when a limit struck.
    pub(super) fn strike(&mut self) {
        let Some(child) = self.child else { return };
        let group = self.launch_group;
        let started = self.find(child).map_or(0, |process| process.started);
        let mut inside = vec![child];
        let mut next = 0;
        while next < inside.len() {
            let parent = inside[next];
            let below = self.processes.iter().filter(|one| one.parent == parent);
            inside.extend(below.map(|process| process.pid));
            next += 1;
        }
        let launch = Some(self.launches);
        let lists = self.scenario.lists_processes;
        for process in &mut self.processes {
            let is_in_group = process.launch == launch && process.group == group;
            let is_inside = lists && inside.contains(&process.pid);
            process.is_exempt |= !is_inside && !is_in_group && process.pid != child;
            process.has_left = process.is_exempt && process.started < started;
        }
    }

    /// Returns the live processes of a launch that a limit must end.
    pub(super) fn left_of(&self, launch: u64) -> Vec<i32> {
        // Where processes cannot be listed, those that leave the group cannot be seen.
        let is_seen =
            |process: &Process| self.scenario.lists_processes || process.group == self.launch_group;
        let left = self.processes.iter().filter(|process| {
            process.launch == Some(launch)
                && process.is_alive()
                && !process.is_exempt
                && is_seen(process)
        });
        left.map(|process| process.pid).collect()
    }

    /// Returns our end of a pipe, for what the command writes to our own stdout.
    pub(super) fn dup(fd: &OwnedFd) -> Rc<OwnedFd> {
        Rc::new(fd.as_fd().try_clone_to_owned().expect("a descriptor"))
    }
}

/// Writes as much as there is room for.
fn written_without_waiting(pipe: &OwnedFd, bytes: &[u8]) -> rustix::io::Result<usize> {
    /// A pipe that is ready takes so much.
    const SURELY_TAKEN: usize = 4096;
    let mut written = 0;
    while written < bytes.len() && !fd::state(PollFd::new(pipe, PollFlags::OUT)).is_empty() {
        let end = bytes.len().min(written + SURELY_TAKEN);
        written += rustix::io::write(pipe, &bytes[written..end])?;
    }
    Ok(written)
}

impl Changes {
    fn are_seen(self, looks: Looks) -> bool {
        match looks {
            Looks::Signals => self.signals,
            Looks::Child => self.child,
            Looks::Processes => self.processes,
            Looks::Receivers => self.processes || self.actions,
            Looks::Slot => self.slot,
        }
    }
}
