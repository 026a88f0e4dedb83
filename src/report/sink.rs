//! The sink of a run's events, which adds the time: stderr and the log file.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::mem;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use rustix::io::{retry_on_intr, write};

use super::stderr;
use crate::clock;
use crate::escape::described;
use crate::event::Event;
use crate::job::{Format, Job, Verbosity};
use crate::report::Reporter;
use crate::report::json::{self, Json, Stamp};
use crate::status::Exit;
use crate::sys::terminal;

/// The readers of a run's events: stderr, and the file of `--log`.
pub(crate) struct Sink<'a> {
    begun: Instant,
    format: Format,
    verbosity: Verbosity,
    reporter: Reporter<'a>,
    json: Json<'a>,
    log: Option<Result<Log, String>>,
    /// Whether the loss of log lines has yet to be reported.
    warns: bool,
    /// Whether a fatal signal has ended the run.
    in_haste: bool,
    /// Whether a countdown is displayed.
    is_counting: bool,
    /// Holds lines for stderr back, where that was asked for.
    hold: Option<HoldLine>,
}

/// Holds a line back; returns false once lines are no longer held.
pub(crate) type HoldLine = Box<dyn FnMut(&str) -> bool>;

impl<'a> Sink<'a> {
    /// The sink of this job, which began at `begun`, with its two formatters. Writes the start line
    /// at once.
    pub(crate) fn new(
        job: &'a Job,
        begun: Instant,
        (reporter, json): (Reporter<'a>, Json<'a>),
        hold: Option<HoldLine>,
    ) -> Self {
        let mut sink = Self {
            begun,
            format: job.format,
            verbosity: job.verbosity,
            reporter,
            json,
            log: job.log.as_deref().map(Log::open),
            warns: true,
            in_haste: false,
            is_counting: false,
            hold,
        };
        if sink.has_programs() {
            let lines = sink.json.start(&sink.stamp());
            sink.append(&lines, sink.verbosity);
        }
        sink
    }

    /// Whether JSON is written anywhere; otherwise none is produced.
    fn has_programs(&self) -> bool {
        self.is_json() || self.log.is_some()
    }

    /// Reports an event.
    pub(crate) fn tell(&mut self, event: &Event<'_>) {
        let stamp = self.has_programs().then(|| self.stamp());
        self.in_haste |= event.follows_fatal_signal();
        if !self.is_json() {
            self.tell_people(event);
        }
        if let Some(lines) = stamp.and_then(|stamp| self.json.line(event, &stamp)) {
            self.append(&lines, self.verbosity);
        }
    }

    fn tell_people(&mut self, event: &Event<'_>) {
        match event {
            Event::Waiting(left) => {
                if let Some(text) = countdown(*left, terminal::columns()) {
                    stderr::say(&text, true);
                    self.is_counting = true;
                }
            }
            Event::Waited if !mem::take(&mut self.is_counting) => {}
            Event::Waited => stderr::say(GONE, true),
            _ => {
                if let Some(lines) = self.reporter.lines(event, stderr::knows_line()) {
                    self.say(&lines);
                }
            }
        }
    }

    /// Writes lines to stderr, unless they are held back.
    fn say(&mut self, lines: &str) {
        if self.hold.as_mut().is_some_and(|hold| hold(lines)) {
            return;
        }
        let fresh_line = match self.format {
            Format::Text => stderr::fresh_line(),
            Format::Json | Format::Github => String::new(),
        };
        stderr::say(&(fresh_line + lines), self.in_haste);
    }

    /// Reports how the run ends, or our own error, which is shown even with `--quiet`.
    pub(crate) fn end(&mut self, exit: &Result<Exit, String>) {
        if !self.has_programs() {
            return;
        }
        let verbosity = exit.as_ref().map_or(Verbosity::Normal, |_| self.verbosity);
        let exit = exit.as_ref().copied().map_err(String::as_str);
        let lines = self.json.end(exit, &self.stamp());
        self.append(&lines, verbosity);
    }

    /// Appends lines to the log file, and writes them to stderr if that is its format.
    fn append(&mut self, lines: &str, verbosity: Verbosity) {
        if self.is_json() && verbosity > Verbosity::Quiet {
            let lines = lines.split_inclusive('\n');
            lines.for_each(|line| self.say(line));
        }
        let lost = match &mut self.log {
            Some(Ok(log)) => log.append(lines).err(),
            Some(Err(reason)) => Some(mem::take(reason)),
            None => None,
        };
        if let Some(reason) = lost.filter(|_| mem::take(&mut self.warns)) {
            self.tell(&Event::LogUnusable(reason));
        }
    }

    fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    fn stamp(&self) -> Stamp {
        stamp(self.begun)
    }
}

/// Returns the JSON line for a call that never became a run, with its run id if that is known.
pub(crate) fn refusal(error: &str, run_id: Option<&str>, pid: u32, begun: Instant) -> String {
    json::refusal(error, run_id, pid, &stamp(begun))
}

/// Returns the time stamp of this moment, in a run that began at `begun`.
fn stamp(begun: Instant) -> Stamp {
    Stamp {
        time: time_of_day(clock::now()),
        elapsed: begun.elapsed(),
    }
}

/// Formats a time in UTC, with milliseconds. A clock that is off by ages yields the first or last
/// time that can be written.
fn time_of_day(now: SystemTime) -> String {
    humantime::format_rfc3339_millis(clock::datable(now)).to_string()
}

/// Returns to the start of the line and clears it.
const GONE: &str = "\r\x1b[K";

/// Returns the countdown for this time left, on a terminal of this width; none if it does not fit,
/// because a wrapped line could not be cleared.
fn countdown(left: Duration, columns: usize) -> Option<String> {
    let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    let time = match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    };
    let text = format!("retry: next attempt in {time}");
    (text.len() < columns).then(|| format!("{GONE}{text}"))
}

/// A file to append lines to. Others may append to it at the same time.
struct Log {
    file: File,
    /// Whether the last line is incomplete.
    is_torn: bool,
}

impl Log {
    /// Opens or creates the file at this path. Nothing here ever waits for a reader.
    ///
    /// # Errors
    /// The reason, worded to follow the file's name.
    fn open(path: &Path) -> Result<Self, String> {
        let opened = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o644)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(path);
        match opened {
            Ok(file) => Ok(Self {
                file,
                is_torn: false,
            }),
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
                Err("it is a FIFO or a socket, and nobody reads it".into())
            }
            Err(error) => Err(described(&error)),
        }
    }

    /// Appends lines, each by one call, so that those of several processes never mix. A line that
    /// cannot be written is lost, but the next ones are still tried.
    ///
    /// # Errors
    /// The reason, worded to follow the file's name.
    fn append(&mut self, lines: &str) -> Result<(), String> {
        let mut done = Ok(());
        for line in lines.split_inclusive('\n') {
            done = self.append_line(line).and(done);
        }
        done.map_err(|error| described(&error))
    }

    fn append_line(&mut self, line: &str) -> io::Result<()> {
        let ended = if self.is_torn { "\n" } else { "" };
        let line = format!("{ended}{line}");
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            let written = retry_on_intr(|| write(&self.file, rest))?;
            if written == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
            rest = &rest[written..];
            // A full disk may take only the beginning of a line.
            self.is_torn = !rest.is_empty();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn no_clock_is_too_wrong_to_be_shown() {
        let ages = Duration::from_secs(1 << 40);
        let before = UNIX_EPOCH.checked_sub(ages).expect("a time");
        for (time, shown) in [
            (UNIX_EPOCH, "1970-01-01T00:00:00.000Z"),
            (before, "1970-01-01T00:00:00.000Z"),
            (UNIX_EPOCH + ages, "9999-12-31T23:59:59.000Z"),
            (
                UNIX_EPOCH + Duration::from_millis(1_796_040_000_007),
                "2026-11-30T12:00:00.007Z",
            ),
        ] {
            assert_eq!(time_of_day(time), shown);
        }
    }

    #[track_caller]
    fn shows(millis: u64, text: &str) {
        let expected = format!("{GONE}retry: next attempt in {text}");
        assert_eq!(countdown(Duration::from_millis(millis), 80), Some(expected));
    }

    #[test]
    fn time_left_is_shown_in_whole_seconds_that_have_begun() {
        shows(1, "1s");
        shows(1000, "1s");
        shows(1001, "2s");
        shows(59_001, "1m 00s");
        shows(61_000, "1m 01s");
        shows(3_599_500, "1h 00m");
        shows(7_500_000, "2h 05m");
    }

    #[test]
    fn a_window_that_is_too_narrow_shows_nothing() {
        let left = Duration::from_secs(5);
        assert_eq!(countdown(left, 25), None);
        assert!(countdown(left, 26).is_some());
        assert_eq!(countdown(left, 0), None);
    }
}
