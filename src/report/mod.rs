//! Who hears of events, and how it is said.

mod hint;
mod reason;
pub(crate) mod text;
