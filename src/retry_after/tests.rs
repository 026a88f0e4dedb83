use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::units;

const NOON: &str = "Mon, 30 Nov 2026 12:00:00 GMT";

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn noon() -> HttpDate {
    NOON.parse().expect("a date")
}

/// The wait that a stream asks for when it comes in these pieces, at noon.
fn wait_of_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Option<Duration> {
    let mut heads = Heads::default();
    for piece in pieces {
        heads.feed(piece);
    }
    heads.wait(noon)
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

/// What a response with these fields asks for.
#[track_caller]
fn fields_ask(fields: &str, expected: Option<Duration>) {
    asks(&format!("HTTP/1.1 429 X\n{fields}\n"), expected);
}

// ── samples of the field ────────────────────────────────────────────────────────────────────

/// What tools print, each sample after its name and the wait that it asks for: none where the wait
/// stands elsewhere than in a `Retry-After` of a response head. `␠` is a blank that the eye would
/// miss, `→` a tab.
const SAMPLES: &str = r#"
### F180 HTTP/2, names in lower case => 30s
HTTP/2 503␠
server: cloudfront
date: Mon, 30 Nov 2026 12:00:00 GMT
retry-after: 30
x-cache: Error from cloudfront
### F181 HTTP/3 => 4s
HTTP/3 429␠
retry-after: 4
alt-svc: h3=":443"; ma=86400
### F182 curl -v on stderr (marked lines) => 5s
* Connected to api.test (192.0.2.10) port 443
> GET /v1/items HTTP/1.1
> Host: api.test
> Retry-After: 999
>
< HTTP/1.1 503 Service Unavailable
< Date: Mon, 30 Nov 2026 12:00:00 GMT
< Retry-After: 5
<
{ [19 bytes data]
* Connection #0 to host api.test left intact
### F184 wget -S over a redirect => 7s
HTTP request sent, awaiting response...␠
  HTTP/1.0 302 Found
  Location: /b
  Retry-After: 60
Location: /b [following]
HTTP request sent, awaiting response...␠
  HTTP/1.0 503 Service Unavailable
  Retry-After: 7
2026-11-30 12:00:00 ERROR 503: Service Unavailable.
### F186 gh api -i, secondary limit with the field => 60s
HTTP/2.0 403 Forbidden
Date: Mon, 30 Nov 2026 12:00:00 GMT
Retry-After: 60
X-Ratelimit-Limit: 5000
X-Ratelimit-Remaining: 4987
X-Ratelimit-Reset: 1796043000
X-Ratelimit-Resource: core

{"message":"You have exceeded a secondary rate limit."}
gh: You have exceeded a secondary rate limit. (HTTP 403)
### F187 gh api -i, primary limit used up => none
HTTP/2.0 403 Forbidden
Date: Mon, 30 Nov 2026 12:00:00 GMT
X-Ratelimit-Limit: 5000
X-Ratelimit-Remaining: 0
X-Ratelimit-Reset: 1796040754
X-Ratelimit-Used: 5000
### F189 200 with remaining 0 => none
HTTP/2.0 200 OK
X-Ratelimit-Remaining: 0
X-Ratelimit-Reset: 1796040754
### F190 GitLab, all fields => 45s
HTTP/1.1 429 Too Many Requests
RateLimit-Limit: 60
RateLimit-Name: throttle_unauthenticated
RateLimit-Observed: 67
RateLimit-Remaining: 0
RateLimit-Reset: 1796040061
RateLimit-ResetTime: Mon, 30 Nov 2026 12:01:01 GMT
Retry-After: 45
### F191 GitLab, reset only => none
HTTP/1.1 429 Too Many Requests
Date: Mon, 30 Nov 2026 12:00:00 GMT
RateLimit-Remaining: 0
RateLimit-Reset: 1796040061
### F193 IETF draft, structured form => none
HTTP/1.1 429 Too Many Requests
RateLimit-Policy: "default";q=100;w=60
RateLimit: "default";r=0;t=30
### F194 Reset in milliseconds since the epoch => none
HTTP/1.1 429 Too Many Requests
Date: Mon, 30 Nov 2026 12:00:00 GMT
X-RateLimit-Remaining: 0
X-RateLimit-Reset: 1796040012500
### F196 Docker Hub, HEAD on the manifest => none
HTTP/1.1 429 Too Many Requests
ratelimit-limit: 100;w=21600
ratelimit-remaining: 0;w=21600
docker-ratelimit-source: 192.0.2.44
### F197 Container registry with a Go duration => none
Error response from daemon: toomanyrequests: retry-after: 985.86µs, allowed: 44000/minute
### F199 aws cli throttled (exit 254) => none
An error occurred (ThrottlingException) when calling the DescribeStacks operation (reached max retries: 4): Rate exceeded
### F200 OpenAI-like, two fields => 2s
HTTP/2 429␠
retry-after-ms: 1500
retry-after: 2
x-ratelimit-reset-requests: 6m0s
### F201 Cosmos DB-like => none
HTTP/1.1 429 Too Many Requests
x-ms-retry-after-ms: 4200
### F203 Google RPC body => none
{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Please retry in 53.016342224s.","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"53s"}]}}
### F205 Certificate authority, RFC 3339 form => none
acme: error: 429 :: rateLimited :: ... retry after 2026-11-30T18:00:00Z
### F206 kubectl => none
Error from server (TooManyRequests): the server has received too many requests and has asked us to try again later
{"kind":"Status","status":"Failure","reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":429}
### F207 npm => none
npm error code E429
npm error 429 Too Many Requests - GET https://registry.test/left
### F210 IMF-fixdate => 90s
HTTP/1.1 503 Service Unavailable
Date: Mon, 30 Nov 2026 12:00:00 GMT
Retry-After: Mon, 30 Nov 2026 12:01:30 GMT
### F211 RFC 850 date => 90s
HTTP/1.1 503 Service Unavailable
Date: Mon, 30 Nov 2026 12:00:00 GMT
Retry-After: Monday, 30-Nov-26 12:01:30 GMT
### F212 RFC 850, two-digit year far away => none
HTTP/1.1 503 Service Unavailable
Date: Mon, 30 Nov 2026 12:00:00 GMT
Retry-After: Monday, 30-Nov-94 12:00:00 GMT
### F212 the same with the weekday that it was => 0s
HTTP/1.1 503 Service Unavailable
Date: Mon, 30 Nov 2026 12:00:00 GMT
Retry-After: Wednesday, 30-Nov-94 12:00:00 GMT
### F213 asctime date, day padded by a blank => 43200s
HTTP/1.1 503 Service Unavailable
Date: Mon, 30 Nov 2026 12:00:00 GMT
Retry-After: Tue Dec  1 00:00:00 2026
### F214 Date in the past => 0s
HTTP/1.1 503 Service Unavailable
Date: Mon, 30 Nov 2026 12:00:00 GMT
Retry-After: Mon, 30 Nov 2026 11:58:20 GMT
### F215 Date equal to now => 0s
HTTP/1.1 503 Service Unavailable
Date: Mon, 30 Nov 2026 12:00:00 GMT
Retry-After: Mon, 30 Nov 2026 12:00:00 GMT
### F216 Client clock 1 h fast => 20s
HTTP/1.1 503 Service Unavailable
Date: Mon, 30 Nov 2026 11:00:00 GMT
Retry-After: Mon, 30 Nov 2026 11:00:20 GMT
### F217 HTTP-date without a Date field => 20s
HTTP/1.1 503 Service Unavailable
Retry-After: Mon, 30 Nov 2026 12:00:20 GMT
### F220 Zone name UTC, numeric zone, lower case => none
HTTP/1.1 503 Service Unavailable
Date: Mon, 30 Nov 2026 12:00:00 GMT
Retry-After: mon, 30 nov 2026 12:00:20 utc
### F221 ISO 8601 date => none
HTTP/1.1 429 Too Many Requests
Date: Mon, 30 Nov 2026 12:00:00 GMT
Retry-After: 2026-11-30T12:00:20Z
### F222 Negative => none
HTTP/1.1 429 X
Retry-After: -5
### F224 Fraction => 1500ms
HTTP/1.1 429 X
Retry-After: 1.5
### F226 Huge => 999999999999s
HTTP/1.1 429 X
Retry-After: 999999999999
### F227 Beyond 64 bit => forever
HTTP/1.1 429 X
Retry-After: 99999999999999999999999
### F230 Plus sign => none
HTTP/1.1 429 X
Retry-After: +7
### F231 Unit suffix => none
HTTP/1.1 429 X
Retry-After: 7s
### F233 Exponent => none
HTTP/1.1 429 X
Retry-After: 1e1
### F234 inf / nan => none
HTTP/1.1 429 X
Retry-After: inf
### F234 nan => none
HTTP/1.1 429 X
Retry-After: nan
### F234 Infinity => none
HTTP/1.1 429 X
Retry-After: Infinity
### F235 Superscript digit => none
HTTP/1.1 429 X
Retry-After: ²
### F236 Empty value => none
HTTP/1.1 429 X
Retry-After:
### F237 Blanks and tab round the value, none after the colon => 7s
HTTP/1.1 429 X
Retry-After: → 7 →
### F237 none after the colon => 7s
HTTP/1.1 429 X
Retry-After:7
### F239 Blank before the colon => none
HTTP/1.1 429 X
Retry-After : 7
### F240 Folded line => none
HTTP/1.1 429 X
Retry-After:
  7
Server: x
### F242 List => none
HTTP/1.1 429 X
Retry-After: 7, 9
### F243 Redirect chain, wait on the last => 7s
HTTP/1.1 302 Found
Location: /b
Retry-After: 60

HTTP/1.1 429 Too Many Requests
Retry-After: 7
### F245 Proxy's CONNECT block first => 6s
HTTP/1.1 200 Connection established
Proxy-Agent: demo

HTTP/1.1 429 Too Many Requests
Retry-After: 6
### F246 100-continue block first => 6s
HTTP/1.1 100 Continue

HTTP/1.1 503 Service Unavailable
Retry-After: 6
### F247 401 then 429 (auth challenge) => 6s
HTTP/1.1 401 Unauthorized
WWW-Authenticate: Digest realm="x"
Retry-After: 99

HTTP/1.1 429 Too Many Requests
Retry-After: 6
"#;

/// Each sample's name, stream and wait.
fn samples() -> impl Iterator<Item = (&'static str, String, Option<Duration>)> {
    SAMPLES.split("\n### ").skip(1).map(|sample| {
        let (title, stream) = sample.split_once('\n').expect("a title");
        let (name, expected) = title.split_once(" => ").expect("a wait");
        let expected = match expected {
            "none" => None,
            "forever" => Some(Duration::MAX),
            wait => Some(units::parse_duration(wait).expect("a duration")),
        };
        let stream = stream
            .trim_end_matches('\n')
            .replace('␠', " ")
            .replace('→', "\t");
        (name, stream + "\n", expected)
    })
}

#[test]
fn every_sample_of_the_field_gives_its_wait() {
    for (name, stream, expected) in samples() {
        assert_eq!(wait(&crlf(&stream)), expected, "{name}");
    }
}

#[test]
fn bare_line_feeds_end_lines_too() {
    // F251, and all other samples in its manner.
    asks("HTTP/1.1 429 X\nRetry-After: 7\n", Some(s(7)));
    for (name, stream, expected) in samples() {
        assert_eq!(wait(&stream), expected, "{name}");
    }
}

#[test]
fn a_wait_belongs_to_the_attempt_that_was_told_it() {
    // F253: each attempt has its own stream.
    asks("HTTP/1.1 429 X\nRetry-After: 9\n", Some(s(9)));
    asks("curl: (7) Failed to connect\n", None);
}

#[test]
fn a_sample_cut_in_two_anywhere_gives_the_same_wait() {
    for (name, stream, expected) in samples() {
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
    for line in [
        "HTTP/1.1 429 Too Many Requests",
        "HTTP/1.1 429",
        "HTTP/1.1 429 ",
        "HTTP/1.1  429  X",
        "HTTP/2 503",
        "HTTP/10.12 999 X",
        "HTTP/1.1 200 OK",
        "HTTP/1.1 000",
    ] {
        asks(&format!("{line}\nRetry-After: 7\n"), Some(s(7)));
    }
}

#[test]
fn what_is_almost_a_status_line_begins_none() {
    for line in [
        "HTTP/1.1 42 X",
        "HTTP/1.1 4290 X",
        "HTTP/1.1 4x9 X",
        "HTTP/1.1 429\tX",
        "HTTP/1.1 429X",
        "HTTP/1.1\t429 X",
        "HTTP/1.1",
        "HTTP/1.1 ",
        "HTTP/1.1429 X",
        "HTTP/ 429 X",
        "HTTP/.1 429 X",
        "HTTP/1. 429 X",
        "HTTP/1.1.1 429 X",
        "HTTP/x 429 X",
        "HTTP 429 X",
        "http/1.1 429 X",
        "HTTP/1.1 ４２９ X",
        "<HTTP/1.1 429 X",
        "<  HTTP/1.1 429 X",
        "<\tHTTP/1.1 429 X",
        " < HTTP/1.1 429 X",
        "> HTTP/1.1 429 X",
        "* HTTP/1.1 429 X",
        "Retry-After: 7",
    ] {
        for prefix in ["", " ", "< "] {
            asks(&format!("{line}\n{prefix}Retry-After: 7\n"), None);
        }
    }
}

#[test]
fn all_lines_of_a_head_have_its_prefix() {
    for prefix in ["< ", " ", "  ", "\t", " \t "] {
        let head = format!("{prefix}HTTP/1.1 429 X\n{prefix}Server: x\n");
        asks(&format!("{head}{prefix}Retry-After: 7\n"), Some(s(7)));
        asks(&format!("{head}Retry-After: 7\n"), None);
        asks(&format!("{head}> Retry-After: 7\n"), None);
    }
    asks("  HTTP/1.1 429 X\n Retry-After: 7\n", None);
    asks("  HTTP/1.1 429 X\n\tRetry-After: 7\n", None);
    asks("HTTP/1.1 429 X\n< Retry-After: 7\n", None);
    asks("< HTTP/1.1 429 X\n  Retry-After: 7\n", None);
}

#[test]
fn text_before_a_head_is_no_body() {
    for text in [
        "",
        "\n",
        "\n\n",
        "some text\n\n",
        "HTTP\n",
        "<\n",
        "  \n",
        "Content-Length: 99\n\n",
    ] {
        asks(
            &format!("{text}HTTP/1.1 429 X\nRetry-After: 7\n"),
            Some(s(7)),
        );
    }
}

#[test]
fn a_request_is_no_response() {
    asks("> HTTP/1.1 429 X\n> Retry-After: 7\n>\n", None);
    asks("> GET / HTTP/1.1\n> Retry-After: 7\n>\n", None);
    asks("GET / HTTP/1.1\nRetry-After: 7\n\n", None);
}

// ── where a head ends ───────────────────────────────────────────────────────────────────────

#[test]
fn a_head_ends_at_a_blank_line() {
    asks("HTTP/1.1 429 X\n\nRetry-After: 7\n", None);
    asks("  HTTP/1.1 429 X\n  \n  Retry-After: 7\n", None);
    asks("< HTTP/1.1 429 X\n<\n< Retry-After: 7\n", None);
    asks("< HTTP/1.1 429 X\n< \n< Retry-After: 7\n", None);
}

#[test]
fn a_head_with_a_prefix_ends_at_the_first_line_without_it() {
    for line in [
        "",
        "* note",
        "> GET / HTTP/1.1",
        "{ [19 bytes data]",
        "text",
    ] {
        asks(
            &format!("< HTTP/1.1 429 X\n{line}\n< Retry-After: 7\n"),
            None,
        );
        asks(
            &format!("  HTTP/1.1 429 X\n{line}\n  Retry-After: 7\n"),
            None,
        );
        asks(
            &format!("  HTTP/1.1 429 X\n {line}\n  Retry-After: 7\n"),
            None,
        );
    }
}

#[test]
fn a_line_that_only_begins_like_the_mark_of_curl_ends_no_head_of_curl() {
    asks("< HTTP/1.1 429 X\n<x\n< Retry-After: 7\n", Some(s(7)));
    asks("  HTTP/1.1 429 X\n<x\n  Retry-After: 7\n", None);
}

#[test]
fn a_head_ends_with_the_stream() {
    asks("HTTP/1.1 429 X\nRetry-After: 7\n", Some(s(7)));
    asks("< HTTP/1.1 429 X\n< Retry-After: 7\n", Some(s(7)));
}

#[test]
fn a_line_that_is_not_ended_does_not_count() {
    asks("HTTP/1.1 429 X\nRetry-After: 7", None);
    asks(
        "HTTP/1.1 429 X\nRetry-After: 7\nRetry-After: 70",
        Some(s(7)),
    );
    asks(
        "HTTP/1.1 429 X\nRetry-After: 7\n\nHTTP/1.1 200 OK",
        Some(s(7)),
    );
    asks("HTTP/1.1 429 X\nRetry-After: 7\n folded", Some(s(7)));
    assert_eq!(wait("HTTP/1.1 429 X\r\nRetry-After: 7\r"), None);
}

// ── which head decides ──────────────────────────────────────────────────────────────────────

#[test]
fn the_last_head_decides_even_if_it_says_nothing() {
    let first = "HTTP/1.1 429 X\nRetry-After: 60\n";
    asks(
        &format!("{first}\nHTTP/1.1 503 X\nRetry-After: 7\n"),
        Some(s(7)),
    );
    asks(&format!("{first}\nHTTP/1.1 503 X\nServer: x\n"), None);
    asks(&format!("{first}\nHTTP/1.1 503 X\n"), None);
    asks(&format!("{first}< HTTP/1.1 503 X\n"), None);
    asks(&format!("{first}  HTTP/1.1 503 X\n"), None);
}

#[test]
fn a_date_of_an_earlier_head_is_forgotten_with_it() {
    let first = "HTTP/1.1 302 X\nDate: Mon, 30 Nov 2026 11:00:00 GMT\n\n";
    let second = "HTTP/1.1 503 X\nRetry-After: Mon, 30 Nov 2026 12:00:20 GMT\n";
    asks(&format!("{first}{second}"), Some(s(20)));
}

#[test]
fn a_status_line_within_a_head_begins_another() {
    asks(
        "HTTP/1.1 302 X\nRetry-After: 60\nHTTP/1.1 429 X\nRetry-After: 7\n",
        Some(s(7)),
    );
    asks(
        "< HTTP/1.1 302 X\n< Retry-After: 60\n< HTTP/1.1 429 X\n",
        None,
    );
    asks(
        "< HTTP/1.1 302 X\nHTTP/1.1 429 X\nRetry-After: 7\n",
        Some(s(7)),
    );
    asks(
        "HTTP/1.1 302 X\n  HTTP/1.1 429 X\n  Retry-After: 7\n",
        Some(s(7)),
    );
    asks(
        "  HTTP/1.1 302 X\n HTTP/1.1 429 X\n Retry-After: 7\n",
        Some(s(7)),
    );
}

#[test]
fn a_continued_line_does_not_reach_into_the_next_head() {
    asks(
        "HTTP/1.1 302 X\nRetry-After: 60\n\nHTTP/1.1 429 X\n folded\n",
        None,
    );
    asks(
        "HTTP/1.1 429 X\n folded\nRetry-After: 7\nHTTP/1.1 100 X\n folded\n",
        Some(s(7)),
    );
}

#[test]
fn an_interim_response_asks_for_nothing() {
    for status in [100, 103, 199] {
        let interim = format!("HTTP/1.1 {status} X\nRetry-After: 60\n");
        asks(&interim, None);
        asks(&format!("{interim}\n"), None);
        asks(&format!("{interim}\nHTTP/1.1 503 X\n"), None);
        asks(
            &format!("{interim}\nHTTP/1.1 503 X\nRetry-After: 7\n"),
            Some(s(7)),
        );
    }
    asks("HTTP/1.1 200 X\nRetry-After: 7\n", Some(s(7)));
}

#[test]
fn an_interim_response_takes_back_nothing() {
    let first = "HTTP/1.1 429 X\nRetry-After: 7\n";
    asks(&format!("{first}\nHTTP/1.1 100 X\n"), Some(s(7)));
    asks(
        &format!("{first}HTTP/1.1 100 X\nRetry-After: 60\n"),
        Some(s(7)),
    );
    asks(&format!("{first}\nHTTP/1.1 100 X\n\nbody\n"), Some(s(7)));
}

#[test]
fn an_interim_response_does_not_lend_its_date() {
    let interim = "HTTP/1.1 103 X\nDate: Mon, 30 Nov 2026 11:00:00 GMT\n\n";
    let response = "HTTP/1.1 503 X\nRetry-After: Mon, 30 Nov 2026 12:00:20 GMT\n";
    asks(&format!("{interim}{response}"), Some(s(20)));
    asks(&format!("{response}\n{interim}"), Some(s(20)));
}

// ── bodies ──────────────────────────────────────────────────────────────────────────────────

#[test]
fn a_head_in_a_body_is_text() {
    asks(
        "HTTP/1.1 429 X\nRetry-After: 7\n\ntext\nHTTP/1.1 200 OK\nRetry-After: 60\n",
        Some(s(7)),
    );
    asks(
        "HTTP/1.1 429 X\n\n\nHTTP/1.1 200 OK\nRetry-After: 60\n",
        None,
    );
    asks(
        "HTTP/1.1 429 X\n\ntext\n\nHTTP/1.1 200 OK\nRetry-After: 60\n",
        None,
    );
    asks(
        "HTTP/1.1 100 X\n\ntext\nHTTP/1.1 429 X\nRetry-After: 60\n",
        None,
    );
}

#[test]
fn heads_count_again_after_a_body_of_known_length() {
    let first = "HTTP/1.1 302 X\nContent-Length: 5\nRetry-After: 60\n\n";
    let last = "HTTP/1.1 429 X\nRetry-After: 7\n";
    asks(&format!("{first}12345{last}"), Some(s(7)));
    asks(&format!("{first}12345\n{last}"), Some(s(7)));
    asks(&format!("{first}12345text\n\n{last}"), Some(s(7)));
    asks(&format!("{first}1234{last}"), Some(s(60)));
    // It was longer: text before a head.
    asks(&format!("{first}123456{last}"), Some(s(7)));
    asks(&format!("{first}12345< HTTP/1.1 200 X\n"), None);
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
    // As curl does for redirects, challenges and the answer to HEAD.
    for length in ["0", "5", "17", "99999"] {
        let first = format!("HTTP/1.1 302 X\nContent-Length: {length}\nRetry-After: 60\n\n");
        asks(
            &format!("{first}HTTP/1.1 429 X\nRetry-After: 7\n\ntext\n"),
            Some(s(7)),
        );
        asks(
            &format!("{first}< HTTP/1.1 429 X\n< Retry-After: 7\n"),
            Some(s(7)),
        );
    }
}

#[test]
fn a_body_may_be_empty() {
    asks(
        "HTTP/1.1 302 X\nContent-Length: 0\n\ntext\nHTTP/1.1 429 X\nRetry-After: 7\n",
        Some(s(7)),
    );
}

#[test]
fn the_length_of_a_body_counts_only_if_it_is_plain_digits_that_fit() {
    let next = "12345\nHTTP/1.1 429 X\nRetry-After: 7\n";
    for (fields, expected) in [
        ("content-LENGTH:\t 5 ", Some(s(7))),
        ("Content-Length: 005", Some(s(7))),
        ("Content-Length: 5\nContent-Length: x", Some(s(7))),
        ("Content-Length: 99\nContent-Length: 5", Some(s(7))),
        ("Content-Length: +5", None),
        ("Content-Length: -5", None),
        ("Content-Length: 5x", None),
        ("Content-Length: 0x5", None),
        ("Content-Length: 5.0", None),
        ("Content-Length: ５", None),
        ("Content-Length:", None),
        ("Content-Length : 5", None),
        ("Content-Length: 5\n 6", None),
        ("X-Content-Length: 5", None),
        ("Content-Length: 99999999999999999999999", None),
        ("Content-Length: 18446744073709551615", None),
    ] {
        asks(&format!("HTTP/1.1 302 X\n{fields}\n\n{next}"), expected);
    }
}

#[test]
fn the_length_of_one_body_is_not_that_of_another() {
    let first = "HTTP/1.1 302 X\nContent-Length: 5\n\n";
    let last = "12345\nHTTP/1.1 429 X\nRetry-After: 7\n";
    asks(&format!("{first}HTTP/1.1 302 X\n\n{last}"), None);
    asks(&format!("{first}HTTP/1.1 100 X\n\n{last}"), None);
    let interim = "HTTP/1.1 100 X\nContent-Length: 5\n\n";
    asks(&format!("{interim}{last}"), None);
}

#[test]
fn of_what_is_prefixed_in_a_body_only_what_curl_marks_counts() {
    let body = "HTTP/1.1 302 X\nRetry-After: 60\n\ntext\n";
    asks(
        &format!("{body}< HTTP/1.1 429 X\n< Retry-After: 7\n"),
        Some(s(7)),
    );
    asks(
        &format!("{body}\tHTTP/1.1 429 X\n\tRetry-After: 7\n"),
        Some(s(60)),
    );
}

#[test]
fn a_body_goes_on_after_a_head_with_a_prefix() {
    let body = "HTTP/1.1 302 X\n\ntext\n< HTTP/1.1 429 X\n< Retry-After: 7\n";
    let text = "HTTP/1.1 200 OK\nRetry-After: 60\n";
    asks(&format!("{body}<\n{text}"), Some(s(7)));
    asks(&format!("{body}{text}"), Some(s(7)));
}

#[test]
fn no_body_follows_a_head_with_a_prefix() {
    for prefix in ["< ", "  "] {
        asks(
            &format!(
                "{prefix}HTTP/1.1 302 X\n{prefix}Content-Length: 999\n{prefix}\ntext\nHTTP/1.1 429 X\nRetry-After: 7\n"
            ),
            Some(s(7)),
        );
    }
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

// ── fields ──────────────────────────────────────────────────────────────────────────────────

#[test]
fn names_are_read_in_any_case() {
    for name in ["Retry-After", "retry-after", "RETRY-AFTER", "rEtRy-aFtEr"] {
        fields_ask(&format!("{name}: 7\n"), Some(s(7)));
    }
}

#[test]
fn other_names_say_nothing() {
    for name in [
        "Retry-After ",
        "Retry-After\t",
        "Retry-After-Ms",
        "X-Retry-After",
        "Retry_After",
        "RetryAfter",
        "Retry-After\0",
        "Retry-Áfter",
        "X-RateLimit-Reset",
        "",
    ] {
        fields_ask(&format!("{name}: 7\n"), None);
    }
    fields_ask("X: Retry-After: 7\n", None);
    fields_ask("Retry-After 7\n", None);
    fields_ask("Retry-After\n", None);
}

#[test]
fn a_continued_value_is_ignored() {
    fields_ask("Retry-After: 7\n 0\n", None);
    fields_ask("Retry-After: 7\n\t0\n", None);
    fields_ask("Retry-After: 7\n \n", None);
    fields_ask("Retry-After: 7\n 0\n 0\nServer: x\n", None);
    fields_ask("Retry-After: 7\n 0\nRetry-After: 5\n", Some(s(5)));
    fields_ask("Retry-After: 5\nRetry-After: 7\n 0\n", Some(s(5)));
    asks("< HTTP/1.1 429 X\n< Retry-After: 7\n<  0\n", None);
    asks("  HTTP/1.1 429 X\n  Retry-After: 7\n   0\n", None);
}

#[test]
fn another_continued_field_does_no_harm() {
    fields_ask("Retry-After: 7\nServer: x\n y\n", Some(s(7)));
    fields_ask("Retry-After: 7\nno field\n y\n", Some(s(7)));
    fields_ask("Server: x\n y\nRetry-After: 7\n", Some(s(7)));
}

#[test]
fn lines_that_are_no_fields_do_no_harm() {
    fields_ask("no field\nRetry-After: 7\n", Some(s(7)));
    fields_ask(":\nRetry-After: 7\n", Some(s(7)));
    fields_ask(": 5\nRetry-After: 7\n", Some(s(7)));
}

#[test]
fn of_two_fields_the_larger_counts() {
    let later = "Retry-After: Mon, 30 Nov 2026 12:00:20 GMT\n";
    let past = "Retry-After: Mon, 30 Nov 2026 11:00:00 GMT\n";
    fields_ask("Retry-After: 7\nRetry-After: 5\n", Some(s(7)));
    fields_ask("Retry-After: 5\nRetry-After: 7\n", Some(s(7)));
    fields_ask("Retry-After: 7\nRetry-After: x\n", Some(s(7)));
    fields_ask("Retry-After: x\nRetry-After: 7\n", Some(s(7)));
    fields_ask(&format!("{later}{past}"), Some(s(20)));
    fields_ask(&format!("{past}{later}"), Some(s(20)));
    fields_ask(&format!("{past}Retry-After: 7\n"), Some(s(7)));
    fields_ask(&format!("{later}Retry-After: 7\n"), Some(s(20)));
    fields_ask(&format!("Retry-After: 30\n{later}"), Some(s(30)));
}

// ── values ──────────────────────────────────────────────────────────────────────────────────

#[test]
fn seconds_are_read_to_the_millisecond_rounded_up() {
    for (value, expected) in [
        ("0", Some(s(0))),
        ("7", Some(s(7))),
        ("007", Some(s(7))),
        ("86400", Some(s(86_400))),
        ("2.0", Some(s(2))),
        ("0.4", Some(ms(400))),
        ("299.997", Some(ms(299_997))),
        ("1.0001", Some(ms(1_001))),
        ("0.0000000000000001", Some(ms(1))),
        ("1.9990000001", Some(s(2))),
    ] {
        fields_ask(&format!("Retry-After: {value}\n"), expected);
    }
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
    for value in [
        "",
        ".",
        ".5",
        "1.",
        "1..5",
        "1.5.5",
        "-5",
        "-0",
        "+7",
        "7s",
        "7 s",
        "500ms",
        "1m0s",
        "0x10",
        "1e1",
        "1E1",
        "inf",
        "nan",
        "Infinity",
        "7, 9",
        "7,9",
        "7;",
        "7 9",
        "1_000",
        "\"7\"",
        "²",
        "٣",
        "７",
        "7\0",
        "7\u{b}",
        "7\u{a0}",
        "soon",
        "P1D",
        "12:00:20",
        "2026-11-30T12:00:20Z",
        "2026-11-30 12:00:20",
        // Dates that are none.
        "Tue, 30 Nov 2026 12:00:20 GMT",
        "Mon, 31 Nov 2026 12:00:20 GMT",
        "Mon, 30 Nov 2026 24:00:00 GMT",
        "Mon, 30 Nov 2026 12:00:20 UTC",
        "Mon, 30 Nov 2026 12:00:20 +0000",
        "Mon, 30 Nov 2026 12:00:20",
        "30 Nov 2026 12:00:20 GMT",
        "Sun, 30 Nov 1969 12:00:20 GMT",
    ] {
        fields_ask(&format!("Retry-After: {value}\n"), None);
    }
}

#[test]
fn a_date_is_measured_from_the_servers_own_wherever_that_stands() {
    let date = "Date: Mon, 30 Nov 2026 11:00:00 GMT\n";
    let retry = "Retry-After: Mon, 30 Nov 2026 11:00:20 GMT\n";
    fields_ask(&format!("{date}{retry}"), Some(s(20)));
    fields_ask(&format!("{retry}{date}"), Some(s(20)));
    fields_ask(
        &format!("{retry}Server: x\nDATE:{}", &date[5..]),
        Some(s(20)),
    );
    fields_ask(
        &format!("{retry}Date: Monday, 30-Nov-26 11:00:00 GMT\n"),
        Some(s(20)),
    );
    fields_ask(&format!("{retry}{date}Date: nonsense\n"), Some(s(20)));
    let late = "Date: Mon, 30 Nov 2026 23:00:00 GMT\n";
    fields_ask(&format!("{late}{retry}"), Some(s(0)));
}

#[test]
fn of_two_dates_of_the_server_the_last_counts() {
    let retry = "Retry-After: Mon, 30 Nov 2026 12:00:20 GMT\n";
    let (early, late) = (
        "Date: Mon, 30 Nov 2026 11:59:50 GMT\n",
        "Date: Mon, 30 Nov 2026 12:00:10 GMT\n",
    );
    fields_ask(&format!("{early}{late}{retry}"), Some(s(10)));
    fields_ask(&format!("{late}{early}{retry}"), Some(s(30)));
}

#[test]
fn a_date_is_measured_from_the_local_clock_if_the_server_gives_none() {
    let retry = "Retry-After: Mon, 30 Nov 2026 12:00:20 GMT\n";
    fields_ask(retry, Some(s(20)));
    fields_ask(&format!("{retry}Date: nonsense\n"), Some(s(20)));
    fields_ask(&format!("{retry}Date: 5\n"), Some(s(20)));
    fields_ask(
        &format!("{retry}Date: Mon, 30 Nov 2026 11:00:00 GMT\n folded\n"),
        Some(s(20)),
    );
    fields_ask(
        &format!("{retry}X-Date: Mon, 30 Nov 2026 11:00:00 GMT\n"),
        Some(s(20)),
    );
}

#[test]
fn a_leap_second_is_the_60th_of_its_minute_in_all_forms() {
    let date = "Date: Thu, 31 Dec 2026 23:59:50 GMT\n";
    for leap in [
        "Thu, 31 Dec 2026 23:59:60 GMT",
        "Thursday, 31-Dec-26 23:59:60 GMT",
        "Thu Dec 31 23:59:60 2026",
    ] {
        fields_ask(&format!("{date}Retry-After: {leap}\n"), Some(s(10)));
        let after = "Retry-After: Fri, 01 Jan 2027 00:00:07 GMT\n";
        fields_ask(&format!("Date: {leap}\n{after}"), Some(s(7)));
    }
    fields_ask(
        &format!("{date}Retry-After: Thu Dec  3 23:59:60 2026\n"),
        Some(s(0)),
    );
    fields_ask(
        "Date: Fri, 31 Dec 9999 23:59:50 GMT\nRetry-After: Fri, 31 Dec 9999 23:59:60 GMT\n",
        Some(s(10)),
    );
    for none in [
        "Thu, 31 Dec 2026 23:59:61 GMT",
        "Thu, 31 Dec 2026 23:60:60 GMT",
        "Thu, 31 Dec 2026 23:60:00 GMT",
        "Fri, 31 Dec 2026 23:59:60 GMT",
        "Thu, 31 Dec 2026 23:59:60 UTC",
        "Thu, 31 Dec 2026 23:59:60",
        "Thu, 31 Dec 2026 23:59:60 :60 GMT",
        ":60 ",
    ] {
        fields_ask(&format!("{date}Retry-After: {none}\n"), None);
    }
}

#[test]
fn a_date_may_be_the_last_that_there_is() {
    fields_ask(
        "Date: Thu, 01 Jan 1970 00:00:00 GMT\nRetry-After: Fri, 31 Dec 9999 23:59:59 GMT\n",
        Some(s(253_402_300_799)),
    );
    fields_ask(
        "Date: Fri, 31 Dec 9999 23:59:59 GMT\nRetry-After: Thu, 01 Jan 1970 00:00:00 GMT\n",
        Some(s(0)),
    );
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
        let mut heads = Heads::default();
        heads.feed(format!("HTTP/1.1 429 X\n{fields}\n").as_bytes());
        let wait = heads.wait(|| panic!("the clock was asked for {fields:?}"));
        assert_eq!(wait, expected);
    }
}

// ── heads behind what stands unfinished on the line ─────────────────────────────────────────

/// What curl draws, or puts first, on the line on which a marked head begins or goes on.
const DRAWN: &[&str] = &[
    "\r  0     0    0     0    0     0      0      0 --:--:--  0:00:02 --:--:--     0",
    "\r  0     0    0     0    0     0      0      0 --:--:--  0:00:01 --:--:--     0\r  0     0    0     0    0     0      0      0 --:--:--  0:00:02 --:--:--     0",
    "\r 12 1234M   12  150M    0    12  9999k   1234  2d 03h  0:00:02  1d 02h 12.3M",
    "\r####                  20.0%",
    "\r                       0.0%",
    "\r##O#-#                                                                       ",
    "\r-=O=-     #     #     #",
    "  0     0    0",
    "12:00:00.000001 ",
    "12:00:00.000001 [0-0] ",
    "12:00:00.000001 [0-x] ",
    "[1-23] ",
    "\r  0     0    0     0    0     0      0      0 --:--:--  0:00:02 --:--:--     012:00:00.000001 [0-0] ",
    "some text\r",
    "some text\r  0 --:--:-- 0",
    "\x1b[1m\r  0\x1b[0m ",
];

#[test]
fn a_head_of_curl_begins_and_goes_on_behind_what_curl_draws() {
    for drawn in DRAWN {
        let head = "< HTTP/1.1 429 X\n< Server: x\n< Retry-After: 7\n< \n< Retry-After: 9\n";
        asks(&format!("{drawn}{head}"), Some(s(7)));
        let field = |name: &str| head.replace(&format!("< {name}"), &format!("{drawn}< {name}"));
        asks(&field("Server"), Some(s(7)));
        asks(&field("Retry-After"), Some(s(7)));
        asks(&field(""), Some(s(7)));
        asks(&field("\n"), Some(s(7)));
        asks(&field("").replace("< \n", "<\n"), Some(s(7)));
        // The last head decides here, too, and what is sent is none.
        let first = "HTTP/1.1 302 X\nRetry-After: 60\n\n";
        asks(&format!("{first}{drawn}< HTTP/1.1 429 X\n"), None);
        asks(&field("").replace('<', ">"), None);
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

#[test]
fn what_curl_does_not_draw_begins_no_head_of_curl() {
    for text in [
        "x",
        "x ",
        " ",
        "\t",
        "if 1",
        "1a2 ",
        "ok ",
        "> ",
        "* ",
        "< ",
        "12:00 web: ",
        "[a b] ",
    ] {
        asks(&format!("{text}< HTTP/1.1 429 X\n< Retry-After: 7\n"), None);
        asks(
            &format!("< HTTP/1.1 429 X\n{text}{{ Retry-After: 7\n"),
            None,
        );
        asks(
            &format!("< HTTP/1.1 429 X\n{text}\n< Retry-After: 7\n"),
            None,
        );
    }
}

#[test]
fn what_curl_draws_does_not_make_a_field_of_another_line() {
    for drawn in DRAWN {
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
    // Some of the blanks may be the text's.
    asks("fetching   HTTP/1.1 429 X\nRetry-After: 7\n", Some(s(7)));
    asks(
        "fetching   HTTP/1.1 429 X\n  Retry-After: 7\n   folded\n",
        None,
    );
    asks("fetching HTTP/1.1 429 X\n  Retry-After: 7\n", None);
}

#[test]
fn a_head_behind_text_ends_as_others_do() {
    let head = "fetching HTTP/1.1 429 X\nServer: x\n";
    asks(&format!("{head}\nRetry-After: 7\n"), None);
    asks(
        &format!("{head}Retry-After: 7\n\ntext\nHTTP/1.1 429 X\nRetry-After: 9\n"),
        Some(s(7)),
    );
    let indented = "fetching  HTTP/1.1 429 X\n  Server: x\n";
    asks(&format!("{indented}text\n  Retry-After: 7\n"), None);
}

#[test]
fn a_line_that_merely_quotes_a_status_is_no_head() {
    let first = "  HTTP/1.1 302 X\n  Retry-After: 7\n\n";
    for next in [
        "",
        "\n",
        "done\n",
        "7: x\n",
        ": x\n",
        "x y: z\n",
        "https://example.com/\n",
        "(x): y\n",
        "< Server: x\n",
        "> Host: x\n",
        "* Server: x\n",
    ] {
        let quote = format!("upstream said HTTP/1.1 429\n{next}");
        asks(&format!("{first}{quote}"), Some(s(7)));
        if !next.is_empty() {
            asks(&format!("{quote}Retry-After: 9\n"), None);
            asks(&format!("{first}{quote}Retry-After: 9\n"), Some(s(7)));
        }
    }
    // Within a head it is a line of no meaning.
    let head = "HTTP/1.1 429 X\nRetry-After: 7\nupstream said HTTP/1.1 200 OK\n";
    asks(&format!("{head}text\nServer: x\n"), Some(s(7)));
    asks("upstream said HTTP/1.1 429", None);
    asks("upstream said HTTP/1.1 429\nRetry-After: 7", None);
}

#[test]
fn a_status_in_a_field_begins_no_head() {
    for value in [
        "HTTP/1.1 200 OK",
        "\"HTTP/1.1 200 OK\"",
        "a HTTP/1.1 200 OK",
        "\n a HTTP/1.1 200 OK",
        "\n\ta HTTP/1.1 200 OK",
    ] {
        fields_ask(&format!("X-Origin: {value}\nRetry-After: 7\n"), Some(s(7)));
        fields_ask(
            &format!("Retry-After: 7\nX-Origin: {value}\nServer: x\n"),
            Some(s(7)),
        );
    }
    asks(
        "< HTTP/1.1 429 X\n< Retry-After: 7\n< X: HTTP/1.1 200 OK\n< Server: x\n",
        Some(s(7)),
    );
    asks(
        "  HTTP/1.1 429 X\n  Retry-After: 7\n  X: HTTP/1.1 200 OK\n  Server: x\n",
        Some(s(7)),
    );
}

#[test]
fn text_in_a_body_begins_no_head() {
    let head = "HTTP/1.1 429 X\nRetry-After: 7\n\n";
    asks(
        &format!("{head}text HTTP/1.1 200 OK\nServer: x\n"),
        Some(s(7)),
    );
    asks(
        &format!("{head}text\ntext HTTP/1.1 200 OK\nServer: x\n"),
        Some(s(7)),
    );
    asks(
        &format!("{head}\rtext HTTP/1.1 200 OK\ntext\nServer: x\nHTTP/1.1 200 OK\n"),
        Some(s(7)),
    );
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
    for drawn in &DRAWN[..8] {
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
    // Of a body that begins like that all is passed over.
    let body = "\rHTTP/1.1 200 OK\n\rx\n";
    let head = format!("HTTP/1.1 302 X\nContent-Length: {}\n\n{body}", body.len());
    assert_eq!(
        wait(&format!("{head}HTTP/1.1 429 X\nRetry-After: 7\n")),
        Some(s(7))
    );
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

// ── foreign bytes ───────────────────────────────────────────────────────────────────────────

#[test]
fn colours_are_skipped() {
    for stream in [
        "\x1b[1mHTTP/1.1\x1b[0m 429 X\n\x1b[1mRetry-After\x1b[0m: \x1b[38;5;7m7\x1b[m\n",
        "\x1b[34mHTTP\x1b[39;49;00m/1.1 \x1b[1;31m429\x1b[0m\n\x1b[36mRetry-After:\x1b[0m 7\n",
        "< \x1b[1mHTTP/2 429\n\x1b[32m< Retry-After: 7\n",
        " \x1b[1m HTTP/2 429\n  \x1b[?25lRetry-After: 7\x1b[0 q\n",
        "HTTP/2 429\nRetry-After: 7\n\x1b[0m\nRetry-After: 9\n",
        "text \x1b[\nHTTP/2 429\nRetry-After: 7\n",
        "\x1b[2KHTTP/2 429\nRetry\x1b[@-After: 7\x1b[3~\n",
    ] {
        asks(stream, Some(s(7)));
    }
    assert_eq!(
        wait("HTTP/2 429\r\x1b[0m\nRetry-After: 7\r\x1b[0m\n"),
        Some(s(7))
    );
}

#[test]
fn what_is_no_colour_is_not_skipped() {
    for value in [
        "\x1b7",
        "7\x1b",
        "7\x1b[1\x7f",
        "7\x1b[1\x07m",
        "7\x1b[é",
        "7\x1b(B",
        "7[0m",
        "7\x1b\x1b[0m",
    ] {
        fields_ask(&format!("Retry-After: {value}\n"), None);
    }
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
    // Of a body each byte counts.
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
    // What `curl -i` writes on a terminal.
    let stream = "HTTP/1.1 429\r\r\n\x1b[1mRetry-After\x1b[0m: 7\r\r\n\r\r\nRetry-After: 9\r\r\n";
    assert_eq!(wait(stream), Some(s(7)));
    assert_eq!(wait("HTTP/1.1 429\rRetry-After: 7\r\n"), None);
    assert_eq!(wait("HTTP/1.1 429\r\nRetry-After: \r7\r\n"), None);
    assert_eq!(wait("HTTP/1.1 429\n\rRetry-After: 7\r\n"), None);
}

// ── long lines ──────────────────────────────────────────────────────────────────────────────

/// A line of so many bytes, its end not counted.
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
        let mut heads = Heads::default();
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
    let mut heads = Heads::default();
    heads.feed(b"HTTP/1.1 429 X\nRetry-After: 7\nX: ");
    for _ in 0..10 {
        heads.feed(&vec![b'\r'; 1 << 20]);
        assert_eq!(heads.line.bytes.capacity(), 0);
    }
    heads.feed(b"\nRetry-After: 9\n");
    assert_eq!(heads.wait(noon), Some(s(9)));
}

// ── properties ──────────────────────────────────────────────────────────────────────────────

/// Pieces of streams of which most are about to be something.
const FRAGMENTS: &[&[u8]] = &[
    b"HTTP/1.1 429 X\n",
    b"HTTP/1.1 100 Continue\r\n",
    b"HTTP/2 503 \r\n",
    b"HTTP/1.1 ",
    b"HTTP/",
    b"429",
    b"< HTTP/1.1 503 X\r\n",
    b"  HTTP/1.1 302 X\n",
    b"Retry-After: 7\r\n",
    b"Retry-After: 0.25\n",
    b"retry-after: Mon, 30 Nov 2026 12:00:20 GMT\n",
    b"Retry-After",
    b"Date: Mon, 30 Nov 2026 11:00:00 GMT\n",
    b"Content-Length: 7\n",
    b"Content-Length: 20\r\n",
    b"Content-Length: 0\n",
    b": ",
    b"< ",
    b"<",
    b"> ",
    b"  ",
    b" ",
    b"\t",
    b"\n",
    b"\r\n",
    b"\n\n",
    b"\r\n\r\n",
    b"<\n",
    b"\r",
    b"\x1b[1m",
    b"\x1b[",
    b"\x1b",
    b"m",
    b"{\"a\":1}",
    b"7",
    b"text\n",
    b"\0",
    b"\xff",
    b"\xc2\xb2",
    b"\r  0     0 --:--:--  0:00:02     0",
    b"12:00:00.000001 [0-0] ",
    b"text HTTP/1.1 429 X\r\n",
    b"Server: x\r\n",
    b"\x1b]0;",
    b"\x1b\\",
    b"\x07",
];

fn nasty_stream() -> impl Strategy<Value = Vec<u8>> {
    stream_of(FRAGMENTS.to_vec())
}

/// A stream in which nothing after a body can be taken for it.
fn stream_without_lengths() -> impl Strategy<Value = Vec<u8>> {
    let fragments = FRAGMENTS.iter().copied();
    stream_of(
        fragments
            .filter(|text| !text.starts_with(b"Content-Length"))
            .collect(),
    )
}

fn stream_of(fragments: Vec<&'static [u8]>) -> impl Strategy<Value = Vec<u8>> {
    let fragments = prop::collection::vec(select(fragments), 0..24);
    fragments.prop_map(|fragments| fragments.concat())
}

/// The stream in pieces whose lengths go round.
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
        drawn in prop::collection::vec(select(DRAWN), 9),
        lengths in prop::collection::vec(1..9_usize, 1..6),
    ) {
        let line = |(drawn, line): (&str, &&str)| [drawn, line, "\r\n"].concat();
        let plain: String = lines.iter().map(|text| line(("", text))).collect();
        let behind: String = drawn.iter().copied().zip(&lines).map(line).collect();
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
