//! Lines that are longer than the limit.

use super::*;

/// Returns a line of this many bytes, without its end.
fn padded(line: &str, length: usize) -> String {
    format!("{line}{}\n", " ".repeat(length - line.len()))
}

#[test]
fn a_line_is_read_up_to_8_kib() {
    let field = padded("Retry-After: 7", LONGEST_LINE);
    assert_eq!(LONGEST_LINE, 8192);
    assert_eq!(wait(&format!("HTTP/1.1 429 X\n{field}")), Some(s(7)));
    let status = padded("HTTP/1.1 429", LONGEST_LINE);
    assert_eq!(wait(&format!("{status}Retry-After: 7\n")), Some(s(7)));
}

#[test]
fn a_longer_line_says_nothing() {
    for length in [LONGEST_LINE + 1, LONGEST_LINE + 2, 100_000] {
        let field = padded("Retry-After: 7", length);
        assert_eq!(wait(&format!("HTTP/1.1 429 X\n{field}")), None);
        let status = padded("HTTP/1.1 429", length);
        assert_eq!(wait(&format!("{status}Retry-After: 7\n")), None);
        let first = "HTTP/1.1 302 X\nRetry-After: 60\n\n";
        assert_eq!(
            wait(&format!("{first}{status}Retry-After: 7\n")),
            Some(s(60))
        );
    }
}

#[test]
fn a_longer_line_does_not_end_a_head() {
    for prefix in ["", "< ", "  "] {
        for line in ["Set-Cookie: x", "Retry-After: 60"] {
            let cookie = padded(&format!("{prefix}{line}"), 20_000);
            let stream = format!("{prefix}HTTP/1.1 429 X\n{cookie}{prefix}Retry-After: 7\n");
            assert_eq!(wait(&stream), Some(s(7)), "{prefix:?}");
        }
    }
}

#[test]
fn a_longer_line_does_not_end_a_head_even_if_all_that_was_read_of_it_is_colours() {
    for (prefix, colours) in [("", ""), ("< ", "\x1b[0m")] {
        let read = format!("{prefix}{colours}{}", "\x1b[m".repeat(LONGEST_LINE));
        let line = &read[..=LONGEST_LINE];
        assert!(line.ends_with('m'), "cut within a sequence");
        let stream = format!("{prefix}HTTP/1.1 429 X\n{line}text\n{prefix}Retry-After: 7\n");
        assert_eq!(wait(&stream), Some(s(7)), "{prefix:?}");
    }
}

#[test]
fn a_longer_line_without_the_prefix_ends_a_head() {
    let line = padded("text", 20_000);
    let stream = format!("< HTTP/1.1 429 X\n{line}< Retry-After: 7\n");
    assert_eq!(wait(&stream), None);
}

#[test]
fn a_longer_line_may_continue_a_value() {
    let line = padded(" 0", 20_000);
    let stream = format!("HTTP/1.1 429 X\nRetry-After: 7\n{line}");
    assert_eq!(wait(&stream), None);
    let other = padded("Server: x", 20_000);
    let stream = format!("HTTP/1.1 429 X\nRetry-After: 7\n{other} y\n");
    assert_eq!(wait(&stream), Some(s(7)));
}

#[test]
fn a_line_without_end_does_not_fill_the_memory() {
    for before in [
        "",
        "H",
        "HTTP/1.1 429 X\n",
        "HTTP/1.1 429 X\nRetry-After: 7\n\n",
        "HTTP/1.1 429 X\nContent-Length: 99999\n\n",
        "< HTTP/1.1 429 X\n",
    ] {
        let mut heads = HeadParser::default();
        heads.feed(before.as_bytes());
        for byte in *b"xH< \t\0" {
            for piece in [[byte; 10_000].as_slice(), &[byte; 10]] {
                for _ in 0..200 {
                    heads.feed(piece);
                    assert!(heads.line.bytes.len() <= LONGEST_LINE, "{before:?}");
                    assert!(
                        heads.line.bytes.capacity() + heads.held.capacity() <= 6 * LONGEST_LINE,
                        "{before:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn ten_megabytes_without_a_line_end_are_one_line() {
    let mut heads = HeadParser::default();
    heads.feed(b"HTTP/1.1 429 X\nRetry-After: 7\nX: ");
    for _ in 0..10 {
        heads.feed(&vec![b'\r'; 1 << 20]);
        assert_eq!(heads.line.bytes.capacity(), 0);
    }
    heads.feed(b"\nRetry-After: 9\n");
    assert_eq!(heads.answer(noon).wait, Some(s(9)));
}

#[test]
fn text_before_a_head_may_be_of_any_length() {
    for length in (LONGEST_LINE - 1100..LONGEST_LINE + 100)
        .step_by(50)
        .chain([100_000, 1_000_000])
    {
        let text = "x".repeat(length);
        let head = "  HTTP/1.1 429 X\n  Retry-After: 7\n";
        assert_eq!(wait(&format!("{text}{head}")), Some(s(7)), "{length}");
        assert_eq!(wait(&format!("{text}<{head}")), Some(s(7)), "{length}");
        let marked = format!("{text}< HTTP/1.1 429 X\n< Retry-After: 7\n");
        assert_eq!(wait(&marked), None, "{length}");
        let folded =
            format!("HTTP/1.1 429 X\nRetry-After: 7\n {text} HTTP/1.1 200 OK\nServer: x\n");
        assert_eq!(wait(&folded), None, "{length}");
        let field =
            format!("HTTP/1.1 429 X\nRetry-After: 7\nX: {text} HTTP/1.1 200 OK\nServer: x\n");
        assert_eq!(wait(&field), Some(s(7)), "{length}");
    }
    let digits = "1".repeat(100_000);
    assert_eq!(
        wait(&format!("{digits}< HTTP/1.1 429 X\n< Retry-After: 7\n")),
        None
    );
}

#[test]
fn the_longest_line_is_too_long_behind_text_too() {
    let text = "x".repeat(100_000);
    let status = padded("HTTP/1.1 429", LONGEST_LINE + 1);
    assert_eq!(wait(&format!("{text}{status}Retry-After: 7\n")), None);
    let status = padded("HTTP/1.1 429", 2000);
    assert_eq!(wait(&format!("{text}{status}Retry-After: 7\n")), Some(s(7)));
}

#[test]
fn a_body_of_known_length_may_be_one_long_line() {
    for length in [LONGEST_LINE - 1, LONGEST_LINE, LONGEST_LINE + 1, 100_000] {
        let stream = format!(
            "HTTP/1.1 302 X\nContent-Length: {length}\n\n{}HTTP/1.1 429 X\nRetry-After: 7\n",
            "H".repeat(length)
        );
        assert_eq!(wait(&stream), Some(s(7)), "{length}");
        assert_eq!(wait_of_pieces(stream.as_bytes().chunks(1)), Some(s(7)));
        let late = stream.replacen("HTTP/1.1 429", "xHTTP/1.1 429", 1);
        assert_eq!(wait(&late), Some(s(7)), "{length}");
        let early = stream.replacen("HHTTP/1.1 429", "HTTP/1.1 429", 1);
        assert_eq!(wait(&early), None, "{length}");
    }
}

#[test]
fn a_meter_may_be_drawn_for_an_hour() {
    let meter = |second: usize| {
        format!(
            "\r  0     0    0     0    0     0      0      0 --:--:--  0:{:02}:{:02} --:--:--     0",
            second / 60,
            second % 60
        )
    };
    for seconds in (95..105).chain([3599]) {
        let drawn: String = (1..=seconds).map(meter).collect();
        let whole = format!("{drawn}< HTTP/1.1 429 X\r\n{drawn}< Retry-After: 7\r\n{drawn}< \r\n");
        assert_eq!(wait(&whole), Some(s(7)), "{seconds}");
        let bare = format!("{drawn}HTTP/1.1 429 X\r\nRetry-After: 7\r\n\r\n");
        assert_eq!(wait(&bare), Some(s(7)), "{seconds}");
        if seconds < 3599 {
            assert_eq!(
                wait_of_pieces(whole.as_bytes().chunks(1)),
                Some(s(7)),
                "{seconds}"
            );
        }
    }
}
