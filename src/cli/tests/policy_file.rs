//! Options from a policy file, alone and beside those of the command line.

use super::*;

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
fn a_letter_is_no_name_and_a_blank_no_comma() {
    check("a_letter_is_no_name_and_a_blank_no_comma");
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
    format!(" ({options}; the same option on the command line overrides it)")
}

#[test]
fn a_line_whose_loss_would_widen_what_is_retried_is_not_dropped() {
    let line = from_file("--retry-on is from policy file 'usual', line 2");
    for option in ["success-on", "stop-on"] {
        let sentence = format!(
            "--retry-on 5 and --{option} 5 leave nothing to retry; remove something from --{option}{line}"
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
        "--retry-on 5,6, --stop-on 5 and --success-on 6 leave nothing to retry; remove something from --stop-on or --success-on{both}"
    );
    file_refused("retry-on 5,6\nstop-on 5", "--success-on 6 true", &sentence);
    let stops = from_file("--stop-on is from policy file 'usual', line 1");
    let sentence = format!(
        "--retry-on 5 and --stop-on 5 leave nothing to retry; remove something from --stop-on{stops}"
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
    let zero = "--retry-on 0,5 includes 0, which is success; remove the 0";
    file_refused(
        "base 1s\nretry-on 0,5",
        "--stop-on 5 true",
        &format!("{at}: {zero}"),
    );
}

#[test]
fn a_command_line_that_needs_the_file_is_judged_with_it() {
    let job = job_with_file("shared x\nfactor 3\n", "--budget 3 --backoff linear true");
    assert_eq!(job.budget().map(|budget| budget.tokens), Some(3));
    let job = job_with_file(
        "deadline 1m\nfactor 3\n",
        "--reserve 3s --backoff linear true",
    );
    assert_eq!(job.policy.reserve, Duration::from_secs(3));
    let sentence = "--reserve 10.0s leaves no time for a retry within --deadline 5.00s; make it shorter (--deadline is from policy file 'usual', line 1; the same option on the command line overrides it)";
    file_refused("deadline 5s\n", "--reserve 10s true", sentence);
}

#[test]
fn a_file_that_needs_the_command_line_is_judged_with_it() {
    let job = job_with_file("budget 20\n", "--shared x true");
    assert_eq!(job.budget().map(|budget| budget.tokens), Some(20));
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
    let nul = "policy file 'usual', line 2: it contains a NUL byte; save it as plain text";
    file_refused("attempts 3\nlog a\0b", "true", nul);
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_name_and_line() {
    check("what_is_wrong_with_a_file_is_said_with_its_name_and_line");
}

#[test]
fn quotes_around_a_value_are_answered_with_what_to_write() {
    check("quotes_around_a_value_are_answered_with_what_to_write");
}

#[test]
fn a_comment_behind_a_value_is_answered_with_what_to_write() {
    check("a_comment_behind_a_value_is_answered_with_what_to_write");
}

#[test]
fn a_name_of_a_file_that_only_a_shell_would_expand_is_answered_with_what_to_write() {
    check("a_name_of_a_file_that_only_a_shell_would_expand_is_answered_with_what_to_write");
}

#[test]
fn what_is_wrong_with_the_command_line_is_said_of_it_and_not_of_the_file() {
    let sentence = "--reserve needs --deadline; add that, or remove --reserve";
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
