//! The environment variables of the command and the hook.

use crate::before_retry::hooked;
use crate::support::{FAST, Sandbox, check};

#[test]
fn the_environment_is_handed_on_as_it_is() {
    let script = "export X='a
b' Y= Z=1; env | grep -v ^_= >plain; retry -a 1 -- env | grep -v -e ^_= -e ^RETRY_ >wrapped; diff plain wrapped";
    Sandbox::new()
        .bash(script)
        .run()
        .exits(0)
        .stdout_is("")
        .stderr_is("");
}

/// What the attempts of a run with these options are told, if they end as this script does.
#[track_caller]
fn check_told(options: &str, script: &str, exit: i32, expected: &str) {
    let tell = "echo $RETRY_ATTEMPT/$RETRY_MAX_ATTEMPTS [$RETRY_LAST_STATUS]";
    let script = format!("{tell}; {script}");
    let done = Sandbox::new()
        .retry_sh(&format!("{FAST} {options}"), &script)
        .run();
    done.exits(exit).stdout_is(expected);
}

#[test]
fn the_command_is_told_which_attempt_it_is_and_how_the_last_one_ended() {
    check_told("", "exit 0", 0, "1/5 []\n");
    check_told("-a 3", "exit 7", 7, "1/3 []\n2/3 [7]\n3/3 [7]\n");
    check_told(
        "-a inf",
        "[ $RETRY_ATTEMPT != 1 ] || kill -KILL $$",
        0,
        "1/inf []\n2/inf [SIGKILL]\n",
    );
    check_told(
        "-a 2 --timeout 300ms",
        "[ $RETRY_ATTEMPT = 2 ] || exec sleep 30",
        0,
        "1/2 []\n2/2 [timeout]\n",
    );
}

#[test]
fn what_is_told_does_not_depend_on_what_we_were_told() {
    check(
        "export RETRY_ATTEMPT=8 RETRY_MAX_ATTEMPTS=9 RETRY_LAST_STATUS=10 RETRY_TIME_LEFT=11 RETRY_RUN_ID=x
        retry -a 1 -- sh -c 'echo $RETRY_ATTEMPT/$RETRY_MAX_ATTEMPTS [$RETRY_LAST_STATUS]; env | grep -c ^RETRY_; [ $RETRY_RUN_ID != x ]'",
        "1/1 []\n5\n",
    ).stderr_is("");
}

#[test]
fn the_command_is_told_how_much_time_it_has_until_the_first_limit() {
    let tell = r#"printf %s, "$RETRY_TIME_LEFT""#;
    for (options, most, least) in [
        ("--timeout 90s", 90.0, 90.0),
        ("--timeout 90s --deadline 1h", 90.0, 90.0),
        ("--deadline 2h --timeout 3h", 7200.0, 7000.0),
        ("--timeout 1234567us", 1.234, 1.234),
    ] {
        let script = format!("{tell}; exit 7");
        let call = Sandbox::new().retry_sh(&format!("{FAST} -a 2 {options}"), &script);
        let done = call.run();
        let left: Vec<f64> = done
            .stdout
            .split_terminator(',')
            .map(|left| left.parse().expect("seconds"))
            .collect();
        assert_eq!(left.len(), 2, "{done:?}");
        assert!(
            left.iter().all(|left| (least..=most).contains(left)),
            "{done:?}"
        );
    }
    let call = Sandbox::new().retry_sh(&format!("{FAST} -a 2"), &format!("{tell}; exit 7"));
    call.run().exits(7).stdout_is(",,");
}

#[test]
fn a_limit_is_never_told_as_the_zero_that_means_none() {
    // CONT ends nothing, so the command has time to tell.
    let options = "-q -a 1 --timeout 900us --signal CONT --kill-after 1h";
    let done = Sandbox::new()
        .retry_sh(options, "echo $RETRY_TIME_LEFT")
        .run();
    done.stdout_is("0.001\n").stderr_is("");
}

#[test]
fn a_client_can_be_given_the_time_that_is_left() {
    // The time is what timeout(1), curl -m and a retry within take.
    check(
        "for limit in 60s inf; do
            retry -q -a 1 --timeout $limit -- sh -c 'left=${RETRY_TIME_LEFT:-0}
                timeout $left true && retry --deadline $left true'; echo $?
        done",
        "0\n0\n",
    );
}

#[test]
fn one_run_has_one_id_which_no_seed_makes_the_same_again() {
    let ids = || {
        let sandbox = Sandbox::new();
        let script = "echo $RETRY_RUN_ID; exit 1";
        let options = "-a 2 --seed 7";
        let hook = "echo $RETRY_RUN_ID >id";
        let done = hooked(&sandbox, options, hook, script).run();
        let ids: Vec<String> = done.stdout.lines().map(String::from).collect();
        assert!(ids.len() == 2 && ids[0] == ids[1], "{done:?}");
        assert_eq!(sandbox.text("id"), format!("{}\n", ids[0]));
        ids[0].clone()
    };
    let (one, other) = (ids(), ids());
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    assert!(one.len() == 32 && one.chars().all(is_hex), "{one}");
    assert_ne!(one, other);
}

#[test]
fn a_run_inside_another_says_once_that_attempts_multiply() {
    let script = "RETRY_ATTEMPT=1 retry $FAST -a 4 -- false; echo $?";
    let done = check(script, "1\n");
    assert_eq!(done.said().len(), 5, "{done:?}");
    assert_eq!(done.stderr.matches("multiply").count(), 1, "{done:?}");
    let done = check("RETRY_ATTEMPT=1 retry -a 1 -- false; echo $?", "1\n");
    assert_eq!(done.said().len(), 1, "{done:?}");
}
