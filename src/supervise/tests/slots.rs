//! The one slot that runs share in a scenario, by the rules of those in a file.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use rustix::event::{PollFd, PollFlags};

use super::world::{Looks, World};
use crate::shared::{Entry, Slots};
use crate::sys::fd::pipe_without_waits;

/// The slot.
pub(super) struct Simulated {
    pub(super) world: Rc<RefCell<World>>,
    /// Becomes readable when the slot may be free.
    pub(super) watch: Option<OwnedFd>,
}

impl Slots for Simulated {
    fn most(&self) -> u32 {
        1
    }

    fn enter(&mut self) -> Entry {
        let mut world = self.world.borrow_mut();
        world.interleave(Looks::Slot);
        if let Some(watch) = &self.watch {
            while rustix::io::read(watch, &mut [0; 16]).is_ok_and(|length| length > 0) {}
        }
        let entry = world.take_slot();
        world.tell(|| format!("we look for a slot: {entry:?}"));
        if entry == Entry::Had {
            self.watch = None;
        }
        entry
    }

    fn watch(&mut self) {
        let mut world = self.world.borrow_mut();
        world.interleave(Looks::Slot);
        let (watch, told) = pipe_without_waits().expect("a pipe");
        self.watch = Some(watch);
        world.watch_slot(told);
    }

    fn watched(&self) -> Option<PollFd<'_>> {
        let watch = self.watch.as_ref()?;
        Some(PollFd::new(watch, PollFlags::IN))
    }

    fn leave(&mut self) {
        self.watch = None;
        self.world.borrow_mut().leave_slot();
    }
}
