use proptest::prelude::*;

use super::*;

#[test]
fn attempts_are_a_count_of_at_least_one_or_inf() {
    assert_eq!(Attempts::parse("1"), Ok(Attempts::AtMost(1)));
    assert_eq!(Attempts::parse("inf"), Ok(Attempts::Unlimited));
    assert_eq!(
        Attempts::parse("18446744073709551615"),
        Ok(Attempts::AtMost(u64::MAX))
    );
    for text in [
        "0",
        "00",
        "",
        "-1",
        "+1",
        "1.5",
        "x",
        "Inf",
        "٣",
        "18446744073709551616",
        "99999999999999999999",
    ] {
        assert!(
            Attempts::parse(text).is_err(),
            "'{text}' was read as a count"
        );
    }
}

#[test]
fn factors_are_plain_numbers_of_at_least_one() {
    for text in ["1", "2", "1.5", "1.0", "1000000000"] {
        assert!(Factor::parse(text).is_ok(), "{text}");
    }
    for text in [
        "0",
        "0.5",
        ".9",
        "0.999999999",
        "-2",
        "nan",
        "inf",
        "1e3",
        "",
        "2x",
        "1,5",
    ] {
        assert!(
            Factor::parse(text).is_err(),
            "'{text}' was read as a factor"
        );
    }
}

#[test]
fn shares_are_percentages_or_fractions_up_to_all() {
    for (text, of_1000) in [
        ("20%", 200),
        ("0.2", 200),
        ("0", 0),
        ("0%", 0),
        ("100%", 1000),
        ("1", 1000),
        (".5", 500),
        ("12.5%", 125),
        ("20 %", 200),
    ] {
        assert_eq!(
            Share::parse(text).map(|share| share.of(1000)),
            Some(of_1000),
            "{text}"
        );
    }
    for text in [
        "", "%", "101%", "1.01", "20", "-5%", "abc", "20%%", "1e1%", "inf", "nan",
    ] {
        assert!(Share::parse(text).is_none(), "'{text}' was read as a share");
    }
}

#[test]
fn factors_and_shares_are_shown_as_they_are_best_written() {
    for (written, shown) in [
        ("2", "2"),
        ("1.50", "1.5"),
        ("1.000000001", "1.000000001"),
        ("10.", "10"),
    ] {
        let factor = Factor::parse(written).expect("a factor");
        assert_eq!(factor.to_string(), shown);
    }
    for (written, shown) in [
        ("20%", "20%"),
        (".125", "12.5%"),
        ("1", "100%"),
        ("0", "0%"),
        (".000000001", "0.0000001%"),
    ] {
        let share = Share::parse(written).expect("a share");
        assert_eq!(share.to_string(), shown);
    }
}

proptest! {
    #![proptest_config(crate::many_cases())]

    #[test]
    fn no_text_makes_a_parser_panic(text in prop_oneof![".*", "[-+0-9.%a-z ]{0,40}"]) {
        let _ = Attempts::parse(&text);
        let _ = Factor::parse(&text);
        let _ = Share::parse(&text);
    }
}
