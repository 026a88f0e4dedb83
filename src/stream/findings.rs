//! The search of an attempt's output for patterns and response headers, and the findings.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::clock;
use crate::escape::escaped;
use crate::job::{Job, Output, RetryAfterSource};
use crate::patterns::{Matched, Patterns, Stream, Watch};
use crate::retry_after::{Answer, HeadParser};

/// Everything learned from the streams of an attempt.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// The patterns that were found.
    pub(crate) matched: Matched,
    /// What a server has answered.
    pub(crate) answer: Answer,
    /// Why held-back output could not be kept in full.
    pub(crate) unkept: Option<io::Error>,
    /// Why a part of stdout was lost.
    pub(crate) loss: Option<Loss>,
    /// Why the header file could not be read.
    pub(crate) unreadable: Option<io::Error>,
}

impl Findings {
    /// Adds the answer in one more stream. Of several, the one that asks for the longest wait counts.
    pub(super) fn hear(&mut self, answer: Answer) {
        let is_first = self.answer.status.is_none();
        if is_first || answer.wait > self.answer.wait {
            self.answer = answer;
        }
    }
}

/// Why output was lost.
#[derive(Debug)]
pub(crate) enum Loss {
    /// It has no reader any more.
    NoReader,
    /// It could not be written.
    Failed(io::Error),
    /// Its reader did not take it in time.
    NotTaken,
}

/// The streams to scan, with what to look for.
pub(super) struct Interest<'a> {
    patterns: &'a Patterns,
    heads: Option<&'a RetryAfterSource>,
    /// Whether any output counts as activity.
    for_activity: bool,
    /// The streams that are held back.
    pub(super) output: Output,
}

impl<'a> Interest<'a> {
    /// The interest of this job.
    pub(super) fn of(job: &'a Job) -> Self {
        Self {
            patterns: &job.policy.patterns,
            heads: job.streams.heads.as_ref(),
            for_activity: job.supervision.idle_timeout.is_some(),
            output: job.streams.output,
        }
    }

    /// Whether the command's output on this stream is looked at.
    pub(super) fn looks_at(&self, stream: Stream) -> bool {
        self.looks_for_heads(stream) || self.for_activity || self.patterns.look_at(stream)
    }

    fn looks_for_heads(&self, stream: Stream) -> bool {
        self.heads.is_some_and(|heads| heads.may_be_in(stream))
    }

    /// Whether it matters which of the two streams output was written to.
    pub(super) fn tells_streams_apart(&self) -> bool {
        self.output == Output::Once
            || matches!(self.heads, Some(RetryAfterSource::Only(_)))
            || self.patterns.tell_streams_apart()
    }

    /// Returns a scanner for an attempt's output on this stream.
    pub(super) fn scanner(&self, stream: Stream) -> Scanner {
        Scanner::new(self.patterns, stream, self.looks_for_heads(stream))
    }
}

/// A scanner for one stream of an attempt.
pub(super) struct Scanner {
    watch: Watch,
    heads: Option<HeadParser>,
    is_idle: bool,
}

impl Scanner {
    /// A scanner for these patterns and, if asked for, response heads.
    pub(super) fn new(patterns: &Patterns, stream: Stream, for_heads: bool) -> Self {
        Self {
            watch: Watch::new(patterns, stream),
            heads: for_heads.then(HeadParser::default),
            is_idle: !for_heads && !patterns.look_at(stream),
        }
    }

    /// A scanner that looks for nothing.
    pub(super) fn idle(stream: Stream) -> Self {
        Self::new(&Patterns::default(), stream, false)
    }

    /// Whether it has nothing to look for.
    pub(super) fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Scans the next bytes.
    pub(super) fn scan(&mut self, bytes: &[u8], matched: &mut Matched) {
        self.watch.feed(bytes, matched);
        if let Some(heads) = &mut self.heads {
            heads.feed(bytes);
        }
    }

    /// Ends the stream; returns what a server has answered.
    pub(super) fn finish(self, matched: &mut Matched) -> Answer {
        self.watch.finish(matched);
        let heads = self.heads.unwrap_or_default();
        heads.answer(|| clock::now().into())
    }
}

/// How much of the end of the file is read, in bytes.
const MOST_READ: u64 = 1024 * 1024;

/// The file, with its state before the attempt.
pub(super) struct HeaderFile<'a> {
    path: &'a Path,
    before: Option<Stamp>,
}

/// The metadata that changes when a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(file: &Metadata) -> Self {
        Self {
            inode: (file.dev(), file.ino()),
            size: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        }
    }
}

impl<'a> HeaderFile<'a> {
    /// Checks the file at this path, which need not exist yet.
    ///
    /// # Errors
    /// When it is not a regular file that can be read.
    pub(super) fn open(path: &'a Path) -> Result<Self> {
        let name = escaped(path.as_os_str());
        if let Ok(there) = fs::metadata(path) {
            ensure!(
                there.is_file(),
                "--retry-after '@{name}' is not a regular file; name a file that the command writes"
            );
            open(path).with_context(|| {
                format!("--retry-after '@{name}' cannot be read; name a readable file")
            })?;
        }
        Ok(Self { path, before: None })
    }

    /// Records its state before an attempt.
    pub(super) fn note(&mut self) {
        self.before = fs::metadata(self.path).ok().as_ref().map(Stamp::of);
    }

    /// Returns what its last head says, if the attempt has written it.
    ///
    /// # Errors
    /// When it exists and cannot be read.
    pub(super) fn answer(&self) -> io::Result<Answer> {
        let mut file = match open(self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Answer::default()),
            Err(error) => return Err(error),
        };
        let now = file.metadata()?;
        if !now.is_file() || self.before == Some(Stamp::of(&now)) {
            return Ok(Answer::default());
        }
        let cut = now.size().saturating_sub(MOST_READ);
        file.seek(SeekFrom::Start(cut))?;
        let mut text = Vec::new();
        file.take(MOST_READ).read_to_end(&mut text)?;
        // After a cut, the first line may be incomplete.
        let start = if cut == 0 {
            Some(0)
        } else {
            text.iter().position(|byte| *byte == b'\n')
        };
        let mut heads = HeadParser::default();
        heads.feed(
            start
                .and_then(|start| text.get(start..))
                .unwrap_or_default(),
        );
        Ok(heads.answer(|| clock::now().into()))
    }
}

/// Opens the file without waiting for a writer, in case it has become a FIFO.
fn open(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
}
