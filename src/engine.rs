//! The loop: attempts, one after the other, until the policy says stop.

mod between;
mod world;

use anyhow::Result;

use crate::bucket::BudgetOp;
use crate::event::{Ended, Event};
use crate::policy::{Decision, History, Policy, Reason};
use crate::status::{Ending, Exit, TIMED_OUT};

use between::{Delay, Last, Next, end_with, enter, until_next};

pub(crate) use world::{Attempt, DeliveryAbort, Emit, Entrance, Slot, Token, Verdict, World};

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
    let entrance = Entrance {
        attempt: 1,
        until: policy.deadline,
    };
    if let Some(exit) = enter(entrance, Exit::Code(TIMED_OUT), world, emit)? {
        return Ok(exit);
    }
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
            start,
            ends_by: policy.attempt_ends_by(start),
        };
        let is_hooks = hook.is_some();
        let ending = match hook.take() {
            Some(ending) => ending,
            None => world.attempt(&attempt, emit)?,
        };
        world.leave();
        let now = world.now();
        let mut decision = policy.decide(&mut history, &ending, now, draw());
        // If the hook did not run, the command did not run either, so the status of its last run
        // counts.
        let status = match &last {
            Some(last) if is_hooks => last.exit,
            _ => Policy::exit(&ending, &decision),
        };
        let verdict = match decision {
            Decision::Retry { .. } => Verdict::Retrying,
            // If the run would exit 0, held output is delivered as that of a success.
            _ if status == Exit::Code(0) => Verdict::Succeeded,
            _ => Verdict::Failed,
        };
        let cut = match world.deliver(verdict, emit)? {
            None => charge_budget(&mut decision, world, emit)?,
            cut => cut,
        };
        let mut status = cut.map_or(status, |cut| cut_short(cut, &ending, &mut decision));
        if verdict == Verdict::Retrying && matches!(decision, Decision::Stop(_)) {
            status = end_with(Verdict::Failed, status, world, emit)?;
        }
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
/// no time is left.
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

#[cfg(test)]
mod tests;
