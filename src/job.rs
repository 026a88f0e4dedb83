//! The job that a command line describes: the command, its retry policy, its supervision.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::bucket::Budget;
use crate::patterns::Stream;
use crate::policy::Policy;
use crate::signal::Signal;

/// All settings of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// The program and its arguments, byte for byte; never empty.
    pub(crate) command: Vec<OsString>,
    /// Whether an explicit `--` stands before it.
    pub(crate) is_set_apart: bool,
    /// The rules that decide about retries.
    pub(crate) policy: Policy,
    /// How each attempt is supervised.
    pub(crate) supervision: Supervision,
    /// How the standard streams of an attempt are handled.
    pub(crate) streams: StreamPolicy,
    /// The command for a shell to run before each retry.
    pub(crate) before_retry: Option<OsString>,

    /// The name of the run in reports, if it is not that of the command.
    pub(crate) name: Option<String>,
    /// The bounds shared with other runs.
    pub(crate) sharing: Option<Sharing>,
    /// The seed that makes every draw reproducible.
    pub(crate) seed: Option<u64>,
    /// How much to report on stderr.
    pub(crate) verbosity: Verbosity,
    /// The format of those reports.
    pub(crate) format: Format,
    /// The file to append every event to.
    pub(crate) log: Option<PathBuf>,
}

impl Job {
    /// Returns the budget shared with other runs, if there is one.
    pub(crate) fn budget(&self) -> Option<Budget> {
        self.sharing.as_ref()?.budget
    }

    /// Returns the most attempts of runs that share the file that run at once, if there is a bound.
    pub(crate) fn concurrency(&self) -> Option<u32> {
        self.sharing.as_ref()?.concurrency
    }
}

/// The bounds shared with other runs, and the file that holds them together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// The file; it need not exist.
    pub(crate) path: PathBuf,
    /// The retries allowed to all runs that name the file.
    pub(crate) budget: Option<Budget>,
    /// The most attempts of all of them that run at once.
    pub(crate) concurrency: Option<u32>,
}

/// The clients of a plan, which have all failed at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crowd {
    /// How many there are.
    pub(crate) clients: u32,
    /// The capacity of the server that they call.
    pub(crate) capacity: Option<Capacity>,
}

/// The capacity of a server: it serves the first so many attempts in each window of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capacity {
    /// The attempts that are served, at least 1.
    pub(crate) attempts: u32,
    /// The window, longer than zero.
    pub(crate) window: Duration,
}

/// The format of lines on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Text for people.
    Text,
    /// A JSON object per line.
    Json,
    /// Workflow commands for GitHub Actions.
    Github,
}

/// How an attempt is supervised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Supervision {
    /// The signal sent first when a time limit expires.
    pub(crate) signal: Signal,
    /// The grace between that signal and KILL.
    pub(crate) kill_after: Duration,
    /// How long it may go without output.
    pub(crate) idle_timeout: Option<Duration>,
    /// The process group that the command runs in.
    pub(crate) group: Grouping,
}

/// How the standard streams of an attempt are handled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamPolicy {
    /// Where its stdin comes from.
    pub(crate) stdin: Input,
    /// Where its output goes.
    pub(crate) output: Output,
    /// Where to look for `Retry-After`.
    pub(crate) heads: Option<RetryAfterSource>,
}

/// Where an attempt's stdin comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// As `Inherit`, but once an attempt has read from a pipe there is no retry.
    Auto,
    /// Our own stdin; a regular file is rewound for each attempt.
    Inherit,
    /// All of our own stdin, replayed to each attempt.
    Replay,
    /// An empty input.
    Null,
}

/// Where an attempt's stdout and stderr go, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// To our own, as they come.
    Stream,
    /// stdout is held back until the attempt is over; then it goes to stdout if the attempt
    /// succeeded, else to stderr.
    Once,
    /// Both are held back until the run is over; then that of the last attempt is shown.
    Last,
    /// Both are held back, with our own lines, until the run is over; then all of it is shown if
    /// the run failed, else nothing.
    OnFailure,
}

impl Output {
    /// Whether an attempt's output on this stream is held back.
    pub(crate) fn holds(self, stream: Stream) -> bool {
        match self {
            Self::Stream => false,
            Self::Once => stream == Stream::Stdout,
            Self::Last | Self::OnFailure => true,
        }
    }
}

/// Where to look for HTTP response heads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RetryAfterSource {
    /// Both output streams.
    Output,
    /// One output stream.
    Only(Stream),
    /// A file that the command writes.
    File(PathBuf),
}

impl RetryAfterSource {
    /// Whether this stream is to be searched.
    pub(crate) fn may_be_in(&self, stream: Stream) -> bool {
        match self {
            Self::Output => true,
            Self::Only(one) => *one == stream,
            Self::File(_) => false,
        }
    }
}

/// The process group that an attempt runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grouping {
    /// A new one if there is no controlling terminal, ours otherwise.
    Auto,
    /// A new one for each attempt.
    New,
    /// Ours.
    Inherit,
}

/// How much to report on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Nothing.
    Quiet,
    /// Failures, and a success that follows one.
    Normal,
    /// Every step.
    Verbose,
}
