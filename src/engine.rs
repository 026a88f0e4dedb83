//! The loop: attempts, one after the other, until the policy says stop.

mod world;

use std::time::Duration;

use anyhow::Result;

use crate::bucket::BudgetOp;
use crate::event::{Ended, Event};
use crate::policy::{Decision, History, Policy, Reason};
use crate::signal::Signal;
use crate::status::{Ending, Exit, Outcome, StartFault};

pub(crate) use world::{Attempt, DeliveryAbort, Emit, Token, World};

/// Runs a command until the policy says stop; returns how `retry` exits. `draw` yields a uniform u
/// in [0, 1), once per attempt.
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
    let mut last: Option<Last> = None;
    let mut hook: Option<Ending> = None;
    loop {
        let number = history.attempts + 1;
        let start = world.now();
        emit(&Event::Starting {
            attempt: number,
            at: start,
        });
        let attempt = Attempt {
            number,
            last: last.as_ref().map(|last| &last.outcome),
            ends_by: policy.attempt_ends_by(start),
        };
        let is_hooks = hook.is_some();
        let ending = match hook.take() {
            Some(ending) => ending,
            None => world.attempt(&attempt, emit)?,
        };
        let now = world.now();
        let mut decision = policy.decide(&mut history, &ending, now, draw());
        // If the hook did not run, neither did the command: its last exit status is the one that
        // counts.
        let status = match &last {
            Some(last) if is_hooks => last.exit,
            _ => Policy::exit(&ending, &decision),
        };
        // Held output counts as a success's if the run would exit 0.
        let cut = match world.deliver(status == Exit::Code(0), emit)? {
            None => charge_budget(&mut decision, world, emit)?,
            cut => cut,
        };
        let status = cut.map_or(status, |cut| cut_short(cut, &ending, &mut decision));
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
        let failed = last.take().filter(|_| is_hooks).unwrap_or(Last {
            outcome: ending.outcome,
            exit: status,
        });
        let last = last.insert(failed);
        // Counted from the end of the attempt, so that reporting it adds nothing to the delay.
        let until = now.saturating_add(delay);
        let delay = Delay {
            after: number,
            until,
            last,
        };
        match until_next(policy, world, &delay, emit)? {
            Next::Attempt => {}
            Next::Failed(ending) => hook = Some(ending),
            Next::Over(status) => return Ok(status),
        }
    }
}

/// Decides how the run exits after an attempt whose output could not be delivered, or after which
/// there was no time.
fn cut_short(cut: DeliveryAbort, ending: &Ending, decision: &mut Decision) -> Exit {
    match cut {
        DeliveryAbort::Signal(signal) => {
            *decision = Decision::Stop(Reason::Signal(signal));
            Exit::Raise(signal)
        }
        DeliveryAbort::Deadline => {
            *decision = Decision::Stop(Reason::Undelivered);
            Policy::exit(ending, decision)
        }
    }
}

/// Charges a retry to the shared budget, or refunds a success. Charging comes last, once nothing
/// else stops the retry. Returns the fatal signal that ended the run meanwhile, if any.
fn charge_budget(
    decision: &mut Decision,
    world: &mut impl World,
    emit: &mut Emit<'_>,
) -> Result<Option<DeliveryAbort>> {
    match decision {
        Decision::Stop(_) => return Ok(None),
        // An attempt that succeeded stays a success, whatever happens here.
        Decision::Succeed(_) => {
            world.charge_budget(BudgetOp::Refund, emit)?;
        }
        Decision::Retry { .. } => match world.charge_budget(BudgetOp::Spend, emit)? {
            Token::Granted => {}
            Token::Refused => *decision = Decision::Stop(Reason::Budget),
            Token::Interrupted(signal) => return Ok(Some(DeliveryAbort::Signal(signal))),
        },
    }
    Ok(None)
}

/// The last run of the command.
struct Last {
    outcome: Outcome,
    /// How `retry` exits if there is no other run.
    exit: Exit,
}

/// The delay before a retry.
struct Delay<'a> {
    /// The attempt that it follows.
    after: u64,
    /// When it is over.
    until: Duration,
    last: &'a Last,
}

/// The step after a delay.
enum Next {
    /// Another run of the command.
    Attempt,
    /// Another attempt, which has already failed like this: its hook could not be started.
    Failed(Ending),
    /// The end of the run.
    Over(Exit),
}

/// Waits until then after this attempt, runs the hook, and returns the next step.
fn until_next(
    policy: &Policy,
    world: &mut impl World,
    delay: &Delay<'_>,
    emit: &mut Emit<'_>,
) -> Result<Next> {
    let Delay {
        after: attempt,
        last,
        ..
    } = *delay;
    if let Some(signal) = world.pause(delay.until, emit)? {
        return Ok(Next::Over(interrupted(signal, attempt, world, emit)));
    }
    if is_too_late(policy, world, attempt, emit) {
        return Ok(Next::Over(last.exit));
    }
    let retry = Attempt {
        number: attempt + 1,
        last: Some(&last.outcome),
        ends_by: policy.attempt_ends_by(world.now()),
    };
    let Some(ending) = world.prepare(&retry, emit)? else {
        return Ok(Next::Attempt);
    };
    if let Some(signal) = ending.interrupted {
        return Ok(Next::Over(interrupted(signal, attempt, world, emit)));
    }
    match &ending.outcome {
        Outcome::Exited(0) if ending.left_behind.is_none() => {}
        Outcome::NotStarted(fault) if fault.class.passes() => {
            return Ok(Next::Failed(of_the_hook(fault).into()));
        }
        _ => {
            let total = world.now();
            emit(&Event::HookFailed {
                ending: &ending,
                attempt,
                total,
            });
            return Ok(Next::Over(last.exit));
        }
    }
    let is_late = is_too_late(policy, world, attempt, emit);
    Ok(if is_late {
        Next::Over(last.exit)
    } else {
        Next::Attempt
    })
}

/// Marks a start fault as the hook's, to distinguish it from the command's.
fn of_the_hook(fault: &StartFault) -> Outcome {
    Outcome::NotStarted(StartFault {
        class: fault.class,
        reason: format!("--before-retry: {}", fault.reason),
    })
}

/// Whether no time is left for a retry, which is reported: a wait ends late if we were stopped.
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
