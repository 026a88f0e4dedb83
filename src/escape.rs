//! Escaping of untrusted text, so that it is safe to print.

mod control;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt as _;

pub(crate) use control::ControlSequences;

/// The longest name that is displayed, in bytes.
const LONGEST_NAME: usize = 64;

/// The longest path that is displayed as typed, in bytes: a line is one write.
const LONGEST_PATH: usize = 1024;

/// Escapes control characters, bidirectional marks and bytes that are not UTF-8, so that the text
/// can neither move the cursor nor reverse or break the line.
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

/// Returns the name of a command for reports: the basename of its first word, cut at the first
/// blank and at 64 bytes, without anything before `@` or after `: ; # ? =`. Never more: a URL, a
/// header or an assignment mistaken for the command holds a secret there.
pub(crate) fn program_name(program: &OsStr) -> String {
    let word = until(program.as_bytes(), b"\t\n\x0c\r ;#?=");
    // A slash may be part of a secret, but not in a word that is a path from its start.
    let is_path = word.starts_with(b"/") || word.starts_with(b".");
    let word = if is_path { basename(word) } else { word };
    let word = word.rsplit(|byte| *byte == b'@').next().unwrap_or(word);
    let scheme = word.windows(3).position(|three| three == b"://");
    let word = scheme.map_or(word, |at| &word[at + 3..]);
    match basename(until(word, b":")) {
        b"" => "''".into(),
        name if name.len() <= LONGEST_NAME => escaped(OsStr::from_bytes(name)),
        name => escaped(OsStr::from_bytes(beginning(name, LONGEST_NAME))) + "…",
    }
}

/// Returns the name of a command that cannot be run: as typed, path and all, if that can only be a
/// file name; otherwise [`program_name`].
pub(crate) fn program_as_typed(program: &OsStr) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./+-".contains(&byte);
    match program.to_str() {
        Some(word) if (1..=LONGEST_PATH).contains(&word.len()) && word.bytes().all(is_plain) => {
            word.into()
        }
        _ => program_name(program),
    }
}

/// Returns the text before the first of these bytes.
fn until<'a>(text: &'a [u8], ends: &[u8]) -> &'a [u8] {
    let end = text.iter().position(|byte| ends.contains(byte));
    end.map_or(text, |end| &text[..end])
}

/// Returns the part after the last slash, ignoring trailing slashes.
fn basename(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/');
    let path = end.map_or(&path[..0], |end| &path[..=end]);
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Returns at most the first `most` bytes of a text, without splitting a character.
fn beginning(text: &[u8], most: usize) -> &[u8] {
    let begins = |at: &usize| text[*at] & 0b1100_0000 != 0b1000_0000;
    let end = (1..=most).rev().find(begins);
    &text[..end.unwrap_or(most)]
}

/// Cuts a text to fit a line that must be written by one call.
pub(crate) fn shortened(text: &str) -> String {
    const LONGEST: usize = 64;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the system's message for an error, in lower case and without the number.
pub(crate) fn described(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_lowercase()
}

/// Formats an error with its causes, in the system's words where it gave them.
pub(crate) fn with_reasons(error: &anyhow::Error) -> String {
    let reasons = error.chain().map(|reason| {
        let system: Option<&io::Error> = reason.downcast_ref();
        system.map_or_else(|| reason.to_string(), described)
    });
    reasons.collect::<Vec<_>>().join(": ")
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
    fn a_secret_in_what_was_taken_for_the_command_is_not_shown() {
        named(b"https://user:secret@host", "host");
        named(b"https://user:secret@host/", "host");
        named(b"https://user:secret@host:8080", "host");
        named(
            b"https://user:secret@host/a/path?token=secret#secret",
            "path",
        );
        named(b"https://user:secret", "user");
        named(b"https://user:sec/ret?secret@host", "user");
        named(b"https://user:sec/ret@host", "host");
        named(b"https://host:8080/a/path", "host");
        named(b"user:secret@host", "host");
        named(b"user:sec:ret@host:secret", "host");
        named(b"Authorization:secret", "Authorization");
        named(b"Authorization:sec/ret", "Authorization");
        named(b"https://host/p;secret#tok", "p");
        named(b"/p;secret#tok", "p");
        named(b"/dir:with/colon", "colon");
        named(b"./a:secret", "a");
        named(b"secret@", "''");
    }

    #[test]
    fn a_long_name_is_cut_between_two_letters_and_says_so() {
        named(&[b'x'; 64], &"x".repeat(64));
        named(&[b'x'; 65], &("x".repeat(64) + "…"));
        named(
            format!("x{}", "ü".repeat(40)).as_bytes(),
            &format!("x{}…", "ü".repeat(31)),
        );
        named(&[0xbf; 65], &("\\xbf".repeat(64) + "…"));
    }

    #[test]
    fn a_command_that_cannot_be_run_is_shown_as_typed_if_it_can_only_be_a_path() {
        for word in ["/opt/x/curl", "./a-b+c_d.sh", "../x/", "/", "curl"] {
            assert_eq!(program_as_typed(OsStr::new(word)), word);
        }
        for (word, shown) in [
            ("", "''"),
            ("/opt/x/curl -u user:secret", "curl"),
            ("https://user:secret@host/path", "path"),
            ("/opt/secret~/curl", "curl"),
            ("/opt/ü/curl", "curl"),
        ] {
            assert_eq!(program_as_typed(OsStr::new(word)), shown, "{word}");
        }
        let long = format!("/{}", "x".repeat(2000));
        assert_eq!(program_as_typed(OsStr::new(&long)), "x".repeat(64) + "…");
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
