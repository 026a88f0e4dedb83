//! Groups and annotations for GitHub Actions.

use crate::support::{FAST, Sandbox};

/// How many lines begin with this command.
fn commands(text: &str, command: &str) -> usize {
    let begins = |line: &&str| line.starts_with(command);
    text.lines().filter(begins).count()
}

#[test]
fn each_attempt_is_a_group_and_only_a_failed_one_a_warning() {
    let script = "retry $FAST -a 2 --log-format github -- failn 1 1 2>&1";
    let done = Sandbox::new().bash(script).run();
    done.exits(0).stderr_is("");
    let count = |command| commands(&done.stdout, command);
    assert_eq!(
        (count("::group::"), count("::endgroup::")),
        (2, 2),
        "{done:?}"
    );
    assert_eq!((count("::warning"), count("::error")), (1, 0), "{done:?}");
}

#[test]
fn if_all_fail_the_end_is_an_error() {
    let done = Sandbox::new()
        .retry(&format!("{FAST} -a 2 --log-format github -- false"))
        .run();
    let count = |command| commands(&done.stderr, command);
    assert_eq!(
        (count("::group::"), count("::endgroup::")),
        (2, 2),
        "{done:?}"
    );
    assert_eq!((count("::warning"), count("::error")), (2, 1), "{done:?}");
    done.exits(1).stdout_is("");
}

#[test]
fn a_line_that_the_command_has_not_ended_hides_no_command_of_ours() {
    let done = Sandbox::new()
        .retry_sh(
            &format!("{FAST} -a 2 --log-format github"),
            "printf half >&2; exit 1",
        )
        .run();
    done.exits(1).stdout_is("");
    assert!(
        done.stderr
            .lines()
            .filter(|line| *line == "::endgroup::")
            .count()
            == 2,
        "{done:?}"
    );
}

#[test]
fn a_program_that_cannot_be_run_is_an_error_and_a_signal_too() {
    let sandbox = Sandbox::new();
    let done = sandbox.retry("--log-format github -- nosuchprogram").run();
    done.exits(127).stdout_is("");
    assert!(
        done.stderr
            .contains("\n::error title=retry::nosuchprogram: cannot run: not found"),
        "{done:?}"
    );
    let mut running = sandbox
        .retry("--log-format github --base 1m --jitter none -- false")
        .spawn();
    running.await_stderr("::warning").signal(libc::SIGTERM);
    let done = running.wait();
    done.dies_of(libc::SIGTERM).stdout_is("");
    assert!(
        done.stderr
            .contains("\n::error title=retry::false: interrupted (SIGTERM)"),
        "{done:?}"
    );
}

#[test]
fn what_a_hook_or_a_background_job_leaves_unfinished_hides_no_command_either() {
    let sandbox = Sandbox::new();
    let options = format!("{FAST} -a 2 --log-format github --before-retry");
    for hook in ["printf half", "printf half; exit 1"] {
        let done = sandbox
            .retry(&options)
            .arg(hook)
            .args(["--", "false"])
            .run();
        done.exits(1).stdout_is("");
        let commands = done
            .stderr
            .lines()
            .filter(|line| line.contains("::group") || line.contains("::error"));
        assert!(commands.clone().count() >= 2, "{done:?}");
        assert!(
            commands.clone().all(|line| line.starts_with("::")),
            "{done:?}"
        );
    }
}

#[test]
fn a_group_in_a_job_begins_a_line_without_an_empty_one_before_it() {
    // What is searched for patterns passes through us, so the end of its last line is known.
    for (options, script, stderr) in [
        (
            "--retry-if .",
            "printf unfinished >&2; exit 1",
            "unfinished",
        ),
        ("--retry-if .", "echo finished >&2; exit 1", "finished"),
        (
            "--retry-if stderr:.",
            "echo finished >&2; exit 1",
            "finished",
        ),
        ("--idle-timeout 1m", "exit 1", ""),
    ] {
        let options = format!("{FAST} -a 2 --log-format github {options}");
        let done = Sandbox::new().retry_sh(&options, script).run();
        done.exits(1).stdout_is("");
        let plain = done.stderr.lines().filter(|line| !line.starts_with("::"));
        let plain: Vec<&str> = plain.collect();
        let expected: Vec<&str> = stderr.lines().chain(stderr.lines()).collect();
        assert_eq!(plain, expected, "{done:?}");
        assert_eq!(commands(&done.stderr, "::endgroup::"), 2, "{done:?}");
    }
}

#[test]
fn a_command_of_ours_begins_a_line_wherever_an_unfinished_one_comes_from() {
    // Only stderr passes through us; both are one pipe.
    let call = "retry $FAST -a 2 --log-format github --retry-if stderr:. -- \
        sh -c 'printf half; exit 1' 2>&1";
    let done = Sandbox::new().bash(call).run();
    done.exits(1);
    assert_eq!(commands(&done.stdout, "::endgroup::"), 1, "{done:?}");
    // A hook writes without us.
    let options = format!("{FAST} -a 2 --log-format github --retry-if . --before-retry");
    for hook in ["printf half", "printf half; exit 1"] {
        let call = Sandbox::new().retry(&options).arg(hook);
        let done = call.args(["--", "sh", "-c", "echo x >&2; exit 1"]).run();
        done.exits(1).stdout_is("");
        assert!(done.stderr.contains("half\n::"), "{done:?}");
    }
}
