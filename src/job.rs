//! What the command line means: the command, the policy, and how attempts are supervised.

use std::ffi::OsString;
use std::time::Duration;

use crate::policy::Policy;
use crate::signal::Signal;

/// All that a run is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// The program and its arguments, byte for byte; never empty.
    pub(crate) command: Vec<OsString>,
    /// When to run it again.
    pub(crate) policy: Policy,
    /// How an attempt is supervised.
    pub(crate) supervision: Supervision,
    /// Makes every draw reproducible.
    pub(crate) seed: Option<u64>,
    /// How much is said on stderr.
    pub(crate) verbosity: Verbosity,
}

/// How an attempt is supervised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Supervision {
    /// What a time limit sends first.
    pub(crate) signal: Signal,
    /// The grace between that and KILL.
    pub(crate) kill_after: Duration,
    /// Which process group the command runs in.
    pub(crate) group: Grouping,
}

/// Which process group an attempt runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grouping {
    /// A new one if there is no controlling terminal, ours otherwise.
    Auto,
    /// A new one for each attempt.
    New,
    /// Ours.
    Inherit,
}

/// How much is said on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Nothing.
    Quiet,
    /// Failures, and a success that came after one.
    Normal,
    /// Every step.
    Verbose,
}
