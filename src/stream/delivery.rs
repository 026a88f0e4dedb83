//! The delivery of a recording to those who read our streams.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::rc::Rc;

use rustix::event::PollFd;
use rustix::io::Errno;

use super::record::Record;
use super::recording::SharedRecording;
use super::writer::Writer;
use crate::patterns::Stream;

/// The size of the buffer for copying, in bytes.
const BUFFER: usize = 128 * 1024;

/// A recording on its way to those who read our streams.
pub(super) struct Delivery {
    recording: SharedRecording,
    /// Where the output on each stream goes; none if nobody takes it any more.
    writers: [Option<Rc<Writer>>; 2],
    /// Whether the loss of what is for stdout is an error.
    must_arrive: bool,
    buffer: Vec<u8>,
    /// The record that is being delivered, and how much of it is.
    current: Option<(Record, u64)>,
    /// Where the next record begins.
    next: u64,
    /// Why a part of it could not be written, if so. A reader that has left wants no more.
    fault: Option<Errno>,
}

/// The progress of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All of it is delivered.
    Done,
    /// There is more.
    More,
    /// There is more, but the reader takes nothing for now.
    WouldBlock,
}

impl Delivery {
    /// A delivery to these writers, one for each stream.
    pub(super) fn new(
        recording: SharedRecording,
        writers: [Option<Rc<Writer>>; 2],
        must_arrive: bool,
    ) -> Self {
        Self {
            recording,
            writers,
            must_arrive,
            buffer: Vec::new(),
            current: None,
            next: 0,
            fault: None,
        }
    }

    /// Returns why a part of it could not be written, if so.
    pub(super) fn fault(&self) -> Option<Errno> {
        self.fault
    }

    /// Delivers a part of it, and skips what nobody takes any more.
    ///
    /// # Errors
    /// When something that must arrive cannot be written.
    pub(super) fn pump(&mut self) -> io::Result<Progress> {
        let Some((record, done)) = self.current() else {
            return Ok(self.pump_our_lines());
        };
        let writer = &self.writers[record.stream as usize];
        let must_arrive = self.must_arrive && record.stream == Stream::Stdout;
        let written = match writer {
            Some(writer) => {
                let recording = self.recording.borrow();
                copy(recording.file(), &record, done, (writer, &mut self.buffer))
            }
            None if must_arrive => Err(Errno::BADF),
            None => Ok(record.length - done),
        };
        match written {
            // Somebody who found the file in /proc has truncated it.
            Ok(0) if done < record.length => Ok(Progress::Done),
            Ok(written) => {
                self.current = Some((record, done + written));
                Ok(Progress::More)
            }
            Err(Errno::AGAIN) => Ok(Progress::WouldBlock),
            Err(error) if must_arrive => Err(error.into()),
            Err(error) => {
                self.fault = self
                    .fault
                    .or(Some(error).filter(|error| *error != Errno::PIPE));
                self.writers[record.stream as usize] = None;
                Ok(Progress::More)
            }
        }
    }

    /// Returns the record that is to be delivered next, and how much of it is; none if all are.
    fn current(&mut self) -> Option<(Record, u64)> {
        let recording = self.recording.borrow();
        // The last record may have grown meanwhile.
        let at = self
            .current
            .map_or(self.next, |(record, _)| record.header_at());
        let record = recording.record(at).ok().flatten()?;
        let done = self.current.map_or(0, |(_, done)| done);
        if done < record.length {
            self.current = Some((record, done));
            return self.current;
        }
        if let Some(writer) = &self.writers[record.stream as usize] {
            writer.note_last(|| last_byte(recording.file(), &record));
        }
        self.next = record.end();
        let next = recording.record(self.next).ok().flatten();
        self.current = next.map(|next| (next, 0));
        self.current
    }

    fn pump_our_lines(&self) -> Progress {
        let mut recording = self.recording.borrow_mut();
        let lines = recording.overflow();
        let written = match &self.writers[Stream::Stderr as usize] {
            Some(writer) if !lines.is_empty() => writer.write(lines),
            _ => Ok(lines.len()),
        };
        match written {
            Ok(written) => drop(lines.drain(..written)),
            Err(Errno::AGAIN) => return Progress::WouldBlock,
            Err(_) => lines.clear(),
        }
        if lines.is_empty() {
            Progress::Done
        } else {
            Progress::More
        }
    }

    /// Returns the descriptor that becomes ready when delivery can go on.
    pub(super) fn watched(&self) -> Option<PollFd<'_>> {
        let stream = self
            .current
            .map_or(Stream::Stderr, |(record, _)| record.stream);
        let writer = self.writers[stream as usize].as_ref();
        writer.map(|writer| writer.watched())
    }
}

/// Copies the part of a record after its first `done` bytes, as much as is taken without waiting.
fn copy(
    file: &File,
    record: &Record,
    done: u64,
    (writer, buffer): (&Writer, &mut Vec<u8>),
) -> Result<u64, Errno> {
    let at = record.begin + done;
    let left = usize::try_from(record.length - done).unwrap_or(usize::MAX);
    let written = match writer.fill(file, at, left) {
        Err(error) if error != Errno::AGAIN && error != Errno::PIPE => {
            let part = left.min(BUFFER);
            buffer.resize(BUFFER, 0);
            match file.read_at(&mut buffer[..part], at) {
                Ok(0) => Ok(0),
                Ok(read) => writer.write(&buffer[..read]),
                Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            }
        }
        written => written,
    };
    written.map(|written| written as u64)
}

/// Returns the last byte of a record, for our own lines that follow.
fn last_byte(file: &File, record: &Record) -> Option<u8> {
    let mut last = [0];
    file.read_exact_at(&mut last, record.end().checked_sub(1)?)
        .ok()?;
    Some(last[0])
}
