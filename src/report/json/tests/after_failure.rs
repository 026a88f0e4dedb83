//! The log of events after a failed attempt.

use super::*;

/// Returns the log of these events after a failed attempt, which ends after 100 ms and should be
/// followed by a delay of 1 s. The run exits by itself, after 700 ms.
pub(super) fn after_failure(
    flags: &str,
    happens: &[(u64, Event<'_>)],
    exit: Result<Exit, &str>,
) -> String {
    let job = job(&format!("--base 1s --jitter none {flags}"));
    let mut json = Json::new(&job, RUN_ID, 1);
    let ending = Outcome::Exited(7).into();
    let mut history = crate::policy::History::new(&job.policy);
    let decision = job.policy.decide(&mut history, &ending, ms(100), 0.5);
    let ended = Ended {
        attempt: 1,
        ending: &ending,
        took: ms(100),
        total: ms(100),
    };
    let starting = Event::Starting {
        attempt: 1,
        at: Duration::ZERO,
    };
    let mut lines: String = json
        .line(&starting, &stamp(Duration::ZERO))
        .into_iter()
        .collect();
    lines.extend(json.line(&Event::Ended(ended, &decision), &stamp(ms(100))));
    assert_eq!(lines.lines().count(), 2, "{lines}");
    let mut lines = String::new();
    for (at, event) in happens {
        lines.extend(json.line(event, &stamp(ms(*at))));
    }
    lines += &json.end(exit, &stamp(ms(700)));
    schema::lines(&lines);
    lines
}

/// Returns the outcome, reason, exit status, time slept and number of attempts of the end line.
fn ending(log: &str) -> String {
    let end = schema::lines(log).pop().expect("a line");
    let words = ["outcome", "reason", "exit_status", "slept_ms", "attempts"];
    words
        .map(|word| end[word].to_string())
        .join(" ")
        .replace('"', "")
}

#[test]
fn what_is_to_run_before_a_retry_and_fails_is_why_the_run_ends() {
    let hook = Outcome::Exited(3).into();
    let failed = |at| {
        let total = ms(at);
        (
            at,
            Event::HookFailed {
                ending: &hook,
                attempt: 1,
                total,
            },
        )
    };
    let log = after_failure("--before-retry x", &[failed(2_000)], Ok(Exit::Code(7)));
    assert_eq!(
        (log.lines().count(), ending(&log)),
        (1, "exit before-retry 7 1000 1".into())
    );
}

#[test]
fn what_was_really_slept_is_counted_but_not_what_runs_before_a_retry() {
    let code = Ok(Exit::Code(7));
    let late = |at| {
        (
            at,
            Event::TooLate {
                attempt: 1,
                total: ms(at),
            },
        )
    };
    assert_eq!(
        ending(&after_failure("", &[late(1_500)], code)),
        "exit deadline 7 1400 1"
    );
    let killed = |at| {
        let signal = signal("TERM");
        (
            at,
            Event::Interrupted {
                signal,
                attempt: 1,
                total: ms(at),
            },
        )
    };
    let exit = Ok(Exit::Raise(signal("TERM")));
    assert_eq!(
        ending(&after_failure("", &[killed(350)], exit)),
        "exit signal 143 250 1"
    );
    let hook = "--before-retry x";
    assert_eq!(
        ending(&after_failure(hook, &[killed(350)], exit)),
        "exit signal 143 250 1"
    );
    assert_eq!(
        ending(&after_failure(hook, &[killed(3_000)], exit)),
        "exit signal 143 1000 1"
    );
}

#[test]
fn an_attempt_that_was_not_ended_is_counted_and_its_outcome_is_not_known() {
    let starting = (
        1_100,
        Event::Starting {
            attempt: 2,
            at: ms(1_100),
        },
    );
    let failed = Err("cannot wait: for a test");
    let log = after_failure("", &[starting], failed);
    assert_eq!(ending(&log), "null error 125 1000 2");
    assert!(
        log.contains(r#""error":"cannot wait: for a test","#),
        "{log}"
    );
}

#[test]
fn a_run_that_never_got_to_an_attempt_ends_all_the_same() {
    let job = job("");
    let line = Json::new(&job, RUN_ID, 1).end(Err("x"), &stamp(ms(1)));
    assert_eq!(ending(&line), "error error 125 0 0");
}

#[test]
fn warnings_are_lines_and_steps_are_not() {
    let reason = || "for a test".to_owned();
    let happens = [
        (100, Event::Nested),
        (100, Event::InputSpent),
        (100, Event::HeadsUnreadable(reason())),
        (100, Event::NoRoomForOutput(reason())),
        (100, Event::OutputLost(reason())),
        (100, Event::BudgetUnusable(reason())),
        (100, Event::BudgetRebuilt),
        (100, Event::SlotsUnusable(reason())),
        (100, Event::SlotInherited),
        (150, Event::SlotAwaited(4)),
        (100, Event::LogUnusable(reason())),
        (200, Event::Waiting(ms(900))),
        (200, Event::Ignored(Signal::USR1)),
        (200, Event::Forwarded(Signal::USR1)),
        (200, Event::LimitReached(Signal::KILL)),
        (200, Event::Killed),
    ];
    let log = after_failure("", &happens, Err("x"));
    let log = log.replace(&format!(r#","run_id":"{RUN_ID}","pid":1"#), "");
    assert_data_eq!(
        log,
        snapbox::file!["../logs/warnings_are_lines_and_steps_are_not.txt"].raw()
    );
}
