//! What was learned.

use std::io;
use std::time::Duration;

use super::tap::Loss;
use crate::patterns::Matched;

/// What was learned from the streams of an attempt.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Which patterns were found.
    pub(crate) matched: Matched,
    /// The wait that a server asked for.
    pub(crate) server_wait: Option<Duration>,
    /// Why not all of stdout could be kept, where it is held back.
    pub(crate) unkept: Option<io::Error>,
    /// Why a part of stdout was not passed on.
    pub(crate) loss: Option<Loss>,
    /// Why the file for response heads could not be read.
    pub(crate) unreadable: Option<io::Error>,
}
