//! The result of a call, and checks of it.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// The result of a call.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
    pub(crate) ended: Instant,
}

impl Done {
    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.status.code(), Some(code), "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn dies_of(&self, signal: i32) -> &Self {
        assert_eq!(self.status.signal(), Some(signal), "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn stdout_is(&self, expected: &str) -> &Self {
        assert_eq!(self.stdout, expected, "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn stderr_is(&self, expected: &str) -> &Self {
        assert_eq!(self.stderr, expected, "{self:?}");
        self
    }

    /// Compares what `retry` said, without process ids and with `…` for every time.
    #[track_caller]
    pub(crate) fn says(&self, expected: &[&str]) -> &Self {
        let said: Vec<String> = self.said().iter().map(|line| without_times(line)).collect();
        assert_eq!(said, expected, "{self:?}");
        self
    }

    /// The lines of `retry`'s own on stderr, without their prefix.
    pub(crate) fn said(&self) -> Vec<&str> {
        self.stderr.lines().filter_map(own_line).collect()
    }

    /// How many attempts it says have failed.
    pub(crate) fn failures(&self) -> usize {
        self.said()
            .iter()
            .filter(|line| line.contains(" failed: "))
            .count()
    }

    #[track_caller]
    pub(crate) fn took_at_least(&self, least: Duration) -> &Self {
        assert!(self.took >= least, "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn took_less_than(&self, most: Duration) -> &Self {
        assert!(self.took < most, "{self:?}");
        self
    }
}

/// Returns the text after `retry[PID]: `.
fn own_line(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("retry[")?;
    let (pid, said) = rest.split_once("]: ")?;
    pid.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(said)
}

/// The line with `…` for what comes behind `after` and `next in`, up to the next punctuation.
fn without_times(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    loop {
        let next = ["after ", "next in ", "fit in the "]
            .iter()
            .filter_map(|mark| rest.find(mark).map(|at| at + mark.len()));
        let Some(at) = next.min() else {
            return shown + rest;
        };
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            shown.push('…');
            let end = rest.find([';', ':']).or(rest.find(" left of"));
            rest = &rest[end.unwrap_or(rest.len())..];
        }
    }
}
