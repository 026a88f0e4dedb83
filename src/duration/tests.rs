use std::time::Duration;

use proptest::prelude::*;

use super::*;

#[track_caller]
fn reads(text: &str, nanos: u64) {
    assert_eq!(
        parse_duration(text),
        Ok(Duration::from_nanos(nanos)),
        "{text}"
    );
}

#[test]
fn durations_are_read_as_people_write_them() {
    reads("500ms", 500_000_000);
    reads("1.5s", 1_500_000_000);
    reads(".5s", 500_000_000);
    reads("5.s", 5_000_000_000);
    reads("1m 30s", 90_000_000_000);
    reads("1m30s", 90_000_000_000);
    reads("  2h  ", 7_200_000_000_000);
    reads("1.5h", 5_400_000_000_000);
    reads("0.333h", 1_198_800_000_000);
    reads("1d", 86_400_000_000_000);
    reads("1w", 604_800_000_000_000);
    reads("3us 4ns", 3004);
    reads("5 s", 5_000_000_000);
    reads("0", 0);
    reads("0s", 0);
}

#[test]
fn a_bare_number_is_seconds() {
    reads("5", 5_000_000_000);
    reads("0.25", 250_000_000);
    reads(".5", 500_000_000);
}

#[test]
fn what_is_no_duration_is_refused() {
    for text in [
        "", " ", ".", "s", "0,3s", "-1s", "+1s", "nan", "1e3s", "inf", "5M", "5y", "1 month",
        "5min", "5sec", "5S", "5H", "1m 30", "30 1m", "1..5s", "1.5.s", "٣s", "²", "5 5", "1s,",
        "0x10s", "1_000s", "５s", "µs", "5µs", "1s\0",
    ] {
        assert!(
            parse_duration(text).is_err(),
            "'{text}' was read as a duration"
        );
    }
}

#[test]
fn what_is_too_large_saturates() {
    for text in [
        "99999999999999999999999w",
        "18446744073709551616s",
        &"9".repeat(500),
    ] {
        assert_eq!(parse_duration(text), Ok(Duration::MAX), "{text}");
    }
    assert!(parse_duration("99999999h") < Ok(Duration::MAX));
}

#[test]
fn a_positive_duration_never_becomes_the_zero_that_means_no_limit() {
    assert_eq!(
        parse_limit("0.1ns"),
        Ok(Limit(Some(Duration::from_nanos(1))))
    );
    assert_eq!(
        parse_limit("0.0000000000000001s"),
        Ok(Limit(Some(Duration::from_nanos(1))))
    );
}

#[test]
fn zero_and_inf_are_no_limit() {
    for text in ["0", "0s", "0ms", "inf", " inf "] {
        assert_eq!(parse_limit(text), Ok(Limit(None)), "{text}");
    }
    assert_eq!(parse_limit("1s"), Ok(Limit(Some(Duration::from_secs(1)))));
}

#[track_caller]
fn shows(nanos: u64, text: &str) {
    assert_eq!(Shown(Duration::from_nanos(nanos)).to_string(), text);
}

#[test]
fn durations_are_shown_short_and_rounded_half_up() {
    shows(0, "0ms");
    shows(499_999, "0ms");
    shows(500_000, "1ms");
    shows(340_000_000, "340ms");
    shows(999_499_999, "999ms");
    shows(999_500_000, "1.00s");
    shows(1_600_000_000, "1.60s");
    shows(9_994_999_999, "9.99s");
    shows(9_995_000_000, "10.0s");
    shows(25_500_000_000, "25.5s");
    shows(12_750_000_000, "12.8s");
    shows(19_125_000_000, "19.1s");
    shows(59_949_999_999, "59.9s");
    shows(59_950_000_000, "1m 0s");
    shows(65_500_000_000, "1m 6s");
    shows(3_599_499_999_999, "59m 59s");
    shows(3_599_500_000_000, "1h 0m");
    shows(7_500_000_000_000, "2h 5m");
    shows(104_857_600_000_000, "29h 8m");
}

proptest! {
    #![proptest_config(crate::many_cases())]

    #[test]
    fn no_text_makes_a_parser_panic(text in ".*") {
        let _ = parse_duration(&text);
        let _ = parse_limit(&text);
    }

    #[test]
    fn no_text_that_is_almost_a_number_makes_a_parser_panic(text in "[-+0-9.%a-z ]{0,40}") {
        let _ = parse_duration(&text);
    }

    #[test]
    fn any_duration_can_be_shown(seconds in any::<u64>(), nanos in 0..1_000_000_000_u32) {
        let shown = Shown(Duration::new(seconds, nanos)).to_string();
        prop_assert!(shown.ends_with(['s', 'm']));
    }

    #[test]
    fn whole_milliseconds_are_read_back_exactly(ms in 0..10_u64.pow(15)) {
        prop_assert_eq!(parse_duration(&format!("{ms}ms")), Ok(Duration::from_millis(ms)));
    }
}
