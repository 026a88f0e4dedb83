//! Inputs that the action refuses: nothing runs, and one annotation says what to write.

use super::run;

/// Runs the action with these inputs, which it must refuse; returns the sentence.
#[track_caller]
fn refused(inputs: &[(&str, &str)]) -> String {
    let mut all = vec![("command", "touch started")];
    all.extend(inputs);
    let (done, outputs, sandbox) = run(&all);
    done.exits(125).stderr_is("");
    assert!(!sandbox.path("started").exists(), "{done:?}");
    let said = done.stdout.strip_prefix("::error title=retry::");
    let said = said.unwrap_or_else(|| panic!("no error: {done:?}"));
    let said = said.strip_suffix('\n').expect("a line");
    assert!(!said.contains('\n'), "{done:?}");
    assert!(
        said.contains("; ") || said.contains(": "),
        "no remedy: {said}"
    );
    let kept = "total_attempts=0\nexit_code=125\nexit_error=";
    assert!(outputs.starts_with(kept), "{outputs}");
    assert_eq!(outputs.lines().count(), 3, "{outputs}");
    said.to_owned()
}

/// Fails unless this value of an input is refused by its name, with this remedy.
#[track_caller]
fn refuses(name: &str, value: &str, remedy: &str) {
    let said = refused(&[(name, value)]);
    assert!(said.starts_with(&format!("{name}: ")), "{said}");
    assert!(said.contains(remedy), "{said}");
}

#[test]
fn a_number_with_a_unit_or_anything_else_that_is_no_number() {
    for name in [
        "timeout_seconds",
        "timeout_minutes",
        "retry_wait_seconds",
        "polling_interval_seconds",
    ] {
        for value in [
            "5m", "1s", "500ms", "1e3", "-1", "inf", "1,5", "1.2.3", ".", " ", "1\n2",
        ] {
            refuses(name, value, "write it without a unit, such as 90 or 0.5");
        }
    }
    for value in ["3x", "0", "00", "2.5", "-1", "inf", "3 4", "3\n4"] {
        refuses("max_attempts", value, "write it without a unit, such as 3");
    }
    for value in [
        "5x", "1s", "-1", "1.5", "timeout", "1,,5", "1 5", "1,5-", "1\n5",
    ] {
        refuses(
            "retry_on_exit_code",
            value,
            "write one such as 75, or several such as 1,5-9",
        );
    }
}

#[test]
fn a_value_that_a_github_action_does_not_take_for_a_boolean() {
    for name in ["continue_on_error", "warning_on_retry"] {
        for value in ["maybe", "yes", "1", "tRuE", "true false", "true\n"] {
            refuses(name, value, "write true or false");
        }
    }
}

#[test]
fn a_word_of_which_there_are_few() {
    refuses("shell", "cmd", "use bash, sh, python or pwsh");
    refuses("shell", "bash -e", "without options");
    refuses("retry_on", "whatever", "use any, timeout, error or success");
}

#[test]
fn an_empty_command() {
    refuses("command", "", "write what to run");
    refuses("command", " \n", "write what to run");
}

#[test]
fn both_limits() {
    let both = refused(&[("timeout_seconds", "1"), ("timeout_minutes", "1")]);
    assert!(both.contains("remove one of them"), "{both}");
}

#[test]
fn an_option_that_the_outputs_depend_on_or_with_which_the_command_would_not_run() {
    for option in [
        "--log x",
        "-v --log=x",
        "-v\n--log\nx",
        "--plan",
        "--dry-run",
        "--generate man",
        "--generate=man",
        "-h",
        "--help",
        "-V",
        "--version",
        "-vh",
        "--clients 5",
        "--clients=5",
        "-v --",
    ] {
        refuses("options", option, "; remove it");
    }
    // A value that is missing would take the action's own option for it.
    for option in ["--name", "-v --retry-if", "--nonsense"] {
        assert!(!refused(&[("options", option)]).is_empty());
    }
}

#[test]
fn an_option_that_is_quoted_as_for_a_shell() {
    for option in [
        "--name 'a b'",
        "--name \"touch started\"",
        "--name=it's",
        "\"--name=x\"",
    ] {
        refuses("options", option, "--policy FILE");
    }
}

#[test]
fn a_word_among_the_options_that_would_be_run_as_the_command() {
    for option in [
        "touch started",
        "-v touch started",
        "--name a touch started",
        "--name a\\ touch started",
        "# touch started",
        "-- touch started",
    ] {
        refused(&[("options", option)]);
    }
}

#[test]
fn what_the_program_itself_refuses_and_with_its_own_words() {
    for (name, value, said) in [
        ("base", "x", "--base 'x': write it like 500ms"),
        ("cap", "x", "--cap 'x': write it like 500ms"),
        ("deadline", "x", "--deadline 'x': write it like 500ms"),
        ("jitter", "110%", "--jitter '110%25': "),
        ("retry_on_exit_code", "300", "write them like 1,5-9"),
        ("options", "--nonsense", "unknown option --nonsense"),
        (
            "options",
            "--log-format json --nonsense",
            "unknown option --nonsense",
        ),
        ("options", "--reserve 1s", "--reserve needs --deadline"),
    ] {
        for warns in ["true", "false"] {
            let refused = refused(&[(name, value), ("warning_on_retry", warns)]);
            assert!(
                refused.contains(said) && !refused.contains('{'),
                "{refused}"
            );
        }
    }
}

#[test]
fn whatever_continue_on_error_says() {
    refused(&[("continue_on_error", "true"), ("max_attempts", "x")]);
    refused(&[("continue_on_error", "true"), ("base", "x")]);
}
