use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Returns what is left of a text in these pieces.
fn left<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut sequences = ControlSequences::default();
    let pieces = pieces.into_iter();
    let mut left: Vec<u8> = pieces
        .flat_map(|piece| sequences.without(piece).into_owned())
        .collect();
    left.extend(sequences.rest());
    left
}

#[track_caller]
fn leaves(text: &str, expected: &str) {
    let shown = |left: Vec<u8>| String::from_utf8(left).expect("text");
    assert_eq!(shown(left([text.as_bytes()])), expected, "{text:?}");
    let bytes = text.as_bytes().chunks(1);
    assert_eq!(shown(left(bytes)), expected, "{text:?} byte by byte");
}

#[test]
fn what_colours_and_moves_is_passed_over() {
    leaves("\x1b[31merror\x1b[0m: 404", "error: 404");
    leaves("\x1b[mx\x1b[38;2;1;2;3my\x1b[38:5:7mz", "xyz");
    leaves(
        "50%\x1b[K\x1b[2J\x1b[?25l\x1b[1;1H\x1b[0 q\x1b[>c\x1b[!p",
        "50%",
    );
    leaves("a\x1b[@b\x1b[3~c", "abc");
}

#[test]
fn what_names_windows_and_links_is_passed_over_however_it_is_ended() {
    leaves("\x1b]0;title\x07text", "text");
    leaves("\x1b]0;title\x1b\\text", "text");
    leaves("\x1b]8;;http://x/\x1b\\here\x1b]8;;\x1b\\.", "here.");
    leaves("\x1b]0;für\x07x", "x");
    leaves("\x1b]0;one\x1b]0;two\x07x", "x");
    leaves("\x1b]0;one\x1b[1mx", "x");
    leaves("\x1b]0;one\x1bx", "x");
}

#[test]
fn what_is_not_ended_ends_with_its_line() {
    for end in ["\n", "\r", "\r\n"] {
        leaves(&format!("a\x1b[31{end}b"), &format!("a{end}b"));
        leaves(&format!("a\x1b[{end}31mb"), &format!("a{end}31mb"));
        leaves(&format!("a\x1b]0;title{end}b\x07"), &format!("a{end}b\x07"));
        leaves(&format!("a\x1b]0;title\x1b{end}b"), &format!("a{end}b"));
    }
    leaves("a\x1b[31", "a");
    leaves("a\x1b]0;title", "a");
    leaves("a\x1b]0;title\x1b", "a");
}

#[test]
fn what_is_no_such_sequence_is_text() {
    for text in [
        "", "plain", "[31m", "]0;x\x07", "\x1b7", "\x1b(B", "\x1b\n", "\x1b", "\x07",
    ] {
        leaves(text, text);
    }
    leaves("\x1b\x1b[0mx", "\x1bx");
    // The bytes of the short forms are parts of letters.
    leaves("ě1mÝ0;x\x07", "ě1mÝ0;x\x07");
}

#[test]
fn what_cannot_be_in_one_ends_it_and_is_text() {
    leaves("a\x1b[31\x07b", "a\x07b");
    leaves("a\x1b[31éb", "aéb");
    leaves("a\x1b[31\x7fb", "a\x7fb");
    leaves("a\x1b[31\x1b[32mb", "ab");
}

#[test]
fn a_text_without_any_is_not_copied() {
    let mut sequences = ControlSequences::default();
    assert!(matches!(sequences.without(b"text\n"), Cow::Borrowed(_)));
    assert!(matches!(sequences.without(b"\x1b[1"), Cow::Owned(_)));
    assert!(matches!(sequences.without(b"m"), Cow::Owned(_)));
    assert!(matches!(sequences.without(b"text\n"), Cow::Borrowed(_)));
}

proptest! {
    #![proptest_config(crate::many_cases())]

    #[test]
    fn how_a_text_is_cut_makes_no_difference(
        text in prop::collection::vec(select(&b"\x1b\x1b\x1b[[]]\\\x07\r\n0;m @\xc3\xa9"[..]), 0..40),
        length in 1..9_usize,
    ) {
        prop_assert_eq!(left(text.chunks(length)), left([&text[..]]));
        prop_assert_eq!(left(text.chunks(1)), left([&text[..]]));
    }

    #[test]
    fn no_line_takes_another_with_it(
        text in prop::collection::vec(select(&b"\x1b\x1b\x1b[[]]\\\x07\r\n0;m"[..]), 0..40),
    ) {
        let ends = |text: &[u8]| text.iter().filter(|byte| b"\r\n".contains(byte)).count();
        prop_assert_eq!(ends(&left([&text[..]])), ends(&text));
    }
}
