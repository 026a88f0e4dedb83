//! The loop: attempts, one after the other, until the policy says stop.

use std::time::Duration;

use anyhow::Result;

use crate::bucket::Deed;
use crate::event::{Ended, Event};
use crate::policy::{Decision, History, Policy, Reason};
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

    /// Hands on what was held back of the attempt's output, as that of a success or of a failure;
    /// tells what ends the run meanwhile.
    ///
    /// # Errors
    /// When the output of a success cannot be written.
    fn deliver(&mut self, success: bool, emit: &mut Emit<'_>) -> Result<Option<Cut>>;

    /// Takes a token from the budget that is shared with other runs, if there is one, or gives back
    /// for a success.
    ///
    /// # Errors
    /// When the system cannot wait.
    fn settle(&mut self, deed: Deed, emit: &mut Emit<'_>) -> Result<Token>;

    /// Waits until then, never shorter, unless a fatal signal ends the wait: that signal.
    ///
    /// # Errors
    /// When the system cannot wait.
    fn pause(&mut self, until: Duration, emit: &mut Emit<'_>) -> Result<Option<Signal>>;

    /// Runs what is to be run before the retry that comes, if anything.
    ///
    /// # Errors
    /// As [`World::attempt`].
    fn prepare(&mut self, retry: &Attempt<'_>, emit: &mut Emit<'_>) -> Result<Option<Ending>>;
}

/// What came of asking for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// There may be a retry.
    Granted,
    /// The budget is spent.
    Refused,
    /// A fatal signal came meanwhile.
    Interrupted(Signal),
}

/// What keeps output from being handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// A fatal signal; PIPE if nobody reads a success.
    Signal(Signal),
    /// The deadline, which a success has not kept if not all of it was written.
    Deadline,
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
        let attempt = Attempt {
            number,
            last: last.as_ref(),
            ends_by: policy.attempt_ends_by(start),
        };
        let mut ending = world.attempt(&attempt, emit)?;
        let now = world.now();
        let mut decision = policy.decide(&mut history, &ending, now, draw());
        let status = Policy::exit(&ending, &decision);
        // What is to count as a success is to be delivered as one.
        let cut = match world.deliver(status == Exit::Code(0), emit)? {
            None => settle(&mut decision, world, emit)?,
            cut => cut,
        };
        let status = match cut {
            None => status,
            Some(Cut::Signal(signal)) => {
                decision = Decision::Stop(Reason::Signal(signal));
                Exit::Raise(signal)
            }
            Some(Cut::Deadline) => {
                ending.outcome = Outcome::TimedOut;
                decision = Decision::Stop(Reason::Deadline {
                    delay: Duration::ZERO,
                    server_wait: None,
                });
                ending.outcome.exit()
            }
        };
        let ended = Ended {
            attempt: number,
            ending: &ending,
            took: now.saturating_sub(start),
            total: cut.map_or(now, |_| world.now()),
        };
        emit(&Event::Ended(ended, &decision));
        let Decision::Retry { delay, .. } = decision else {
            return Ok(status);
        };
        let outcome = last.insert(ending.outcome);
        // Counted from the end of the attempt: what reporting it took is not added.
        let until = now.saturating_add(delay);
        let failed = Failed {
            attempt: number,
            outcome,
            exit: status,
        };
        if let Some(exit) = until_next(policy, world, until, &failed, emit)? {
            return Ok(exit);
        }
    }
}

/// What a decision costs, or gives back to, all who share a budget. A token is taken last, when
/// nothing else stops the retry. Tells the signal that ends the run meanwhile.
fn settle(
    decision: &mut Decision,
    world: &mut impl World,
    emit: &mut Emit<'_>,
) -> Result<Option<Cut>> {
    match decision {
        Decision::Stop(_) => return Ok(None),
        // It has succeeded, whatever comes in between.
        Decision::Succeed(_) => {
            world.settle(Deed::Reward, emit)?;
        }
        Decision::Retry { .. } => match world.settle(Deed::Take, emit)? {
            Token::Granted => {}
            Token::Refused => *decision = Decision::Stop(Reason::Budget),
            Token::Interrupted(signal) => return Ok(Some(Cut::Signal(signal))),
        },
    }
    Ok(None)
}

/// The attempt before a retry.
struct Failed<'a> {
    attempt: u64,
    outcome: &'a Outcome,
    /// How the run exits if there is no other.
    exit: Exit,
}

/// The delay, and what is to be run after it. Tells how the run exits if it ends here.
fn until_next(
    policy: &Policy,
    world: &mut impl World,
    until: Duration,
    failed: &Failed<'_>,
    emit: &mut Emit<'_>,
) -> Result<Option<Exit>> {
    let attempt = failed.attempt;
    if let Some(signal) = world.pause(until, emit)? {
        return Ok(Some(interrupted(signal, attempt, world, emit)));
    }
    if is_too_late(policy, world, attempt, emit) {
        return Ok(Some(failed.exit));
    }
    let retry = Attempt {
        number: attempt + 1,
        last: Some(failed.outcome),
        ends_by: policy.attempt_ends_by(world.now()),
    };
    let Some(ending) = world.prepare(&retry, emit)? else {
        return Ok(None);
    };
    if let Some(signal) = ending.interrupted {
        return Ok(Some(interrupted(signal, attempt, world, emit)));
    }
    if ending != Outcome::Exited(0).into() {
        let total = world.now();
        emit(&Event::HookFailed {
            ending: &ending,
            attempt,
            total,
        });
        return Ok(Some(failed.exit));
    }
    Ok(is_too_late(policy, world, attempt, emit).then_some(failed.exit))
}

/// Whether there is no time left for a retry: a wait may end late, if we were stopped meanwhile.
fn is_too_late(policy: &Policy, world: &impl World, attempt: u64, emit: &mut Emit<'_>) -> bool {
    let total = world.now();
    let is_late = !policy.fits(total, Duration::ZERO);
    if is_late {
        emit(&Event::TooLate { attempt, total });
    }
    is_late
}

fn interrupted(signal: Signal, attempt: u64, world: &impl World, emit: &mut Emit<'_>) -> Exit {
    let total = world.now();
    emit(&Event::Interrupted {
        signal,
        attempt,
        total,
    });
    Exit::Raise(signal)
}

#[cfg(test)]
mod tests;
