//! No system but Linux tells.

/// What watches for reads: there is none.
pub(in crate::stream) struct Reads;

impl Reads {
    /// Never any.
    pub(in crate::stream) fn of_stdin() -> Option<Self> {
        None
    }

    /// Not known.
    #[expect(clippy::unused_self, reason = "where there is one, it is asked")]
    pub(in crate::stream) fn have_been(&self) -> bool {
        false
    }

    /// There are none.
    #[expect(clippy::unused_self, reason = "where there is one, it is asked")]
    pub(in crate::stream) fn forget(&self) {}
}
