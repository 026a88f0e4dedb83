//! One attempt from its start to its end.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::process::{Pid, WaitIdOptions, WaitIdStatus};

use super::family::{Family, Scope};
use super::inbox::{self, Arrival};
use super::reap::{reap_orphans, wait_for};
use super::{Machine, sys};
use crate::engine::{Emit, World as _};
use crate::event::Event;
use crate::leash::{Leash, Pull};
use crate::signal::Signal;
use crate::status::{Ending, OWN_FAILURE, Outcome};

/// A child that was just started.
pub(super) struct Newborn {
    pub(super) pid: Pid,
    /// What arrived for it before it was there.
    pub(super) early: Vec<Arrival>,
    /// What was sent to our group before it was in it, a bit each.
    pub(super) missed: u64,
    /// What marks the environment of this attempt's processes.
    pub(super) marks: Vec<Vec<u8>>,
}

/// What is known of the attempt that runs.
struct Run {
    child: Pid,
    leash: Leash,
    family: Family,
    /// What the terminal has not given to it, although it has to us, a bit each.
    missed: u64,
    /// The first fatal signal that reached us.
    interrupted: Option<Signal>,
    /// The messages for the command that we passed on.
    told: Vec<Signal>,
}

impl Machine<'_> {
    /// Supervises the child until it, and after a time limit all of its family, is gone.
    pub(super) fn supervise(
        &mut self,
        newborn: Newborn,
        ends_by: Option<Duration>,
        emit: &mut Emit<'_>,
    ) -> Result<Ending> {
        let Newborn {
            pid: child,
            early,
            missed,
            marks,
        } = newborn;
        let scope = if self.shares_group {
            Scope::Descendants(child)
        } else {
            Scope::Group(child)
        };
        let leash = Leash::new(ends_by, self.supervision.kill_after);
        let family = Family::new(scope, marks);
        let mut run = Run {
            child,
            leash,
            family,
            missed,
            interrupted: None,
            told: Vec::new(),
        };
        for arrival in early {
            self.pass_on(&mut run, arrival, emit);
        }
        loop {
            match self.look(&mut run, emit) {
                Ok(None) => {}
                Ok(Some(ending)) => return Ok(ending),
                Err(error) => {
                    // Nothing may be left running that nobody watches.
                    let _ = run.family.kill();
                    return Err(error).context("cannot supervise the command any more");
                }
            }
        }
    }

    /// One round: hear the signals, look at the child, do what is due, wait. The order matters: what
    /// arrives after its step is still in the pipe when the wait begins, and ends it at once.
    fn look(&mut self, run: &mut Run, emit: &mut Emit<'_>) -> Result<Option<Ending>, io::Error> {
        for arrival in self.inbox.take() {
            self.pass_on(run, arrival, emit);
        }
        reap_orphans(Some(run.child));
        let ended = wait_for(run.child, WaitIdOptions::NOWAIT)?;
        if let Some(status) = &ended {
            if !run.leash.is_pulled() || run.family.is_gone(run.leash.is_spent()) {
                let mut ending = run.ending(status);
                run.family.sweep(run.leash.is_pulled());
                wait_for(run.child, WaitIdOptions::empty())?;
                if run.leash.is_pulled() && run.family.has_unseen_rest() {
                    ending.left_behind = number(run.child);
                }
                return Ok(Some(ending));
            }
        }
        let mut has_pulled = false;
        while let Some(pull) = run.leash.pull(self.now()) {
            has_pulled = true;
            match pull {
                Pull::Ask => self.ask(run, emit),
                Pull::Kill => {
                    run.kill();
                    emit(&Event::Killed);
                }
                Pull::LetGo => return Ok(Some(run.let_go(ended.is_some()))),
            }
        }
        if run.leash.is_spent() && !has_pulled {
            // A member has gone; those that it had started are not to outlive it.
            run.kill();
        }
        run.family.sift();
        if ended.is_some() && (has_pulled || run.family.seems_gone()) {
            // A child that is a zombie already sends no signal when the rest of its family goes.
            return Ok(None);
        }
        let watches = run.family.watches();
        let watches: Vec<BorrowedFd<'_>> = watches.iter().map(|watch| watch.as_fd()).collect();
        let left = run.leash.due().map(|due| due.saturating_sub(self.now()));
        self.inbox.wait(left, &watches)?;
        Ok(None)
    }

    /// Passes a signal on to where it would have gone without us.
    fn pass_on(
        &self,
        run: &mut Run,
        Arrival {
            signal,
            from_kernel,
        }: Arrival,
        emit: &mut Emit<'_>,
    ) {
        if inbox::is_for_the_command(signal) {
            // A message is for the command itself; its children would not expect it.
            let _ = sys::kill(run.child.as_raw_nonzero().get(), signal);
            run.told.push(signal);
            emit(&Event::Forwarded(signal));
        } else if inbox::is_fatal(signal) {
            run.interrupted = run.interrupted.or(Some(signal));
            let is_given = run.missed & signal.bit() == 0;
            run.missed &= !signal.bit();
            if self.shares_group && from_kernel && is_given && inbox::is_given_to_the_group(signal)
            {
                return;
            }
            // It may be gone already, or not ours to signal; either way its end is what counts. A
            // stopped process would keep the signal waiting, hence CONT.
            let _ = run.family.pass(signal);
            let _ = run.family.pass(Signal::CONT);
            emit(&Event::Forwarded(signal));
        }
    }

    /// The time limit is reached.
    fn ask(&self, run: &mut Run, emit: &mut Emit<'_>) {
        // Who is who must be known before parents die and their children change hands.
        run.family.look();
        run.send(self.supervision.signal);
        run.send(Signal::CONT);
        emit(&Event::LimitReached(self.supervision.signal));
    }
}

impl Run {
    fn send(&mut self, signal: Signal) {
        let sent = self.family.signal(signal);
        self.heed(sent);
    }

    fn kill(&mut self) {
        let sent = self.family.kill();
        self.heed(sent);
    }

    fn heed(&mut self, sent: io::Result<()>) {
        if sent.is_err_and(|error| error.raw_os_error() == Some(libc::EPERM)) {
            self.leash.note_refusal();
        }
    }

    /// How the attempt ended, for a child that ended with `status`.
    fn ending(&self, status: &WaitIdStatus) -> Ending {
        let died_of = status.terminating_signal().and_then(Signal::from_number);
        let code = status
            .exit_status()
            .and_then(|code| u8::try_from(code & 0xff).ok());
        let outcome = match (self.leash.is_pulled(), died_of, code) {
            (true, _, _) => Outcome::TimedOut,
            (false, Some(signal), _) => Outcome::Killed(signal),
            // One of both is always there; if not, it must not look like a success.
            (false, None, code) => Outcome::Exited(code.unwrap_or(OWN_FAILURE)),
        };
        // A message that the command died of would have ended the pipeline without us, too.
        let died_of_message = died_of.filter(|signal| self.told.contains(signal));
        Ending {
            outcome,
            interrupted: self.interrupted.or(died_of_message),
            left_behind: None,
        }
    }

    /// The attempt cannot be ended.
    fn let_go(&self, child_ended: bool) -> Ending {
        let left = if child_ended {
            self.family.someone()
        } else {
            None
        }
        .unwrap_or(self.child);
        let (outcome, interrupted) = (Outcome::TimedOut, self.interrupted);
        Ending {
            outcome,
            interrupted,
            left_behind: number(left),
        }
    }
}

fn number(pid: Pid) -> Option<u32> {
    u32::try_from(pid.as_raw_nonzero().get()).ok()
}
