//! Between two attempts: charges the shared budget and waits out the delay.

use std::mem;
use std::time::Duration;

use anyhow::Result;

use super::Supervisor;
use super::child::reap_orphans;
use super::kernel::Kernel;
use super::signal_queue::{self, SignalEvent};
use crate::bucket::BudgetOp;
use crate::engine::{Emit, Token, World as _};
use crate::event::Event;
use crate::shared::Done;
use crate::signal::Signal;
use crate::sys::terminal;

/// The shortest delay with a countdown; a shorter one would only flicker.
const SHORTEST_COUNTDOWN: Duration = Duration::from_secs(1);

impl<K: Kernel> Supervisor<'_, K> {
    /// Waits until a time, or returns the fatal signal that ended the wait. It wakes once a second
    /// for a countdown, else never.
    pub(super) fn wait_until(
        &mut self,
        until: Duration,
        emit: &mut Emit<'_>,
    ) -> Result<Option<Signal>> {
        // A background writer would write behind it.
        let counts_down = self.stop_handler.is_some()
            && until.saturating_sub(self.now()) > SHORTEST_COUNTDOWN
            && !self.streams.has_background_writers()
            && terminal::may_change();
        let waited = self.wait_and_tell(until, counts_down, emit);
        if !counts_down {
            return waited;
        }
        emit(&Event::Waited);
        if let Some(handler) = &self.stop_handler {
            handler.remove();
        }
        // A ^Z that came at the last moment is not lost.
        let late = self.drain_signals(emit);
        Ok(waited?.or(late))
    }

    fn wait_and_tell(
        &mut self,
        until: Duration,
        counts_down: bool,
        emit: &mut Emit<'_>,
    ) -> Result<Option<Signal>> {
        loop {
            if let Some(signal) = self.drain_signals(emit) {
                return Ok(Some(signal));
            }
            reap_orphans(&self.kernel, self.us, None);
            self.streams.pump();
            self.warn_of_shortage(emit);
            let left = until.saturating_sub(self.now());
            if left.is_zero() {
                return Ok(None);
            }
            let mut wake = left;
            if counts_down {
                if let Some(handler) = &mut self.stop_handler {
                    // A stop has removed it.
                    handler.install()?;
                }
                if terminal::is_in_front() {
                    emit(&Event::Waiting(left));
                }
                wake = until_next_second(left);
            }
            self.kernel.wait(Some(wake), true, self.streams.watched())?;
        }
    }

    /// Handles all queued signals, and returns the first fatal one, if any.
    pub(super) fn drain_signals(&mut self, emit: &mut Emit<'_>) -> Option<Signal> {
        let mut fatal = None;
        for SignalEvent { signal, .. } in self.kernel.take_signals() {
            if signal == Signal::TSTP {
                // Handled only during a countdown, whose line must not stay.
                emit(&Event::Waited);
                if let Some(handler) = &self.stop_handler {
                    handler.stop();
                }
            } else if !signal_queue::is_fatal(signal) {
                if signal_queue::is_message(signal) {
                    emit(&Event::Ignored(signal));
                }
            } else if fatal.is_none() {
                fatal = Some(signal);
            }
        }
        fatal
    }
}

/// Returns the time until the next lower whole second is left.
fn until_next_second(left: Duration) -> Duration {
    match Duration::from_nanos(left.subsec_nanos().into()) {
        Duration::ZERO => Duration::from_secs(1),
        part => part,
    }
}

/// The longest wait for the lock, which nobody holds for longer than a write.
const PATIENCE: Duration = Duration::from_secs(1);

/// The first and the longest pause between tries: with many contenders the lock is rarely free.
const NAP: Duration = Duration::from_micros(200);
const LONGEST_NAP: Duration = Duration::from_millis(10);

impl<K: Kernel> Supervisor<'_, K> {
    /// Applies `op` as soon as nobody else has the lock. If the budget cannot be used, this warns
    /// once and retries go on: a budget protects others, and must not fail a run. A success that
    /// cannot refund needs no warning, because no retry will follow.
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
                    if let Some(signal) = self.drain_signals(emit) {
                        return Ok(Token::Interrupted(signal));
                    }
                    self.streams.pump();
                    self.kernel.wait(Some(nap), true, self.streams.watched())?;
                    nap = (nap * 2).min(LONGEST_NAP);
                    continue;
                }
                Done::Busy => "another process does not let go of it".to_owned(),
                Done::Unusable(reason) => reason,
            };
            self.shared = None;
            if op == BudgetOp::Spend && mem::take(&mut self.warns.unusable) {
                emit(&Event::BudgetUnusable(reason));
            }
            return Ok(Token::Granted);
        }
    }
}
