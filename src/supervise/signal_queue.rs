//! The signals sent to us, as a queue that one blocking call can wait for.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Pid, getpid};

use super::kernel::Us;
use crate::signal::Signal;
use crate::sys::fd::pipe_without_waits;
use crate::sys::{self, SavedDisposition, SignalState, StopHandler, startup};

/// A signal as it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SignalEvent {
    pub(crate) signal: Signal,
    /// Whether the kernel generated it, as it does for ^C, and no process sent it.
    pub(crate) from_kernel: bool,
}

/// The signals that have arrived, in a pipe that the handlers write to.
pub(super) struct SignalQueue {
    reader: OwnedFd,
    writer: &'static OwnedFd,
    handled: Vec<Signal>,
}

/// Whether this signal ends the retrying.
pub(super) fn is_fatal(signal: Signal) -> bool {
    let mut fatal = Signal::all_named_fatal().chain(Signal::all_real_time());
    fatal.any(|fatal| fatal == signal)
}

/// Whether this signal is only a message for the command.
pub(super) fn is_message(signal: Signal) -> bool {
    Signal::all_messages().any(|message| message == signal)
}

/// Whether the terminal sends this signal to the whole foreground group, the command included. A
/// hang-up goes to the session leader alone, if there is one.
pub(super) fn is_given_to_the_group(signal: Signal, us: Us) -> bool {
    match signal {
        Signal::INT | Signal::QUIT => true,
        Signal::HUP => !us.leads_session,
        _ => false,
    }
}

impl SignalQueue {
    /// Installs the handlers. A signal that is ignored at the start stays ignored, for us and the
    /// command (nohup); one that is blocked stays blocked. Only CHLD and CONT are handled in any
    /// case, because without them we would never learn of the command's end or our own stop.
    ///
    /// # Errors
    /// When the system has no descriptor left, or refuses a handler.
    pub(super) fn open() -> io::Result<(Self, SignalState)> {
        let (reader, writer) = pipe_without_waits()?;
        // The handlers live as long as the process does, so their end of the pipe does too.
        let writer: &'static OwnedFd = Box::leak(Box::new(writer));
        // A signal between installing a handler and giving it its action would be lost.
        let mask = sys::hold_signals();
        let mut queue = Self {
            reader,
            writer,
            handled: Vec::with_capacity(20),
        };
        let dispositions = queue.handle_all();
        sys::release_signals(&mask);
        sys::unblock(Signal::CHLD);
        sys::unblock(Signal::CONT);
        let at_start = SignalState {
            dispositions: dispositions?,
            mask,
        };
        Ok((queue, at_start))
    }

    /// Installs all handlers. Returns the dispositions before.
    fn handle_all(&mut self) -> io::Result<Vec<SavedDisposition>> {
        let mut saved = Vec::with_capacity(20);
        let mut handle = |signal, even_if_ignored| {
            let before = SavedDisposition::of(signal);
            if even_if_ignored || !before.was_ignored() {
                sys::handle(signal, self.writer)?;
                self.handled.push(signal);
                saved.push(before);
            }
            io::Result::Ok(())
        };
        for signal in Signal::all_named_fatal().chain(Signal::all_messages()) {
            handle(signal, false)?;
        }
        // Unless we are PID 1, their default action ends us, and with us the command.
        let real_time = (getpid() == Pid::INIT).then(Signal::all_real_time);
        for signal in real_time.into_iter().flatten() {
            // A tool that runs us, such as valgrind, may keep one of these for itself.
            let _ = handle(signal, false);
        }
        // CONT only wakes us: the kernel restarts an interrupted wait with the time that was left
        // of it, as if the time stopped had not passed.
        for signal in [Signal::CONT, Signal::CHLD] {
            handle(signal, true)?;
        }
        // With XFSZ ignored, a line beyond a limit on the size of files is lost, and we go on.
        saved.push(SavedDisposition::ignoring(Signal::XFSZ));
        saved.push(startup::saved_sigpipe());
        Ok(saved)
    }

    /// The signals that have a handler.
    pub(super) fn handled(&self) -> &[Signal] {
        &self.handled
    }

    /// Returns a handler of ^Z that is not installed yet.
    pub(super) fn stop_handler(&self) -> StopHandler {
        StopHandler::new(self.writer)
    }

    /// Takes the signals that have arrived, in order.
    pub(super) fn take(&self) -> Vec<SignalEvent> {
        let mut events = Vec::new();
        let mut buffer = [0; 512];
        loop {
            match rustix::io::read(&self.reader, &mut buffer) {
                Ok(0) => return events,
                Ok(length) => {
                    let records = buffer[..length].chunks_exact(sys::RECORD);
                    events.extend(records.filter_map(|record| {
                        let signal = Signal::from_number(record[0].into())?;
                        Some(SignalEvent {
                            signal,
                            from_kernel: record[1] != 0,
                        })
                    }));
                    // A signal that arrives from here on ends the next wait at once.
                    if length < buffer.len() {
                        return events;
                    }
                }
                Err(Errno::INTR) => {}
                Err(_) => return events,
            }
        }
    }

    /// Returns the descriptor that becomes ready when a signal has arrived.
    pub(super) fn watched(&self) -> PollFd<'_> {
        PollFd::new(&self.reader, PollFlags::IN)
    }
}
