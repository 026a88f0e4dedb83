//! Between two attempts: the shared budget is charged, and the delay waited for.

use std::time::Duration;

use anyhow::Result;

use super::Supervisor;
use super::child::reap_orphans;
use super::signal_queue::{self, SignalEvent};
use crate::bucket::BudgetOp;
use crate::engine::{Emit, Token, World as _};
use crate::event::Event;
use crate::shared::Done;
use crate::signal::Signal;
use crate::sys::terminal;

/// A countdown for less would only flicker.
const SHORTEST_COUNTDOWN: Duration = Duration::from_secs(1);

impl Supervisor<'_> {
    /// Waits until then, unless a fatal signal ends the wait: that signal. With a countdown it wakes
    /// once a second, else never.
    pub(super) fn wait_until(
        &mut self,
        until: Duration,
        emit: &mut Emit<'_>,
    ) -> Result<Option<Signal>> {
        // What others write late would be written behind it.
        let counts_down = self.counts_down
            && until.saturating_sub(self.now()) > SHORTEST_COUNTDOWN
            && !self.streams.has_background_writers()
            && terminal::may_change();
        let waited = self.wait_and_tell(until, counts_down, emit);
        if !counts_down {
            return waited;
        }
        emit(&Event::Waited);
        self.signal_queue.obey_stops();
        // A ^Z that came at the last moment is not lost.
        let late = self.fatal_signal(emit);
        Ok(waited?.or(late))
    }

    fn wait_and_tell(
        &mut self,
        until: Duration,
        counts_down: bool,
        emit: &mut Emit<'_>,
    ) -> Result<Option<Signal>> {
        loop {
            if let Some(signal) = self.fatal_signal(emit) {
                return Ok(Some(signal));
            }
            reap_orphans(None);
            self.streams.pump();
            let left = until.saturating_sub(self.now());
            if left.is_zero() {
                return Ok(None);
            }
            let mut wake = left;
            if counts_down {
                // A stop has put it back.
                self.signal_queue.handle_stops()?;
                if terminal::is_in_front() {
                    emit(&Event::Waiting(left));
                }
                wake = until_next_second(left);
            }
            self.signal_queue.wait(Some(wake), self.streams.watched())?;
        }
    }

    /// The first fatal signal that has arrived, if any; others are told to `emit`.
    pub(super) fn fatal_signal(&mut self, emit: &mut Emit<'_>) -> Option<Signal> {
        let mut fatal = None;
        for SignalEvent { signal, .. } in self.signal_queue.take() {
            if signal == Signal::TSTP {
                // Heard only while a countdown stands there, which is not to stay.
                emit(&Event::Waited);
                self.signal_queue.stop();
            } else if !signal_queue::is_fatal(signal) {
                if signal_queue::is_for_the_command(signal) {
                    emit(&Event::Ignored(signal));
                }
            } else if fatal.is_none() {
                fatal = Some(signal);
            }
        }
        fatal
    }
}

/// How long it takes until one whole second less is left.
fn until_next_second(left: Duration) -> Duration {
    match Duration::from_nanos(left.subsec_nanos().into()) {
        Duration::ZERO => Duration::from_secs(1),
        part => part,
    }
}

/// How long the lock is awaited, which nobody holds for longer than a write.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long it is left alone, at first and at most: with many who want it, it is rarely free.
const NAP: Duration = Duration::from_micros(200);
const LONGEST_NAP: Duration = Duration::from_millis(10);

impl Supervisor<'_> {
    /// Does it as soon as nobody else has the lock. That a token cannot be taken is said once, and
    /// retries go on: a budget is there to spare others, not to fail a run. A success that cannot
    /// give back has nothing to warn of, because there is no retry to come.
    pub(super) fn charge_shared_budget(
        &mut self,
        op: BudgetOp,
        emit: &mut Emit<'_>,
    ) -> Result<Token> {
        let patience_ends = [self.now() + PATIENCE].into_iter().chain(self.deadline);
        let patience_ends = patience_ends.min().unwrap_or_default();
        let mut nap = NAP;
        loop {
            let done = match &self.shared {
                Some(shared) => shared.change(op),
                None => return Ok(Token::Granted),
            };
            let reason = match done {
                Done::Yes { granted, rebuilt } => {
                    if rebuilt {
                        emit(&Event::BudgetRebuilt);
                    }
                    return Ok(if granted {
                        Token::Granted
                    } else {
                        Token::Refused
                    });
                }
                Done::Busy if self.now() < patience_ends => {
                    if let Some(signal) = self.fatal_signal(emit) {
                        return Ok(Token::Interrupted(signal));
                    }
                    self.streams.pump();
                    self.signal_queue.wait(Some(nap), self.streams.watched())?;
                    nap = (nap * 2).min(LONGEST_NAP);
                    continue;
                }
                Done::Busy => "another process does not let go of it".to_owned(),
                Done::Unusable(reason) => reason,
            };
            self.shared = None;
            if op == BudgetOp::Spend {
                emit(&Event::BudgetUnusable(reason));
            }
            return Ok(Token::Granted);
        }
    }
}
