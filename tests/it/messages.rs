//! The lines on stderr: what they say about each attempt, and what they never show.

use crate::support::{FAST, Sandbox, check, check_failn};

const R: &str = "--attempts 3 --base 10ms --cap 10ms --jitter none";

#[test]
fn quiet_says_nothing_whatever_happens() {
    let sandbox = Sandbox::new();
    for (command, exit) in [("false", 1), ("nosuchprogram", 127), ("true", 0)] {
        let done = sandbox.retry(&format!("-q {FAST} -- {command}")).run();
        done.exits(exit).stdout_is("").stderr_is("");
    }
}

#[test]
fn nothing_of_ours_goes_to_stdout() {
    let done = Sandbox::new()
        .retry_sh(&format!("-v {R}"), "echo $RETRY_ATTEMPT; exit 1")
        .run();
    done.exits(1).stdout_is("1\n2\n3\n");
    assert!(done.stderr.contains("sh: attempt 1/3 starts"), "{done:?}");
}

#[test]
fn only_the_programs_name_is_said_and_never_its_arguments() {
    let secret = "hunter2";
    let sandbox = Sandbox::new();
    let commands = [
        (3, vec!["sh", "-c", "exit 3", secret]),
        (127, vec!["nosuchprogram", secret]),
        (127, vec!["nosuchprogram --password hunter2"]),
        (127, vec!["/no/such/hunter2~/curl"]),
        (127, vec!["TOKEN=hunter2/curl"]),
    ];
    for (exit, command) in commands {
        let done = sandbox.retry(&format!("-v {R} --")).args(&command).run();
        done.exits(exit).stdout_is("");
        assert!(
            !done.stderr.contains(secret) && !done.stderr.is_empty(),
            "{done:?}"
        );
    }
}

#[test]
fn a_long_list_does_not_make_a_long_line() {
    let list = vec!["7"; 5000].join(",");
    let done = Sandbox::new()
        .retry("--retry-on")
        .arg(&list)
        .args(["--", "false"])
        .run();
    done.exits(1).stdout_is("");
    assert!(done.stderr.len() < 400, "{done:?}");
}

#[test]
fn each_line_says_which_attempt_failed_how_and_how_long_the_delay_is() {
    let done = check_failn("-a 3", "2 7", 0, 3);
    done.stdout_is("out1\nout2\nout3\n");
    let said = done.said();
    assert_eq!(said.len(), 3, "{done:?}");
    for (line, k) in said[..2].iter().zip(1..) {
        assert!(
            line.starts_with(&format!("failn: attempt {k}/3 failed: exit 7 after "))
                && line.ends_with("; next in 10ms"),
            "{done:?}"
        );
    }
    assert!(
        said[2].starts_with("failn: succeeded on attempt 3/3 after "),
        "{done:?}"
    );
}

#[test]
fn death_by_a_signal_is_tried_again_and_the_line_names_the_signal() {
    let done = check(
        "retry $FAST -a 2 -- sh -c 'kill -9 $$'; echo rc=$?",
        "rc=137\n",
    );
    done.says(&[
        "sh: attempt 1/2 failed: killed by SIGKILL after …; next in …",
        "sh: attempt 2/2 failed: killed by SIGKILL after …; giving up after …",
    ]);
}

#[test]
fn without_an_end_the_number_of_an_attempt_stands_alone() {
    let script = "[ $RETRY_ATTEMPT = 3 ]";
    let done = Sandbox::new()
        .retry_sh(&format!("{FAST} -a inf"), script)
        .run();
    done.exits(0).stdout_is("").says(&[
        "sh: attempt 1 failed: exit 1 after …; next in …",
        "sh: attempt 2 failed: exit 1 after …; next in …",
        "sh: succeeded on attempt 3 after …",
    ]);
}

#[test]
fn no_secret_in_what_stands_where_the_command_should_is_printed_or_logged() {
    let sandbox = Sandbox::new();
    for word in [
        "https://user:secret@host",
        "user:secret@host",
        "Authorization:secret",
        "https://host/p;secret#tok",
        "/p;secret?secret",
        "TOKEN=secret",
    ] {
        for format in ["text", "json", "github"] {
            let options = format!("-v --log log --log-format {format} -- {word}");
            let done = sandbox.retry(&options).run();
            done.exits(127).stdout_is("");
            assert!(done.stderr.contains("not found"), "{done:?}");
            let log = sandbox.text("log");
            assert!(log.contains("not found"), "{log}");
            for said in [&done.stderr, &log] {
                assert!(!said.contains("secret") && !said.contains("tok"), "{said}");
            }
        }
    }
}
