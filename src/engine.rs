//! The loop: attempts, one after the other, until the policy says stop.

use std::time::Duration;

use anyhow::Result;

use crate::event::{Ended, Event};
use crate::policy::{Decision, History, Policy};
use crate::signal::Signal;
use crate::status::{Ending, Exit, Outcome};

/// Where events go.
pub(crate) type Emit<'a> = dyn FnMut(&Event<'_>) + 'a;

/// All that the loop needs from outside: real in `os`, virtual in a rehearsal.
pub(crate) trait World {
    /// The time since the start of the run, which never goes back.
    fn now(&self) -> Duration;

    /// Runs the command once, to its end.
    ///
    /// # Errors
    /// When the command's end cannot be learned; nothing of it is left running then.
    fn attempt(&mut self, attempt: &Attempt<'_>, emit: &mut Emit<'_>) -> Result<Ending>;

    /// Waits until then, never shorter, unless a fatal signal ends the wait: that signal.
    ///
    /// # Errors
    /// When the system cannot wait.
    fn pause(&mut self, until: Duration, emit: &mut Emit<'_>) -> Result<Option<Signal>>;
}

/// What a world is told about an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt<'a> {
    /// Counted from 1.
    pub(crate) number: u64,
    /// How the attempt before ended.
    pub(crate) last: Option<&'a Outcome>,
    /// When a time limit ends it, since the start of the run.
    pub(crate) ends_by: Option<Duration>,
}

/// Runs a whole retry and tells how it ends. `draw` gives a uniform u in [0, 1), once an attempt.
///
/// # Errors
/// As [`World`].
pub(crate) fn run(
    policy: &Policy,
    world: &mut impl World,
    draw: &mut dyn FnMut() -> f64,
    emit: &mut Emit<'_>,
) -> Result<Exit> {
    let mut history = History::new(policy);
    let mut last = None;
    loop {
        let number = history.attempts + 1;
        let start = world.now();
        emit(&Event::Starting {
            attempt: number,
            at: start,
        });
        let ends_by = policy.attempt_ends_by(start);
        let ending = world.attempt(
            &Attempt {
                number,
                last: last.as_ref(),
                ends_by,
            },
            emit,
        )?;
        let now = world.now();
        let decision = policy.decide(&mut history, &ending, now, draw());
        let outcome = ending.outcome;
        let took = now.saturating_sub(start);
        let ended = Ended {
            attempt: number,
            outcome: &outcome,
            took,
            total: now,
        };
        emit(&Event::Ended(ended, &decision));
        let Decision::Retry { delay } = decision else {
            return Ok(Policy::exit(&outcome, &decision));
        };
        // Counted from the end of the attempt: what reporting it took is not added.
        if let Some(signal) = world.pause(now.saturating_add(delay), emit)? {
            emit(&Event::Interrupted {
                signal,
                attempt: number,
                total: world.now(),
            });
            return Ok(Exit::Raise(signal));
        }
        // A wait may end late, if we were stopped meanwhile.
        let now = world.now();
        if !policy.fits(now, Duration::ZERO) {
            emit(&Event::TooLate {
                attempt: number,
                total: now,
            });
            return Ok(outcome.exit());
        }
        last = Some(outcome);
    }
}

#[cfg(test)]
mod tests;
