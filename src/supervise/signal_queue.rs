//! Signals that reach us, as a queue that one blocking call can wait for.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, getpid, getsid};

use crate::signal::Signal;
use crate::sys::fd::pipe_without_waits;
use crate::sys::{self, Mask, SavedDisposition, startup};

/// A signal as it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SignalEvent {
    pub(super) signal: Signal,
    /// The kernel made it, as it does for ^C; no process sent it.
    pub(super) from_kernel: bool,
}

/// The queue, and what was true of signals before there was one.
pub(super) struct SignalQueue {
    reader: OwnedFd,
    handled: Vec<Signal>,
    saved_dispositions: Vec<SavedDisposition>,
    mask_at_start: Mask,
}

/// Whether this signal ends the retrying.
pub(super) fn is_fatal(signal: Signal) -> bool {
    let mut fatal = Signal::all_fatal().chain(Signal::all_real_time());
    fatal.any(|fatal| fatal == signal)
}

/// Whether this signal is a message for the command and nothing to us.
pub(super) fn is_for_the_command(signal: Signal) -> bool {
    matches!(signal, Signal::USR1 | Signal::USR2)
}

/// Whether the terminal gives this signal to the whole group that uses it, the command included. A
/// hang-up it tells the leader of the session alone, if there is one.
pub(super) fn is_given_to_the_group(signal: Signal) -> bool {
    let leads_session = || getsid(None).is_ok_and(|session| session == getpid());
    match signal {
        Signal::INT | Signal::QUIT => true,
        Signal::HUP => !leads_session(),
        _ => false,
    }
}

impl SignalQueue {
    /// Installs the handlers. What is ignored at the start stays ignored, for us and the command
    /// (nohup); what is blocked stays blocked. Only SIGCHLD and SIGCONT are taken in any
    /// case, because without them we would never learn of the command's end or our own stop.
    pub(super) fn open() -> io::Result<Self> {
        let (reader, writer) = pipe_without_waits()?;
        // The handlers live as long as the process does, so their end of the pipe does too.
        let writer: &'static OwnedFd = Box::leak(Box::new(writer));
        // A signal between the handler's installation and what it is to do would be lost.
        let mask_at_start = sys::hold_signals();
        sys::write_to(writer);
        let (mut handled, mut saved_dispositions) = (Vec::with_capacity(16), Vec::new());
        let hooked = handle_all(&mut handled, &mut saved_dispositions);
        sys::release_signals(&mask_at_start);
        sys::unblock(Signal::CHLD);
        sys::unblock(Signal::CONT);
        hooked?;
        Ok(Self {
            reader,
            handled,
            saved_dispositions,
            mask_at_start,
        })
    }

    /// The signals that reach us.
    pub(super) fn handled(&self) -> &[Signal] {
        &self.handled
    }

    /// What the command is to find as it was at the start, and would not by itself.
    pub(super) fn saved_dispositions(&self) -> &[SavedDisposition] {
        &self.saved_dispositions
    }

    /// The signals that were blocked at the start.
    pub(super) fn mask_at_start(&self) -> &Mask {
        &self.mask_at_start
    }

    /// Takes what has arrived, in order.
    pub(super) fn take(&mut self) -> Vec<SignalEvent> {
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
                    // What comes from here on ends the next wait at once.
                    if length < buffer.len() {
                        return events;
                    }
                }
                Err(Errno::INTR) => {}
                Err(_) => return events,
            }
        }
    }

    /// Waits until a signal arrives, one of `others` is ready, or the time is over. It may return
    /// early; whoever calls looks at the clock.
    pub(super) fn wait<'a>(
        &'a self,
        time: Option<Duration>,
        others: impl IntoIterator<Item = PollFd<'a>>,
    ) -> io::Result<()> {
        let mut watched = vec![PollFd::new(&self.reader, PollFlags::IN)];
        watched.extend(others);
        // What is too long for the system's clock is for ever.
        let time = time.and_then(|time| Timespec::try_from(time).ok());
        match poll(&mut watched, time.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Hears every signal that we hear.
fn handle_all(
    handled: &mut Vec<Signal>,
    saved_dispositions: &mut Vec<SavedDisposition>,
) -> io::Result<()> {
    for signal in Signal::all_fatal().chain([Signal::USR1, Signal::USR2]) {
        handled.extend(sys::handle_unless_ignored(signal)?.then_some(signal));
    }
    // Elsewhere their default ends us, and with us the command; as PID 1 it does nothing.
    let real_time = (getpid() == Pid::INIT).then(Signal::all_real_time);
    for signal in real_time.into_iter().flatten() {
        // Who watches us, such as valgrind, may keep one of these for itself.
        let has_reader = sys::handle_unless_ignored(signal).unwrap_or(false);
        handled.extend(has_reader.then_some(signal));
    }
    // CONT only wakes us: the kernel restarts an interrupted wait with the time that was left of
    // it, as if the time stopped had not passed.
    for signal in [Signal::CONT, Signal::CHLD] {
        saved_dispositions.extend(sys::handle(signal)?);
        handled.push(signal);
    }
    // A line that is too much for a limit on the size of files is lost, and we go on.
    saved_dispositions.extend(SavedDisposition::of_ignored(Signal::XFSZ));
    saved_dispositions.extend(startup::saved_sigpipe());
    Ok(())
}
