//! The log of an attempt: its outcome, why no other follows, the rule that decided.

use super::*;

/// Compares the log of the last attempt: outcome, code or signal, whether it is worth a retry, why
/// no other follows, and by which rule.
#[track_caller]
fn told(flags: &str, step: Step, expected: &str) {
    let line = last(&format!("-a 1 {flags}"), vec![step], "attempt");
    let words = ["outcome", "code", "signal", "retryable", "reason", "rule"];
    let words = words.map(|word| line.get(word).map_or("-".into(), Value::to_string));
    assert_eq!(words.join(" ").replace('"', ""), expected);
}

#[test]
fn every_way_to_end_is_told() {
    let died_of = |signal| step(Outcome::Killed(signal));
    told("", exits(0), "success 0 - false success null");
    told("", exits(7), "exit 7 - true attempts default");
    told("", exits(124), "exit 124 - true attempts default");
    told(
        "",
        died_of(Signal::KILL),
        "signal - 9 true attempts default",
    );
    told(
        "",
        died_of(Signal::INT),
        "signal - 2 false not retryable default",
    );
    told(
        "--timeout 10ms",
        exits(0),
        "timed_out - - true attempts default",
    );
    let short = cannot_start(FaultClass::Shortage);
    told("", short, "not_started - - true attempts default");
    let not_found = cannot_start(FaultClass::NotFound);
    told("", not_found, "not_started - - false not retryable default");
    let left_behind = step(Ending {
        left_behind: Some(99),
        ..Outcome::TimedOut.into()
    });
    told("", left_behind, "timed_out - - false left behind null");
    let undelivered = step(Ending {
        undelivered: true,
        ..Outcome::Exited(0).into()
    });
    told(
        "--deadline 1s",
        undelivered,
        "exit 0 - false undelivered null",
    );
    let eaten = step(Ending {
        input_lost: true,
        ..Outcome::Exited(7).into()
    });
    told("-a 2", eaten, "exit 7 - true stdin default");
    let stopped = step(Ending {
        interrupted: Some(signal("TERM")),
        ..Outcome::Exited(0).into()
    });
    told("", stopped, "exit 0 - false signal null");
    let flags = "--retry-after output -a 2";
    told(flags, asked(301), "exit 22 - true retry-after default");
    let flags = "--retry-after output -a 2 --deadline 5s";
    told(flags, asked(20), "exit 22 - true deadline default");
}

#[test]
fn the_list_that_decided_is_told() {
    let term = step(Outcome::Killed(signal("TERM")));
    told(
        "--success-on 7",
        exits(7),
        "success 7 - false success --success-on",
    );
    told(
        "--success-on TERM",
        term,
        "success - 15 false success --success-on",
    );
    told(
        "--stop-on 7",
        exits(7),
        "exit 7 - false not retryable --stop-on",
    );
    told(
        "--retry-on 7",
        exits(7),
        "exit 7 - true attempts --retry-on",
    );
    told(
        "--retry-on 8",
        exits(7),
        "exit 7 - false not retryable --retry-on",
    );
    let flags = "--retry-on timeout --retry-if x --timeout 10ms";
    told(flags, exits(0), "timed_out - - true attempts --retry-on");
}

#[test]
fn the_pattern_that_decided_is_told() {
    let nothing = Matched::default();
    let found = Some(0);
    let success = matched(
        Matched {
            success_if: found,
            ..nothing
        },
        7,
    );
    told(
        "--success-if x",
        success,
        "success 7 - false success --success-if",
    );
    let failure = matched(
        Matched {
            fail_if: found,
            ..nothing
        },
        0,
    );
    told("--fail-if x", failure, "exit 0 - true attempts --fail-if");
    let stop = matched(
        Matched {
            stop_if: found,
            ..nothing
        },
        7,
    );
    told(
        "--stop-if x",
        stop,
        "exit 7 - false not retryable --stop-if",
    );
    told(
        "--retry-if x",
        exits(7),
        "exit 7 - false not retryable --retry-if",
    );
    let worth = matched(
        Matched {
            retry_if: found,
            ..nothing
        },
        7,
    );
    told(
        "--retry-if x",
        worth.clone(),
        "exit 7 - true attempts --retry-if",
    );
    told(
        "--retry-on 7 --retry-if x",
        worth,
        "exit 7 - true attempts --retry-if",
    );
}
