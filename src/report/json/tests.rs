use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use proptest::prelude::*;
use serde_json::Value;
use snapbox::prelude::*;
use snapbox::{assert_data_eq, str};

use super::*;
use crate::cli::{self, Request};
use crate::engine;
use crate::patterns::Matched;
use crate::policy::{Policy, Reason};
use crate::rehearsal::{Rehearsal, Step};
use crate::signal::Signal;
use crate::status::{Ending, FaultClass, Outcome, StartFault};

#[path = "../../../tests/it/schema.rs"]
mod schema;

const RUN_ID: &str = "00112233445566778899aabbccddeeff";

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn stamp(elapsed: Duration) -> Stamp {
    Stamp {
        time: "2026-11-30T12:00:00.000Z".into(),
        elapsed,
    }
}

/// An attempt of 100 ms.
fn step(ending: impl Into<Ending>) -> Step {
    Step {
        takes: ms(100),
        ending: ending.into(),
    }
}

fn exits(code: u8) -> Step {
    step(Outcome::Exited(code))
}

fn signal(name: &str) -> Signal {
    Signal::from_name(name).expect("a signal")
}

fn cannot_start(class: FaultClass) -> Step {
    let reason = "for a test".into();
    step(Outcome::NotStarted(StartFault { class, reason }))
}

fn matched(matched: Matched, code: u8) -> Step {
    step(Ending {
        matched,
        ..Outcome::Exited(code).into()
    })
}

fn asked(seconds: u64) -> Step {
    step(Ending {
        server_wait: Some(Duration::from_secs(seconds)),
        ..Outcome::Exited(22).into()
    })
}

fn job_of(words: impl IntoIterator<Item = OsString>) -> Job {
    match cli::alone(words) {
        Ok(Request::Run(job)) => *job,
        other => panic!("no job: {other:?}"),
    }
}

fn job(flags: &str) -> Job {
    let words = ["retry"]
        .into_iter()
        .chain(flags.split_whitespace())
        .chain(["--", "cmd"]);
    job_of(words.map(OsString::from))
}

/// The log of a run in virtual time, every draw of which is a half. Each line is valid.
fn log(job: &Job, mut world: Rehearsal) -> String {
    let mut json = Json::new(job, RUN_ID, 4711);
    let mut lines = json.start(&stamp(Duration::ZERO));
    let mut last = Duration::ZERO;
    let mut emit = |event: &Event<'_>| {
        last = match event {
            Event::Starting { at, .. } => *at,
            Event::Ended(ended, _) => ended.total,
            Event::TooLate { total, .. } | Event::Interrupted { total, .. } => *total,
            _ => last,
        };
        lines.extend(json.line(event, &stamp(last)));
    };
    let end = engine::run(&job.policy, &mut world, &mut || 0.5, &mut emit);
    lines += &json.end(Ok(end.expect("a virtual world")), &stamp(last));
    schema::lines(&lines);
    lines
}

/// The same without what is the same in every line.
fn short_log(flags: &str, world: Rehearsal) -> String {
    let head = format!(r#""time":"{}","#, stamp(Duration::ZERO).time);
    let who = format!(r#","run_id":"{RUN_ID}","pid":4711"#);
    let log = log(&job(flags), world).replace(&head, "").replace(&who, "");
    let (start, rest) = log.split_once('\n').expect("a first line");
    assert!(start.starts_with(r#"{"event":"start","schema":1,"#));
    rest.to_owned()
}

#[track_caller]
fn check(flags: &str, steps: Vec<Step>, expected: impl IntoData) {
    let log = short_log(flags, Rehearsal::new(steps));
    assert_data_eq!(log, expected.into_data().raw());
}

/// The lines of this kind.
fn events(flags: &str, steps: Vec<Step>, kind: &str) -> Vec<Value> {
    let log = log(&job(flags), Rehearsal::new(steps));
    let lines = schema::lines(&log).into_iter();
    lines.filter(|line| line["event"] == kind).collect()
}

/// The last line of this kind.
fn last(flags: &str, steps: Vec<Step>, kind: &str) -> Value {
    events(flags, steps, kind).pop().expect("a line")
}

#[test]
fn a_log_tells_the_rules_each_attempt_each_delay_and_the_end() {
    let job = job("-a 3 --base 1s --jitter none");
    let log = log(&job, Rehearsal::new(vec![exits(7), exits(7), exits(0)]));
    assert_data_eq!(log, str![[r#"
{"event":"start","schema":1,"time":"2026-11-30T12:00:00.000Z","elapsed_ms":0,"run_id":"00112233445566778899aabbccddeeff","pid":4711,"program":"cmd","max_attempts":3,"max_retries":2,"policy":{"backoff":"exponential","factor":"2","base_ms":1000,"cap_ms":30000,"jitter":"none","deadline_ms":null,"timeout_ms":null,"idle_timeout_ms":null,"reserve_ms":0,"retry_on":null,"stop_on":null,"success_on":null,"patterns":{"retry_if":0,"stop_if":0,"success_if":0,"fail_if":0},"retry_after":false,"retry_after_max_ms":null,"stdin":"auto","stdout":"stream","budget":null,"before_retry":false}}
{"event":"attempt","time":"2026-11-30T12:00:00.000Z","elapsed_ms":100,"run_id":"00112233445566778899aabbccddeeff","pid":4711,"attempt":1,"outcome":"exit","code":7,"duration_ms":100,"retryable":true,"reason":"retry","rule":"default","silent":false,"server_wait_ms":null,"deadline_left_ms":null}
{"event":"delay","time":"2026-11-30T12:00:00.000Z","elapsed_ms":100,"run_id":"00112233445566778899aabbccddeeff","pid":4711,"attempt":1,"delay_ms":1000,"ceiling_ms":1000,"source":"local","deadline_left_ms":null}
{"event":"attempt","time":"2026-11-30T12:00:00.000Z","elapsed_ms":1200,"run_id":"00112233445566778899aabbccddeeff","pid":4711,"attempt":2,"outcome":"exit","code":7,"duration_ms":100,"retryable":true,"reason":"retry","rule":"default","silent":false,"server_wait_ms":null,"deadline_left_ms":null}
{"event":"delay","time":"2026-11-30T12:00:00.000Z","elapsed_ms":1200,"run_id":"00112233445566778899aabbccddeeff","pid":4711,"attempt":2,"delay_ms":2000,"ceiling_ms":2000,"source":"local","deadline_left_ms":null}
{"event":"attempt","time":"2026-11-30T12:00:00.000Z","elapsed_ms":3300,"run_id":"00112233445566778899aabbccddeeff","pid":4711,"attempt":3,"outcome":"success","code":0,"duration_ms":100,"retryable":false,"reason":"success","rule":null,"silent":false,"server_wait_ms":null,"deadline_left_ms":null}
{"event":"end","time":"2026-11-30T12:00:00.000Z","elapsed_ms":3300,"run_id":"00112233445566778899aabbccddeeff","pid":4711,"outcome":"success","reason":"success","exit_status":0,"attempts":3,"retries":2,"amplification":3,"total_ms":3300,"slept_ms":3000,"server_waits":0,"deadline_exhausted":false}

"#]].raw());
}

#[test]
fn a_log_tells_why_there_is_no_other_attempt() {
    check(
        "-a 2 --base 10ms --jitter none",
        vec![exits(7)],
        str![[r#"
{"event":"attempt","elapsed_ms":100,"attempt":1,"outcome":"exit","code":7,"duration_ms":100,"retryable":true,"reason":"retry","rule":"default","silent":false,"server_wait_ms":null,"deadline_left_ms":null}
{"event":"delay","elapsed_ms":100,"attempt":1,"delay_ms":10,"ceiling_ms":10,"source":"local","deadline_left_ms":null}
{"event":"attempt","elapsed_ms":210,"attempt":2,"outcome":"exit","code":7,"duration_ms":100,"retryable":true,"reason":"attempts","rule":"default","silent":false,"server_wait_ms":null,"deadline_left_ms":null}
{"event":"end","elapsed_ms":210,"outcome":"exit","reason":"attempts","exit_status":7,"attempts":2,"retries":1,"amplification":2,"total_ms":210,"slept_ms":10,"server_waits":0,"deadline_exhausted":false}

"#]],
    );
}

#[test]
fn a_log_tells_what_was_left_of_the_deadline() {
    check(
        "--base 1s --jitter none --deadline 5s --timeout 2s",
        vec![Step {
            takes: Duration::MAX,
            ending: Outcome::Exited(0).into(),
        }],
        str![[r#"
{"event":"attempt","elapsed_ms":2000,"attempt":1,"outcome":"timed_out","duration_ms":2000,"retryable":true,"reason":"retry","rule":"default","silent":false,"server_wait_ms":null,"deadline_left_ms":3000}
{"event":"delay","elapsed_ms":2000,"attempt":1,"delay_ms":1000,"ceiling_ms":1000,"source":"local","deadline_left_ms":3000}
{"event":"attempt","elapsed_ms":5000,"attempt":2,"outcome":"timed_out","duration_ms":2000,"retryable":true,"reason":"deadline","rule":"default","silent":false,"server_wait_ms":null,"deadline_left_ms":0}
{"event":"end","elapsed_ms":5000,"outcome":"timed_out","reason":"deadline","exit_status":124,"attempts":2,"retries":1,"amplification":2,"total_ms":5000,"slept_ms":1000,"server_waits":0,"deadline_exhausted":true}

"#]],
    );
}

#[test]
fn a_log_tells_of_a_signal_during_a_delay_and_what_was_slept_until_then() {
    let world = Rehearsal::new(vec![step(Outcome::Killed(Signal::KILL))]);
    let world = world.interrupted(ms(400), signal("TERM"));
    assert_data_eq!(short_log("--base 1s --jitter none", world), str![[r#"
{"event":"attempt","elapsed_ms":100,"attempt":1,"outcome":"signal","signal":9,"signal_name":"SIGKILL","duration_ms":100,"retryable":true,"reason":"retry","rule":"default","silent":false,"server_wait_ms":null,"deadline_left_ms":null}
{"event":"delay","elapsed_ms":100,"attempt":1,"delay_ms":1000,"ceiling_ms":1000,"source":"local","deadline_left_ms":null}
{"event":"end","elapsed_ms":400,"outcome":"signal","reason":"signal","exit_status":143,"signal_name":"SIGTERM","attempts":1,"retries":0,"amplification":1,"total_ms":400,"slept_ms":300,"server_waits":0,"deadline_exhausted":false}

"#]].raw());
}

#[test]
fn a_log_tells_which_delays_are_the_servers() {
    check(
        "-a 3 --base 10ms --cap 10ms --jitter none --retry-after output",
        vec![asked(1), exits(22)],
        str![[r#"
{"event":"attempt","elapsed_ms":100,"attempt":1,"outcome":"exit","code":22,"duration_ms":100,"retryable":true,"reason":"retry","rule":"default","silent":false,"server_wait_ms":1000,"deadline_left_ms":null}
{"event":"delay","elapsed_ms":100,"attempt":1,"delay_ms":1000,"ceiling_ms":10,"source":"retry-after","deadline_left_ms":null}
{"event":"attempt","elapsed_ms":1200,"attempt":2,"outcome":"exit","code":22,"duration_ms":100,"retryable":true,"reason":"retry","rule":"default","silent":false,"server_wait_ms":null,"deadline_left_ms":null}
{"event":"delay","elapsed_ms":1200,"attempt":2,"delay_ms":10,"ceiling_ms":10,"source":"local","deadline_left_ms":null}
{"event":"attempt","elapsed_ms":1310,"attempt":3,"outcome":"exit","code":22,"duration_ms":100,"retryable":true,"reason":"attempts","rule":"default","silent":false,"server_wait_ms":null,"deadline_left_ms":null}
{"event":"end","elapsed_ms":1310,"outcome":"exit","reason":"attempts","exit_status":22,"attempts":3,"retries":2,"amplification":3,"total_ms":1310,"slept_ms":1010,"server_waits":1,"deadline_exhausted":false}

"#]],
    );
}

#[test]
fn the_first_line_tells_the_options_as_they_are_meant() {
    let flags = "-a inf --backoff linear --base 1.5ms --cap 999999999999999999999w --jitter .125 \
        --deadline 1h --timeout 2m --idle-timeout 3s --reserve 4s --retry-on 1,5-9 --stop-on 2 \
        --success-on TERM --retry-if a --retry-if b --stop-if c --success-if d --fail-if e \
        --retry-after stdout --retry-after-max 0 --stdin replay --stdout once --shared x \
        --budget 3 --before-retry x --seed 18446744073709551615";
    let log = log(&job(flags), Rehearsal::new(vec![exits(0)]));
    let start = log.lines().next().expect("a line").to_owned();
    assert_data_eq!(start, str![[r#"{"event":"start","schema":1,"time":"2026-11-30T12:00:00.000Z","elapsed_ms":0,"run_id":"00112233445566778899aabbccddeeff","pid":4711,"program":"cmd","max_attempts":"inf","max_retries":"inf","policy":{"backoff":"linear","factor":null,"base_ms":2,"cap_ms":9007199254740991,"jitter":"12.5%","deadline_ms":3600000,"timeout_ms":120000,"idle_timeout_ms":3000,"reserve_ms":4000,"retry_on":"1,5-9","stop_on":"2","success_on":"TERM","patterns":{"retry_if":2,"stop_if":1,"success_if":1,"fail_if":1},"retry_after":true,"retry_after_max_ms":0,"stdin":"replay","stdout":"once","budget":3,"before_retry":true,"seed":"18446744073709551615"}}"#]].raw());
    for (flags, curve, factor, jitter) in [
        ("", "exponential", Value::from("2"), "full"),
        (
            "--factor 1.50 --jitter equal",
            "exponential",
            Value::from("1.5"),
            "equal",
        ),
        (
            "--jitter decorrelated",
            "exponential",
            Value::from("2"),
            "decorrelated",
        ),
        (
            "--backoff constant --jitter 20%",
            "constant",
            Value::Null,
            "20%",
        ),
    ] {
        let policy = &last(flags, vec![exits(0)], "start")["policy"];
        assert_eq!(
            (&policy["backoff"], &policy["factor"], &policy["jitter"]),
            (&curve.into(), &factor, &jitter.into())
        );
        assert_eq!(policy.get("seed"), None);
    }
}

/// Compares how the last attempt is told: outcome, code or signal, whether it is worth a retry, why
/// there is no other, and by which rule.
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
        "signal - 2 false not_retryable default",
    );
    told(
        "--timeout 10ms",
        exits(0),
        "timed_out - - true attempts default",
    );
    let short = cannot_start(FaultClass::Shortage);
    told("", short, "not_started - - true attempts default");
    let not_found = cannot_start(FaultClass::NotFound);
    told("", not_found, "not_started - - false not_retryable default");
    let left_behind = step(Ending {
        left_behind: Some(99),
        ..Outcome::TimedOut.into()
    });
    told("", left_behind, "timed_out - - false left_behind null");
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
        input_eaten: true,
        ..Outcome::Exited(7).into()
    });
    told("-a 2", eaten, "exit 7 - true stdin default");
    let stopped = step(Ending {
        interrupted: Some(signal("TERM")),
        ..Outcome::Exited(0).into()
    });
    told("", stopped, "exit 0 - false signal null");
    let flags = "--retry-after output -a 2";
    told(flags, asked(301), "exit 22 - true retry_after default");
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
        "exit 7 - false not_retryable --stop-on",
    );
    told(
        "--retry-on 7",
        exits(7),
        "exit 7 - true attempts --retry-on",
    );
    told(
        "--retry-on 8",
        exits(7),
        "exit 7 - false not_retryable --retry-on",
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
        "exit 7 - false not_retryable --stop-if",
    );
    told(
        "--retry-if x",
        exits(7),
        "exit 7 - false not_retryable --retry-if",
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

#[test]
fn what_a_server_asked_for_and_what_fell_silent_is_told_with_the_attempt() {
    let line = last(
        "--retry-after output --deadline 5s",
        vec![asked(20)],
        "attempt",
    );
    assert_eq!(
        (&line["server_wait_ms"], &line["reason"]),
        (&20_000.into(), &"deadline".into())
    );
    assert_eq!(
        (&line["silent"], &line["deadline_left_ms"]),
        (&false.into(), &4_900.into())
    );
    let silent = step(Ending {
        by_silence: true,
        ..Outcome::TimedOut.into()
    });
    let line = last("-a 1", vec![silent], "attempt");
    assert_eq!(
        (&line["silent"], &line["server_wait_ms"]),
        (&true.into(), &Value::Null)
    );
    let line = last("-a 1", vec![cannot_start(FaultClass::NotFound)], "attempt");
    assert_eq!(line["error"], "for a test");
}

#[test]
fn attempts_are_what_one_call_has_become() {
    for (attempts, retries) in [(1, 0), (2, 1), (5, 4)] {
        let end = last(&format!("-a {attempts} --base 0"), vec![exits(1)], "end");
        let counts = ["attempts", "retries", "amplification"].map(|word| end[word].clone());
        assert_eq!(counts, [attempts, retries, attempts].map(Value::from));
        assert_eq!(end["total_ms"], 100 * attempts);
    }
}

#[test]
fn a_deadline_is_exhausted_where_it_was_reached_or_left_no_room() {
    let hangs = || {
        vec![Step {
            takes: Duration::MAX,
            ..exits(0)
        }]
    };
    for (flags, steps, reason, exhausted) in [
        (
            "--deadline 1s --base 2s --jitter none",
            vec![exits(1)],
            "deadline",
            true,
        ),
        ("--deadline 1s", hangs(), "deadline", true),
        ("--deadline 1s -a 1", hangs(), "attempts", true),
        ("--deadline 1s --retry-on 1", hangs(), "not_retryable", true),
        ("--deadline 1s -a 1", vec![exits(1)], "attempts", false),
        ("--deadline 100ms", vec![exits(0)], "success", false),
        ("-a 1", vec![exits(1)], "attempts", false),
    ] {
        let end = last(flags, steps, "end");
        assert_eq!(
            (&end["reason"], &end["deadline_exhausted"]),
            (&reason.into(), &exhausted.into()),
            "{flags}"
        );
    }
}

/// What is logged when these things happen after a failed attempt, which ends after 100 ms and is
/// to be followed by a delay of 1 s. The run exits by itself, after 700 ms.
fn after_failure(flags: &str, happens: &[(u64, Event<'_>)], exit: Result<Exit, &str>) -> String {
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

/// Reason, exit status, what was slept, and the number of attempts of the end line.
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
        (1, "exit before_retry 7 1000 1".into())
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
        (100, Event::BudgetUnusable(reason())),
        (100, Event::BudgetRebuilt),
        (100, Event::LogUnusable(reason())),
        (200, Event::Waiting(ms(900))),
        (200, Event::Ignored(Signal::USR1)),
        (200, Event::Forwarded(Signal::USR1)),
        (200, Event::LimitReached(Signal::KILL)),
        (200, Event::Killed),
    ];
    let log = after_failure("", &happens, Err("x"));
    let log = log.replace(&format!(r#","run_id":"{RUN_ID}","pid":1"#), "");
    assert_data_eq!(log, str![[r#"
{"event":"warning","time":"2026-11-30T12:00:00.000Z","elapsed_ms":100,"kind":"nested","message":"runs inside another retry, so that attempts multiply"}
{"event":"warning","time":"2026-11-30T12:00:00.000Z","elapsed_ms":100,"kind":"input_spent","message":"what was read from the pipe on stdin is gone; --stdin replay keeps it for the next attempt"}
{"event":"warning","time":"2026-11-30T12:00:00.000Z","elapsed_ms":100,"kind":"heads_unreadable","message":"the file of --retry-after cannot be read: for a test"}
{"event":"warning","time":"2026-11-30T12:00:00.000Z","elapsed_ms":100,"kind":"budget_unusable","message":"retries are not bounded by --budget: the file of --shared cannot be used: for a test"}
{"event":"warning","time":"2026-11-30T12:00:00.000Z","elapsed_ms":100,"kind":"budget_rebuilt","message":"the file of --shared was damaged; its budget begins anew"}
{"event":"warning","time":"2026-11-30T12:00:00.000Z","elapsed_ms":100,"kind":"log_unusable","message":"the file of --log cannot be written: for a test"}
{"event":"end","time":"2026-11-30T12:00:00.000Z","elapsed_ms":700,"outcome":"exit","reason":"error","error":"x","exit_status":125,"attempts":1,"retries":0,"amplification":1,"total_ms":700,"slept_ms":600,"server_waits":0,"deadline_exhausted":false}

"#]].raw());
}

#[test]
fn a_spent_budget_is_a_reason_of_its_own() {
    let job = job("--retry-on 7");
    let ending = Outcome::Exited(7).into();
    let ended = Ended {
        attempt: 1,
        ending: &ending,
        took: ms(1),
        total: ms(1),
    };
    let decision = Decision::Stop(Reason::Budget);
    let mut json = Json::new(&job, RUN_ID, 1);
    let line = json.line(&Event::Ended(ended, &decision), &stamp(ms(1)));
    let line = schema::lines(&line.expect("a line")).pop().expect("a line");
    assert_eq!(
        (&line["reason"], &line["rule"]),
        (&"budget".into(), &"--retry-on".into())
    );
    assert_eq!(line["retryable"], true);
    let end = json.end(Ok(Policy::exit(&ending, &decision)), &stamp(ms(1)));
    assert!(
        end.contains(r#""outcome":"exit","reason":"budget","exit_status":7,"#),
        "{end}"
    );
}

#[test]
fn milliseconds_are_rounded_half_up_and_never_too_large_for_a_reader() {
    for (nanos, shown) in [
        (0, 0),
        (499_999, 0),
        (500_000, 1),
        (1_499_999, 1),
        (1_500_000, 2),
    ] {
        assert_eq!(millis(Duration::from_nanos(nanos)), shown);
    }
    assert_eq!(millis(Duration::MAX), (1 << 53) - 1);
    let job = job("-a 99999999999999999999 --cap 99999999999999w --timeout 99999999999999w");
    let log = log(&job, Rehearsal::new(vec![exits(0)]));
    assert!(log.contains(r#""max_attempts":9007199254740991,"max_retries":9007199254740991,"#));
    assert!(log.contains(r#""timeout_ms":9007199254740991,"#), "{log}");
}

#[test]
fn nothing_that_may_be_a_secret_is_ever_logged() {
    const SECRET: &str = "s3cr3t";
    let words = [
        "retry",
        "--before-retry=echo s3cr3t",
        "--retry-if=s3cr3t|7",
        "--stop-if=stdout:s3cr3t",
        "--success-if=s3cr3t",
        "--fail-if=s3cr3t",
        "--retry-after=@/s3cr3t/heads",
        "--shared=/s3cr3t/budget",
        "--log=/s3cr3t/log",
        "--deadline=10s",
        "--base=1s",
        "--",
        "/s3cr3t/curl\t-u s3cr3t",
        "-u",
        "s3cr3t",
    ];
    let job = job_of(words.map(OsString::from));
    let all = Matched {
        retry_if: Some(0),
        ..Matched::default()
    };
    let found = [
        all,
        Matched {
            stop_if: Some(0),
            ..all
        },
        Matched {
            success_if: Some(0),
            ..all
        },
        Matched {
            fail_if: Some(0),
            ..all
        },
        Matched::default(),
    ];
    for found in found {
        let steps = vec![asked(1), matched(all, 1), matched(found, 1)];
        let log = log(&job, Rehearsal::new(steps));
        assert!(!log.contains(SECRET), "{log}");
        assert!(log.contains(r#""program":"curl","#), "{log}");
    }
}

#[test]
fn a_name_is_text_on_one_line_whatever_is_in_it() {
    for (name, shown) in [
        ("/bin/a\"b\\c", r#""a\"b\\c""#),
        ("a\u{1b}[31mb", r#""a\\u{1b}[31mb""#),
        ("a\u{202e}b", r#""a\\u{202e}b""#),
        ("a\u{2028}b", r#""a\\u{2028}b""#),
        ("a\nb", r#""a""#),
        ("gr\u{fc}n", "\"gr\u{fc}n\""),
        ("", r#""''""#),
    ] {
        let job = job_of(["retry", "--", name].map(OsString::from));
        let log = log(&job, Rehearsal::new(vec![exits(0)]));
        assert!(log.contains(&format!(r#""program":{shown},"#)), "{log}");
    }
}

#[test]
fn the_schema_knows_every_field_and_needs_every_field() {
    let steps = vec![
        asked(1),
        step(Outcome::Killed(Signal::KILL)),
        cannot_start(FaultClass::Busy),
    ];
    let flags = "-a 3 --retry-after output --base 0 --deadline 1h";
    let mut lines = schema::lines(&log(&job(flags), Rehearsal::new(steps)));
    let warned = after_failure("", &[(1, Event::Nested)], Err("x"));
    lines.extend(schema::lines(&warned));
    assert_eq!(lines.len(), 9);
    for line in lines {
        let Value::Object(fields) = &line else {
            panic!("no object: {line}");
        };
        for name in fields.keys() {
            let mut fewer = fields.clone();
            fewer.remove(name);
            assert!(
                schema::fault(&fewer.into()).is_some(),
                "{name} may be missing from {line}"
            );
            let mut other = fields.clone();
            other.insert(name.clone(), Value::Array(Vec::new()));
            assert!(
                schema::fault(&other.into()).is_some(),
                "{name} may be anything in {line}"
            );
        }
        let mut more = fields.clone();
        more.insert("more".into(), Value::Null);
        assert!(
            schema::fault(&more.into()).is_some(),
            "there may be more in {line}"
        );
    }
}

proptest! {
    #[test]
    fn no_name_breaks_a_line(name in prop::collection::vec(1..=255_u8, 0..100)) {
        let words = ["retry", "--"].map(OsString::from);
        let job = job_of(words.into_iter().chain([OsString::from_vec(name)]));
        let log = log(&job, Rehearsal::new(vec![exits(1), exits(0)]));
        prop_assert_eq!(log.lines().count(), 5);
    }

    #[test]
    fn every_run_is_logged_whole(
        flags in "(-a [1-9] )?(--deadline [1-9]s )?(--timeout [1-9]s )?--base [0-9]{1,3}ms",
        codes in prop::collection::vec((0..9_u8, 0..3_000_u64), 1..6),
        at in 0..9_000_u64,
    ) {
        let steps = codes.into_iter().map(|(code, takes)| Step { takes: ms(takes), ..exits(code) });
        let world = Rehearsal::new(steps.collect()).interrupted(ms(at), signal("HUP"));
        let log = log(&job(&flags), world);
        let lines = schema::lines(&log);
        let count = |kind: &str| lines.iter().filter(|line| line["event"] == kind).count();
        let (attempts, delays) = (count("attempt"), count("delay"));
        prop_assert_eq!((count("start"), count("end")), (1, 1));
        prop_assert_eq!(lines.len(), attempts + delays + 2);
        let end = &lines[lines.len() - 1];
        prop_assert_eq!(&end["attempts"], attempts);
        prop_assert!(delays == attempts || delays == attempts - 1);
        let number = |line: &Value, field: &str| line[field].as_u64().unwrap_or_default();
        let planned: u64 = lines.iter().map(|line| number(line, "delay_ms")).sum();
        prop_assert!(number(end, "slept_ms") <= planned + delays as u64);
        let took: u64 = lines.iter().map(|line| number(line, "duration_ms")).sum();
        prop_assert!(number(end, "slept_ms").abs_diff(number(end, "total_ms") - took) <= 1 + attempts as u64);
    }
}
