//! Our own stdout and stderr, where something of us writes to them.

use std::io;
use std::rc::Rc;

use super::outlet::Outlet;
use crate::patterns::Stream;
use crate::sys::stdio;

/// The ways to both, as far as they are needed and were not closed at the start.
pub(super) struct Outlets {
    each: [Option<Rc<Outlet>>; 2],
    are_one: bool,
}

impl Outlets {
    /// The ways to those that are needed.
    ///
    /// # Errors
    /// When they cannot be looked at.
    pub(super) fn open(needed: [bool; 2]) -> io::Result<Self> {
        let ours = [rustix::stdio::stdout(), rustix::stdio::stderr()];
        let mut each = [None, None];
        for ((outlet, ours), _) in each.iter_mut().zip(ours).zip(needed).filter(|of| of.1) {
            *outlet = Some(Outlet::to(ours.try_clone_to_owned()?)?);
        }
        let are_one = matches!(&each, [Some(out), Some(err)] if out.leads_where(err));
        let [out, err] = each;
        Ok(Self {
            each: [
                out.map(|out| Rc::new(if are_one { out.beside_our_lines() } else { out })),
                err.map(|err| Rc::new(err.beside_our_lines())),
            ],
            are_one,
        })
    }

    /// The way to one of them.
    pub(super) fn to(&self, stream: Stream) -> Option<Rc<Outlet>> {
        self.each[stream as usize].clone()
    }

    /// Whether both lead to one place, in which the order of what comes through the two matters.
    pub(super) fn are_one(&self) -> bool {
        self.are_one
    }

    /// The command writes to stderr through us.
    pub(super) fn know_lines(&self) {
        if self.each[Stream::Stderr as usize].is_some() {
            stdio::follow_stderr();
        }
    }
}
