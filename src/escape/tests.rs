//! Names and control sequences.

mod control_sequences;

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
