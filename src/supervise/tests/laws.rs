//! The laws that hold at every moment of every run, in whatever order its events come.

use std::collections::BTreeMap;
use std::mem;
use std::time::Duration;

use super::script::Outside;
use super::world::{Process, World};
use crate::event::Event;
use crate::job::Output;
use crate::policy::{Decision, Reason};
use crate::signal::Signal;
use crate::status::{Exit, Outcome};
use crate::supervise::kernel::{Target, raw};
use crate::supervise::signal_queue::{SignalEvent, is_fatal, is_message};

/// The current phase of the supervisor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Attempt,
    Delay,
    /// A slot is awaited.
    Entrance,
    Over,
}

/// The number of times that each signal was passed on, and should have been.
#[derive(Debug, Default)]
struct Passed {
    /// The lowest and the highest number of times.
    due: BTreeMap<i32, (usize, usize)>,
    done: BTreeMap<i32, usize>,
}

/// The state that the laws need.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact that one law asks for"
)]
pub(super) struct Laws {
    broken: Option<String>,
    starts: BTreeMap<i32, u64>,
    reaped: Vec<i32>,
    phase: Phase,
    /// The fatal signals that have come, in order.
    fatal: Vec<Signal>,
    /// Whether a fatal signal had arrived when signals were last looked at before a start.
    must_not_start: bool,
    /// The signals that have arrived and were not taken yet, and whether the terminal sent each to
    /// the command as well.
    arrived: Vec<(Signal, bool)>,
    passed: Passed,
    /// The messages that came before there was a command to pass them on to.
    early: BTreeMap<i32, usize>,
    sent: Vec<Signal>,
    has_moved: bool,
    idle_wakes: usize,
    /// The waits that ended since the last event.
    pub(super) short_waits: usize,
    fatal_in_delay: bool,
    /// Whether a limit has struck the attempt.
    struck: bool,
    attempts: u64,
    is_hook: bool,
    /// How the command's last run ended, in the simulated processes.
    last: Option<Outcome>,
    last_struck: bool,
    any_struck: bool,
    left_behind: bool,
    not_before: Duration,
    stop: Option<Reason>,
    /// Whether a signal has ended a delay, or the hook after it.
    in_delay: bool,
    hook_failed: bool,
    too_late: bool,
    written: Vec<(u64, Vec<u8>)>,
    /// Whether anything was written when the attempt had ended.
    writes_late: bool,
    taken: Vec<u8>,
    /// Whether the scenario asks for a hang.
    pub(super) hangs: bool,
}

impl Laws {
    /// Records that a law is broken, unless one is recorded already.
    pub(super) fn breaks(&mut self, how: impl Into<String>) {
        self.broken.get_or_insert(how.into());
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Returns how a law was broken, if one was.
    pub(super) fn fault(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    pub(super) fn note_start_of(&mut self, pid: i32, started: u64) {
        self.starts.insert(pid, started);
        self.reaped.retain(|reaped| *reaped != pid);
    }

    pub(super) fn highest_pid(&self) -> i32 {
        self.starts.keys().next_back().copied().unwrap_or(0)
    }

    pub(super) fn last_start_of(&self, pid: i32) -> u64 {
        self.starts.get(&pid).copied().unwrap_or_default()
    }

    /// Whether we have reaped a child with this pid.
    pub(super) fn is_reaped(&self, pid: i32) -> bool {
        self.reaped.contains(&pid)
    }

    pub(super) fn note_move(&mut self) {
        self.has_moved = true;
        self.short_waits = 0;
    }

    pub(super) fn note_fatal(&mut self, signal: Signal) {
        self.fatal.push(signal);
    }

    pub(super) fn note_arrival(&mut self, signal: Signal, is_given: bool) {
        self.arrived.push((signal, is_given));
    }

    pub(super) fn note_written(&mut self, launch: u64, bytes: &[u8], is_late: bool) {
        self.writes_late |= is_late;
        match self.written.last_mut() {
            Some((last, text)) if *last == launch => text.extend(bytes),
            _ => self.written.push((launch, bytes.to_vec())),
        }
    }

    pub(super) fn note_taken(&mut self, bytes: &[u8]) {
        self.taken.extend(bytes);
    }
}

impl World {
    /// Signals are looked at for the last time before a start.
    pub(super) fn law_of_the_last_look(&mut self) {
        self.laws.must_not_start = !self.laws.fatal.is_empty();
    }

    /// A program is about to be started.
    pub(super) fn law_of_the_start(&mut self, is_hook: bool) {
        if self.laws.must_not_start {
            self.laws
                .breaks("a program was started after a fatal signal");
        }
        if !self.is_holding {
            self.laws
                .breaks("a program was started without signals held back");
        }
        if self.child.is_some() {
            self.laws.breaks("two attempts at once");
        }
        if self.scenario.job.concurrency().is_some() && !self.has_slot() {
            self.laws.breaks("a program was started without a slot");
        }
        if self.laws.struck && !self.left_of(self.launches).is_empty() {
            self.laws
                .breaks("a process outlived its limit, and another attempt began");
        }
        if self.laws.left_behind {
            self.laws
                .breaks("another attempt began beside a process that was left behind");
        }
        if self.now < self.laws.not_before {
            self.laws.breaks("a delay was cut short");
        }
        let is_retry = !is_hook && self.laws.attempts > 0;
        if is_retry && self.scenario.job.before_retry.is_some() && !self.laws.is_hook {
            self.laws.breaks("a retry began without its hook");
        }
        self.laws.struck = false;
        self.laws.is_hook = is_hook;
        self.laws.phase = Phase::Attempt;
        if !is_hook {
            self.laws.last = None;
            self.laws.last_struck = false;
        }
        for (number, early) in mem::take(&mut self.laws.early) {
            self.laws.passed.due.entry(number).or_default().0 += early;
        }
    }

    /// We begin to wait for a slot.
    pub(super) fn note_entrance(&mut self) {
        self.laws.phase = Phase::Entrance;
    }

    /// A limit has struck: from now on it is settled which processes must end.
    pub(super) fn note_listing(&mut self) {
        if !self.laws.struck && self.child.is_some() {
            self.laws.struck = true;
            self.strike();
        }
    }

    /// We take signals from the queue.
    pub(super) fn note_taken_signals(&mut self, events: &[SignalEvent]) {
        let hears = self.our_child().is_some_and(Process::is_alive);
        for event in events {
            let signal = event.signal;
            let at = self.laws.arrived.iter().position(|(one, _)| *one == signal);
            let is_given = at.is_some_and(|at| self.laws.arrived.remove(at).1);
            if matches!(self.laws.phase, Phase::Delay | Phase::Entrance) && is_fatal(signal) {
                self.laws.fatal_in_delay = true;
            }
            // Before a start: it is passed on when the command runs.
            let will_hear = self.is_holding && is_message(signal);
            if is_fatal(signal) || is_message(signal) {
                let due = self.laws.passed.due.entry(signal.number()).or_default();
                due.0 += usize::from(hears && !is_given);
                due.1 += usize::from(!is_given);
                if will_hear {
                    *self.laws.early.entry(signal.number()).or_default() += 1;
                }
            }
        }
    }

    /// We send a signal.
    pub(super) fn law_of_signals(&mut self, target: Target, signal: Signal) {
        let hit = self.reached(target);
        let (Target::Process(pid) | Target::Group(pid)) = target;
        let is_reaped = self.laws.is_reaped(raw(pid));
        let is_one = matches!(target, Target::Process(_));
        if hit.iter().any(|process| process.launch.is_none()) {
            self.laws.breaks(format!("{signal} was sent to a stranger"));
        } else if is_one && hit.iter().any(|process| process.has_left) {
            self.laws.breaks(format!(
                "{signal} was sent to one that had left before the limit"
            ));
        } else if hit.is_empty() && is_reaped && self.scenario.lists_processes {
            self.laws
                .breaks(format!("{signal} was sent to a reaped pid"));
        }
        self.laws.sent.push(signal);
    }

    /// We begin to wait.
    pub(super) fn law_of_waits(&mut self, time: Option<Duration>) {
        // Held-back output has a moment to be written.
        let moment = if self.laws.must_not_start { 1000 } else { 50 };
        let is_haste = time.is_some_and(|time| time <= Duration::from_millis(moment))
            && self.scenario.job.streams.output != Output::Stream;
        let is_between = matches!(self.laws.phase, Phase::Delay | Phase::Entrance);
        if is_between && self.laws.fatal_in_delay && !is_haste {
            self.laws.breaks("a fatal signal did not end the delay");
        }
        if is_between && self.has_slot() {
            self.laws.breaks("a run holds a slot while it sleeps");
        }
        if time.is_none() && self.laws.phase == Phase::Delay {
            self.laws.breaks("a delay without an end");
        }
        let us = self.our_pid();
        // An orphan behind our own child has to wait.
        let is_behind = self.our_child().is_some_and(|child| !child.is_alive());
        let zombie = self
            .processes
            .iter()
            .find(|one| one.parent == us && Some(one.pid) != self.child && !one.is_alive());
        // One that ended after the last look has sent us CHLD.
        let is_told = self.queue.iter().any(|event| event.signal == Signal::CHLD);
        if let Some(zombie) = zombie.filter(|_| !is_behind && !is_told) {
            let pid = zombie.pid;
            self.laws.breaks(format!("a wait beside the zombie {pid}"));
        }
        let has_news = self.queue.iter().any(|event| is_fatal(event.signal));
        // We look after the command. Other processes that a key has stopped are not for us to
        // continue.
        let is_ours = |one: &Process| Some(one.pid) == self.child || !self.scenario.shares_group;
        let mut deaf = self.processes.iter().filter(|one| one.is_deaf());
        if !has_news && deaf.any(is_ours) {
            self.laws
                .breaks("a stopped process was asked to end, and not continued");
        }
        self.laws.has_moved = false;
    }

    /// A wait has ended because something was ready.
    pub(super) fn law_of_wakes(&mut self) {
        if self.laws.has_moved {
            self.laws.idle_wakes = 0;
        } else {
            self.laws.idle_wakes += 1;
        }
        // One wake is for earlier signals, and one for data that was read only in part.
        if self.laws.idle_wakes > 4 {
            self.laws.breaks("it is woken again and again for nothing");
        }
    }

    /// A wait has ended because its time was over. Checks that nothing should have ended it
    /// earlier.
    pub(super) fn law_of_time(&mut self, waited: Duration) {
        self.laws.idle_wakes = 0;
        if self.laws.phase != Phase::Attempt || waited <= Duration::from_millis(20) {
            return;
        }
        let Some(child) = self.our_child() else {
            return;
        };
        let has_ended = !child.is_alive();
        let launch = Some(self.launches);
        let is_left = self.processes.iter().any(|process| {
            process.launch <= launch && process.launch.is_some() && process.is_alive()
        });
        let is_gone = !self.laws.struck || !is_left;
        if has_ended && is_gone {
            self.laws
                .breaks("it slept although the attempt had ended: a wake-up was lost");
        }
    }

    /// We wait, but nothing will happen any more.
    pub(super) fn law_of_hangs(&mut self) {
        let child = self.our_child();
        let may_hang = child.is_some_and(|child| child.is_alive() && !child.is_deaf());
        if may_hang {
            self.laws.hangs = true;
        } else {
            self.laws
                .breaks("it waits for ever, and nobody will wake it");
        }
    }

    /// We reap a child.
    pub(super) fn note_reaped(&mut self, pid: i32, outcome: &Outcome) {
        if Some(pid) == self.child {
            self.laws.reaped.push(pid);
            if !self.laws.is_hook {
                self.laws.last = Some(outcome.clone());
            }
        }
    }

    /// The supervisor reports an event.
    pub(super) fn hear(&mut self, event: &Event<'_>) {
        self.tell(|| format!("event: {event:?}"));
        match event {
            Event::Starting { at, .. } if *at < self.laws.not_before => {
                self.laws.breaks("a delay was cut short");
            }
            Event::Forwarded(signal) => {
                let is_sent = self.laws.sent.contains(signal);
                let hears = self.child.is_some();
                if hears && !is_sent {
                    self.laws
                        .breaks(format!("{signal} was said to be forwarded, and was not"));
                }
                *self.laws.passed.done.entry(signal.number()).or_default() += 1;
                self.laws.sent.clear();
            }
            Event::LimitReached(_) | Event::Killed => self.laws.sent.clear(),
            Event::NoSlot { attempt, .. } => {
                self.laws.too_late = true;
                self.laws.phase = Phase::Over;
                let deadline = self.scenario.job.policy.deadline;
                let reserve = if *attempt == 0 {
                    Duration::ZERO
                } else {
                    self.scenario.job.policy.reserve
                };
                let until = deadline.map(|deadline| deadline.saturating_sub(reserve));
                let soon = self.now + Duration::from_millis(1);
                if until.is_none_or(|until| soon < until) {
                    self.laws.breaks("the wait for a slot was cut short");
                }
            }
            Event::Ended(ended, decision) => {
                if self.has_slot() {
                    self.laws.breaks("a slot outlives its attempt");
                }
                self.laws.attempts = ended.attempt;
                if !matches!(ended.ending.outcome, Outcome::NotStarted(_)) {
                    self.laws.last_struck = ended.ending.outcome == Outcome::TimedOut;
                }
                self.laws.any_struck |= self.laws.last_struck;
                self.laws.left_behind |= ended.ending.left_behind.is_some();
                self.law_of_forwarding();
                let left = self.left_of(self.launches);
                if self.laws.last_struck && ended.ending.left_behind.is_none() && !left.is_empty() {
                    self.laws
                        .breaks(format!("{left:?} outlived the limit, and nobody was told"));
                }
                match decision {
                    Decision::Retry { delay, .. } => {
                        self.laws.phase = Phase::Delay;
                        self.laws.not_before = ended.total.saturating_add(*delay);
                    }
                    Decision::Stop(reason) => {
                        self.laws.stop = Some(reason.clone());
                        self.laws.phase = Phase::Over;
                    }
                    Decision::Succeed(_) => self.laws.phase = Phase::Over,
                }
            }
            Event::HookFailed { ending, .. } => {
                self.laws.hook_failed = true;
                self.laws.phase = Phase::Over;
                self.laws.left_behind |= ending.left_behind.is_some();
            }
            Event::TooLate { .. } => {
                self.laws.too_late = true;
                self.laws.phase = Phase::Over;
            }
            Event::Interrupted { .. } => {
                self.laws.in_delay = true;
                self.laws.phase = Phase::Over;
            }
            _ => {}
        }
    }

    /// Each signal was passed on as often as it came, and none that the terminal gave to the
    /// command.
    fn law_of_forwarding(&mut self) {
        let passed = mem::take(&mut self.laws.passed);
        if self.laws.left_behind {
            return;
        }
        for (number, (least, most)) in &passed.due {
            let done = passed.done.get(number).copied().unwrap_or(0);
            if done < *least || done > *most {
                let name = Signal::from_number(*number).expect("a signal");
                self.laws.breaks(format!(
                    "{name} was passed on {done} times, and should have been {least} to {most} times"
                ));
            }
        }
        let is_extra = |number: &&i32| !passed.due.contains_key(number);
        let extra: Vec<&i32> = passed.done.keys().filter(is_extra).collect();
        if !extra.is_empty() {
            self.laws
                .breaks(format!("{extra:?} were passed on, and never came"));
        }
    }

    /// The run is over. Its exit status must follow from the processes and signals.
    pub(super) fn law_of_the_end(&mut self, exit: Exit) {
        let first_fatal = self.laws.fatal.first().copied();
        let own = match (&self.laws.last, self.laws.last_struck) {
            (_, true) => Some(Exit::Code(124)),
            (Some(Outcome::Exited(code)), _) => Some(Exit::Code(*code)),
            (Some(Outcome::Killed(signal)), _) => Some(Exit::Raise(*signal)),
            // It has waited for a slot in vain.
            (None, _) if self.launches == 0 && self.laws.too_late => Some(Exit::Code(124)),
            _ => None,
        };
        let is_early = self.laws.in_delay || self.laws.must_not_start;
        // The order of signals that were pending together is unknown.
        let arrived = |exit: Exit| {
            let fatal = &self.laws.fatal;
            matches!(exit, Exit::Raise(signal) if fatal.contains(&signal) || is_message(signal))
        };
        let expected = if is_early && arrived(exit) {
            Some(exit)
        } else if is_early {
            first_fatal.map(Exit::Raise)
        } else {
            own
        };
        let has_no_reader = exit == Exit::Raise(Signal::PIPE) && self.loses_its_reader();
        // A further signal ends the delivery of what was held back.
        let is_further = self.scenario.line.contains("write") && arrived(exit);
        if expected.is_some_and(|expected| expected != exit) && !has_no_reader && !is_further {
            self.laws.breaks(format!(
                "it exits with {exit:?}, and should with {expected:?}"
            ));
        }
        let is_hook_left = self.laws.is_hook && self.laws.in_delay;
        if !self.laws.left_behind && !is_hook_left && self.child.is_some() {
            self.laws
                .breaks("the run is over, and its child is not reaped");
        }
        self.law_of_retries(exit);
        self.law_of_output(exit);
    }

    fn loses_its_reader(&self) -> bool {
        self.scenario.outside.contains(&Outside::Leaves)
    }

    /// No run gives up early, and none goes on after a success.
    fn law_of_retries(&mut self, exit: Exit) {
        let policy = &self.scenario.job.policy;
        let most = policy.attempts.most();
        let is_asked_for = matches!(
            self.laws.last,
            Some(Outcome::Killed(signal)) if signal.is_asked_for() || is_message(signal)
        );
        let may_stop = exit == Exit::Code(0)
            || most.is_some_and(|most| self.laws.attempts >= most)
            || !self.laws.fatal.is_empty()
            || self.laws.left_behind
            || self.laws.hook_failed
            || self.laws.too_late
            || self.laws.in_delay
            || exit == Exit::Raise(Signal::PIPE) && self.loses_its_reader()
            || policy.deadline.is_some()
            || is_asked_for
            || self
                .laws
                .stop
                .as_ref()
                .is_some_and(|reason| *reason != Reason::Attempts)
                && self.laws.last.is_none();
        if !may_stop {
            self.laws.breaks(format!(
                "it gave up after {} attempts: {:?}",
                self.laws.attempts, self.laws.stop
            ));
        }
    }

    /// Output is neither lost nor shown twice, unless a limit or a signal has cut it off.
    fn law_of_output(&mut self, exit: Exit) {
        let is_cut = !self.laws.fatal.is_empty()
            || self.laws.any_struck
            || self.laws.writes_late
            || matches!(exit, Exit::Raise(_) | Exit::Code(125))
            || self.loses_its_reader();
        if is_cut {
            return;
        }
        let last = self
            .laws
            .written
            .last()
            .filter(|(launch, _)| *launch == self.launches);
        let last = last.map_or(&[][..], |(_, bytes)| bytes);
        let all: Vec<u8> = self
            .laws
            .written
            .iter()
            .flat_map(|(_, bytes)| bytes)
            .copied()
            .collect();
        let has_failed = exit != Exit::Code(0);
        let expected = match self.scenario.job.streams.output {
            Output::Once if has_failed => &[],
            Output::Once | Output::Last => last,
            Output::OnFailure if !has_failed => &[],
            Output::OnFailure | Output::Stream => &all,
        };
        if self.laws.taken != expected {
            let (taken, expected) = (self.laws.taken.len(), expected.len());
            self.laws.breaks(format!(
                "{taken} bytes of output came, and should have {expected}"
            ));
        }
    }
}
