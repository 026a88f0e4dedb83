//! Sentences about what happens between attempts.

use std::time::Duration;

use super::Text;
use crate::duration::Shown;
use crate::event::Event;
use crate::report::reason;

impl Text<'_> {
    /// Returns the sentence for an event between attempts.
    pub(super) fn said_between(&self, event: &Event<'_>) -> Option<String> {
        Some(match event {
            Event::SlotAwaited(slots) => {
                format!("waiting for one of {slots} slots (--concurrency)")
            }
            Event::SlotTaken { attempt, waited } => {
                format!(
                    "{} has a slot after {}",
                    self.numbered(*attempt),
                    Shown(*waited)
                )
            }
            Event::NoSlot { attempt, total } => format!(
                "{} {}: {}",
                self.style.giving_up(),
                self.after(*attempt, *total),
                reason::no_slot(self.policy, *attempt)
            ),
            Event::TooLate { attempt, total } => {
                let because = reason::deadline(self.policy, Duration::ZERO, None, *total);
                let giving_up = self.style.giving_up();
                format!("{giving_up} {}: {because}", self.after(*attempt, *total))
            }
            Event::Interrupted {
                signal,
                attempt: 0,
                total,
            } => {
                let total = Shown(*total);
                format!("interrupted ({signal}) before the first attempt, {total} after the start")
            }
            Event::Interrupted {
                signal,
                attempt,
                total,
            } => {
                let (attempt, total) = (self.numbered(*attempt), Shown(*total));
                format!("interrupted ({signal}) after {attempt}, {total} after the start")
            }
            _ => return None,
        })
    }

    /// Says after which attempt, if any, and after which time.
    fn after(&self, attempt: u64, total: Duration) -> String {
        let total = Shown(total);
        match attempt {
            0 => format!("after {total}"),
            _ => format!("after {} and {total}", self.numbered(attempt)),
        }
    }
}
