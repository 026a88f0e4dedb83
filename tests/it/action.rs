//! The action for workflows, run as a runner runs it: `bash -e`, inputs in the environment.

use std::fs;
use std::path::PathBuf;

use crate::support::{AT_ONCE, Done, Sandbox};

fn action(file: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join(".github/actions/retry").join(file)
}

/// Runs the action with these inputs; returns what came of it, and its outputs.
fn run(inputs: &[(&str, &str)]) -> (Done, String, Sandbox) {
    let sandbox = Sandbox::new();
    let export = |(name, value): &(&str, &str)| {
        let value = value.replace('\'', "'\\''");
        format!("export INPUT_{}='{value}'", name.to_uppercase())
    };
    let mut script = vec![String::from(
        "export GITHUB_ACTIONS=true GITHUB_OUTPUT=$T/outputs RUNNER_TEMP=$T/temp; mkdir -p temp",
    )];
    script.extend(inputs.iter().map(export));
    fs::write(sandbox.path("step"), "\"$GITHUB_ACTION_PATH/run\"\n").expect("a file");
    let path = action("").display().to_string();
    script.push(format!(
        "export GITHUB_ACTION_PATH={path}; exec bash --noprofile --norc -e -o pipefail step"
    ));
    let done = sandbox.bash(&script.join("\n")).run();
    let left = fs::read_dir(sandbox.path("temp")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "files are left: {done:?}");
    let outputs = sandbox.text("outputs");
    (done, outputs, sandbox)
}

/// A command that counts its runs and fails until the third, with this status.
const THIRD: &str = "echo x >>runs; [ $(wc -l <runs) -ge 3 ] || exit 7";

const NO_WAIT: (&str, &str) = ("retry_wait_seconds", "0");

#[test]
fn a_success_after_failures_is_one_and_the_outputs_tell() {
    let (done, outputs, _) = run(&[("command", THIRD), NO_WAIT]);
    done.exits(0);
    assert_eq!(outputs, "total_attempts=3\nexit_code=0\nexit_error=\n");
    let warnings = done.stderr.matches("::warning title=retry::").count();
    assert_eq!(warnings, 2, "{done:?}");
}

#[test]
fn the_exit_code_of_the_last_attempt_is_kept() {
    let (done, outputs, sandbox) = run(&[
        ("command", "echo x >>runs; exit 9"),
        ("max_attempts", "2"),
        NO_WAIT,
    ]);
    done.exits(9);
    assert_eq!(
        outputs,
        "total_attempts=2\nexit_code=9\nexit_error=exit 9\n"
    );
    assert_eq!(sandbox.lines("runs"), 2);
    let (done, outputs, _) = run(&[("command", "kill -KILL $$"), ("max_attempts", "1")]);
    done.exits(137);
    assert_eq!(
        outputs,
        "total_attempts=1\nexit_code=137\nexit_error=killed by SIGKILL\n"
    );
}

#[test]
fn a_time_limit_ends_an_attempt_with_all_it_has_started() {
    for limit in [("timeout_seconds", "0.3"), ("timeout_minutes", "0.005")] {
        let (done, outputs, _) = run(&[
            ("command", "sleep 60 & sleep 60"),
            ("max_attempts", "2"),
            limit,
            NO_WAIT,
        ]);
        done.exits(124).took_less_than(AT_ONCE);
        assert_eq!(
            outputs,
            "total_attempts=2\nexit_code=124\nexit_error=timed out\n"
        );
    }
    let both = [
        ("command", "true"),
        ("timeout_seconds", "1"),
        ("timeout_minutes", "1"),
    ];
    let (done, ..) = run(&both);
    done.exits(125);
    assert!(done.stdout.contains("remove one of them"), "{done:?}");
}

#[test]
fn the_delay_is_the_same_each_time_or_grows_from_base() {
    let delays = |inputs: &[(&str, &str)]| {
        let mut all = vec![("command", "exit 1"), ("max_attempts", "3")];
        all.extend(inputs);
        let (done, ..) = run(&all);
        let next = |line: &str| Some(line.split_once("next in ")?.1.to_owned());
        done.stderr.lines().filter_map(next).collect::<Vec<_>>()
    };
    assert_eq!(delays(&[("retry_wait_seconds", "0.02")]), ["20ms", "20ms"]);
    let growing = [("base", "10ms"), ("jitter", "none")];
    assert_eq!(delays(&growing), ["10ms", "20ms"]);
    let capped = [("base", "10ms"), ("cap", "15ms"), ("jitter", "none")];
    assert_eq!(delays(&capped), ["10ms", "15ms"]);
    assert_eq!(
        delays(&[("base", "10s"), ("deadline", "5s"), ("jitter", "none")]),
        [""; 0]
    );
}

#[test]
fn what_is_retried_can_be_told() {
    let attempts = |inputs: &[(&str, &str)]| {
        let mut all = vec![("max_attempts", "3"), NO_WAIT];
        all.extend(inputs);
        let (_, outputs, _) = run(&all);
        let first = outputs.lines().next().unwrap_or_default().to_owned();
        first.replace("total_attempts=", "")
    };
    let hangs = ("command", "exec sleep 60");
    let limit = ("timeout_seconds", "0.2");
    let fails = ("command", "exit 3");
    assert_eq!(attempts(&[fails, ("retry_on", "timeout")]), "1");
    assert_eq!(attempts(&[fails, ("retry_on", "error")]), "3");
    assert_eq!(attempts(&[hangs, limit, ("retry_on", "timeout")]), "3");
    assert_eq!(attempts(&[hangs, limit, ("retry_on", "error")]), "1");
    assert_eq!(attempts(&[fails, ("retry_on_exit_code", "3")]), "3");
    assert_eq!(attempts(&[fails, ("retry_on_exit_code", "4")]), "1");
    assert_eq!(
        attempts(&[("command", "true"), ("retry_on", "success")]),
        "3"
    );
    assert_eq!(attempts(&[fails, ("retry_on", "success")]), "1");
    let (done, ..) = run(&[fails, ("retry_on", "whatever")]);
    done.exits(125);
    assert!(
        done.stdout.contains("use any, timeout, error or success"),
        "{done:?}"
    );
}

#[test]
fn an_inverted_run_succeeds_when_the_command_fails() {
    let inverted = ("retry_on", "success");
    run(&[("command", "exit 3"), inverted]).0.exits(0);
    run(&[
        ("command", "true"),
        ("max_attempts", "2"),
        inverted,
        NO_WAIT,
    ])
    .0
    .exits(1);
}

#[test]
fn a_command_between_attempts_that_fails_is_a_warning() {
    let (done, _, sandbox) = run(&[
        ("command", THIRD),
        ("on_retry_command", "echo y >>hooks; exit 5"),
        NO_WAIT,
    ]);
    done.exits(0);
    assert_eq!(sandbox.lines("hooks"), 2);
    let warned = "::warning title=retry::on_retry_command failed: exit 5";
    assert_eq!(done.stderr.matches(warned).count(), 2, "{done:?}");
}

#[test]
fn another_command_may_run_from_the_second_attempt_on() {
    let (done, ..) = run(&[
        ("command", "echo first; exit 1"),
        ("new_command_on_retry", "echo \"again '$RETRY_ATTEMPT'\""),
        NO_WAIT,
    ]);
    done.exits(0).stdout_is("first\nagain '2'\n");
}

#[test]
fn a_step_may_go_on_although_all_attempts_failed() {
    let (done, outputs, _) = run(&[
        ("command", "exit 9"),
        ("max_attempts", "1"),
        ("continue_on_error", "true"),
    ]);
    done.exits(0);
    assert_eq!(
        outputs,
        "total_attempts=1\nexit_code=9\nexit_error=exit 9\n"
    );
}

#[test]
fn warnings_can_be_turned_off() {
    let (done, ..) = run(&[("command", THIRD), ("warning_on_retry", "false"), NO_WAIT]);
    done.exits(0);
    assert!(!done.stderr.contains("::warning"), "{done:?}");
    assert!(done.stderr.contains("attempt 1/3 failed"), "{done:?}");
}

#[test]
fn the_shell_runs_what_it_is_given_as_it_is() {
    for (shell, command, stdout) in [
        (
            "bash",
            "a=(x 'y  z'); echo \"${a[1]}\" '$HOME' \"`echo q`\"",
            "y  z $HOME q\n",
        ),
        ("sh", "echo \"$0\" | tr a-z x; false; echo end", "xx\nend\n"),
        ("python", "import sys\nprint(1 + 1)\nsys.exit(0)", "2\n"),
    ] {
        let (done, ..) = run(&[("command", command), ("shell", shell)]);
        done.exits(0).stdout_is(stdout);
    }
    let (done, ..) = run(&[("command", "x"), ("shell", "cmd")]);
    done.exits(125);
    assert!(
        done.stdout.contains("use bash, sh, python or pwsh"),
        "{done:?}"
    );
}

#[test]
fn further_options_are_passed_and_nothing_in_an_input_is_a_part_of_the_script() {
    let (done, ..) = run(&[
        ("command", "echo '$(touch injected)'; exit 4"),
        ("options", "--success-on 4 -v"),
        ("max_attempts", "1"),
    ]);
    done.exits(0).stdout_is("$(touch injected)\n");
    let (done, outputs, sandbox) = run(&[
        ("command", "true"),
        ("max_attempts", "$(touch injected)"),
        ("options", "*; touch injected"),
    ]);
    done.exits(125);
    assert!(!sandbox.path("injected").exists());
    assert!(
        outputs.contains("total_attempts=0\nexit_code=125\n"),
        "{outputs}"
    );
}

#[test]
fn every_input_is_handed_to_the_script_and_every_one_of_the_other_action_is_there() {
    let text = fs::read_to_string(action("action.yml")).expect("a file");
    let inputs = text.split("\noutputs:\n").next().expect("inputs");
    let inputs = inputs.split("\ninputs:\n").nth(1).expect("inputs");
    let names: Vec<&str> = inputs
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(|line| line.trim().trim_end_matches(':'))
        .collect();
    let script = fs::read_to_string(action("run")).expect("a file");
    for name in &names {
        if ["polling_interval_seconds", "version"].contains(name) {
            continue;
        }
        let variable = format!("INPUT_{}", name.to_uppercase());
        let line = format!("        {variable}: ${{{{ inputs.{name} }}}}\n");
        assert!(text.contains(&line), "{line}");
        assert!(script.contains(&variable), "{variable}");
    }
    for theirs in [
        "timeout_minutes",
        "timeout_seconds",
        "max_attempts",
        "command",
        "retry_wait_seconds",
        "shell",
        "polling_interval_seconds",
        "retry_on",
        "warning_on_retry",
        "on_retry_command",
        "continue_on_error",
        "new_command_on_retry",
        "retry_on_exit_code",
    ] {
        assert!(names.contains(&theirs), "{theirs}");
    }
}

#[test]
fn a_cancelled_step_ends_the_command() {
    let script = format!(
        "export INPUT_COMMAND='trap \"echo got; exit 3\" TERM; echo ready >ready; while :; do sleep 0.05; done'
        GITHUB_OUTPUT=$T/outputs RUNNER_TEMP=$T {} & pid=$!
        until [ -s ready ]; do sleep 0.02; done; kill -TERM $pid; wait $pid; echo $?; cat outputs",
        action("run").display()
    );
    let done = Sandbox::new().bash(&script).run();
    done.stdout_is("got\n3\ntotal_attempts=1\nexit_code=3\nexit_error=exit 3\n");
}
