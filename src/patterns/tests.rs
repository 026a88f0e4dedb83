mod long_lines;

use std::sync::LazyLock;

use proptest::prelude::*;

use super::watch::{OVERLAP, WINDOW};
use super::*;

fn retry_if(texts: &[&str]) -> Patterns {
    let patterns = texts.iter().map(|text| Pattern::parse(text).expect(text));
    sought(patterns.collect())
}

fn sought(retry_if: Vec<Pattern>) -> Patterns {
    Patterns {
        retry_if,
        ..Patterns::default()
    }
}

/// Returns the first pattern that matches in stdout, written in these pieces.
fn first<'a>(patterns: &Patterns, pieces: impl IntoIterator<Item = &'a [u8]>) -> Option<usize> {
    let mut watch = Watch::new(patterns, Stream::Stdout);
    let mut matched = Matched::default();
    for piece in pieces {
        watch.feed(piece, &mut matched);
    }
    watch.finish(&mut matched);
    matched.retry_if
}

#[track_caller]
fn matches(pattern: &str, pieces: &[&[u8]], expected: bool) {
    let found = first(&retry_if(&[pattern]), pieces.iter().copied()).is_some();
    let shown = pieces.concat();
    let shown = shown[..shown.len().min(200)].escape_ascii();
    assert_eq!(found, expected, "{pattern} in {shown}");
}

/// Splits a text into lines byte by byte: a second implementation to compare with.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < text.len() {
        if text[at] == b'\n' || text[at] == b'\r' {
            lines.push(&text[start..at]);
            at += usize::from(text[at..].starts_with(b"\r\n"));
            start = at + 1;
        }
        at += 1;
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

/// Returns the expected match: the first pattern that matches the first line by itself.
fn plainly(regexes: &[&Regex], text: &[u8]) -> Option<usize> {
    let matching = |line| regexes.iter().position(|regex| regex.is_match(line));
    lines(text).into_iter().find_map(matching)
}

/// Expressions that may see, need or cross the end of a line.
const EXPRESSIONS: &str = r"
    a, ab, ^a, a$, ^$, ^a*$, b?a, \Aa, a\z, \A\z, \z, \A, a\s+b, [^b]*b, [^b]+$, [^x], a|ba$|^$
    (?s)a.*b, (?s)^.$, (?sR)a.b, (?i-s)A., (?i)AB, (?m)^b, (?m:^b$), (?U)a+$, (?U)a*b, (?u)é$
    (?-m)^b, (?-m)a$, (?-m:^)a, (?-R)a$, (?-R)^b, (?-R).{2}, (?R-m)a$, (?-u)\xFF$, (?-u:.)$
    (?x)(  ?-m)^b, (?x) a b # ?, (?x: a $ ) | b\z, \ba\b, \Ba, \B, \b, a\B, \bé, é\b, é\B, \wé, \Wa
    \b{start}a, b\b{end}, \b{start-half}, \b{end-half}a, \<b, a\>, a[^a], (?:), x*, x??, \n, \r\n
    a\r?\nb, \ra, [\r\n]^b, $\s^, \s, \s$, ^\s*$, ^\s, \s\S, \S\s\S, \s{2}, ., ^.$, .., .{3}
    (.|\n){4}, [[:space:]]b, \x00, \W\W, (a|b)+$, \pL{2}, a{2,3}$, [^a]$, ^[^a]*$, $^, ^^a$$
    (^a|b$)(\s|$), a(b|$), (a\n|b)a, \n?b, (?:^|\s)ab?(?:$|\s), \D+b, [\s--\n], [\pL\s]{3}, \xFF";

/// Each expression, and the same compiled without any mode for lines.
static ZOO: LazyLock<Vec<(Pattern, Regex)>> = LazyLock::new(|| {
    let expressions = EXPRESSIONS.trim().lines();
    let expressions = expressions.flat_map(|line| line.trim().split(", "));
    expressions
        .map(|expression| {
            let pattern = Pattern::parse(expression).expect(expression);
            (pattern, Regex::new(expression).expect(expression))
        })
        .collect()
});

/// Cuts a text into pieces, at places taken modulo the rest.
fn cut<'a>(text: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = text;
    let mut pieces = Vec::new();
    for cut in cuts {
        let (piece, left) = rest.split_at(cut % (rest.len() + 1));
        pieces.push(piece);
        rest = left;
    }
    pieces.push(rest);
    pieces
}

/// Inserts control sequences into a text, at places taken modulo the rest.
fn painted(text: &[u8], places: &[usize]) -> Vec<u8> {
    let sequences = ["\x1b[1;31m", "\x1b]0;a b\x07", "\x1b[K", "\x1b]8;;ab\x1b\\"];
    let pieces = cut(text, places).into_iter();
    let painted = pieces.zip(sequences.iter().cycle());
    painted
        .flat_map(|(piece, sequence)| [piece, sequence.as_bytes()].concat())
        .collect()
}

#[test]
fn a_pattern_is_found_in_any_line() {
    matches("reset", &[b"one\nConnection reset by peer\nthree\n"], true);
    matches("reset", &[b"Connection reset"], true);
    matches("reset", &[b"one\nConnection RESET by peer\nthree\n"], false);
    matches("(?i)reset", &[b"one\nConnection RESET by peer\n"], true);
    matches("error: (408|429|5..)", &[b"(22) error: 503\n"], true);
    matches("error: (408|429|5..)", &[b"(22) error: 404\n"], false);
}

#[test]
fn a_pattern_may_be_split_over_writes_at_every_place() {
    let text = b"one\r\ntwo: Connection broken\r\nthree\n";
    let regex = "^two: Connection broken$";
    for first in 0..text.len() {
        for second in first..text.len() {
            matches(
                regex,
                &[&text[..first], &text[first..second], &text[second..]],
                true,
            );
        }
    }
    let bytes: Vec<&[u8]> = text.chunks(1).collect();
    matches(regex, &bytes, true);
    matches("^Connection", &bytes, false);
}

#[test]
fn progress_with_cr_is_lines() {
    matches("^50%$", &[b"10%\r", b"50%\r", b"90%"], true);
    matches("^50%$", &[b"10%\r50%\r90%"], true);
    matches("10%.*50%", &[b"10%\r50%\r90%"], false);
}

#[test]
fn a_cr_ends_a_line_as_soon_as_it_comes() {
    let mut watch = Watch::new(&retry_if(&["^50%$"]), Stream::Stdout);
    let mut matched = Matched::default();
    watch.feed(b"50%\r", &mut matched);
    assert_eq!(matched.retry_if, Some(0));
}

#[test]
fn crlf_is_one_end() {
    matches("^$", &[b"a\r\nb\r\n"], false);
    matches("^$", &[b"a\r", b"\nb\r", b"", b"\n"], false);
    matches("^$", &[b"a\n\rb"], true);
    matches("^$", &[b"a\r\r\nb"], true);
    matches("^$", &[b"a\r", b"\n\nb"], true);
    matches("^$", &[b"\nb"], true);
    matches("^$", &[b"\r", b"\n"], true);
}

#[test]
fn bytes_of_any_kind_are_no_hindrance() {
    matches("^broken$", &[b"\0\0\nbroken\r\xff\xfe"], true);
    matches(
        "Connection broken",
        &[b"\xffConnec", b"tion broken\xff"],
        true,
    );
    matches("a.b", &[b"a\0b"], true);
    matches("a.b", &[b"a\xffb"], false); // A dot is a character.
    matches(r"(?-u)a\xffb", &[b"a\xffb"], true);
    matches(r"\B", &[b"a\n\xa9\n"], false);
    matches("^für$", &["f\u{fc}r\n".as_bytes()], true);
    matches("^f.r$", &[b"f\xc3", b"\xbcr\n"], true);
}

#[test]
fn control_sequences_are_passed_over() {
    let coloured = b"\x1b[31merror\x1b[0m: \x1b]8;;http://x/\x1b\\404\x1b]8;;\x07\r\nnext";
    for pattern in ["^error: 404$", r"\Aerror", r"404\z", "(?-m)^error: 404$"] {
        matches(pattern, &[coloured], true);
        for at in 0..coloured.len() {
            matches(pattern, &[&coloured[..at], &coloured[at..]], true);
        }
        let bytes: Vec<&[u8]> = coloured.chunks(1).collect();
        matches(pattern, &bytes, true);
    }
    for pattern in ["x1b", r"\x1b", "31m", "http", "^next$.", "^$"] {
        matches(pattern, &[coloured], false);
    }
    matches("^$", &[b"\x1b[0m"], false);
    matches("^$", &[b"\x1b[0m\n"], true);
    matches("^$", &[b"a\r\x1b[K\nb"], false);
}

#[test]
fn an_unfinished_control_sequence_ends_with_its_line() {
    for end in [&b"\n"[..], b"\r", b"\r\n"] {
        let text = [
            b"one\x1b]0;title",
            end,
            b"two\x1b[3",
            end,
            b"three\x1b",
            end,
        ]
        .concat();
        for pattern in ["^one$", "^two$", r"^three\x1b$"] {
            matches(pattern, &[&text], true);
        }
        matches("title|3", &[&text], false);
    }
    matches(r"^\x1b$", &[b"\x1b"], true);
    matches("^one$", &[b"one\x1b]0;tit", b"le"], true);
}

#[test]
fn no_match_spans_lines() {
    for end in [&b"\n"[..], b"\r", b"\r\n"] {
        for pattern in [
            r"a\s+b", r"a\nb", r"a\rb", "a[^x]*b", "(?s)a.*b", r"\n", r"\r", r"(?s)a.",
        ] {
            matches(pattern, &[b"a", end, b"b", end], false);
            matches(pattern, &[&[b"a", end, b"b", end].concat()], false);
        }
        matches(
            r"a\s+b",
            &[&[b"a", end, b"b", end, b"a b", end].concat()],
            true,
        );
    }
}

#[test]
fn anchors_are_the_ends_of_a_line() {
    for end in [&b"\n"[..], b"\r", b"\r\n"] {
        let text = [b"one two", end, b"two", end, b"two three", end].concat();
        for pattern in [
            "^two$",
            r"\Atwo\z",
            "(?-m)^two$",
            "(?-R)^two$",
            r"(?m-s)^two\z",
        ] {
            matches(pattern, &[&text], true);
        }
        for pattern in ["^one$", "^three", "one$", r"\Athree", r"one\z", "(?-m)one$"] {
            matches(pattern, &[&text], false);
        }
    }
}

#[test]
fn what_is_not_there_is_no_line() {
    for pattern in ["^$", "x*", ".*", r"\z", "(?:)"] {
        matches(pattern, &[], false);
        matches(pattern, &[b""], false);
    }
    matches("^$", &[b"a\n"], false);
    matches("^$", &[b"a\n", b"b\n"], false);
    matches("^$", &[b"\n"], true);
    matches("^a$", &[b"b\na"], true);
}

#[test]
fn a_prefix_narrows_a_pattern_to_one_stream() {
    for (text, stdout, stderr) in [
        ("x", true, true),
        ("stdout:x", true, false),
        ("stderr:x", false, true),
        ("std:x", true, true),
        ("(?:)stdout:x", true, true),
    ] {
        let patterns = retry_if(&[text]);
        for (stream, looks) in [(Stream::Stdout, stdout), (Stream::Stderr, stderr)] {
            assert_eq!(patterns.retry_if[0].looks_at(stream), looks, "{text}");
            assert_eq!(patterns.look_at(stream), looks, "{text}");
            let mut watch = Watch::new(&patterns, stream);
            let mut matched = Matched::default();
            watch.feed(b"x\nstd:x\nstdout:x\n", &mut matched);
            assert_eq!(matched.retry_if.is_some(), looks, "{text}");
        }
        assert_eq!(patterns.retry_if[0].written(), text);
    }
    assert!(!Patterns::default().look_at(Stream::Stdout));
}

#[test]
fn patterns_are_the_same_if_they_are_written_the_same() {
    let pattern = |text| Pattern::parse(text).expect(text);
    assert_eq!(pattern("a|b"), pattern("a|b"));
    assert_ne!(pattern("a|b"), pattern("b|a"));
    assert_ne!(pattern("a"), pattern("stdout:a"));
    assert_eq!(retry_if(&["a", "b"]), retry_if(&["a", "b"]).clone());
}

#[test]
fn the_first_to_match_is_told_by_line_then_by_place() {
    let patterns = retry_if(&["stderr:a", "b", "a", "a|b", r"\Aa\z"]);
    for (text, expected) in [
        (&b"a\nb\n"[..], Some(2)),
        (b"b\na\n", Some(1)),
        (b"ab\n", Some(1)),
        (b"c\n\na", Some(2)),
        (b"c\n", None),
    ] {
        assert_eq!(first(&patterns, [text]), expected);
        assert_eq!(first(&patterns, text.chunks(1)), expected);
    }
}

#[test]
fn each_option_is_told_by_itself_and_only_once() {
    let pattern = |text| vec![Pattern::parse(text).expect(text)];
    let patterns = Patterns {
        retry_if: retry_if(&["one", "two"]).retry_if,
        stop_if: pattern("two"),
        success_if: pattern("three"),
        fail_if: pattern("stderr:one"),
    };
    let mut matched = Matched::default();
    let mut stdout = Watch::new(&patterns, Stream::Stdout);
    let mut stderr = Watch::new(&patterns, Stream::Stderr);
    stdout.feed(b"two\n", &mut matched);
    let seen = Matched {
        retry_if: Some(1),
        stop_if: Some(0),
        ..Matched::default()
    };
    assert_eq!(matched, seen);
    stdout.feed(b"one\n", &mut matched);
    assert_eq!(matched, seen);
    stderr.feed(b"three, one", &mut matched);
    assert_eq!(matched, seen);
    stderr.finish(&mut matched);
    let seen = Matched {
        success_if: Some(0),
        fail_if: Some(0),
        ..seen
    };
    assert_eq!(matched, seen);
    stdout.finish(&mut matched);
    assert_eq!(matched, seen);
}

#[test]
fn nothing_is_kept_when_nothing_is_sought_any_more() {
    let patterns = retry_if(&["a", "b"]);
    let mut matched = Matched::default();
    let mut stderr = Watch::new(&patterns, Stream::Stderr);
    stderr.feed(b"a\n", &mut matched);
    let mut stdout = Watch::new(&patterns, Stream::Stdout);
    stdout.feed(b"an unended line", &mut matched);
    assert!(stdout.line.is_empty());
    stdout.finish(&mut matched);
    assert_eq!(matched.retry_if, Some(0));
}

#[test]
fn what_is_wrong_is_said_in_one_sentence() {
    let empty = "it is empty and would match every line; write what to look for";
    for (text, expected) in [
        ("", empty),
        ("stdout:", empty),
        ("stderr:", empty),
        (
            "(",
            "it does not compile: unclosed group; write \\ before a special character to match it literally (docs.rs/regex)",
        ),
        (
            "stderr:a\nb{",
            "it does not compile: unclosed counted repetition; write \\ before a special character to match it literally (docs.rs/regex)",
        ),
        (
            "error: *)",
            "it does not compile: unopened group; write \\ before a special character to match it literally (docs.rs/regex)",
        ),
        (
            "(?=a)",
            "it does not compile: look-around, including look-ahead and look-behind, is not supported; see docs.rs/regex for the syntax",
        ),
        (
            r"(\w{99}){99}",
            "it is too big; use smaller repeat counts, or write * instead",
        ),
    ] {
        let error = Pattern::parse(text).map(|pattern| pattern.written);
        assert_eq!(error, Err(expected.to_owned()), "{text}");
    }
}

#[test]
fn short_texts_are_searched_as_if_line_by_line() {
    let alphabet = b"ab\r\n ";
    let mut texts = vec![Vec::new()];
    for _ in 0..5 {
        let longer = texts.iter().flat_map(|text| {
            let longer = |byte: &u8| [text, &[*byte][..]].concat();
            alphabet.iter().map(longer).collect::<Vec<_>>()
        });
        texts = longer.chain([Vec::new()]).collect();
    }
    for (pattern, regex) in ZOO.iter() {
        let patterns = sought(vec![pattern.clone()]);
        for text in &texts {
            let expected = plainly(&[regex], text);
            let shown = text.escape_ascii();
            assert_eq!(
                first(&patterns, [&text[..]]),
                expected,
                "{regex} in {shown}"
            );
        }
    }
}

/// A smaller number of cases, for slow properties.
fn one_in(share: u32) -> ProptestConfig {
    let config = crate::many_cases();
    ProptestConfig {
        cases: config.cases / share,
        ..config
    }
}

proptest! {
    #![proptest_config(crate::many_cases())]

    #[test]
    fn a_stream_is_searched_as_if_line_by_line(
        text in proptest::collection::vec(proptest::sample::select(&b"aab \r\r\n\n\0\xff\xc3\xa9\xc3\xa9"[..]), 0..60),
        cuts in proptest::collection::vec(0_usize..20, 0..6),
        members in proptest::collection::vec(0_usize..1000, 1..4),
    ) {
        let members: Vec<_> = members.iter().map(|index| &ZOO[index % ZOO.len()]).collect();
        let patterns = sought(members.iter().map(|(pattern, _)| pattern.clone()).collect());
        let regexes: Vec<_> = members.iter().map(|(_, regex)| regex).collect();
        let expected = plainly(&regexes, &text);
        prop_assert_eq!(first(&patterns, cut(&text, &cuts)), expected, "{:?}", regexes);
        let painted = painted(&text, &cuts);
        prop_assert_eq!(first(&patterns, cut(&painted, &cuts)), expected, "{:?}", regexes);
    }
}

proptest! {
    #![proptest_config(one_in(20))]

    #[test]
    fn no_text_makes_the_parser_panic(text in ".*") {
        is_read_or_refused_in_one_line(&text)?;
    }

    #[test]
    fn no_text_that_is_almost_a_pattern_makes_the_parser_panic(
        text in r"(stdout:|stderr:)?(\(\?[imsURux-]{0,4}[:)])?[-ab\\AzbwpL(){}\[\]*+?|^$.:,19&~\r\n]{0,12}"
    ) {
        is_read_or_refused_in_one_line(&text)?;
    }
}

proptest! {
    #![proptest_config(one_in(500))]

    #[test]
    fn long_lines_are_searched_as_if_line_by_line(
        lengths in proptest::collection::vec(0_usize..4 * OVERLAP, 1..4),
        ends in proptest::collection::vec(proptest::sample::select(vec!["\n", "\r", "\r\n", "é"]), 4),
        words in proptest::collection::vec((proptest::sample::select(vec!["needle", "é", " "]), 0_usize..16 * OVERLAP), 0..5),
        cuts in proptest::collection::vec(0_usize..3 * OVERLAP, 0..12),
        expression in proptest::sample::select(vec!["needle", "^needle", "needle$", r"\bneedle", r"needle\b", "é$", "^é", r"\Bé\B", " x", r"\A ", "x$", "^x"]),
    ) {
        let mut text = Vec::new();
        for (length, end) in lengths.iter().zip(&ends) {
            text.resize(text.len() + length, b'x');
            text.extend_from_slice(end.as_bytes());
        }
        for (word, at) in words {
            let at = at % text.len();
            text.splice(at..at, word.bytes());
        }
        let regex = Regex::new(expression).expect(expression);
        let found = first(&retry_if(&[expression]), cut(&text, &cuts));
        prop_assert_eq!(found, plainly(&[&regex], &text));
        let found = first(&retry_if(&[expression]), cut(&painted(&text, &cuts), &cuts));
        prop_assert_eq!(found, plainly(&[&regex], &text));
    }
}

fn is_read_or_refused_in_one_line(text: &str) -> Result<(), TestCaseError> {
    match Pattern::parse(text) {
        Ok(_) => {
            first(
                &retry_if(&[text]),
                [&b"\n-ab\r\n"[..], b"AzbwpL\xff", b"\r19"],
            );
        }
        Err(sentence) => {
            prop_assert!(sentence.starts_with("it "));
            prop_assert!(!sentence.contains(['\n', '\r']), "{}", sentence);
        }
    }
    Ok(())
}
