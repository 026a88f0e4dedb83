//! Writers to our stdout or stderr that never wait for a reader.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::Errno;

use crate::patterns::Stream;
use crate::sys::fd::{self, reopened};

/// The most bytes that a ready pipe is sure to take without blocking.
const SURELY_TAKEN: usize = 4096;

/// A descriptor to write to. Others may share it, so its flags are not ours to change.
pub(super) struct Writer {
    fd: OwnedFd,
    may_wait: bool,
    /// Whether it is a pipe that we have reopened for ourselves.
    is_pipe: bool,
    file: Stat,
    /// Whether our own lines go there, too.
    has_our_lines: bool,
}

impl Writer {
    /// A writer to where this descriptor leads.
    ///
    /// # Errors
    /// When the descriptor cannot be examined.
    pub(super) fn to(fd: OwnedFd) -> io::Result<Self> {
        let file = rustix::fs::fstat(&fd)?;
        let kind = FileType::from_raw_mode(file.st_mode);
        let may_wait = !matches!(kind, FileType::RegularFile | FileType::BlockDevice);
        // Reopening another kind of device may yield a different one.
        let is_pipe = kind == FileType::Fifo;
        let is_reopened = is_pipe || is_terminal_line(&fd);
        let own = is_reopened
            .then(|| reopened(fd.as_fd(), OFlags::WRONLY | OFlags::NONBLOCK))
            .and_then(io::Result::ok);
        Ok(Self {
            may_wait: may_wait && own.is_none(),
            is_pipe: is_pipe && own.is_some(),
            fd: own.unwrap_or(fd),
            file,
            has_our_lines: false,
        })
    }

    /// The same, for a descriptor that our own lines go to as well; those must begin on a new line.
    pub(super) fn beside_our_lines(mut self) -> Self {
        self.has_our_lines = true;
        self
    }

    /// Whether output to either appears in one place, in one order: a pipe, a socket, a terminal,
    /// or a file that both append to. A file in which both are at the same position is shared, as
    /// with `>log 2>&1`.
    pub(super) fn is_same_file_as(&self, other: &Self) -> bool {
        let appends = |writer: &Self| {
            let flags = rustix::fs::fcntl_getfl(&writer.fd);
            flags.is_ok_and(|flags| flags.contains(OFlags::APPEND))
        };
        let position = |writer: &Self| rustix::fs::tell(&writer.fd).ok();
        let (file, others) = (&self.file, &other.file);
        is_one_file(file, others)
            && match FileType::from_raw_mode(file.st_mode) {
                FileType::Fifo | FileType::Socket | FileType::CharacterDevice => true,
                FileType::RegularFile => {
                    appends(self) && appends(other) || position(self) == position(other)
                }
                _ => false,
            }
    }

    /// Writes as much as is taken without waiting.
    ///
    /// # Errors
    /// AGAIN if nothing is taken for now; any other error is final.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let most = if self.may_wait {
            SURELY_TAKEN
        } else {
            bytes.len()
        };
        if self.may_wait && !self.is_ready() {
            return Err(Errno::AGAIN);
        }
        match rustix::io::write(&self.fd, &bytes[..most.min(bytes.len())]) {
            Err(Errno::INTR) => Err(Errno::AGAIN),
            Ok(written) => {
                let last = written.checked_sub(1).and_then(|last| bytes.get(last));
                self.note_last(|| last.copied());
                Ok(written)
            }
            other => other,
        }
    }

    /// Records the last byte written, if our lines go there, too.
    pub(super) fn note_last(&self, last: impl FnOnce() -> Option<u8>) {
        if let Some(last) = self.has_our_lines.then(last).flatten() {
            fd::note_on_stderr(last);
        }
    }

    /// Writes a part of a file, as much as is taken without waiting, without copying it.
    ///
    /// # Errors
    /// As [`Writer::write`]; INVAL if the system has no way to do so.
    pub(super) fn fill(&self, from: &File, at: u64, length: usize) -> Result<usize, Errno> {
        if !self.is_pipe {
            return Err(Errno::INVAL);
        }
        fd::fill(&self.fd, from, at, length)
    }

    fn is_ready(&self) -> bool {
        !fd::state(self.watched()).is_empty()
    }

    /// Returns the descriptor that becomes ready when it takes something.
    pub(super) fn watched(&self) -> PollFd<'_> {
        PollFd::new(&self.fd, PollFlags::OUT)
    }
}

/// Whether these are of the same file.
fn is_one_file(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Whether this is a terminal with a name of its own. /dev/ptmx is not.
fn is_terminal_line(fd: &OwnedFd) -> bool {
    let name = rustix::termios::ttyname(fd, Vec::new());
    name.is_ok_and(|name| name.as_bytes() != b"/dev/ptmx")
}

/// Writers to stdout and stderr, as far as they are needed and were open at the start.
pub(super) struct Writers {
    each: [Option<Rc<Writer>>; 2],
    are_one: bool,
}

impl Writers {
    /// Opens writers to these descriptors, as far as they are needed.
    ///
    /// # Errors
    /// When the descriptors cannot be examined.
    pub(super) fn open(needed: [Option<BorrowedFd<'_>>; 2]) -> io::Result<Self> {
        let mut each = [None, None];
        for (writer, ours) in each.iter_mut().zip(needed) {
            if let Some(ours) = ours {
                *writer = Some(Writer::to(ours.try_clone_to_owned()?)?);
            }
        }
        let are_one = matches!(&each, [Some(out), Some(err)] if out.is_same_file_as(err));
        let [out, err] = each;
        Ok(Self {
            each: [
                out.map(|out| Rc::new(if are_one { out.beside_our_lines() } else { out })),
                err.map(|err| Rc::new(err.beside_our_lines())),
            ],
            are_one,
        })
    }

    /// Returns the writers for each stream.
    pub(super) fn each(&self) -> [Option<Rc<Writer>>; 2] {
        self.each.clone()
    }

    /// Returns the descriptor of one writer that is there.
    pub(super) fn watched(&self) -> Option<PollFd<'_>> {
        self.each
            .iter()
            .flatten()
            .next()
            .map(|writer| writer.watched())
    }

    /// Returns writers that lead both streams to one.
    pub(super) fn both_to(&self, stream: Stream) -> [Option<Rc<Writer>>; 2] {
        [self.to(stream), self.to(stream)]
    }

    /// Returns the writer for this stream, if there is one.
    pub(super) fn to(&self, stream: Stream) -> Option<Rc<Writer>> {
        self.each[stream as usize].clone()
    }

    /// Whether both lead to one place, where the order of their output matters.
    pub(super) fn are_one(&self) -> bool {
        self.are_one
    }

    /// Starts tracking the line ends on stderr, if all that the command writes there comes through
    /// us: its stderr, and its stdout if our own leads to the same place.
    pub(super) fn know_lines(&self, our_stdout: Option<BorrowedFd<'_>>) {
        let [stdout, Some(stderr)] = &self.each else {
            return;
        };
        let bypasses =
            |out| rustix::fs::fstat(out).is_ok_and(|out| is_one_file(&out, &stderr.file));
        if stdout.is_some() || !our_stdout.is_some_and(bypasses) {
            fd::follow_stderr();
        }
    }
}
