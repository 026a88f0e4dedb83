//! From the end of an attempt to the start of the next, or to the end of the run.

use std::time::Duration;

use anyhow::Result;

use super::world::{Attempt, DeliveryAbort, Emit, Entrance, Slot, Verdict, World};
use crate::event::Event;
use crate::policy::Policy;
use crate::signal::Signal;
use crate::status::{Ending, Exit, Outcome, StartFault};

/// The last run of the command.
pub(super) struct Last {
    pub(super) outcome: Outcome,
    /// How `retry` exits if there is no other run.
    pub(super) exit: Exit,
}

/// The delay before a retry.
pub(super) struct Delay<'a> {
    /// The attempt that it follows.
    pub(super) after: u64,
    /// When it is over.
    pub(super) until: Duration,
    pub(super) last: &'a Last,
}

/// The step after a delay.
pub(super) enum Next {
    /// Another run of the command.
    Attempt,
    /// Another attempt, which has already failed like this: its hook could not be started.
    Failed(Ending),
    /// The end of the run.
    Over(Exit),
}

/// Waits out the delay, runs the hook, and returns the next step.
pub(super) fn until_next(
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
        return interrupted(signal, attempt, world, emit).map(Next::Over);
    }
    if is_too_late(policy, world) {
        return too_late(delay, world, emit);
    }
    let entrance = Entrance {
        attempt: attempt + 1,
        until: policy.latest_start(),
    };
    if let Some(status) = enter(entrance, last.exit, world, emit)? {
        return Ok(Next::Over(status));
    }
    // The wait for a slot may have ended at the last moment.
    if is_too_late(policy, world) {
        return too_late(delay, world, emit);
    }
    let start = world.now();
    let retry = Attempt {
        number: attempt + 1,
        last: Some(&last.outcome),
        start,
        ends_by: policy.attempt_ends_by(start),
    };
    let Some(ending) = world.prepare(&retry, emit)? else {
        return Ok(Next::Attempt);
    };
    if let Some(signal) = ending.interrupted {
        return interrupted(signal, attempt, world, emit).map(Next::Over);
    }
    match &ending.outcome {
        Outcome::Exited(0) if ending.left_behind.is_none() => {}
        Outcome::NotStarted(fault) if fault.class.passes() => {
            return Ok(Next::Failed(of_the_hook(fault).into()));
        }
        _ => {
            let status = end_with(Verdict::Failed, last.exit, world, emit)?;
            let total = world.now();
            emit(&Event::HookFailed {
                ending: &ending,
                attempt,
                total,
            });
            return Ok(Next::Over(status));
        }
    }
    if is_too_late(policy, world) {
        return too_late(delay, world, emit);
    }
    Ok(Next::Attempt)
}

/// Takes a slot for an attempt. Returns how the run exits if it ends before that: like `late` if no
/// slot is free in time.
pub(super) fn enter(
    entrance: Entrance,
    late: Exit,
    world: &mut impl World,
    emit: &mut Emit<'_>,
) -> Result<Option<Exit>> {
    let entry = world.enter(entrance, emit)?;
    let (attempt, total) = (entrance.attempt - 1, world.now());
    match entry {
        Slot::Taken => Ok(None),
        Slot::TooLate => {
            let status = end_with(Verdict::Failed, late, world, emit)?;
            emit(&Event::NoSlot { attempt, total });
            Ok(Some(status))
        }
        Slot::Interrupted(signal) => interrupted(signal, attempt, world, emit).map(Some),
    }
}

/// Marks a start fault as the hook's, to distinguish it from the command's.
fn of_the_hook(fault: &StartFault) -> Outcome {
    Outcome::NotStarted(StartFault {
        class: fault.class,
        reason: format!("--before-retry: {}", fault.reason),
    })
}

/// Whether no time is left for a retry: a wait ends late if we were stopped.
fn is_too_late(policy: &Policy, world: &impl World) -> bool {
    !policy.fits(world.now(), Duration::ZERO)
}

/// Ends the run because no time is left after this delay.
fn too_late(delay: &Delay<'_>, world: &mut impl World, emit: &mut Emit<'_>) -> Result<Next> {
    let total = world.now();
    let status = end_with(Verdict::Failed, delay.last.exit, world, emit)?;
    emit(&Event::TooLate {
        attempt: delay.after,
        total,
    });
    Ok(Next::Over(status))
}

/// Ends the run because of a fatal signal during the delay or the wait after this attempt.
fn interrupted(
    signal: Signal,
    attempt: u64,
    world: &mut impl World,
    emit: &mut Emit<'_>,
) -> Result<Exit> {
    let total = world.now();
    let status = end_with(Verdict::Interrupted, Exit::Raise(signal), world, emit)?;
    emit(&Event::Interrupted {
        signal,
        attempt,
        total,
    });
    Ok(status)
}

/// Delivers held output at the end of a run that would exit like this; returns how it exits.
pub(super) fn end_with(
    verdict: Verdict,
    status: Exit,
    world: &mut impl World,
    emit: &mut Emit<'_>,
) -> Result<Exit> {
    world.leave();
    Ok(match world.deliver(verdict, emit)? {
        Some(DeliveryAbort::Signal(signal)) => Exit::Raise(signal),
        Some(DeliveryAbort::Deadline) | None => status,
    })
}
