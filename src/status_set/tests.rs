use proptest::prelude::*;

use super::*;
use crate::status::FaultClass;
use crate::status::tests::{killed, not_started};

fn set(list: &str) -> StatusSet {
    StatusSet::parse(list).expect("a list")
}

#[track_caller]
fn matches(list: &str, outcomes: &[Outcome]) {
    for outcome in outcomes {
        assert!(set(list).holds(outcome), "{list} does not hold '{outcome}'");
    }
}

#[track_caller]
fn matches_none(list: &str, outcomes: &[Outcome]) {
    for outcome in outcomes {
        assert!(!set(list).holds(outcome), "{list} holds '{outcome}'");
    }
}

#[test]
fn codes_and_ranges_match_exit_codes() {
    use Outcome::Exited;
    matches(
        "1,5-9,75",
        &[Exited(1), Exited(5), Exited(7), Exited(9), Exited(75)],
    );
    matches_none(
        "1,5-9,75",
        &[Exited(0), Exited(2), Exited(4), Exited(10), Exited(255)],
    );
    matches("0-255", &[Exited(0), Exited(128), Exited(255)]);
    matches(" 1 , 2 ", &[Exited(1), Exited(2)]);
}

#[test]
fn any_is_every_code_but_success() {
    matches(
        "any",
        &[Outcome::Exited(1), Outcome::Exited(255), killed("KILL")],
    );
    matches_none(
        "ANY",
        &[
            Outcome::Exited(0),
            Outcome::TimedOut,
            not_started(FaultClass::Busy),
        ],
    );
}

#[test]
fn codes_from_129_also_mean_death_by_that_signal() {
    matches("137", &[Outcome::Exited(137), killed("KILL")]);
    matches(
        "129-192",
        &[
            killed("KILL"),
            killed("TERM"),
            killed("SEGV"),
            killed("HUP"),
        ],
    );
    matches_none("137", &[killed("TERM")]);
    matches_none("1-128", &[killed("HUP"), killed("KILL")]);
}

#[test]
fn a_signal_name_also_means_128_and_its_number() {
    for list in ["SIGKILL", "kill", "KILL", "SigKill"] {
        matches(list, &[killed("KILL"), Outcome::Exited(137)]);
        matches_none(
            list,
            &[killed("TERM"), Outcome::Exited(143), Outcome::Exited(9)],
        );
    }
    matches("RTMIN+1", &[killed("RTMIN+1")]);
}

#[test]
fn deaths_that_somebody_asked_for_match_only_when_named_or_given_singly() {
    for (name, code) in [("INT", "130"), ("QUIT", "131"), ("PIPE", "141")] {
        matches_none("any", &[killed(name)]);
        matches_none("1-255", &[killed(name)]);
        matches_none("signal", &[killed(name)]);
        matches(name, &[killed(name)]);
        matches(code, &[killed(name)]);
    }
    // An ordinary exit with such a code has nothing to do with signals.
    matches("any", &[Outcome::Exited(130), Outcome::Exited(141)]);
}

#[test]
fn a_time_out_is_meant_by_its_word_alone() {
    matches("timeout", &[Outcome::TimedOut]);
    matches_none("any,signal,spawn,124,0-255,TERM,KILL", &[Outcome::TimedOut]);
    matches_none("timeout", &[Outcome::Exited(124)]);
}

#[test]
fn spawn_means_start_faults_that_pass_and_no_others() {
    matches(
        "spawn",
        &[
            not_started(FaultClass::Busy),
            not_started(FaultClass::Shortage),
        ],
    );
    matches_none(
        "spawn",
        &[
            not_started(FaultClass::NotFound),
            not_started(FaultClass::NotExecutable),
        ],
    );
    matches_none(
        "any,125,126",
        &[
            not_started(FaultClass::Busy),
            not_started(FaultClass::Shortage),
        ],
    );
}

#[test]
fn what_is_no_list_is_refused() {
    for list in [
        "",
        " ",
        ",",
        "1,",
        ",1",
        "1,,2",
        "256",
        "999999999999",
        "9-5",
        "5-",
        "-5",
        "1-2-3",
        "1..5",
        "1 2",
        "foo",
        "SIG",
        "SIGFOO",
        "RTMIN+99",
        "1;2",
        "0x1",
        "1-256",
        "²",
        "٣",
        "any-5",
        "+1",
    ] {
        assert!(
            StatusSet::parse(list).is_err(),
            "'{list}' was read as a list"
        );
    }
}

#[test]
fn a_range_that_runs_backwards_is_shown_the_right_way_round() {
    let error = StatusSet::parse("9-5").expect_err("a range that runs backwards");
    assert_eq!(error, "the range '9-5' runs backwards; write 5-9");
}

#[test]
fn sets_can_be_taken_from_each_other_until_nothing_is_left() {
    assert!(!set("1-5").without(&set("1-4")).is_empty());
    assert!(set("1-5").without(&set("1-9")).is_empty());
    assert!(set("137").without(&set("KILL")).is_empty());
    assert!(
        set("timeout,spawn,signal")
            .without(&set("spawn,timeout,signal"))
            .is_empty()
    );
    assert!(
        !StatusSet::default_retryable()
            .without(&set("any"))
            .is_empty()
    );
    assert!(
        StatusSet::default_retryable()
            .without(&set("any,signal,timeout,spawn"))
            .is_empty()
    );
}

proptest! {
    #![proptest_config(crate::many_cases())]

    #[test]
    fn no_text_makes_the_list_parser_panic(text in ".*") {
        let _ = StatusSet::parse(&text);
    }

    #[test]
    fn no_text_that_is_almost_a_list_makes_the_parser_panic(text in "[-+,0-9A-Za-z ]{0,30}") {
        let _ = StatusSet::parse(&text);
    }

    #[test]
    fn a_range_holds_what_lies_in_it(one in any::<u8>(), other in any::<u8>(), code in any::<u8>()) {
        let (low, high) = (one.min(other), one.max(other));
        let held = set(&format!("{low}-{high}")).holds(&Outcome::Exited(code));
        prop_assert_eq!(held, (low..=high).contains(&code));
    }
}
