//! Who hears of events, and how it is said.

mod hint;
pub(crate) mod text;
