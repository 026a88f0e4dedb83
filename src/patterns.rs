//! Regular expressions that are matched against each line of output.

mod watch;

use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};

pub(crate) use watch::Watch;

/// One of the two streams that a command writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Descriptor 1.
    Stdout,
    /// Descriptor 2.
    Stderr,
}

/// A regular expression to match against lines.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// The text that the user wrote.
    written: String,
    /// The only stream to search, if not both.
    only: Option<Stream>,
    /// Shared by clones, because it caches while it searches.
    regex: Arc<Regex>,
    /// Whether it may match a line by itself, yet not the same line among others.
    needs_single_lines: bool,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for Pattern {}

impl Pattern {
    /// Parses `RE`, `stdout:RE` or `stderr:RE`.
    ///
    /// # Errors
    /// A sentence that says what is wrong and how to fix it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (only, expression) = match text.split_once(':') {
            Some(("stdout", expression)) => (Some(Stream::Stdout), expression),
            Some(("stderr", expression)) => (Some(Stream::Stderr), expression),
            _ => (None, text),
        };
        if expression.is_empty() {
            return Err("it is empty and would match every line; write what to look for".into());
        }
        let mut builder = RegexBuilder::new(expression);
        let regex = builder.multi_line(true).crlf(true).build();
        Ok(Self {
            written: text.into(),
            only,
            regex: Arc::new(regex.map_err(|error| why(&error))?),
            needs_single_lines: needs_single_lines(expression),
        })
    }

    /// Returns the text that the user wrote.
    pub(crate) fn written(&self) -> &str {
        &self.written
    }

    /// Whether this stream is to be searched.
    pub(crate) fn looks_at(&self, stream: Stream) -> bool {
        self.only.is_none_or(|only| only == stream)
    }
}

/// Whether an expression distinguishes the ends of a text from those of a line: by `\A` or `\z`, or
/// by `^` or `$` without the flags `m` and `R`. A group that switches flags off begins with `?` and
/// has a minus.
fn needs_single_lines(expression: &str) -> bool {
    let is_off = |after: &str| {
        let flags = after.trim_start_matches(char::is_alphabetic);
        flags.starts_with('-')
    };
    expression.contains("\\A")
        || expression.contains("\\z")
        || expression.split('?').skip(1).any(is_off)
}

/// Returns what is wrong with an expression, from the end of regex's long message.
fn why(error: &regex::Error) -> String {
    if let regex::Error::CompiledTooBig(_) = error {
        return "it is too big; use smaller repeat counts, or write * instead".into();
    }
    let text = error.to_string();
    let reason = text.rsplit("error: ").next().unwrap_or_default();
    let reason = reason.lines().next().unwrap_or_default();
    let remedy = if reason.contains("not supported") {
        "see docs.rs/regex for the syntax"
    } else {
        "write \\ before a special character to match it literally (docs.rs/regex)"
    };
    format!("it does not compile: {reason}; {remedy}")
}

/// A value for each of the four options that take patterns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the options are called so")]
pub(crate) struct EachOption<T> {
    /// `--retry-if`: retry only if one matches.
    pub(crate) retry_if: T,
    /// `--stop-if`: never retry if one matches.
    pub(crate) stop_if: T,
    /// `--success-if`: success if one matches.
    pub(crate) success_if: T,
    /// `--fail-if`: failure if one matches.
    pub(crate) fail_if: T,
}

/// The patterns of each option.
pub(crate) type Patterns = EachOption<Vec<Pattern>>;

/// The pattern of each option that was the first to match in an attempt, by index.
pub(crate) type Matched = EachOption<Option<usize>>;

impl Patterns {
    /// Whether any pattern is to be searched for in this stream.
    pub(crate) fn look_at(&self, stream: Stream) -> bool {
        self.sought(stream, &mut Matched::default())
            .next()
            .is_some()
    }

    /// Whether any pattern is limited to one stream.
    pub(crate) fn tell_streams_apart(&self) -> bool {
        [
            &self.retry_if,
            &self.stop_if,
            &self.success_if,
            &self.fail_if,
        ]
        .into_iter()
        .flatten()
        .any(|pattern| pattern.only.is_some())
    }

    /// Returns the options that search this stream and have no match yet: their patterns, and where
    /// to record a match.
    fn sought<'a>(
        &'a self,
        stream: Stream,
        matched: &'a mut Matched,
    ) -> impl Iterator<Item = (&'a [Pattern], &'a mut Option<usize>)> {
        let options = [
            (&*self.retry_if, &mut matched.retry_if),
            (&*self.stop_if, &mut matched.stop_if),
            (&*self.success_if, &mut matched.success_if),
            (&*self.fail_if, &mut matched.fail_if),
        ];
        options.into_iter().filter(move |(patterns, found)| {
            found.is_none() && patterns.iter().any(|pattern| pattern.looks_at(stream))
        })
    }
}

#[cfg(test)]
mod tests;
