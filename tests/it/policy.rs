//! Options from a file.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{AT_ONCE, FAST, Sandbox};

const POLICY: &str = "# for all\nattempts 3\nbase=10ms\ncap 10ms\njitter none\n";

#[test]
fn one_file_is_the_policy_of_a_whole_repository() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("policy"), POLICY).expect("a file");
    for script in [
        "RETRY_POLICY=policy retry -- sh -c 'echo run; exit 4'",
        "retry --policy policy -- sh -c 'echo run; exit 4'",
        "RETRY_POLICY=/no/such retry --policy policy -- sh -c 'echo run; exit 4'",
    ] {
        sandbox
            .bash(script)
            .run()
            .exits(4)
            .stdout_is("run\nrun\nrun\n");
    }
    let script = "RETRY_POLICY=policy retry -a 1 -- sh -c 'echo run; exit 4'";
    sandbox.bash(script).run().exits(4).stdout_is("run\n");
    let script = "RETRY_POLICY= retry $FAST -a 2 -- sh -c 'echo run; exit 4'";
    sandbox.bash(script).run().exits(4).stdout_is("run\nrun\n");
}

#[test]
fn the_command_runs_under_the_same_policy_if_it_retries_itself() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("policy"), "attempts 2\nbase 0\n").expect("a file");
    let script = "RETRY_POLICY=policy retry -q -- retry -q -- sh -c 'echo run; exit 4'";
    sandbox
        .bash(script)
        .run()
        .exits(4)
        .stdout_is("run\nrun\nrun\nrun\n")
        .stderr_is("");
}

#[test]
fn a_file_that_is_none_is_said_and_nothing_is_run() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("bad"), "attempts 3\n\nbase xyz\n").expect("a file");
    fs::write(sandbox.path("long"), "#".repeat(70_000)).expect("a file");
    fs::write(sandbox.path("bytes"), b"attempts \xff\n").expect("a file");
    sandbox.bash("mkfifo pipe").run().exits(0).stdout_is("");
    for (file, says) in [
        (
            "/no/such",
            "policy file '/no/such' cannot be read: no such file or directory",
        ),
        (".", "policy file '.' is not a regular file"),
        ("pipe", "policy file 'pipe' is not a regular file"),
        ("bad", "policy file 'bad', line 3: --base 'xyz'"),
        ("long", "policy file 'long' is longer than 64 KiB"),
        ("bytes", "policy file 'bytes' is not valid UTF-8"),
    ] {
        let script = format!("retry --policy {file} -- sh -c 'echo >ran'");
        let done = sandbox.bash(&script).run();
        done.exits(125).stdout_is("").took_less_than(AT_ONCE);
        assert!(
            done.stderr.contains(says) && done.stderr.lines().count() == 1,
            "{done:?}"
        );
        assert!(!sandbox.path("ran").exists(), "{file}");
    }
}

#[test]
fn a_link_to_a_file_is_as_good_as_the_file() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("policy"), POLICY).expect("a file");
    symlink("policy", sandbox.path("link")).expect("a link");
    let done = sandbox
        .retry(&format!("{FAST} --policy link -- false"))
        .run();
    done.exits(1).stdout_is("");
    assert_eq!(done.failures(), 3);
}

#[test]
fn help_is_there_although_the_file_is_broken() {
    let done = Sandbox::new()
        .bash("RETRY_POLICY=/no/such retry --help")
        .run();
    done.exits(0).stderr_is("");
}

#[test]
fn what_the_policy_forbids_to_retry_is_not_retried_because_the_command_line_contradicts_it() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("policy"), "base 10ms\nretry-on 5\n").expect("a file");
    for option in ["--success-on", "--stop-on"] {
        let script = format!("retry --policy policy {option} 5 -- sh -c 'echo run; exit 7'");
        let done = sandbox.bash(&script).run();
        done.exits(125).stdout_is("").says(&[&format!(
            "--retry-on 5 and {option} 5 leave nothing to retry; remove something from {option} (--retry-on is from policy file 'policy', line 2; the same option on the command line overrides it)"
        )]);
    }
    let script = "retry --policy policy --success-on 6 -- sh -c 'echo run; exit 7'";
    sandbox.bash(script).run().exits(7).stdout_is("run\n");
}

#[test]
fn what_is_written_as_for_a_shell_is_answered_with_what_to_write() {
    let sandbox = Sandbox::new();
    for (line, says) in [
        (
            "retry-if \"busy\"",
            "line 2: quotes would be part of the value; write: retry-if busy, or ",
        ),
        (
            "attempts 3 # three",
            "line 2: a comment needs a line of its own; write: attempts 3\n",
        ),
        (
            "log ~/log",
            "line 2: a policy file does not expand '~/log'; write the full path, without ~\n",
        ),
    ] {
        fs::write(sandbox.path("policy"), format!("base 10ms\n{line}\n")).expect("a file");
        let script = "RETRY_POLICY=policy retry -- sh -c 'echo run; exit 7'";
        let done = sandbox.bash(script).run();
        done.exits(125).stdout_is("");
        assert!(done.stderr.contains(says), "{done:?}");
    }
}
