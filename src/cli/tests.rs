mod policy_file;

use std::os::unix::ffi::OsStringExt as _;
use std::time::Duration;

use proptest::prelude::Strategy as _;

use super::*;
use crate::backoff::Jitter;
use crate::job::{Output, RetryAfterSource};
use crate::numbers::Attempts;
use crate::patterns::Stream;

fn words(line: &str) -> Vec<OsString> {
    std::iter::once("retry")
        .chain(line.split_whitespace())
        .map(OsString::from)
        .collect()
}

#[track_caller]
fn job(line: &str) -> Job {
    match alone(words(line)) {
        Ok(Request::Run(job)) => *job,
        other => panic!("'{line}' is no job: {other:?}"),
    }
}

#[track_caller]
fn refused(line: &str, sentence: &str) {
    match alone(words(line)) {
        Err(error) => assert_eq!(error.to_string(), sentence, "{line}"),
        Ok(request) => panic!("'{line}' was not refused: {request:?}"),
    }
}

/// The samples; the head of each file describes how they are written.
const SAMPLES: &str = concat!(
    include_str!("samples/command_line.txt"),
    include_str!("samples/policy_file.txt"),
);

/// The sections of the samples: title and body.
fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = SAMPLES.split("\n## ").skip(1);
    sections.map(|section| section.split_once('\n').expect("samples"))
}

/// Checks that each sample of this section is refused with its sentence, or understood if it has
/// none.
#[track_caller]
fn check(title: &str) {
    let section = sections().find(|(found, _)| *found == title);
    let (_, section) = section.unwrap_or_else(|| panic!("no samples for {title}"));
    let lines = section.lines().take_while(|line| !line.starts_with("# "));
    let mut lines = lines.filter(|line| !line.is_empty()).peekable();
    let mut policy = Vec::new();
    while let Some(line) = lines.next() {
        if let Some(line) = line.strip_prefix('|') {
            let line = line.strip_prefix(' ').unwrap_or(line);
            policy.push(line.replace("\\s", " ").replace("\\t", "\t"));
            continue;
        }
        let call = line.strip_prefix("$ retry").expect("a call");
        let sentence = lines.next_if(|line| !line.starts_with(['|', '$']));
        let text = std::mem::take(&mut policy).join("\n");
        let request = match text.as_str() {
            "" => alone(words(call)),
            text => with_file(text, call),
        };
        match (request, sentence) {
            (Ok(Request::Run(_)), None) => {}
            (Err(error), Some(sentence)) => {
                assert_eq!(error.to_string(), sentence, "{title}: {text:?} {call}");
            }
            (other, _) => panic!("{title}: {text:?} {call}: {other:?}"),
        }
    }
}

#[test]
fn no_sample_is_left_out() {
    let tests = concat!(
        include_str!("tests.rs"),
        include_str!("tests/policy_file.rs")
    );
    for (title, section) in sections() {
        assert!(tests.contains(&format!("(\"{title}\")")), "{title}");
        assert!(section.contains("$ retry"), "{title}");
    }
}

#[test]
fn the_options_are_sound() {
    command().debug_assert();
}

#[test]
fn without_options_the_defaults_are_those_of_the_manual() {
    let job = job("true");
    let backoff = Backoff {
        base: Duration::from_secs(1),
        cap: Duration::from_secs(30),
        curve: Curve::Exponential(Factor::TWO),
        jitter: Jitter::Full,
    };
    assert_eq!(job.policy.backoff, backoff);
    assert_eq!(job.policy.attempts, Attempts::AtMost(5));
    assert_eq!((job.policy.deadline, job.policy.timeout), (None, None));
    assert_eq!(job.policy.reserve, Duration::ZERO);
    assert_eq!(job.supervision.signal.to_string(), "SIGTERM");
    assert_eq!(job.supervision.kill_after, Duration::from_secs(5));
    assert_eq!(job.supervision.group, Grouping::Auto);
    assert_eq!((job.seed, job.verbosity), (None, Verbosity::Normal));
}

#[test]
fn the_cap_follows_a_base_that_is_longer() {
    assert_eq!(
        job("--base 1m true").policy.backoff.cap,
        Duration::from_secs(60)
    );
    assert_eq!(
        job("--base 1m --cap 5s true").policy.backoff.cap,
        Duration::from_secs(5)
    );
}

#[test]
fn options_end_at_the_first_word_that_is_none() {
    for (line, command) in [
        ("cmd --help", vec!["cmd", "--help"]),
        ("sh -c x", vec!["sh", "-c", "x"]),
        ("cmd -- -a 3", vec!["cmd", "--", "-a", "3"]),
        ("-- --help", vec!["--help"]),
        ("-- cmd --", vec!["cmd", "--"]),
        ("-a 3 cmd -a 4", vec!["cmd", "-a", "4"]),
        ("-q -- -v", vec!["-v"]),
        ("- x", vec!["-", "x"]),
    ] {
        assert_eq!(job(line).command, command, "{line}");
    }
}

#[test]
fn the_command_may_be_any_bytes() {
    let args = ["retry", "--", "cmd"].map(OsString::from);
    let odd = OsString::from_vec(vec![0xff, 0xfe]);
    match alone(args.into_iter().chain([odd.clone(), OsString::new()])) {
        Ok(Request::Run(job)) => assert_eq!(job.command[1..], [odd, OsString::new()]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn of_an_option_given_twice_the_last_one_wins() {
    let job = job("--base 1s --base 2s -a 3 -a 4 --retry-on 1 --retry-on 2 true");
    assert_eq!(job.policy.backoff.base, Duration::from_secs(2));
    assert_eq!(job.policy.attempts, Attempts::AtMost(4));
    assert_eq!(
        job.policy.retry_on.map(|list| list.written),
        Some("2".into())
    );
}

#[test]
fn of_quiet_and_verbose_the_last_one_wins() {
    assert_eq!(job("-q -v true").verbosity, Verbosity::Verbose);
    assert_eq!(job("-v -q true").verbosity, Verbosity::Quiet);
    assert_eq!(job("-vv true").verbosity, Verbosity::Verbose);
}

#[test]
fn a_time_limit_of_nothing_is_none() {
    for none in ["0", "0s", "inf"] {
        let job = job(&format!("--timeout {none} --deadline {none} true"));
        assert_eq!(
            (job.policy.timeout, job.policy.deadline),
            (None, None),
            "{none}"
        );
    }
    assert_eq!(job("--deadline 0 --reserve 5s true").policy.deadline, None);
}

#[test]
fn a_signal_may_be_a_name_or_a_number() {
    for signal in ["INT", "int", "SIGINT", "2"] {
        assert_eq!(
            job(&format!("--signal {signal} true"))
                .supervision
                .signal
                .to_string(),
            "SIGINT"
        );
    }
}

#[test]
fn each_invalid_value_has_its_own_sentence() {
    check("each_invalid_value_has_its_own_sentence");
}

#[test]
fn each_invalid_combination_has_its_own_sentence() {
    check("each_invalid_combination_has_its_own_sentence");
}

#[test]
fn patterns_given_twice_add_up() {
    let patterns = job("--retry-if a --retry-if b --fail-if c true")
        .policy
        .patterns;
    assert_eq!((patterns.retry_if.len(), patterns.fail_if.len()), (2, 1));
}

#[test]
fn streams_are_as_they_are_unless_an_option_says_otherwise() {
    let streams = job("true").streams;
    assert_eq!(
        (streams.stdin, streams.output, streams.heads),
        (Input::Auto, Output::Stream, None)
    );
    let streams = job("--stdin replay --stdout once --retry-after @head true").streams;
    assert_eq!(
        (streams.stdin, streams.output),
        (Input::Replay, Output::Once)
    );
    assert_eq!(streams.heads, Some(RetryAfterSource::File("head".into())));
    assert_eq!(
        job("--retry-after stderr true").streams.heads,
        Some(RetryAfterSource::Only(Stream::Stderr))
    );
}

#[test]
fn a_server_may_ask_for_five_minutes_unless_the_user_says_otherwise() {
    let most = |line| job(line).policy.retry_after_max;
    assert_eq!(most("--retry-after output true"), Duration::from_secs(300));
    assert_eq!(
        most("--retry-after output --retry-after-max 0 true"),
        Duration::ZERO
    );
}

#[test]
fn each_wrong_use_of_streams_has_its_own_sentence() {
    check("each_wrong_use_of_streams_has_its_own_sentence");
}

#[test]
fn a_lone_dash_names_no_file() {
    check("a_lone_dash_names_no_file");
}

#[test]
fn what_fails_by_its_output_is_something_to_retry() {
    job("--stop-on any,signal,timeout,spawn --fail-if x true");
}

/// Parses a command line with this policy file.
fn with_file(text: &str, line: &str) -> Result<Request> {
    let policy_source = PolicySource {
        path: Some("usual".into()),
        read: &|path| {
            anyhow::ensure!(path == Path::new("usual"), "no {}", path.display());
            Ok(text.to_owned())
        },
    };
    parse(&words(line), &policy_source, &mut Leftovers::default())
}

#[test]
fn what_other_tools_call_it_is_answered_with_the_option_that_is_meant() {
    check("what_other_tools_call_it_is_answered_with_the_option_that_is_meant");
}

#[test]
fn the_same_delay_each_time_is_no_other_backoff() {
    check("the_same_delay_each_time_is_no_other_backoff");
    for (short, long) in [
        ("--delay 5s", "--base 5s --backoff constant --jitter none"),
        ("--delay 2m", "--base 2m --backoff constant --jitter none"),
        (
            "--delay 5s --jitter 20%",
            "--base 5s --backoff constant --jitter 20%",
        ),
    ] {
        let backoff = |options: &str| job(&format!("{options} true")).policy.backoff;
        assert_eq!(backoff(short), backoff(long), "{short}");
    }
}

#[test]
fn a_capacity_is_a_number_of_attempts_in_a_time() {
    check("a_capacity_is_a_number_of_attempts_in_a_time");
}

#[test]
fn a_delay_and_the_backoff_of_a_file_replace_each_other() {
    let of = |text: &str, line: &str| match with_file(text, line) {
        Ok(Request::Run(job)) => job.policy.backoff,
        other => panic!("{text}: {line}: {other:?}"),
    };
    let grown = "base 3s\ncap 9s\nbackoff linear\njitter equal";
    assert_eq!(
        of(grown, "--delay 5s true"),
        job("--delay 5s true").policy.backoff
    );
    assert_eq!(
        of("delay 5s", "--base 3s true"),
        job("--base 3s true").policy.backoff
    );
    assert_eq!(
        of("delay 5s", "--jitter 20% true"),
        job("--delay 5s --jitter 20% true").policy.backoff
    );
    assert_eq!(
        of("delay 5s", "true"),
        job("--delay 5s true").policy.backoff
    );
}

#[test]
fn a_name_tells_runs_of_one_command_apart() {
    assert_eq!(job("--name nightly true").name.as_deref(), Some("nightly"));
    assert_eq!(job("true").name, None);
}

#[test]
fn an_explicit_end_of_the_options_is_known() {
    for (line, is_set_apart) in [
        ("-- true", true),
        ("-a 3 -- true --", true),
        ("true", false),
        ("-a 3 true -- x", false),
    ] {
        assert_eq!(job(line).is_set_apart, is_set_apart, "{line}");
    }
}

#[test]
fn bytes_that_are_no_text_are_an_error_of_their_option() {
    for option in ["--retry-if", "--stop-if", "--before-retry", "--name"] {
        let value = OsString::from_vec(b"\xff".to_vec());
        let words = ["retry", option].map(OsString::from).into_iter();
        let error = alone(words.chain([value, "true".into()])).expect_err("no text");
        let said = error.to_string();
        assert!(
            said.starts_with(option) && said.contains("not valid UTF-8"),
            "{said}"
        );
    }
}

#[test]
fn a_budget_needs_a_file() {
    check("a_budget_needs_a_file");
    let budget = job("--shared x true").budget().expect("a budget");
    assert_eq!((budget.tokens, budget.refill), (10, None));
}

#[test]
fn a_bound_on_attempts_needs_a_file_and_brings_no_budget() {
    check("a_bound_on_attempts_needs_a_file");
    let alone = job("--shared x --concurrency 4 true");
    assert_eq!((alone.budget(), alone.concurrency()), (None, Some(4)));
    let both = job("--shared x --concurrency 4 --budget 3 true");
    assert_eq!(both.budget().map(|budget| budget.tokens), Some(3));
    assert_eq!(both.concurrency(), Some(4));
}

#[test]
fn clients_need_a_plan_and_a_plan_needs_no_command() {
    check("clients_need_a_plan_and_a_plan_needs_no_command");
    assert!(matches!(
        alone(words("--plan --clients 5")),
        Ok(Request::Plan(
            _,
            Some(Crowd {
                clients: 5,
                capacity: None
            })
        ))
    ));
    assert!(matches!(
        alone(words("--dry-run true")),
        Ok(Request::Plan(_, None))
    ));
}

#[test]
fn a_call_without_a_command_says_what_to_write() {
    let sentence = "there is no command to run; write it after the options, as in 'retry curl -fsS URL', or see 'retry -h'";
    for line in ["--", "-a 3", "-a 3 --"] {
        refused(line, sentence);
    }
    refused("", usage_error::NOTHING_TYPED);
}

#[test]
fn options_of_other_retry_commands_are_refused_with_a_hint() {
    for (option, hint) in [
        ("-t", "--attempts"),
        ("-d", "--base"),
        ("-m", "--deadline"),
        ("-n", "--attempts"),
        ("-s", "--delay"),
        ("-j", "--jitter"),
        ("--sleep", "--base"),
        ("--times", "--attempts"),
        ("--tries", "--attempts"),
        ("--until", "--success-on"),
        ("--while", "--retry-on"),
        ("--max-time", "--deadline"),
        ("--max-delay", "--cap"),
        ("--retries", "including the first"),
        ("--interval", "--base"),
        ("--forever", "--attempts inf"),
        ("--multiplier", "--factor"),
        ("--backoff-factor", "--factor"),
        ("--max-retries", "including the first"),
        ("--retry-wait-seconds", "--base"),
        ("--max-interval", "--cap"),
        ("--task-time", "--timeout"),
        ("--invert", "! COMMAND"),
        ("--on-retry-command", "--before-retry"),
        ("-I", "--stdin replay"),
    ] {
        for line in [format!("{option} 5 true"), format!("{option}=5 true")] {
            let error = alone(words(&line)).expect_err(&line).to_string();
            assert!(
                error.starts_with(&format!("unknown option {option}; ")),
                "{error}"
            );
            assert!(error.contains(hint), "{error}");
        }
    }
    let error = alone(words("-t5 true")).expect_err("-t5").to_string();
    assert!(error.starts_with("unknown option -t; "), "{error}");
}

#[test]
fn a_long_option_with_one_dash_is_told_by_its_name() {
    check("a_long_option_with_one_dash_is_told_by_its_name");
    let error = alone(words("-invert true")).expect_err("foreign");
    assert!(
        error.to_string().starts_with("unknown option -invert; "),
        "{error}"
    );
}

#[test]
fn a_value_that_is_nearly_right_is_told_what_was_meant() {
    for (line, meant) in [
        ("--jitter ful true", "full"),
        ("--jitter decorelated true", "decorrelated"),
        ("--signal TREM true", "TERM"),
        ("--signal SIGTREM true", "SIGTERM"),
        ("--backoff expo true", "exponential"),
        ("--log-format jsn true", "json"),
        ("--stdin reply true", "replay"),
        ("--retry-on 1,timout true", "timeout"),
        ("--stop-on kil true", "KILL"),
    ] {
        let error = alone(words(line)).expect_err(line).to_string();
        let hint = format!("; did you mean {meant}?");
        assert!(error.ends_with(&hint), "{error}");
    }
    for line in [
        "--jitter x true",
        "--signal foobar true",
        "--retry-on 300 true",
    ] {
        let error = alone(words(line)).expect_err(line).to_string();
        assert!(!error.contains("did you mean"), "{error}");
    }
}

#[test]
fn the_name_alone_is_answered_with_what_to_type() {
    let said = with_file("", "").expect_err("nothing").to_string();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "there is no command to run");
    assert!(lines.len() <= 4 && lines.iter().all(|line| line.chars().count() <= 80));
    assert!(lines[1].starts_with("Usage: retry [OPTIONS]"), "{said}");
    let (_, example) = lines[2].split_once(": retry ").expect("an example");
    assert_eq!(job(example).command[0], "curl");
    assert!(lines[3].contains("'retry -h'"), "{said}");
}

#[test]
fn an_unknown_option_is_refused_and_the_likely_one_named() {
    check("an_unknown_option_is_refused_and_the_likely_one_named");
}

#[test]
fn nothing_typed_reaches_the_terminal_as_a_command() {
    for line in [
        "--base=\u{1b}[31m true",
        "--\u{1b}[31m true",
        "--retry-on=\u{202e} true",
        "--bogus\u{7} true",
    ] {
        let error = alone(words(line)).expect_err(line).to_string();
        assert!(
            !error.contains(['\u{1b}', '\u{202e}', '\u{7}']),
            "{error:?}"
        );
    }
}

#[test]
fn an_option_value_that_is_not_utf8_is_refused() {
    let args = [
        b"retry".to_vec(),
        b"--base".to_vec(),
        vec![0xff],
        b"true".to_vec(),
    ];
    let error = alone(args.map(OsString::from_vec))
        .expect_err("not UTF-8")
        .to_string();
    assert_eq!(
        error,
        "the value of an option is not valid UTF-8; only the command may contain other bytes"
    );
}

#[test]
fn every_sentence_is_one_line_in_lower_case_without_a_full_stop() {
    for line in [
        "--",
        "--base x true",
        "--bogus",
        "-t",
        "--retry-on 0 true",
        "--factor 3 --backoff linear true",
        "--base",
        "--quiet=1 true",
        "--signal x true",
        "--backoff x true",
        "--seed x true",
        "--retry-if ( true",
        "--retry-after x true",
        "--retry-after-max 1m true",
        "--stdin x true",
    ] {
        let error = alone(words(line)).expect_err(line).to_string();
        assert!(!error.contains('\n') && !error.ends_with('.'), "{error}");
        assert!(!error.starts_with(char::is_uppercase), "{error}");
    }
}

proptest::proptest! {
    #![proptest_config(crate::many_cases())]

    #[test]
    fn no_command_line_makes_the_parser_panic(args in proptest::collection::vec(
        proptest::prop_oneof![
            "-{0,2}[a-z-]{0,12}(=.{0,6})?",
            ".{0,8}",
            proptest::sample::select(vec!["--base", "--cap", "--jitter", "--retry-on", "-a", "-k", "--", "--deadline", "--retry-if", "--retry-after", "--stdin"]).prop_map(String::from),
        ], 0..6))
    {
        let _ = alone(std::iter::once("retry".to_owned()).chain(args).map(OsString::from));
    }
}

proptest::proptest! {
    #[test]
    fn no_file_of_options_makes_the_parser_panic(text in "((base|attempts|retry-if|factor|budget|log|retry-after|quiet|plan|x|#)?[ =]?([\"'~$@#{} ]{0,3}|.{0,6})\n?){0,4}") {
        let _ = with_file(&text, "--backoff linear true");
    }
}
