mod foreign_bytes;
mod long_lines;
mod samples;

use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::duration;

use samples::{SAMPLES, check, samples_of_the_field, sections, texts};

const NOON: &str = "Mon, 30 Nov 2026 12:00:00 GMT";

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn noon() -> HttpDate {
    NOON.parse().expect("a date")
}

/// Returns the wait that a stream in these pieces asks for, at noon.
fn wait_of_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Option<Duration> {
    let mut heads = HeadParser::default();
    for piece in pieces {
        heads.feed(piece);
    }
    heads.answer(noon).wait
}

fn wait(stream: &(impl AsRef<[u8]> + ?Sized)) -> Option<Duration> {
    wait_of_pieces([stream.as_ref()])
}

fn crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

#[track_caller]
fn asks(stream: &str, expected: Option<Duration>) {
    assert_eq!(wait(stream), expected, "{stream:?}");
    assert_eq!(wait(&crlf(stream)), expected, "with CR: {stream:?}");
}

/// Returns the wait that a response with these fields asks for.
#[track_caller]
fn fields_ask(fields: &str, expected: Option<Duration>) {
    asks(&format!("HTTP/1.1 429 X\n{fields}\n"), expected);
}

#[test]
fn the_status_is_that_of_the_last_final_response() {
    for (stream, status) in [
        ("no head\n", None),
        ("HTTP/1.1 429 Too Many Requests\n\n", Some(429)),
        ("< HTTP/2 503 \n< retry-after: 1\n<\n", Some(503)),
        (
            "HTTP/1.1 100 Continue\n\nHTTP/1.1 500 X\nA: b\n\n",
            Some(500),
        ),
        (
            "HTTP/1.1 301 X\nLocation: /\n\nHTTP/1.1 404 X\n\n",
            Some(404),
        ),
        ("HTTP/1.1 100 Continue\n\n", None),
        ("HTTP/1.1 4294 X\n\n", None),
    ] {
        for stream in [stream.to_owned(), crlf(stream)] {
            let mut heads = HeadParser::default();
            heads.feed(stream.as_bytes());
            assert_eq!(heads.answer(noon).status, status, "{stream:?}");
        }
    }
}

// ── samples of the field ────────────────────────────────────────────────────────────────────

#[test]
fn no_sample_is_left_out() {
    let tests = concat!(
        include_str!("tests.rs"),
        include_str!("tests/foreign_bytes.rs")
    );
    for (title, _) in sections(SAMPLES) {
        assert!(tests.contains(&format!("(\"{title}\")")), "{title}");
    }
    assert_eq!(samples_of_the_field().count(), 52);
}

#[test]
fn every_sample_of_the_field_gives_its_wait() {
    for (name, stream, expected) in samples_of_the_field() {
        assert_eq!(wait(&crlf(&stream)), expected, "{name}");
    }
}

#[test]
fn bare_line_feeds_end_lines_too() {
    asks("HTTP/1.1 429 X\nRetry-After: 7\n", Some(s(7)));
    for (name, stream, expected) in samples_of_the_field() {
        assert_eq!(wait(&stream), expected, "{name}");
    }
}

#[test]
fn a_wait_belongs_to_the_attempt_that_was_told_it() {
    asks("HTTP/1.1 429 X\nRetry-After: 9\n", Some(s(9)));
    asks("curl: (7) Failed to connect\n", None);
}

#[test]
fn a_sample_cut_in_two_anywhere_gives_the_same_wait() {
    for (name, stream, expected) in samples_of_the_field() {
        let stream = crlf(&stream);
        for cut in 0..=stream.len() {
            let (one, two) = stream.as_bytes().split_at(cut);
            assert_eq!(wait_of_pieces([one, two]), expected, "{name} at {cut}");
        }
        let bytes = stream.as_bytes().chunks(1);
        assert_eq!(wait_of_pieces(bytes), expected, "{name} byte by byte");
    }
}

// ── where a head begins ─────────────────────────────────────────────────────────────────────

#[test]
fn a_head_begins_with_a_status_line() {
    check("a_head_begins_with_a_status_line");
}

#[test]
fn what_is_almost_a_status_line_begins_none() {
    check("what_is_almost_a_status_line_begins_none");
}

#[test]
fn all_lines_of_a_head_have_its_prefix() {
    check("all_lines_of_a_head_have_its_prefix");
}

#[test]
fn text_before_a_head_is_no_body() {
    check("text_before_a_head_is_no_body");
}

#[test]
fn a_request_is_no_response() {
    check("a_request_is_no_response");
}

// ── where a head ends ───────────────────────────────────────────────────────────────────────

#[test]
fn a_head_ends_at_a_blank_line() {
    check("a_head_ends_at_a_blank_line");
}

#[test]
fn a_head_with_a_prefix_ends_at_the_first_line_without_it() {
    check("a_head_with_a_prefix_ends_at_the_first_line_without_it");
}

#[test]
fn a_line_that_only_begins_like_the_mark_of_curl_ends_no_head_of_curl() {
    check("a_line_that_only_begins_like_the_mark_of_curl_ends_no_head_of_curl");
}

#[test]
fn a_head_ends_with_the_stream() {
    check("a_head_ends_with_the_stream");
}

#[test]
fn a_line_that_is_not_ended_does_not_count() {
    check("a_line_that_is_not_ended_does_not_count");
    assert_eq!(wait("HTTP/1.1 429 X\r\nRetry-After: 7\r"), None);
}

// ── which head decides ──────────────────────────────────────────────────────────────────────

#[test]
fn the_last_head_decides_even_if_it_says_nothing() {
    check("the_last_head_decides_even_if_it_says_nothing");
}

#[test]
fn a_date_of_an_earlier_head_is_forgotten_with_it() {
    check("a_date_of_an_earlier_head_is_forgotten_with_it");
}

#[test]
fn a_status_line_within_a_head_begins_another() {
    check("a_status_line_within_a_head_begins_another");
}

#[test]
fn a_continued_line_does_not_reach_into_the_next_head() {
    check("a_continued_line_does_not_reach_into_the_next_head");
}

#[test]
fn an_interim_response_asks_for_nothing() {
    check("an_interim_response_asks_for_nothing");
}

#[test]
fn an_interim_response_takes_back_nothing() {
    check("an_interim_response_takes_back_nothing");
}

#[test]
fn an_interim_response_does_not_lend_its_date() {
    check("an_interim_response_does_not_lend_its_date");
}

// ── bodies ──────────────────────────────────────────────────────────────────────────────────

#[test]
fn a_head_in_a_body_is_text() {
    check("a_head_in_a_body_is_text");
}

#[test]
fn heads_count_again_after_a_body_of_known_length() {
    check("heads_count_again_after_a_body_of_known_length");
    let first = "HTTP/1.1 302 X\nContent-Length: 5\nRetry-After: 60\n\n";
    let last = "HTTP/1.1 429 X\nRetry-After: 7\n";
    assert_eq!(wait(&format!("{first}1\r\n\n5{last}")), Some(s(7)));
    assert_eq!(wait(&format!("{first}\n\n\n\n\n{last}")), Some(s(7)));
}

#[test]
fn a_head_in_a_body_of_known_length_is_text_whatever_its_prefix() {
    for prefix in ["", "< ", "  "] {
        let body = format!("text\n{prefix}HTTP/1.1 200 OK\n{prefix}Retry-After: 60\n");
        let length = body.len();
        let head = format!("HTTP/1.1 429 X\nContent-Length: {length}\nRetry-After: 7\n\n");
        assert_eq!(wait(&format!("{head}{body}")), Some(s(7)), "{prefix:?}");
        assert_eq!(
            wait(&format!("{head}{body}HTTP/1.1 503 X\nRetry-After: 9\n")),
            Some(s(9)),
            "{prefix:?}"
        );
    }
}

#[test]
fn a_head_may_be_printed_without_its_body() {
    check("a_head_may_be_printed_without_its_body");
}

#[test]
fn a_body_may_be_empty() {
    check("a_body_may_be_empty");
}

#[test]
fn the_length_of_a_body_counts_only_if_it_is_plain_digits_that_fit() {
    check("the_length_of_a_body_counts_only_if_it_is_plain_digits_that_fit");
}

#[test]
fn the_length_of_one_body_is_not_that_of_another() {
    check("the_length_of_one_body_is_not_that_of_another");
}

#[test]
fn of_what_is_prefixed_in_a_body_only_what_curl_marks_counts() {
    check("of_what_is_prefixed_in_a_body_only_what_curl_marks_counts");
}

#[test]
fn a_body_goes_on_after_a_head_with_a_prefix() {
    check("a_body_goes_on_after_a_head_with_a_prefix");
}

#[test]
fn no_body_follows_a_head_with_a_prefix() {
    check("no_body_follows_a_head_with_a_prefix");
}

// ── fields ──────────────────────────────────────────────────────────────────────────────────

#[test]
fn names_are_read_in_any_case() {
    check("names_are_read_in_any_case");
}

#[test]
fn other_names_say_nothing() {
    check("other_names_say_nothing");
}

#[test]
fn a_continued_value_is_ignored() {
    check("a_continued_value_is_ignored");
}

#[test]
fn another_continued_field_does_no_harm() {
    check("another_continued_field_does_no_harm");
}

#[test]
fn lines_that_are_no_fields_do_no_harm() {
    check("lines_that_are_no_fields_do_no_harm");
}

#[test]
fn of_two_fields_the_larger_counts() {
    check("of_two_fields_the_larger_counts");
}

// ── values ──────────────────────────────────────────────────────────────────────────────────

#[test]
fn seconds_are_read_to_the_millisecond_rounded_up() {
    check("seconds_are_read_to_the_millisecond_rounded_up");
}

#[test]
fn what_is_too_large_saturates() {
    fields_ask("Retry-After: 18446744073709551615\n", Some(s(u64::MAX)));
    let digits = "9".repeat(500);
    for value in [
        "18446744073709551616",
        "18446744073709551615.9999",
        "340282366920938463463374607432",
        &digits,
        &format!("{digits}.{digits}"),
    ] {
        fields_ask(&format!("Retry-After: {value}\n"), Some(Duration::MAX));
    }
}

#[test]
fn what_is_no_wait_is_ignored() {
    check("what_is_no_wait_is_ignored");
}

#[test]
fn a_date_is_measured_from_the_servers_own_wherever_that_stands() {
    check("a_date_is_measured_from_the_servers_own_wherever_that_stands");
}

#[test]
fn of_two_dates_of_the_server_the_last_counts() {
    check("of_two_dates_of_the_server_the_last_counts");
}

#[test]
fn a_date_is_measured_from_the_local_clock_if_the_server_gives_none() {
    check("a_date_is_measured_from_the_local_clock_if_the_server_gives_none");
}

#[test]
fn a_leap_second_is_the_60th_of_its_minute_in_all_forms() {
    check("a_leap_second_is_the_60th_of_its_minute_in_all_forms");
}

#[test]
fn a_date_may_be_the_last_that_there_is() {
    check("a_date_may_be_the_last_that_there_is");
}

#[test]
fn the_local_clock_is_not_asked_in_vain() {
    for (fields, expected) in [
        ("Server: x\n", None),
        ("Retry-After: 7\n", Some(s(7))),
        (
            "Retry-After: Mon, 30 Nov 2026 12:00:20 GMT\nDate: Mon, 30 Nov 2026 12:00:00 GMT\n",
            Some(s(20)),
        ),
    ] {
        let mut heads = HeadParser::default();
        heads.feed(format!("HTTP/1.1 429 X\n{fields}\n").as_bytes());
        let answer = heads.answer(|| panic!("the clock was asked for {fields:?}"));
        assert_eq!(answer.wait, expected);
    }
}

// ── heads behind what stands unfinished on the line ─────────────────────────────────────────

/// Returns what curl draws, or puts first, on a line where a marked head begins or goes on.
fn drawn_by_curl() -> Vec<String> {
    let drawn = texts("what curl draws").into_iter();
    drawn
        .map(|drawn| String::from_utf8(drawn).expect("text"))
        .collect()
}

#[test]
fn a_head_of_curl_begins_and_goes_on_behind_what_curl_draws() {
    for drawn in drawn_by_curl() {
        let head = "< HTTP/1.1 429 X\n< Server: x\n< Retry-After: 7\n< \n< Retry-After: 9\n";
        asks(&format!("{drawn}{head}"), Some(s(7)));
        let field = |name: &str| head.replace(&format!("< {name}"), &format!("{drawn}< {name}"));
        asks(&field("Server"), Some(s(7)));
        asks(&field("Retry-After"), Some(s(7)));
        asks(&field(""), Some(s(7)));
        asks(&field("\n"), Some(s(7)));
        asks(&field("").replace("< \n", "<\n"), Some(s(7)));
        // The last head decides here, too, and sent lines are not a response.
        let first = "HTTP/1.1 302 X\nRetry-After: 60\n\n";
        asks(&format!("{first}{drawn}< HTTP/1.1 429 X\n"), None);
        asks(&field("").replace('<', ">"), None);
    }
}

#[test]
fn what_curl_does_not_draw_begins_no_head_of_curl() {
    check("what_curl_does_not_draw_begins_no_head_of_curl");
}

#[test]
fn what_curl_draws_does_not_make_a_field_of_another_line() {
    for drawn in drawn_by_curl() {
        for line in ["* Connection #0 left intact", "> Server: x", "text", ""] {
            let line = format!("{drawn}{line}\n");
            asks(&format!("< HTTP/1.1 429 X\n{line}< Retry-After: 7\n"), None);
        }
    }
}

#[test]
fn a_head_may_begin_behind_text_if_a_field_follows_at_once() {
    for text in [
        "fetching ... ",
        "fetching",
        "try 1:\t",
        "{\"a\": 1}",
        "done HTTP/1.1 200 OK ",
        "> x ",
        "==> ",
        "<p>",
        "\r  0     0    0 --:--:--  0:00:02 --:--:--     0",
        "\rspinning ",
        "\u{b}",
        "ü",
    ] {
        asks(
            &format!("{text}HTTP/1.1 429 X\nRetry-After: 7\n"),
            Some(s(7)),
        );
        asks(
            &format!("{text}HTTP/2 429 \nserver: x\nretry-after: 7\n\n"),
            Some(s(7)),
        );
        asks(
            &format!("{text}  HTTP/1.1 429 X\n  Server: x\n  Retry-After: 7\n"),
            Some(s(7)),
        );
        let first = "  HTTP/1.1 302 X\n  Retry-After: 60\n  \n";
        asks(&format!("{first}{text}HTTP/1.1 429 X\nServer: x\n"), None);
        asks(
            &format!("{first}{text}HTTP/1.1 100 X\nServer: x\n"),
            Some(s(60)),
        );
    }
    // Some of the blanks may belong to the text.
    asks("fetching   HTTP/1.1 429 X\nRetry-After: 7\n", Some(s(7)));
    asks(
        "fetching   HTTP/1.1 429 X\n  Retry-After: 7\n   folded\n",
        None,
    );
    asks("fetching HTTP/1.1 429 X\n  Retry-After: 7\n", None);
}

#[test]
fn a_head_behind_text_ends_as_others_do() {
    check("a_head_behind_text_ends_as_others_do");
}

#[test]
fn a_line_that_merely_quotes_a_status_is_no_head() {
    check("a_line_that_merely_quotes_a_status_is_no_head");
}

#[test]
fn a_status_in_a_field_begins_no_head() {
    check("a_status_in_a_field_begins_no_head");
}

#[test]
fn text_in_a_body_begins_no_head() {
    check("text_in_a_body_begins_no_head");
    let body = "text HTTP/1.1 200 OK\nServer: x\n";
    let length = body.len();
    let known = format!("HTTP/1.1 429 X\nContent-Length: {length}\nRetry-After: 7\n\n{body}");
    assert_eq!(wait(&known), Some(s(7)));
    assert_eq!(
        wait(&format!("{known}.HTTP/1.1 429 X\nRetry-After: 9\n")),
        Some(s(9))
    );
}

#[test]
fn what_curl_draws_after_a_redirect_is_no_body() {
    let moved = "HTTP/1.1 302 X\nContent-Length: 99\nRetry-After: 60\n\n";
    for drawn in &drawn_by_curl()[..8] {
        if drawn.starts_with('\r') {
            asks(
                &format!("{moved}{drawn}HTTP/1.1 429 X\nRetry-After: 7\n\ntext\n"),
                Some(s(7)),
            );
            asks(
                &format!("{moved}{drawn}HTTP/1.1 429 X\ntext\nRetry-After: 7\n"),
                Some(s(60)),
            );
        }
    }
    // A body that begins like that is skipped as a whole.
    let body = "\rHTTP/1.1 200 OK\n\rx\n";
    let head = format!("HTTP/1.1 302 X\nContent-Length: {}\n\n{body}", body.len());
    assert_eq!(
        wait(&format!("{head}HTTP/1.1 429 X\nRetry-After: 7\n")),
        Some(s(7))
    );
}

// ── properties ──────────────────────────────────────────────────────────────────────────────

/// Fragments of streams, most of which begin something that matters.
fn fragments() -> Vec<Vec<u8>> {
    texts("fragments of streams")
}

fn nasty_stream() -> impl Strategy<Value = Vec<u8>> {
    stream_of(fragments())
}

/// A stream whose bodies end at no known length.
fn stream_without_lengths() -> impl Strategy<Value = Vec<u8>> {
    let mut fragments = fragments();
    fragments.retain(|text| !text.starts_with(b"Content-Length"));
    stream_of(fragments)
}

fn stream_of(fragments: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let fragments = prop::collection::vec(select(fragments), 0..24);
    fragments.prop_map(|fragments| fragments.concat())
}

/// Cuts the stream into pieces, cycling through these lengths.
fn cut<'a>(mut stream: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for length in lengths.iter().cycle() {
        if stream.is_empty() {
            break;
        }
        let (piece, rest) = stream.split_at((*length).min(stream.len()));
        pieces.push(piece);
        stream = rest;
    }
    pieces
}

proptest! {
    #![proptest_config(crate::many_cases())]

    #[test]
    fn any_bytes_may_come(stream in any::<Vec<u8>>()) {
        let _ = wait(&stream);
    }

    #[test]
    fn how_a_stream_is_cut_makes_no_difference(
        stream in nasty_stream(),
        lengths in prop::collection::vec(1..9_usize, 1..6),
    ) {
        let whole = wait(&stream);
        prop_assert_eq!(wait_of_pieces(cut(&stream, &lengths)), whole);
        prop_assert_eq!(wait_of_pieces(stream.chunks(1)), whole);
    }

    #[test]
    fn what_curl_draws_makes_no_difference_to_its_heads(
        lines in prop::collection::vec(select(&["< HTTP/1.1 429 X", "< HTTP/1.1 100 X", "< Retry-After: 7", "< Retry-After: 9", "< ", "<  folded", "* note", "< Date: x"][..]), 0..9),
        drawn in prop::collection::vec(select(drawn_by_curl()), 9),
        lengths in prop::collection::vec(1..9_usize, 1..6),
    ) {
        let line = |(drawn, line): (&str, &&str)| [drawn, line, "\r\n"].concat();
        let plain: String = lines.iter().map(|text| line(("", text))).collect();
        let behind: String = drawn.iter().map(String::as_str).zip(&lines).map(line).collect();
        prop_assert_eq!(wait_of_pieces(cut(behind.as_bytes(), &lengths)), wait(&plain), "{:?}", behind);
    }

    #[test]
    fn a_later_head_decides_whatever_came_before(stream in stream_without_lengths()) {
        let last = b"\n< HTTP/1.1 429 X\n< Retry-After: 9\n";
        prop_assert_eq!(wait(&[&stream[..], last].concat()), Some(s(9)));
    }

    #[test]
    fn what_follows_a_body_of_unknown_length_changes_nothing(text in "[^\n]*\n[^<\x1b \t]*") {
        let head = "HTTP/1.1 429 X\nRetry-After: 9\n\nbody ";
        let more = "\nHTTP/1.1 429 X\nRetry-After: 60\n";
        prop_assert_eq!(wait(&format!("{head}{text}{more}")), Some(s(9)));
    }
}

proptest! {
    #[test]
    fn how_a_stream_with_long_lines_is_cut_makes_no_difference(
        before in nasty_stream(),
        filler in select(&b"xH< \t\r\x1b"[..]),
        length in LONGEST_LINE - 20..LONGEST_LINE + 20,
        after in nasty_stream(),
        lengths in prop::collection::vec(1..9_000_usize, 1..6),
    ) {
        let stream = [before, vec![filler; length], after].concat();
        let whole = wait(&stream);
        prop_assert_eq!(wait_of_pieces(cut(&stream, &lengths)), whole);
        prop_assert_eq!(wait_of_pieces(stream.chunks(1)), whole);
    }
}
