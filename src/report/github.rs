//! Events as workflow commands for GitHub Actions: a group for each attempt, annotations.
//!
//! The commands are those of "Workflow commands for GitHub Actions". Each must begin a line. So one
//! follows a newline where the command may have left its last line unfinished.

use crate::event::Event;
use crate::job::{Job, Verbosity};
use crate::policy::Decision;
use crate::report::style::Style;
use crate::report::text::{Stopped, Text};

/// A reporter that writes workflow commands.
pub(crate) struct Github<'a> {
    text: Text<'a>,
    is_quiet: bool,
    /// Whether a hook writes to stderr, which never passes through us.
    has_hook: bool,
}

impl<'a> Github<'a> {
    /// A reporter for this job; lines that are not commands look like this.
    pub(crate) fn new(job: &'a Job, style: Style) -> Self {
        Self {
            text: Text::new(job, Style::plain(style.prefix)),
            is_quiet: job.verbosity == Verbosity::Quiet,
            has_hook: job.before_retry.is_some(),
        }
    }

    /// Returns the lines for this event, each with its newline; none if the event is not reported.
    /// If the state of stderr's last line is known, whoever writes these ends that line.
    pub(crate) fn lines(&self, event: &Event<'_>, line_is_known: bool) -> Option<String> {
        if self.is_quiet {
            return None;
        }
        let named = |said: &str| format!("{}: {said}", self.text.name(event));
        let said = || self.text.said(event).unwrap_or_default();
        let fresh_line = if line_is_known { "" } else { "\n" };
        let end_of_group = || format!("{fresh_line}::endgroup::\n");
        // Output of a hook or a background job may lack its last newline.
        let after_hook = if self.has_hook { "\n" } else { fresh_line };
        match event {
            Event::Starting { attempt, .. } => {
                let group = command("group", &named(&self.text.numbered(*attempt)));
                Some(if *attempt == 1 {
                    group
                } else {
                    after_hook.to_owned() + &group
                })
            }
            Event::Ended(_, Decision::Succeed(_)) => {
                let line = self.text.line(event).unwrap_or_default();
                Some(end_of_group() + &line)
            }
            Event::Ended(_, Decision::Retry { .. }) => {
                Some(end_of_group() + &command(WARNING, &named(&said())))
            }
            Event::Ended(ended, Decision::Stop(reason)) => {
                let (warning, end) = match self.text.stopped(ended, reason) {
                    Stopped::Alone(said) => (String::new(), said),
                    Stopped::GivingUp { failed, end } => (command(WARNING, &named(&failed)), end),
                };
                Some(end_of_group() + &warning + &command(ERROR, &named(&end)))
            }
            Event::TooLate { .. }
            | Event::NoSlot { .. }
            | Event::Interrupted { .. }
            | Event::HookFailed { .. } => self
                .text
                .line(event)
                .map(|_| after_hook.to_owned() + &command(ERROR, &named(&said()))),
            _ => self.text.line(event),
        }
    }
}

const WARNING: &str = "warning title=retry";
const ERROR: &str = "error title=retry";

/// Formats a command, with its text escaped so that it cannot begin another.
fn command(name: &str, text: &str) -> String {
    let text = text
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A");
    format!("::{name}::{text}\n")
}

#[cfg(test)]
mod tests;
