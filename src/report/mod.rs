//! Who hears of events, and how it is said.

pub(crate) mod text;
