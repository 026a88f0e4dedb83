mod after_failure;
mod told;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use proptest::prelude::*;
use serde_json::Value;
use snapbox::assert_data_eq;
use snapbox::prelude::*;

use super::*;
use crate::cli::{self, Request};
use crate::engine;
use crate::patterns::Matched;
use crate::policy::{Policy, Reason};
use crate::report::reason;
use crate::signal::Signal;
use crate::simulation::{Script, Step};
use crate::status::{Ending, FaultClass, Outcome, StartFault};
use after_failure::after_failure;

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

/// A step of 100 ms.
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

/// Returns the log of a run in virtual time, in which every draw is 0.5. Each line is validated.
fn log(job: &Job, mut world: Script) -> String {
    let mut json = Json::new(job, RUN_ID, 4711);
    let mut lines = json.start(&stamp(Duration::ZERO));
    let mut last = Duration::ZERO;
    let mut emit = |event: &Event<'_>| {
        last = match event {
            Event::Starting { at, .. } => *at,
            Event::Ended(ended, _) => ended.total,
            Event::TooLate { total, .. }
            | Event::NoSlot { total, .. }
            | Event::Interrupted { total, .. } => *total,
            _ => last,
        };
        lines.extend(json.line(event, &stamp(last)));
    };
    let end = engine::run(&job.policy, &mut world, &mut || 0.5, &mut emit);
    lines += &json.end(Ok(end.expect("a virtual world")), &stamp(last));
    schema::lines(&lines);
    lines
}

/// The same without the fields that are equal in every line.
fn short_log(flags: &str, world: Script) -> String {
    let head = format!(r#""time":"{}","#, stamp(Duration::ZERO).time);
    let who = format!(r#","run_id":"{RUN_ID}","pid":4711"#);
    let log = log(&job(flags), world).replace(&head, "").replace(&who, "");
    let (start, rest) = log.split_once('\n').expect("a first line");
    assert!(start.starts_with(r#"{"event":"start","schema":1,"#));
    rest.to_owned()
}

#[track_caller]
fn check(flags: &str, steps: Vec<Step>, expected: impl IntoData) {
    let log = short_log(flags, Script::new(steps));
    assert_data_eq!(log, expected.into_data().raw());
}

/// Returns the lines of this kind.
fn events(flags: &str, steps: Vec<Step>, kind: &str) -> Vec<Value> {
    let log = log(&job(flags), Script::new(steps));
    let lines = schema::lines(&log).into_iter();
    lines.filter(|line| line["event"] == kind).collect()
}

/// Returns the last line of this kind.
fn last(flags: &str, steps: Vec<Step>, kind: &str) -> Value {
    events(flags, steps, kind).pop().expect("a line")
}

#[test]
fn a_log_tells_the_rules_each_attempt_each_delay_and_the_end() {
    let job = job("-a 3 --base 1s --jitter none");
    let log = log(&job, Script::new(vec![exits(7), exits(7), exits(0)]));
    assert_data_eq!(
        log,
        snapbox::file!["logs/a_log_tells_the_rules_each_attempt_each_delay_and_the_end.txt"].raw()
    );
}

#[test]
fn a_log_tells_why_there_is_no_other_attempt() {
    check(
        "-a 2 --base 10ms --jitter none",
        vec![exits(7)],
        snapbox::file!["logs/a_log_tells_why_there_is_no_other_attempt.txt"],
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
        snapbox::file!["logs/a_log_tells_what_was_left_of_the_deadline.txt"],
    );
}

#[test]
fn a_log_tells_of_a_signal_during_a_delay_and_what_was_slept_until_then() {
    let world = Script::new(vec![step(Outcome::Killed(Signal::KILL))]);
    let world = world.interrupted(ms(400), signal("TERM"));
    assert_data_eq!(
        short_log("--base 1s --jitter none", world),
        snapbox::file![
            "logs/a_log_tells_of_a_signal_during_a_delay_and_what_was_slept_until_then.txt"
        ]
        .raw()
    );
}

#[test]
fn a_log_tells_which_delays_are_the_servers() {
    check(
        "-a 3 --base 10ms --cap 10ms --jitter none --retry-after output",
        vec![asked(1), exits(22)],
        snapbox::file!["logs/a_log_tells_which_delays_are_the_servers.txt"],
    );
}

#[test]
fn the_first_line_tells_the_options_as_they_are_meant() {
    let flags = "-a inf --backoff linear --base 1.5ms --cap 999999999999999999999w --jitter .125 \
        --deadline 1h --timeout 2m --idle-timeout 3s --reserve 4s --retry-on 1,5-9 --stop-on 2 \
        --success-on TERM --retry-if a --retry-if b --stop-if c --success-if d --fail-if e \
        --retry-after stdout --retry-after-max 0 --stdin replay --stdout once --shared x \
        --budget 3 --before-retry x --seed 18446744073709551615";
    let log = log(&job(flags), Script::new(vec![exits(0)]));
    let start = log.lines().next().expect("a line").to_owned();
    assert_data_eq!(
        start,
        snapbox::file!["logs/the_first_line_tells_the_options_as_they_are_meant.txt"].raw()
    );
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
        by_idle_timeout: true,
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
        let counts = ["attempts", "retries"].map(|word| end[word].clone());
        assert_eq!(counts, [attempts, retries].map(Value::from));
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
        ("--deadline 1s --retry-on 1", hangs(), "not retryable", true),
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

#[test]
fn the_wait_for_a_slot_counts_against_the_deadline_and_is_no_sleep() {
    let run = |flags: &str, waits: &[Duration]| {
        let flags = format!("--shared x --concurrency 4 --base 1s --jitter none {flags}");
        let job = job(&flags);
        let script = Script::new(vec![exits(7)]).waiting(waits);
        schema::lines(&log(&job, script))
    };
    let end = |lines: &[Value]| {
        let end = lines.last().expect("an end").clone();
        let words = [
            "outcome",
            "reason",
            "exit_status",
            "attempts",
            "total_ms",
            "slept_ms",
        ];
        words
            .map(|word| end[word].to_string())
            .join(" ")
            .replace('"', "")
    };
    let waited = |lines: &[Value]| -> Vec<u64> {
        let slots = lines.iter().filter(|line| line["event"] == "slot");
        slots
            .filter_map(|line| line["waited_ms"].as_u64())
            .collect()
    };
    let lines = run("-a 2", &[ms(0), ms(300)]);
    assert_eq!(waited(&lines), [0, 300]);
    assert_eq!(end(&lines), "exit attempts 7 2 1500 1000");
    // Before the first attempt, all of the deadline may be waited; before a retry, the reserve is left.
    let lines = run("-a 2 --deadline 5s --reserve 1s", &[ms(5001)]);
    assert_eq!(end(&lines), "null concurrency 124 0 5000 0");
    let lines = run("-a 2 --deadline 5s --reserve 1s", &[ms(4500)]);
    assert_eq!(end(&lines), "exit deadline 7 1 4600 0");
    let lines = run("-a 2 --deadline 5s --reserve 1s", &[ms(0), ms(3000)]);
    assert_eq!(end(&lines), "exit concurrency 7 1 4000 1000");
    assert_eq!(waited(&lines), [0]);
    let lines = run("-a 2 --deadline 5s --reserve 1s", &[ms(0), ms(2900)]);
    assert_eq!(end(&lines), "exit attempts 7 2 4100 1000");
}

#[test]
fn text_names_each_reason_by_the_word_of_the_log() {
    let job = job("--stop-if x --retry-after output --deadline 9s");
    let wait = ms(5000);
    for reason in [
        Reason::Budget,
        Reason::Stdin,
        Reason::Undelivered,
        Reason::LeftBehind(7),
        Reason::AskedFor,
        Reason::StopOn,
        Reason::StopIf(0),
        Reason::NotInRetryOn,
        Reason::NotInRetryIf,
        Reason::RetryAfter { wait },
        Reason::Deadline {
            delay: wait,
            server_wait: None,
        },
    ] {
        let ending = Outcome::Exited(7).into();
        let ended = Ended {
            attempt: 1,
            ending: &ending,
            took: ms(1),
            total: ms(8000),
        };
        let text = reason::because(&job.policy, None, &ended, &reason);
        let word = Codes::of(&job.policy, &ending, &Decision::Stop(reason)).reason;
        assert!(text.contains(word), "no {word} in {text}");
    }
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
    let job = job("-a 18446744073709551615 --cap 99999999999999w --timeout 99999999999999w");
    let log = log(&job, Script::new(vec![exits(0)]));
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
        let log = log(&job, Script::new(steps));
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
        let log = log(&job, Script::new(vec![exits(0)]));
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
    let mut lines = schema::lines(&log(&job(flags), Script::new(steps)));
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
        let log = log(&job, Script::new(vec![exits(1), exits(0)]));
        prop_assert_eq!(log.lines().count(), 5);
    }

    #[test]
    fn every_run_is_logged_whole(
        flags in "(-a [1-9] )?(--deadline [1-9]s )?(--timeout [1-9]s )?--base [0-9]{1,3}ms",
        codes in prop::collection::vec((0..9_u8, 0..3_000_u64), 1..6),
        at in 0..9_000_u64,
    ) {
        let steps = codes.into_iter().map(|(code, takes)| Step { takes: ms(takes), ..exits(code) });
        let world = Script::new(steps.collect()).interrupted(ms(at), signal("HUP"));
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
