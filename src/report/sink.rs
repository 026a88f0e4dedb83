//! Who hears of a run, and by which clocks.

use std::mem;
use std::time::{Instant, SystemTime};

use super::log_file::Log;
use super::stderr;
use crate::clock;
use crate::event::Event;
use crate::job::{Format, Job, Verbosity};
use crate::report::json::{self, Json, Stamp};
use crate::report::{Reporter, countdown};
use crate::status::Exit;
use crate::sys::terminal;

/// Whoever reads stderr, and the file of --log.
pub(crate) struct Sink<'a> {
    begun: Instant,
    format: Format,
    verbosity: Verbosity,
    reporter: Reporter<'a>,
    json: Json<'a>,
    log: Option<Result<Log, String>>,
    /// Whether it is still to be said that lines of the file are lost.
    warns: bool,
    /// Whether a fatal signal has ended the run.
    in_haste: bool,
    /// Whether a countdown stands under the last line.
    is_counting: bool,
}

impl<'a> Sink<'a> {
    /// The sink of this job, which has begun then, with its two ways to say what happens. It is
    /// told at once what is to be done.
    pub(crate) fn new(job: &Job, begun: Instant, reporter: Reporter<'a>, json: Json<'a>) -> Self {
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
        };
        if sink.has_programs() {
            let lines = sink.json.start(&sink.stamp());
            sink.append(&lines, sink.verbosity);
        }
        sink
    }

    /// Whether anybody hears of it in JSON; nothing is made of it otherwise.
    fn has_programs(&self) -> bool {
        self.is_json() || self.log.is_some()
    }

    /// Tells what happened.
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
                if let Some(text) = countdown::shown(*left, terminal::columns()) {
                    stderr::say(&text, true);
                    self.is_counting = true;
                }
            }
            Event::Waited if !mem::take(&mut self.is_counting) => {}
            Event::Waited => stderr::say(countdown::GONE, true),
            _ => {
                if let Some(lines) = self.reporter.lines(event) {
                    let lines = match self.format {
                        Format::Text => stderr::fresh_line() + &lines,
                        Format::Json | Format::Github => lines,
                    };
                    stderr::say(&lines, self.in_haste);
                }
            }
        }
    }

    /// Tells how the run ends, or in words what was our own fault, which is said to the quiet, too.
    pub(crate) fn end(&mut self, exit: &Result<Exit, String>) {
        if !self.has_programs() {
            return;
        }
        let verbosity = exit.as_ref().map_or(Verbosity::Normal, |_| self.verbosity);
        let exit = exit.as_ref().copied().map_err(String::as_str);
        let lines = self.json.end(exit, &self.stamp());
        self.append(&lines, verbosity);
    }

    /// Appends lines to the file, and says them on stderr if that is how it is to look.
    fn append(&mut self, lines: &str, verbosity: Verbosity) {
        if self.is_json() && verbosity > Verbosity::Quiet {
            let lines = lines.split_inclusive('\n');
            lines.for_each(|line| stderr::say(line, self.in_haste));
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

/// What a program hears of a call that never became a run, under the name that it would have had if
/// that is known.
pub(crate) fn refusal(error: &str, run_id: Option<&str>, pid: u32, begun: Instant) -> String {
    json::refusal(error, run_id, pid, &stamp(begun))
}

/// This moment, in a run that has begun then.
fn stamp(begun: Instant) -> Stamp {
    Stamp {
        time: time_of_day(clock::now()),
        elapsed: begun.elapsed(),
    }
}

/// The time in UTC, with milliseconds. A clock that is off by ages shows the first or the last time
/// that can be written.
fn time_of_day(now: SystemTime) -> String {
    humantime::format_rfc3339_millis(clock::datable(now)).to_string()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

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
}
