//! The look of lines for people: their prefix and their colours.

use anstyle::AnsiColor;

/// Returns the prefix of every line, with the process id where lines of several runs may mix.
pub(crate) fn prefix(pid: Option<u32>) -> String {
    pid.map_or_else(|| "retry: ".into(), |pid| format!("retry[{pid}]: "))
}

/// The look of lines for people. Both parts are asked for only when there is a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Returns what each line begins with.
    pub(crate) prefix: fn() -> String,
    /// Whether the words that matter have a colour.
    pub(crate) has_colours: fn() -> bool,
}

impl Style {
    /// Lines without colours.
    pub(crate) fn plain(prefix: fn() -> String) -> Self {
        Self {
            prefix,
            has_colours: || false,
        }
    }

    /// Returns this word in its colour, if there are any.
    fn paint(self, colour: AnsiColor, word: &str) -> String {
        if (self.has_colours)() {
            let style = colour.on_default();
            format!("{style}{word}{style:#}")
        } else {
            word.to_owned()
        }
    }

    pub(super) fn failed(self) -> String {
        self.paint(AnsiColor::Yellow, "failed")
    }

    pub(super) fn giving_up(self) -> String {
        self.paint(AnsiColor::Red, "giving up")
    }

    pub(super) fn succeeded(self) -> String {
        self.paint(AnsiColor::Green, "succeeded")
    }
}
