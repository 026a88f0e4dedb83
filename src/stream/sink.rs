//! Where output goes that passes through us.

use std::rc::Rc;

use rustix::io::Errno;

use super::keep::Keep;
use super::outlet::Outlet;

/// Where one stream of an attempt goes.
pub(super) enum Sink {
    /// To whoever reads it.
    Outlet(Rc<Outlet>),
    /// Into a file of ours.
    Keep(Keep),
    /// To nobody: it came too late to be kept.
    Nowhere,
}

impl Sink {
    /// Passes on as much as is taken at once.
    ///
    /// # Errors
    /// As [`Outlet::write`].
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        match self {
            Self::Outlet(outlet) => return outlet.write(bytes),
            Self::Keep(keep) => keep.write(bytes),
            Self::Nowhere => {}
        }
        Ok(bytes.len())
    }
}
