//! Colours, or bytes that are not text at all.

use super::*;

#[test]
fn colours_are_skipped() {
    check("colours_are_skipped");
    assert_eq!(
        wait("HTTP/2 429\r\x1b[0m\nRetry-After: 7\r\x1b[0m\n"),
        Some(s(7))
    );
}

#[test]
fn what_is_no_colour_is_not_skipped() {
    check("what_is_no_colour_is_not_skipped");
}

#[test]
fn what_a_terminal_obeys_is_skipped_and_ends_with_its_line() {
    for stream in [
        "\x1b]0;title\x07HTTP/2 429\nRetry-After: \x1b]8;;http://x/\x1b\\7\x1b]8;;\x1b\\\n",
        "\x1b]0;title\nHTTP/2 429\x1b[\nRetry-After: 7\x1b[1\n\n",
        "HTTP/2 429\nRetry-After: 7\x1b]0;m\nServer: x\n",
        "H\x1b[1mT\x1b[1mT\x1b[1mP\x1b[1m/2 429\nRetry-After: 7\n",
    ] {
        asks(stream, Some(s(7)));
        let bytes = stream.as_bytes().chunks(1);
        assert_eq!(wait_of_pieces(bytes), Some(s(7)), "{stream:?}");
    }
    // In a body each byte counts.
    let body = "\x1b[1mx\x1b]0;y";
    let head = format!("HTTP/1.1 302 X\nContent-Length: {}\n\n{body}", body.len());
    assert_eq!(
        wait(&format!("{head}HTTP/1.1 429 X\nRetry-After: 7\n")),
        Some(s(7))
    );
    let endless = "\x1b]0;".to_owned() + &"x".repeat(100_000);
    let head = format!(
        "HTTP/1.1 302 X\nContent-Length: {}\n\n{endless}",
        endless.len()
    );
    assert_eq!(
        wait(&format!("{head}HTTP/1.1 429 X\nRetry-After: 7\n")),
        Some(s(7))
    );
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    for noise in [
        &b"\0"[..],
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\0:\xff",
        b"\r",
        b"\x1b",
    ] {
        let noisy = [
            noise,
            b"\nHTTP/1.1 429 ",
            noise,
            b"\r\nX",
            noise,
            b": ",
            noise,
            b"\nRetry-After: 7\n",
            noise,
            b"\n\n",
            noise,
            b"\n",
            noise,
        ];
        assert_eq!(wait(&noisy.concat()), Some(s(7)), "{noise:?}");
        let spoilt = [b"HTTP/1.1 429 X\nRetry-After: 7", noise, b"0\n"];
        assert_eq!(wait(&spoilt.concat()), None, "{noise:?}");
    }
}

#[test]
fn carriage_returns_belong_to_the_line_end_only_before_it() {
    // The output of `curl -i` on a terminal.
    let stream = "HTTP/1.1 429\r\r\n\x1b[1mRetry-After\x1b[0m: 7\r\r\n\r\r\nRetry-After: 9\r\r\n";
    assert_eq!(wait(stream), Some(s(7)));
    assert_eq!(wait("HTTP/1.1 429\rRetry-After: 7\r\n"), None);
    assert_eq!(wait("HTTP/1.1 429\r\nRetry-After: \r7\r\n"), None);
    assert_eq!(wait("HTTP/1.1 429\n\rRetry-After: 7\r\n"), None);
}
