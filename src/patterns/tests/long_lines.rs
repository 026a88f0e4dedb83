//! Lines that are longer than the window.

use super::*;

/// Returns a line of this letter that contains a word, in pieces of this size.
fn long_line(letter: u8, length: usize, word: &[u8], at: usize, size: usize) -> Vec<Vec<u8>> {
    let mut line = vec![letter; length];
    line[at..at + word.len()].copy_from_slice(word);
    line.chunks(size).map(<[u8]>::to_vec).collect()
}

#[track_caller]
fn matches_long(pattern: &str, pieces: &[Vec<u8>], expected: bool) {
    let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
    matches(pattern, &pieces, expected);
}

/// Sizes of writes: small, a half and a whole window, more, and all at once.
const SIZES: [usize; 6] = [
    4096,
    OVERLAP,
    OVERLAP + 7,
    WINDOW,
    3 * OVERLAP + 1,
    usize::MAX,
];

#[test]
fn a_word_is_found_wherever_it_lies_in_a_long_line() {
    let patterns = retry_if(&[r"\bneedle\b"]);
    let length = 5 * OVERLAP;
    for size in [4096, OVERLAP + 7, WINDOW, usize::MAX] {
        for border in (0..6).map(|windows| windows * OVERLAP) {
            for at in border.saturating_sub(10)..(border + 5).min(length - 5) {
                let pieces = long_line(b' ', length, b"needle", at, size);
                let found = first(&patterns, pieces.iter().map(Vec::as_slice));
                assert_eq!(found, Some(0), "at {at} by {size}");
            }
        }
    }
}

#[test]
fn the_middle_of_a_long_line_is_no_end_of_it() {
    for size in [OVERLAP, WINDOW + 7, usize::MAX] {
        let pieces = long_line(b'x', 5 * OVERLAP, b"a", 0, size);
        for pattern in ["^x", r"\Ax", "(?-m)^x", r"\bx", r"\<x"] {
            matches_long(pattern, &pieces, false);
        }
        let pieces = long_line(b'x', 5 * OVERLAP, b"a", 5 * OVERLAP - 1, size);
        for pattern in ["x$", "x+$", r"x\z", "(?-m)x$", r"x\b", r"x\>"] {
            matches_long(pattern, &pieces, false);
        }
    }
}

#[test]
fn a_window_may_end_inside_a_character() {
    let letters = "\u{20000}".repeat(5 * OVERLAP / 8);
    let pattern = r"\b\u{20000}|\u{20000}\b";
    for shift in 0..4 {
        let text = format!("{}{letters}a", &"aaaa"[shift..]);
        for size in [OVERLAP / 2, usize::MAX] {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            matches(pattern, &pieces, false);
        }
    }
}

#[test]
fn the_ends_of_a_long_line_are_found() {
    for size in SIZES {
        let pieces = long_line(b'x', 5 * OVERLAP, b"E: ", 0, size);
        for pattern in [
            "^E: .*",
            "^E: x+",
            r"\AE",
            "(?-m)^E.*x",
            "xxx$",
            r"x+\z",
            "x+$",
            "^[E-x: ]+",
        ] {
            matches_long(pattern, &pieces, true);
        }
        let ended: Vec<&[u8]> = pieces
            .iter()
            .map(Vec::as_slice)
            .chain([&b"\r\nE\n"[..]])
            .collect();
        for pattern in ["xxx$", r"x+\z", "^E$"] {
            matches(pattern, &ended, true);
        }
        matches("^$", &ended, false);
    }
}

#[test]
fn a_line_of_a_whole_window_is_matched_as_a_whole() {
    for size in SIZES {
        for length in [WINDOW - 1, WINDOW] {
            let pieces = long_line(b'x', length, b"a", 0, size);
            matches_long("^ax+$", &pieces, true);
            matches_long(r"\Aax{9}.*x\z", &pieces, true);
        }
    }
}

#[test]
fn after_a_long_line_lines_are_lines_again() {
    let text = [
        &vec![b'x'; 5 * OVERLAP + 3][..],
        b"\ra\r\n",
        &vec![b'y'; 3 * OVERLAP],
        b"\nb",
    ]
    .concat();
    for size in SIZES {
        let pieces: Vec<&[u8]> = text.chunks(size).collect();
        matches("^a$", &pieces, true);
        matches("^b$", &pieces, true);
        matches("x$", &pieces, true);
        matches("^y", &pieces, true);
        matches("^[^xy]*$", &pieces, true);
        matches("^$", &pieces, false);
        matches("xa|ay|yb", &pieces, false);
    }
}

#[test]
fn three_megabytes_without_an_end_take_little_memory() {
    for size in [1000, OVERLAP - 1, WINDOW + 1, 2 * WINDOW] {
        let mut watch = Watch::new(&retry_if(&["Connection broken"]), Stream::Stdout);
        let mut matched = Matched::default();
        for piece in vec![0; 3_000_000].chunks(size) {
            watch.feed(piece, &mut matched);
        }
        assert!(watch.line.capacity() <= 2 * WINDOW);
        watch.feed(b"Connection broken", &mut matched);
        watch.finish(&mut matched);
        assert_eq!(matched.retry_if, Some(0));
    }
}
