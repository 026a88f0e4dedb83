//! A recording of output that is held back, in an unnamed file.
//!
//! The file is a sequence of records, each a header and the bytes that came in one go on one
//! stream, so that memory stays flat and the order is kept. The header of the last record, which
//! still grows, is in memory only.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::rc::Rc;

use anyhow::{Context as _, Result};
use rustix::io::Errno;

use super::record::{HEADER, Record};
use super::spool::{directory, nameless_file};
use crate::escape::{escaped, shortened};
use crate::job::Output;
use crate::patterns::Stream;
use crate::sys::fd;

/// How many bytes are moved at a time, before signals and limits are checked again.
const MOST_MOVED: usize = 1024 * 1024;

/// Returns the error message when there is no room for this.
pub(crate) fn not_held(what: &str) -> String {
    let directory = shortened(&escaped(directory().as_os_str()));
    format!("cannot store {what} in {directory}; set TMPDIR to a directory with free space")
}

/// The fate of output that comes now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is recorded.
    Holding,
    /// It waits until the recording is delivered, because there is no room for more.
    Full,
    /// It is passed on: the recording is delivered.
    Open,
    /// Nothing of the run is shown, because it has succeeded.
    Discarded,
}

/// The recording of an attempt, or of all attempts and of our own lines between them.
pub(crate) struct Recording {
    file: File,
    last: Option<Record>,
    stage: Stage,
    output: Output,
    /// Why it is incomplete, if it is.
    fault: Option<io::Error>,
    /// Our own lines for which there was no room.
    overflow: Vec<u8>,
    /// Whether stdout and stderr lead to one place.
    is_for_one_place: bool,
    /// Where the last byte is that stands before our next line.
    before_our_line: Option<u64>,
}

/// A recording that taps, deliveries and reports share.
pub(crate) type SharedRecording = Rc<RefCell<Recording>>;

impl Recording {
    /// An empty recording for this mode.
    ///
    /// # Errors
    /// As [`nameless_file`].
    pub(super) fn new(output: Output, is_for_one_place: bool) -> Result<Self> {
        Ok(Self {
            file: nameless_file()
                .with_context(|| not_held("the output for --stdout or --output"))?,
            last: None,
            stage: Stage::Holding,
            output,
            fault: None,
            overflow: Vec::new(),
            is_for_one_place,
            before_our_line: None,
        })
    }

    pub(super) fn stage(&self) -> Stage {
        self.stage
    }

    /// Drops all records.
    pub(super) fn clear(&mut self) {
        // What cannot be cut off is written over.
        let _ = self.file.set_len(0);
        (self.last, self.before_our_line) = (None, None);
    }

    /// Drops all records; nothing is held from now on, and nothing shown if it is discarded.
    pub(super) fn close(&mut self, stage: Stage) {
        self.clear();
        self.stage = stage;
    }

    /// Whether there is nothing to deliver.
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none() && self.overflow.is_empty()
    }

    /// Returns why it is incomplete, once.
    pub(super) fn take_fault(&mut self) -> Option<io::Error> {
        self.fault.take()
    }

    /// Returns the file, to read records from.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Returns our own lines that follow the last record.
    pub(super) fn overflow(&mut self) -> &mut Vec<u8> {
        &mut self.overflow
    }

    /// Returns the record whose header is at this place; none at the end.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn record(&self, at: u64) -> io::Result<Option<Record>> {
        let begin = at + HEADER;
        let Some(last) = self.last.filter(|last| begin <= last.begin) else {
            return Ok(None);
        };
        if last.begin == begin {
            return Ok(Some(last));
        }
        let mut header = [0; 8];
        self.file.read_exact_at(&mut header, at)?;
        Ok(Some(Record::parse(header, begin)))
    }

    /// Moves at most `most` bytes from a pipe to the recording. Returns none if that is impossible
    /// or there is no room; no byte is lost then.
    pub(super) fn take(
        &mut self,
        stream: Stream,
        pipe: &OwnedFd,
        most: usize,
    ) -> Option<Result<usize, Errno>> {
        if self.stage != Stage::Holding || self.fault.is_some() {
            return None;
        }
        let record = self.begin(stream).ok()?;
        match fd::drain(pipe, &self.file, record.end(), most.min(MOST_MOVED)) {
            Ok(taken) => {
                self.grow(record, taken);
                Some(Ok(taken))
            }
            Err(Errno::AGAIN) => Some(Err(Errno::AGAIN)),
            Err(Errno::INTR) => Some(Err(Errno::INTR)),
            Err(_) => None,
        }
    }

    /// Records bytes, or as many as there is room for. What there is no room for is dropped, or
    /// left to be passed on after the recording.
    pub(super) fn write(&mut self, stream: Stream, bytes: &[u8]) -> usize {
        let mut done = 0;
        while self.fault.is_none() && done < bytes.len() {
            let written = self.begin(stream).and_then(|record| {
                let written = self.file.write_at(&bytes[done..], record.end())?;
                self.grow(record, written);
                Ok(written)
            });
            match written {
                Ok(0) => self.fail(io::ErrorKind::WriteZero.into()),
                Ok(written) => done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.fail(error),
            }
        }
        match self.stage {
            Stage::Full => done,
            Stage::Holding | Stage::Open | Stage::Discarded => bytes.len(),
        }
    }

    fn fail(&mut self, error: io::Error) {
        self.fault = Some(error);
        match self.output {
            Output::OnFailure => self.stage = Stage::Full,
            Output::Stream | Output::Once | Output::Last => {}
        }
    }

    /// Returns the last record if it is of this stream, or a new one.
    fn begin(&mut self, stream: Stream) -> io::Result<Record> {
        let at = match self.last {
            Some(last) if last.stream == stream => return Ok(last),
            Some(last) => {
                self.file.write_all_at(&last.header(), last.header_at())?;
                last.end()
            }
            None => 0,
        };
        Ok(Record {
            stream,
            begin: at + HEADER,
            length: 0,
        })
    }

    fn grow(&mut self, record: Record, by: usize) {
        if by == 0 {
            return;
        }
        let length = record.length + by as u64;
        let record = Record { length, ..record };
        self.last = Some(record);
        if record.stream == Stream::Stderr || self.is_for_one_place {
            self.before_our_line = record.end().checked_sub(1);
        }
    }

    /// Holds a line of ours back. Returns whether it was held, or is not to be shown at all.
    pub(crate) fn hold_line(&mut self, line: &str) -> bool {
        match self.stage {
            Stage::Open => return false,
            Stage::Discarded => {}
            Stage::Full => self.overflow.extend(line.as_bytes()),
            Stage::Holding => {
                // The command may have left its last line unfinished.
                let begun = self.has_open_line() && !line.starts_with('\n');
                let line = [if begun { "\n" } else { "" }, line].concat();
                let held = self.write(Stream::Stderr, line.as_bytes());
                self.overflow.extend(&line.as_bytes()[held..]);
            }
        }
        true
    }

    fn has_open_line(&self) -> bool {
        let mut last = [0];
        self.before_our_line
            .is_some_and(|at| self.file.read_exact_at(&mut last, at).is_ok() && last != *b"\n")
    }
}
