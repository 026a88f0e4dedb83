use std::os::unix::ffi::OsStringExt as _;
use std::time::Duration;

use proptest::prelude::Strategy as _;

use super::*;
use crate::backoff::Jitter;
use crate::job::Heads;
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
    let duration = "write it like 500ms, 1.5s, 1m30s or 2h; the units are ns us ms s m h d w";
    refused("--base xyz true", &format!("--base 'xyz': {duration}"));
    refused("--cap 5M true", &format!("--cap '5M': {duration}"));
    refused(
        "--timeout xyz true",
        &format!("--timeout 'xyz': {duration}; 0 or inf means no limit"),
    );
    refused(
        "--deadline 1e3s true",
        &format!("--deadline '1e3s': {duration}; 0 or inf means no limit"),
    );
    refused(
        "--reserve nan true",
        &format!("--reserve 'nan': {duration}"),
    );
    refused("-k x true", &format!("--kill-after 'x': {duration}"));
    refused(
        "--base 0,3s true",
        &format!("--base '0,3s': the decimal point is '.'; {duration}"),
    );
    refused(
        "--base=-1s true",
        &format!("--base '-1s': a duration is never negative; {duration}"),
    );
    refused(
        "--cap inf true",
        "--cap 'inf': inf is only for --attempts, --deadline, --timeout and --idle-timeout; write a long time like 1000d",
    );
    refused(
        "--attempts 0 true",
        "--attempts '0': 0 attempts would never run the command; use 1 or more, or inf",
    );
    refused(
        "-a x true",
        "--attempts 'x': write a whole number of at least 1, or inf for no limit",
    );
    refused(
        "--factor 0.5 true",
        "--factor '0.5': a factor below 1 would shrink the delays; use 1 or more",
    );
    refused(
        "--factor nan true",
        "--factor 'nan': write a plain number of at least 1, such as 2 or 1.5",
    );
    refused(
        "--backoff quadratic true",
        "--backoff 'quadratic': use one of exponential, linear, constant",
    );
    refused(
        "--process-group old true",
        "--process-group 'old': use one of auto, new, inherit",
    );
    refused(
        "--jitter 101% true",
        "--jitter '101%': use none, full, equal, decorrelated, or a share from 0 to 100 %, such as 20% or 0.2",
    );
    refused(
        "--seed -1 true",
        "--seed '-1': write a whole number from 0 to 18446744073709551615",
    );
    refused(
        "--seed x true",
        "--seed 'x': write a whole number from 0 to 18446744073709551615",
    );
    refused(
        "--signal FOO true",
        "--signal 'FOO': there is no such signal; use a name such as TERM, INT or KILL",
    );
    refused(
        "--signal 0 true",
        "--signal '0': there is no such signal; use a name such as TERM, INT or KILL",
    );
    refused(
        "--retry-on 256 true",
        "--retry-on '256': '256' is not an exit code from 0 to 255 or a range; write them like 1,5-9",
    );
    refused(
        "--retry-on 9-5 true",
        "--retry-on '9-5': the range '9-5' runs backwards; write 5-9",
    );
    refused(
        "--retry-on= true",
        "--retry-on '': the list is empty; write it like 1,5-9,TERM,timeout",
    );
    refused(
        "--stop-on 1,,2 true",
        "--stop-on '1,,2': there is nothing between two commas; write it like 1,5-9,TERM",
    );
    refused(
        "--success-on foo true",
        "--success-on 'foo': 'foo' is not an exit code, a signal name or one of the words any, signal, timeout, spawn",
    );
}

#[test]
fn each_invalid_combination_has_its_own_sentence() {
    refused(
        "--factor 3 --backoff linear true",
        "--factor means nothing with --backoff linear; leave it out, or use --backoff exponential",
    );
    refused(
        "--factor 2 --backoff constant true",
        "--factor means nothing with --backoff constant; leave it out, or use --backoff exponential",
    );
    refused(
        "--reserve 2s true",
        "--reserve is a part of the deadline; give --deadline too, or leave it out",
    );
    refused(
        "--reserve 5s --deadline 5s true",
        "--reserve 5.00s leaves no time for a retry within --deadline 5.00s; make it shorter",
    );
    refused(
        "--retry-on 0 true",
        "--retry-on 0 holds 0, which is success; leave out the 0",
    );
    refused(
        "--retry-on 0-5 true",
        "--retry-on 0-5 holds 0, which is success; leave out the 0",
    );
    refused(
        "--retry-on 5 --stop-on 1-9 true",
        "--retry-on 5 and --stop-on 1-9 leave nothing to retry; take something out of --stop-on",
    );
    refused(
        "--retry-on 5 --success-on 5 true",
        "--retry-on 5 and --success-on 5 leave nothing to retry; take something out of --success-on",
    );
    refused(
        "--stop-on any,signal,timeout,spawn true",
        "--stop-on any,signal,timeout,spawn leaves nothing to retry; take something out of --stop-on",
    );
    let no_success = "holds the word timeout or spawn, but an attempt that was ended or never started is no success; leave it out";
    refused(
        "--success-on timeout true",
        &format!("--success-on timeout {no_success}"),
    );
    refused(
        "--success-on 3,spawn true",
        &format!("--success-on 3,spawn {no_success}"),
    );
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
        (streams.stdin, streams.stdout_once, streams.heads),
        (Input::Auto, false, None)
    );
    let streams = job("--stdin replay --stdout once --retry-after @head true").streams;
    assert_eq!((streams.stdin, streams.stdout_once), (Input::Replay, true));
    assert_eq!(streams.heads, Some(Heads::File("head".into())));
    assert_eq!(
        job("--retry-after stderr true").streams.heads,
        Some(Heads::Only(Stream::Stderr))
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
    refused(
        "--retry-after-max 1m true",
        "--retry-after-max means nothing without --retry-after; give that too, or leave it out",
    );
    let places = "use output, stdout, stderr, or @FILE for a file that the command writes";
    for place in ["both", "@", "head"] {
        refused(
            &format!("--retry-after {place} true"),
            &format!("--retry-after '{place}': {places}"),
        );
    }
    refused(
        "--stdin x true",
        "--stdin 'x': use one of auto, inherit, replay, null",
    );
    refused("--stdout x true", "--stdout 'x': use one of stream, once");
    refused(
        "--before-retry= true",
        "--before-retry '': it is empty; write what sh is to run",
    );
    refused(
        "--retry-if= true",
        "--retry-if '': is empty and would match every line; write what to look for",
    );
}

#[test]
fn what_fails_by_its_output_is_something_to_retry() {
    job("--stop-on any,signal,timeout,spawn --fail-if x true");
}

/// What a command line means with this file of options.
fn with_file(text: &str, line: &str) -> Result<Request> {
    let surroundings = Surroundings {
        policy: Some("usual".into()),
        read: &|path| {
            anyhow::ensure!(path == Path::new("usual"), "no {}", path.display());
            Ok(text.to_owned())
        },
    };
    parse(&words(line), &surroundings, &mut Leftovers::default())
}

#[track_caller]
fn job_with_file(text: &str, line: &str) -> Job {
    match with_file(text, line) {
        Ok(Request::Run(job)) => *job,
        other => panic!("'{line}' is no job with '{text}': {other:?}"),
    }
}

#[track_caller]
fn file_refused(text: &str, line: &str, sentence: &str) {
    match with_file(text, line) {
        Err(error) => assert_eq!(error.to_string(), sentence, "{text}"),
        Ok(request) => panic!("'{text}' was not refused: {request:?}"),
    }
}

#[test]
fn a_file_of_options_says_what_the_command_line_could() {
    let text = "# for all\n\n  attempts 7  \nbase=250ms\r\njitter\tequal\nretry-on 1,5-9\n# end\nretry-if a b=c #d\nquiet";
    let from_file = job_with_file(text, "true");
    let words: Vec<OsString> = [
        "-a7",
        "--base=250ms",
        "--jitter=equal",
        "--retry-on=1,5-9",
        "--retry-if=a b=c #d",
        "-q",
        "true",
    ]
    .map(OsString::from)
    .to_vec();
    let typed = alone([OsString::from("retry")].into_iter().chain(words));
    let Ok(Request::Run(typed)) = typed else {
        panic!("{typed:?}")
    };
    assert_eq!(from_file, *typed);
}

#[test]
fn the_command_line_wins_over_a_file() {
    let text = "attempts 7\nretry-if a\nretry-if b\nquiet\nbase 5s";
    let job = job_with_file(text, "-a 2 --retry-if c -v true");
    assert_eq!(job.policy.attempts, Attempts::AtMost(2));
    assert_eq!(job.policy.patterns.retry_if.len(), 1);
    assert_eq!(
        (job.verbosity, job.policy.backoff.base),
        (Verbosity::Verbose, Duration::from_secs(5))
    );
}

#[test]
fn a_line_that_the_command_line_makes_meaningless_is_dropped() {
    let job = job_with_file("factor 3\nattempts 7", "--backoff linear true");
    assert_eq!(
        (job.policy.backoff.curve, job.policy.attempts),
        (Curve::Linear, Attempts::AtMost(7))
    );
    let job = job_with_file("deadline 1m\nreserve 10s", "--deadline 5s true");
    assert_eq!(job.policy.reserve, Duration::ZERO);
    let job = job_with_file("deadline 1m", "--reserve 5s true");
    assert_eq!(job.policy.reserve, Duration::from_secs(5));
}

/// The end of a sentence about options from a file that the command line contradicts.
fn from_file(options: &str) -> String {
    format!(" ({options}; an option on the command line replaces it)")
}

#[test]
fn a_line_whose_loss_would_widen_what_is_retried_is_not_dropped() {
    let line = from_file("--retry-on is from policy file 'usual', line 2");
    for option in ["success-on", "stop-on"] {
        let sentence = format!(
            "--retry-on 5 and --{option} 5 leave nothing to retry; take something out of --{option}{line}"
        );
        file_refused(
            "attempts 3\nretry-on 5",
            &format!("--{option} 5 true"),
            &sentence,
        );
    }
    let both = from_file(
        "--retry-on is from policy file 'usual', line 1, --stop-on is from policy file 'usual', line 2",
    );
    let sentence = format!(
        "--retry-on 5,6, --stop-on 5 and --success-on 6 leave nothing to retry; take something out of --stop-on or --success-on{both}"
    );
    file_refused("retry-on 5,6\nstop-on 5", "--success-on 6 true", &sentence);
    let stops = from_file("--stop-on is from policy file 'usual', line 1");
    let sentence = format!(
        "--retry-on 5 and --stop-on 5 leave nothing to retry; take something out of --stop-on{stops}"
    );
    file_refused("stop-on 5", "--retry-on 5 true", &sentence);
    let job = job_with_file("retry-on 5", "--retry-on 6 --success-on 5 true");
    assert_eq!(
        job.policy.retry_on.map(|list| list.written),
        Some("6".into())
    );
    job_with_file("retry-on 5", "--success-on 5 --fail-if x true");
}

#[test]
fn a_line_is_dropped_for_what_it_clashes_with_and_for_nothing_else() {
    let text = "factor 3\nbackoff exponential\nshared x\nbudget 4\nretry-on 5";
    let job = job_with_file(text, "--backoff linear true");
    assert_eq!(job.policy.backoff.curve, Curve::Linear);
    assert!(job.policy.retry_on.is_some() && job.sharing.is_some());
    let job = job_with_file("backoff linear\nattempts 9", "--factor 3 true");
    assert_eq!(job.policy.backoff.curve.factor(), Factor::parse("3").ok());
    assert_eq!(job.policy.attempts, Attempts::AtMost(9));
    let at = "policy file 'usual', line 2";
    let zero = "--retry-on 0,5 holds 0, which is success; leave out the 0";
    file_refused(
        "base 1s\nretry-on 0,5",
        "--stop-on 5 true",
        &format!("{at}: {zero}"),
    );
}

#[test]
fn a_command_line_that_needs_the_file_is_judged_with_it() {
    let job = job_with_file("shared x\nfactor 3\n", "--budget 3 --backoff linear true");
    assert_eq!(job.sharing.map(|sharing| sharing.budget.tokens), Some(3));
    let job = job_with_file(
        "deadline 1m\nfactor 3\n",
        "--reserve 3s --backoff linear true",
    );
    assert_eq!(job.policy.reserve, Duration::from_secs(3));
    let sentence = "--reserve 10.0s leaves no time for a retry within --deadline 5.00s; make it shorter (--deadline is from policy file 'usual', line 1; an option on the command line replaces it)";
    file_refused("deadline 5s\n", "--reserve 10s true", sentence);
}

#[test]
fn a_file_that_needs_the_command_line_is_judged_with_it() {
    let job = job_with_file("budget 20\n", "--shared x true");
    assert_eq!(job.sharing.map(|sharing| sharing.budget.tokens), Some(20));
    let job = job_with_file("reserve 5s\n", "--deadline 1m true");
    assert_eq!(job.policy.reserve, Duration::from_secs(5));
    let job = job_with_file("budget 20\nfactor 3\n", "--shared x --backoff linear true");
    assert_eq!(job.policy.backoff.curve, Curve::Linear);
}

#[test]
fn a_value_may_stand_behind_blanks_and_an_equals_sign() {
    let job = job_with_file("\u{feff}attempts = 3\nretry-if = a b \nlog=x\n", "true");
    assert_eq!(job.policy.attempts, Attempts::AtMost(3));
    assert_eq!(job.policy.patterns.retry_if[0].written(), "a b ");
    assert_eq!(job.log, Some("x".into()));
    let nul = "policy file 'usual', line 2: it holds a NUL byte; write it anew as text";
    file_refused("attempts 3\nlog a\0b", "true", nul);
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_name_and_line() {
    let at = "policy file 'usual', line";
    let duration = "write it like 500ms, 1.5s, 1m30s or 2h; the units are ns us ms s m h d w";
    file_refused(
        "attempts 3\nbase xyz",
        "true",
        &format!("{at} 2: --base 'xyz': {duration}"),
    );
    file_refused("base", "true", &format!("{at} 1: --base '': {duration}"));
    file_refused(
        "quiet yes",
        "true",
        &format!("{at} 1: --quiet takes no value, but is given 'yes'; leave that out"),
    );
    file_refused(
        "#\n--base 1s",
        "true",
        &format!("{at} 2: '--base' begins with a dash; write options without"),
    );
    let unknown = "see 'retry -h', and write the command on the command line";
    file_refused(
        "bsae 1s",
        "true",
        &format!("{at} 1: there is no option 'bsae'; did you mean base?"),
    );
    file_refused(
        "command curl",
        "true",
        &format!("{at} 1: there is no option 'command'; {unknown}"),
    );
    for name in [
        "policy x",
        "plan",
        "clients 5",
        "help",
        "version",
        "dry-run",
    ] {
        let first = name.split(' ').next().unwrap_or_default();
        let sentence =
            format!("{at} 1: '{first}' cannot stand in a file; give it on the command line");
        file_refused(name, "true", &sentence);
    }
    let linear =
        "--factor means nothing with --backoff linear; leave it out, or use --backoff exponential";
    file_refused(
        "base 1s\nfactor 3\nbackoff linear",
        "true",
        &format!("{at} 2: {linear}"),
    );
    let lone = "--budget means nothing without --shared PATH; give that too, or leave it out";
    file_refused("budget 3\nbase 1s", "true", &format!("{at} 1: {lone}"));
}

/// Says that this line of a file is answered with this.
#[track_caller]
fn line_refused(line: &str, sentence: &str) {
    let sentence = format!("policy file 'usual', line 2: {sentence}");
    file_refused(&format!("# first\n{line}\n"), "true", &sentence);
}

#[test]
fn quotes_around_a_value_are_answered_with_what_to_write() {
    let quotes = "a policy file takes quotes as part of the value";
    line_refused("attempts \"4\"", &format!("{quotes}; write: attempts 4"));
    line_refused(
        "retry-on = '1,2'  ",
        &format!("{quotes}; write: retry-on 1,2"),
    );
    line_refused("log '/tmp/a b'", &format!("{quotes}; write: log /tmp/a b"));
    line_refused(
        "before-retry 'make clean'",
        &format!("{quotes}; write: before-retry make clean"),
    );
    line_refused(
        "retry-if \"foo\"",
        &format!(
            "{quotes}; write: retry-if foo, or retry-if (\"foo\") if the output has the quotes"
        ),
    );
    line_refused(
        "retry-if 'error # x'",
        &format!(
            "{quotes}; write: retry-if error # x, or retry-if ('error # x') if the output has the quotes"
        ),
    );
    for fine in [
        "retry-if (\"foo\")",
        "retry-if \"status\":\"busy\"",
        "retry-if foo\"",
        "retry-if \"",
        "retry-if 'a' or 'b'",
        "before-retry 'rm' -f 'a b'",
    ] {
        job_with_file(fine, "true");
    }
}

#[test]
fn a_comment_behind_a_value_is_answered_with_what_to_write() {
    let comment = "a comment needs a line of its own";
    line_refused(
        "attempts 4 # four",
        &format!("{comment}; write: attempts 4"),
    );
    line_refused(
        "attempts=4\t#four",
        &format!("{comment}; write: attempts 4"),
    );
    line_refused(
        "log /tmp/log # all",
        &format!("{comment}; write: log /tmp/log"),
    );
    line_refused("quiet # hush", &format!("{comment}; write: quiet"));
    line_refused(
        "attempts '4' # four",
        &format!("{comment}; write: attempts 4"),
    );
    line_refused(
        "retry-if busy # it passes",
        &format!("{comment}; write: retry-if busy, or [#] for a # that the output has"),
    );
    for fine in [
        "retry-if a b=c #d",
        "retry-if a [#] b",
        "before-retry true # nothing",
        "log a#b",
    ] {
        job_with_file(fine, "true");
    }
}

#[test]
fn a_name_of_a_file_that_only_a_shell_would_expand_is_answered_with_what_to_write() {
    let whole = "is taken as it stands in a policy file; write the whole path, without";
    line_refused("log ~/log", &format!("'~/log' {whole} ~"));
    line_refused("shared=~me/x", &format!("'~me/x' {whole} ~"));
    line_refused("log ~", &format!("'~' {whole} ~"));
    line_refused("log $HOME/log", &format!("'$HOME/log' {whole} $HOME"));
    line_refused(
        "shared /run/${USER}/x",
        &format!("'/run/${{USER}}/x' {whole} ${{USER}}"),
    );
    line_refused("retry-after @~/head", &format!("'~/head' {whole} ~"));
    line_refused("retry-after @$T/head", &format!("'$T/head' {whole} $T"));
    for fine in [
        "log a~",
        "log a$",
        "shared /a/$/b",
        "before-retry ls ~ $HOME",
        "retry-if ~/$HOME",
        "log /a/~x",
    ] {
        job_with_file(fine, "true");
    }
}

#[test]
fn what_is_wrong_with_the_command_line_is_said_of_it_and_not_of_the_file() {
    let sentence = "--reserve is a part of the deadline; give --deadline too, or leave it out";
    file_refused("base 1s", "--reserve 5s true", sentence);
    let error = with_file("base 1s", "")
        .expect_err("there is no command")
        .to_string();
    assert!(error.starts_with("there is no command to run"), "{error}");
}

#[test]
fn a_file_that_is_named_replaces_the_usual_one() {
    let error = with_file("base 1s", "--policy other true").expect_err("it is not there");
    assert_eq!(error.to_string(), "no other");
}

#[test]
fn help_is_there_although_the_file_is_broken() {
    for line in ["--help", "-h", "--version"] {
        assert!(
            matches!(with_file("broken", line), Ok(Request::Show(_))),
            "{line}"
        );
    }
}

#[test]
fn a_budget_needs_a_file() {
    refused(
        "--budget 3 true",
        "--budget means nothing without --shared PATH; give that too, or leave it out",
    );
    refused(
        "--budget-refill 1/1s true",
        "--budget-refill means nothing without --shared PATH; give that too, or leave it out",
    );
    refused(
        "--shared x --budget-refill 1/0s true",
        "--budget-refill '1/0s': nothing can come back in no time; write a time behind the /, like 1/10s",
    );
    let sharing = job("--shared x true").sharing.expect("a budget");
    assert_eq!((sharing.budget.tokens, sharing.budget.refill), (10, None));
}

#[test]
fn clients_need_a_plan_and_a_plan_needs_no_command() {
    refused(
        "--clients 5 true",
        "--clients means nothing without --plan; give that too, or leave it out",
    );
    for number in ["0", "1000001", "x"] {
        refused(
            &format!("--plan --clients {number}"),
            &format!("--clients '{number}': write a whole number from 1 to 1000000"),
        );
    }
    assert!(matches!(
        alone(words("--plan --clients 5")),
        Ok(Request::Plan(_, Some(5)))
    ));
    assert!(matches!(
        alone(words("--dry-run true")),
        Ok(Request::Plan(_, None))
    ));
}

#[test]
fn a_call_without_a_command_says_what_to_write() {
    let sentence = "there is no command to run; write it after the options, as in 'retry curl -fsS URL', or see 'retry -h'";
    for line in ["", "--", "-a 3", "-a 3 --"] {
        refused(line, sentence);
    }
}

#[test]
fn options_of_other_retry_commands_are_refused_with_a_hint() {
    for (option, hint) in [
        ("-t", "--attempts"),
        ("-d", "--base"),
        ("-m", "--deadline"),
        ("-n", "--attempts"),
        ("-s", "--base"),
        ("-j", "--jitter"),
        ("--delay", "--base"),
        ("--sleep", "--base"),
        ("--times", "--attempts"),
        ("--tries", "--attempts"),
        ("--until", "--success-on"),
        ("--while", "--retry-on"),
        ("--max-time", "--deadline"),
        ("--max-delay", "--cap"),
        ("--retries", "the first one too"),
        ("--interval", "--base"),
        ("--forever", "--attempts inf"),
        ("--multiplier", "--factor"),
        ("--backoff-factor", "--factor"),
        ("--max-retries", "the first one too"),
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
                error.starts_with(&format!("there is no option {option} here; ")),
                "{error}"
            );
            assert!(error.contains(hint), "{error}");
        }
    }
    let error = alone(words("-t5 true")).expect_err("-t5").to_string();
    assert!(error.starts_with("there is no option -t here; "), "{error}");
}

#[test]
fn a_long_option_with_one_dash_is_told_by_its_name() {
    for (line, sentence) in [
        (
            "-attempts 3 true",
            "there is no option -attempts; did you mean --attempts?",
        ),
        (
            "-attempts=3 true",
            "there is no option -attempts; did you mean --attempts?",
        ),
        (
            "-quiet true",
            "there is no option -quiet; did you mean --quiet?",
        ),
        (
            "-backoff true",
            "there is no option -backoff; did you mean --backoff?",
        ),
    ] {
        refused(line, sentence);
    }
    // However long its value is.
    let long = format!("-attempts={} true", "3".repeat(100));
    refused(
        &long,
        "there is no option -attempts; did you mean --attempts?",
    );
    let error = alone(words("-invert true")).expect_err("foreign");
    assert!(
        error
            .to_string()
            .starts_with("there is no option -invert here; "),
        "{error}"
    );
    // What follows is the command's.
    refused(
        "-z curl -backoff",
        "there is no option -z; see 'retry -h', or write -- before the command if it is part of that",
    );
    refused(
        "-a x curl -attempts",
        "--attempts 'x': write a whole number of at least 1, or inf for no limit",
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
    refused(
        "--atempts 3 true",
        "there is no option --atempts; did you mean --attempts?",
    );
    refused(
        "--bogus true",
        "there is no option --bogus; see 'retry -h', or write -- before the command if it is part of that",
    );
    refused(
        "--quiet=5 true",
        "--quiet takes no value, but is given '5'; leave that out",
    );
    refused("--base", "--base has no value; write one after it");
    refused(
        "--base -- cmd",
        "--base has no value; write one before the --",
    );
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
        "the value of an option is not valid UTF-8; only the command may be any bytes"
    );
}

#[test]
fn every_sentence_is_one_line_in_lower_case_without_a_full_stop() {
    for line in [
        "",
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
