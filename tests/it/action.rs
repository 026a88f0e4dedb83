//! The GitHub action, run as a runner does it: `bash -e`, with inputs in the environment.

mod cancel;
mod refusals;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::support::{AT_ONCE, Call, Done, RETRY, Sandbox};

fn action(file: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join(".github/actions/retry").join(file)
}

/// The shell script that the action's step is.
fn script_of_the_step() -> String {
    let text = fs::read_to_string(action("action.yml")).expect("a file");
    let step = text.split("- id: run\n").nth(1).expect("the step");
    let mut lines = step.lines().map(str::trim);
    let quoted = lines.find_map(|line| line.strip_prefix("run: '")?.strip_suffix('\''));
    quoted.expect("its script").to_owned() + "\n"
}

/// The action's step with these inputs, in a sandbox where it finds programs in `bin` first.
fn step(inputs: &[(&str, &str)], sandbox: &Sandbox) -> Call {
    let export = |(name, value): &(&str, &str)| {
        let value = value.replace('\'', "'\\''");
        format!("export INPUT_{}='{value}'", name.to_uppercase())
    };
    let mut script = vec![String::from(
        "export GITHUB_ACTIONS=true GITHUB_OUTPUT=$T/outputs RUNNER_TEMP=$T/temp PATH=$T/bin:$PATH",
    )];
    script.extend(inputs.iter().map(export));
    fs::create_dir(sandbox.path("temp")).expect("a directory");
    fs::write(sandbox.path("step"), script_of_the_step()).expect("a file");
    let path = action("").display().to_string();
    script.push(format!(
        "export GITHUB_ACTION_PATH={path}; exec bash --noprofile --norc -e -o pipefail step"
    ));
    sandbox.bash(&script.join("\n"))
}

/// Has the step find this script instead of a program that runs the command.
fn replace_program(sandbox: &Sandbox, script: &str) {
    let script = format!(
        "#!/bin/sh\ncase $1 in --plan | --generate) exec {RETRY} \"$@\" ;; esac\n{script}\n"
    );
    fs::create_dir(sandbox.path("bin")).expect("a directory");
    let path = sandbox.path("bin/retry");
    fs::write(&path, script).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
}

/// What the command wrote, without lines of `retry`'s own.
fn wrote(done: &Done) -> Vec<&str> {
    let is_ours =
        |line: &str| line.is_empty() || line.starts_with("::") || line.starts_with("retry[");
    done.stdout.lines().filter(|line| !is_ours(line)).collect()
}

/// Fails if the step has left a file of its own.
fn check_left(sandbox: &Sandbox, done: &Done) {
    let left = fs::read_dir(sandbox.path("temp")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "files are left: {done:?}");
}

/// Runs the action with these inputs; returns what came of it, and its outputs.
fn run(inputs: &[(&str, &str)]) -> (Done, String, Sandbox) {
    let sandbox = Sandbox::new();
    let done = step(inputs, &sandbox).run();
    done.stderr_is("");
    check_left(&sandbox, &done);
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
    let warnings = done.stdout.matches("::warning title=retry::").count();
    assert_eq!(warnings, 2, "{done:?}");
}

#[test]
fn what_an_attempt_writes_stands_in_its_group() {
    // A runner reads stdout and stderr as two streams, and keeps no order between them.
    let command = "echo out; echo err >&2; [ $RETRY_ATTEMPT = 2 ]";
    let (done, ..) = run(&[("command", command), NO_WAIT]);
    done.exits(0);
    let lines = done.stdout.lines().filter(|line| !line.is_empty());
    let first = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let lines: Vec<String> = lines.map(first).collect();
    let group = ["::group::bash:", "out", "err", "::endgroup::"];
    assert_eq!(lines[..4], group, "{done:?}");
    assert_eq!(lines[4], "::warning", "{done:?}");
    assert_eq!(lines[5..9], group, "{done:?}");
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
}

#[test]
fn the_delay_is_the_same_each_time_or_grows_from_base() {
    let delays = |inputs: &[(&str, &str)]| {
        let mut all = vec![("command", "exit 1"), ("max_attempts", "3")];
        all.extend(inputs);
        let (done, ..) = run(&all);
        let next = |line: &str| Some(line.split_once("next in ")?.1.to_owned());
        done.stdout.lines().filter_map(next).collect::<Vec<_>>()
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
    assert_eq!(done.stdout.matches(warned).count(), 2, "{done:?}");
}

#[test]
fn another_command_may_run_from_the_second_attempt_on() {
    let (done, ..) = run(&[
        ("command", "echo first; exit 1"),
        ("new_command_on_retry", "echo \"again '$RETRY_ATTEMPT'\""),
        NO_WAIT,
    ]);
    done.exits(0);
    assert_eq!(wrote(&done), ["first", "again '2'"], "{done:?}");
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
    assert!(!done.stdout.contains("::warning"), "{done:?}");
    assert!(done.stdout.contains("attempt 1/3 failed"), "{done:?}");
}

#[test]
fn the_shell_runs_what_it_is_given_as_it_is() {
    for (shell, command, lines) in [
        (
            "bash",
            "a=(x 'y  z'); echo \"${a[1]}\" '$HOME' \"`echo q`\"",
            &["y  z $HOME q"][..],
        ),
        (
            "sh",
            "echo \"$0\" | tr a-z x; false; echo end",
            &["xx", "end"],
        ),
        ("python", "import sys\nprint(1 + 1)\nsys.exit(0)", &["2"]),
    ] {
        let (done, ..) = run(&[("command", command), ("shell", shell)]);
        done.exits(0);
        assert_eq!(wrote(&done), lines, "{done:?}");
    }
}

#[test]
fn the_hook_is_run_by_sh_and_both_commands_by_the_shell() {
    let (done, _, sandbox) = run(&[
        ("shell", "python"),
        (
            "command",
            "import sys; print(1 + 1, flush=True); sys.exit(5)",
        ),
        ("new_command_on_retry", "print(2 + 2)"),
        ("on_retry_command", "echo \"hook by $0\" >hook; exit 7"),
        NO_WAIT,
    ]);
    done.exits(0);
    assert_eq!(sandbox.text("hook"), "hook by sh\n");
    assert_eq!(wrote(&done), ["2", "4"], "{done:?}");
    let warned = "::warning title=retry::on_retry_command failed: exit 7";
    assert!(done.stdout.contains(warned), "{done:?}");
}

#[test]
fn options_may_stand_on_several_lines() {
    let (done, outputs, _) = run(&[
        ("command", "exit 4"),
        (
            "options",
            "--retry-on 9\n  --success-on\t4\n\n--stdin null -v\n",
        ),
        ("max_attempts", "1"),
    ]);
    done.exits(0);
    assert!(done.stdout.contains("is in --success-on 4"), "{done:?}");
    assert_eq!(outputs, "total_attempts=1\nexit_code=0\nexit_error=\n");
}

#[test]
fn the_outputs_are_right_whatever_the_options_report_and_where() {
    let sandbox = Sandbox::new();
    let policy = sandbox.path("policy");
    fs::write(&policy, "log other.jsonl\nname two words\n").expect("a file");
    let policy = format!("--policy {}", policy.display());
    for options in [
        "-q",
        "-v",
        "--log-format json",
        "--log-format text",
        "--output last",
        "--output on-failure",
        "--stdout once",
        "--name exit",
        &policy,
    ] {
        let (done, outputs, _) = run(&[
            ("command", "echo x >>runs; exit 9"),
            ("max_attempts", "2"),
            ("options", options),
            NO_WAIT,
        ]);
        done.exits(9);
        let expected = "total_attempts=2\nexit_code=9\nexit_error=exit 9\n";
        assert_eq!(outputs, expected, "{options}: {done:?}");
    }
}

#[test]
fn a_failure_of_retry_itself_is_not_taken_for_one_of_the_command() {
    let sandbox = Sandbox::new();
    replace_program(&sandbox, "echo 'retry[1]: cannot go on' >&2; exit 125");
    let done = step(&[("command", "true")], &sandbox).run();
    done.exits(125).stderr_is("");
    done.stdout_is("retry[1]: cannot go on\n::error title=retry::retry itself failed; its last line says why\n");
    let outputs =
        "total_attempts=0\nexit_code=125\nexit_error=retry itself failed; its last line says why\n";
    assert_eq!(sandbox.text("outputs"), outputs);
}

#[test]
fn a_boolean_is_written_as_for_any_action() {
    for (value, status) in [
        ("true", 0),
        ("True", 0),
        ("TRUE", 0),
        ("false", 9),
        ("False", 9),
        ("FALSE", 9),
        ("", 9),
    ] {
        let fails = [("command", "exit 9"), ("max_attempts", "1")];
        let (done, ..) = run(&[fails[0], fails[1], ("continue_on_error", value)]);
        done.exits(status);
        let (done, ..) = run(&[fails[0], fails[1], ("warning_on_retry", value)]);
        let warns = done.stdout.contains("::warning");
        assert_eq!(warns, status == 0 || value.is_empty(), "{value}: {done:?}");
    }
}

#[test]
fn a_number_is_written_in_digits() {
    let runs = |name, value| {
        let command = ("command", "echo x >>runs; exit 7");
        let (done, _, sandbox) = run(&[command, ("timeout_seconds", "60"), NO_WAIT, (name, value)]);
        done.exits(7);
        sandbox.lines("runs")
    };
    for (name, value, expected) in [
        ("max_attempts", "2", 2),
        ("max_attempts", "02", 2),
        ("max_attempts", "", 3),
        ("polling_interval_seconds", "0.5", 3),
        ("polling_interval_seconds", "", 3),
        ("retry_wait_seconds", "0.01", 3),
        ("timeout_seconds", "90.5", 3),
        ("retry_on_exit_code", "7", 3),
        ("retry_on_exit_code", "1, 5-9", 3),
        ("retry_on_exit_code", "1,5-6,8", 1),
    ] {
        assert_eq!(runs(name, value), expected, "{name}: {value}");
    }
}

#[test]
fn nothing_in_an_input_is_a_part_of_the_script() {
    let (done, ..) = run(&[
        ("command", "echo '$(touch injected)'; exit 4"),
        ("options", "--success-on 4 -v"),
        ("max_attempts", "1"),
    ]);
    done.exits(0);
    assert_eq!(wrote(&done), ["$(touch injected)"], "{done:?}");
    for (name, value) in [
        ("max_attempts", "$(touch injected)"),
        ("timeout_seconds", "a[$(touch injected)]"),
        ("options", "*; touch injected"),
        ("options", "$(touch injected) `touch injected`"),
        ("shell", "sh\ninjected=1"),
        ("retry_on", "any<<E\ninjected=1"),
        ("warning_on_retry", "true; touch injected"),
    ] {
        let (done, outputs, sandbox) = run(&[("command", "true"), (name, value)]);
        done.exits(125);
        assert!(!sandbox.path("injected").exists(), "{name}");
        let names = outputs.lines().map(|line| line.split('=').next());
        let names: Vec<_> = names.flatten().collect();
        assert_eq!(
            names,
            ["total_attempts", "exit_code", "exit_error"],
            "{outputs}"
        );
    }
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
        if *name == "version" {
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
