//! Options that do not go together, as data: a file of options needs to know which.

use std::error::Error;
use std::fmt;

/// Why these options do not go together.
#[derive(Debug)]
pub(super) struct Clash {
    /// The options that it takes, without dashes, the first to be blamed first.
    between: &'static [&'static str],
    /// Those of them that mean nothing where the command line has another of them.
    meaningless: &'static [&'static str],
    /// One sentence, with the remedy.
    said: String,
}

impl Clash {
    /// A clash that only the user can settle.
    pub(super) fn between(options: &'static [&'static str], said: impl Into<String>) -> Self {
        Self {
            between: options,
            meaningless: &[],
            said: said.into(),
        }
    }

    /// Of these options, the ones named here mean nothing beside the others.
    pub(super) fn leaving(self, meaningless: &'static [&'static str]) -> Self {
        Self {
            meaningless,
            ..self
        }
    }

    /// The options that it takes.
    pub(super) fn options(&self) -> &'static [&'static str] {
        self.between
    }

    /// Whether a line of a file with this option may be dropped for what the command line says.
    pub(super) fn may_drop(&self, option: &str) -> bool {
        self.meaningless.contains(&option)
    }
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said)
    }
}

impl Error for Clash {}
