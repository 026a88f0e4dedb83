//! Foreign text made safe to print: names of programs, words of the command line.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt as _;

/// The longest name that is shown, in bytes.
const LONGEST_NAME: usize = 64;

/// The text with control characters, bidirectional marks and bytes that are not UTF-8 escaped, so
/// that it can neither move a cursor nor turn the line around nor break it.
pub(crate) fn escaped(text: &OsStr) -> String {
    let mut shown = String::new();
    for chunk in text.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_harmless(c) {
                shown.push(c);
            } else {
                shown.extend(c.escape_default());
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

fn is_harmless(c: char) -> bool {
    let reorders = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let breaks = matches!(c, '\u{2028}' | '\u{2029}');
    !(c.is_control() || reorders || breaks)
}

/// What a command is called in reports: the basename of its first word, cut at the first blank, `=`
/// or `?` and at 64 bytes. Never more, because the rest may hold secrets.
pub(crate) fn program_name(program: &OsStr) -> String {
    let bytes = program.as_bytes();
    // An assignment or an address that was taken for the command may hold a secret, too.
    let word = bytes
        .split(|byte| byte.is_ascii_whitespace() || b"=?".contains(byte))
        .next()
        .unwrap_or_default();
    let named = word
        .iter()
        .rposition(|byte| *byte != b'/')
        .map_or(&word[..0], |end| &word[..=end]);
    let name = named
        .rsplit(|byte| *byte == b'/')
        .next()
        .unwrap_or_default();
    let name = &name[..name.len().min(LONGEST_NAME)];
    if name.is_empty() {
        "''".into()
    } else {
        escaped(OsStr::from_bytes(name))
    }
}

/// A text short enough for a line that must be written in one go.
pub(crate) fn shortened(text: &str) -> String {
    const LONGEST: usize = 64;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The system's words for an error, without the number, in lower case.
pub(crate) fn described(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn named(program: &[u8], name: &str) {
        assert_eq!(program_name(OsStr::from_bytes(program)), name);
    }

    #[test]
    fn a_program_is_named_by_its_basename_alone() {
        named(b"curl", "curl");
        named(b"/usr/bin/curl", "curl");
        named(b"./deploy.sh", "deploy.sh");
        named(b"/usr/lib/", "lib");
        named(b"", "''");
        named(b"/", "''");
        named(b" x", "''");
    }

    #[test]
    fn nothing_behind_a_blank_is_shown() {
        named(b"curl -u user:secret https://host/token", "curl");
        named(b"/bin/sh\t-c secret", "sh");
        named(b"TOKEN=secret/x", "TOKEN");
        named(b"https://host/path?token=secret/x", "path");
    }

    #[test]
    fn a_long_name_is_cut() {
        named(&[b'x'; 300], &"x".repeat(64));
    }

    #[test]
    fn nothing_in_a_name_reaches_the_terminal_as_a_command() {
        named(b"a\x1b[31mb", "a\\u{1b}[31mb");
        named(b"\xffx", "\\xffx");
        named("a\u{202e}b".as_bytes(), "a\\u{202e}b");
        named("grün".as_bytes(), "grün");
        assert_eq!(escaped(OsStr::new("a\nb\u{9b}c")), "a\\nb\\u{9b}c");
    }
}
