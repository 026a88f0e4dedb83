//! What the command line means: the command, the policy, and how attempts are supervised.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::bucket::Budget;
use crate::patterns::Stream;
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
    /// What flows in and out of it.
    pub(crate) streams: StreamPolicy,
    /// What a shell is to run before each retry.
    pub(crate) before_retry: Option<OsString>,

    /// The budget that it shares with other runs.
    pub(crate) sharing: Option<Sharing>,
    /// Makes every draw reproducible.
    pub(crate) seed: Option<u64>,
    /// How much is said on stderr.
    pub(crate) verbosity: Verbosity,
    /// How it is said.
    pub(crate) format: Format,
    /// The file that every event is appended to.
    pub(crate) log: Option<PathBuf>,
}

/// A budget for retries, and the file that keeps how much of it is spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// The file, which need not be there.
    pub(crate) path: PathBuf,
    /// How many retries all who name that file may make.
    pub(crate) budget: Budget,
}

/// How lines on stderr look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// A JSON object each.
    Json,
    /// For people who read them in a job of GitHub's.
    Github,
}

/// How an attempt is supervised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Supervision {
    /// What a time limit sends first.
    pub(crate) signal: Signal,
    /// The grace between that and KILL.
    pub(crate) kill_after: Duration,
    /// How long it may write nothing.
    pub(crate) idle_timeout: Option<Duration>,
    /// Which process group the command runs in.
    pub(crate) group: Grouping,
}

/// What flows in and out of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamPolicy {
    /// What it reads.
    pub(crate) stdin: Input,
    /// Whether its stdout is held back until it is known to be the last.
    pub(crate) stdout_once: bool,
    /// Where a server's wait is looked for.
    pub(crate) heads: Option<RetryAfterSource>,
}

/// What an attempt reads from stdin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// As `Inherit`, but there is no retry once a pipe was read.
    Auto,
    /// Our own stdin; a regular file is rewound for each.
    Inherit,
    /// All that comes from our own stdin, each.
    Replay,
    /// Nothing.
    Null,
}

/// Where HTTP response heads are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RetryAfterSource {
    /// In both streams.
    Output,
    /// In one stream.
    Only(Stream),
    /// In a file that the command writes.
    File(PathBuf),
}

impl RetryAfterSource {
    /// Whether they are looked for in this stream.
    pub(crate) fn may_be_in(&self, stream: Stream) -> bool {
        match self {
            Self::Output => true,
            Self::Only(one) => *one == stream,
            Self::File(_) => false,
        }
    }
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
