//! Patterns for output: regular expressions that are looked for in each line of it.

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

/// A regular expression that is looked for in lines.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// As the user gave it.
    written: String,
    /// The one stream that it looks at, if not both.
    only: Option<Stream>,
    /// Shared by clones, because it keeps what it learns while it searches.
    regex: Arc<Regex>,
    /// Whether it may match in a line alone and yet not in the same line among others.
    needs_single_lines: bool,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for Pattern {}

impl Pattern {
    /// Reads `RE`, `stdout:RE` or `stderr:RE`.
    ///
    /// # Errors
    /// What is wrong with it and what to do about it, to follow its name.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (only, expression) = match text.split_once(':') {
            Some(("stdout", expression)) => (Some(Stream::Stdout), expression),
            Some(("stderr", expression)) => (Some(Stream::Stderr), expression),
            _ => (None, text),
        };
        if expression.is_empty() {
            return Err("is empty and would match every line; write what to look for".into());
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

    /// As the user gave it.
    pub(crate) fn written(&self) -> &str {
        &self.written
    }

    /// Whether it is looked for in this stream.
    pub(crate) fn looks_at(&self, stream: Stream) -> bool {
        self.only.is_none_or(|only| only == stream)
    }
}

/// Whether an expression tells the ends of a text from those of a line: by `\A` or `\z`, or by `^`
/// or `$` without the flags `m` and `R`. What switches flags off begins with `?` and has a minus.
fn needs_single_lines(expression: &str) -> bool {
    let is_off = |after: &str| {
        let flags = after.trim_start_matches(char::is_alphabetic);
        flags.starts_with('-')
    };
    expression.contains("\\A")
        || expression.contains("\\z")
        || expression.split('?').skip(1).any(is_off)
}

/// What is wrong with an expression, from the end of the many lines that regex says about it.
fn why(error: &regex::Error) -> String {
    if let regex::Error::CompiledTooBig(_) = error {
        return "is too big; repeat less in it, or write * for what is repeated often".into();
    }
    let text = error.to_string();
    let reason = text.rsplit("error: ").next().unwrap_or_default();
    let reason = reason.lines().next().unwrap_or_default();
    let remedy = if reason.contains("not supported") {
        "write it without (docs.rs/regex)"
    } else {
        "write \\ before what stands for itself (docs.rs/regex)"
    };
    format!("does not compile: {reason}; {remedy}")
}

/// Something for each of the four options that take patterns.
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

/// What is looked for.
pub(crate) type Patterns = EachOption<Vec<Pattern>>;

/// Which pattern of an option was the first to match in an attempt, by its place among them.
pub(crate) type Matched = EachOption<Option<usize>>;

impl Patterns {
    /// Whether any of them is looked for in this stream.
    pub(crate) fn look_at(&self, stream: Stream) -> bool {
        self.sought(stream, &mut Matched::default())
            .next()
            .is_some()
    }

    /// Whether one of them is looked for in one stream alone.
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

    /// For each option that looks at this stream and of which none has matched: its patterns, and
    /// where to note one.
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
