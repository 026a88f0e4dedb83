//! Notes on calls that work, but may not do what their author meant.

use crate::support::{FAST, Sandbox};

/// Runs with these words; returns the lines that do not belong to the usual report.
#[track_caller]
fn noted(words: &[&str], exit: i32) -> Vec<String> {
    let sandbox = Sandbox::new();
    let call = sandbox.retry(&format!("{FAST} -a 1 --log log"));
    let done = call.args(words).run();
    done.exits(exit);
    let usual = |line: &&str| line.contains("attempt 1/1 failed");
    let notes: Vec<String> = done
        .stderr
        .lines()
        .filter(|line| !usual(line))
        .map(String::from)
        .collect();
    let logged = sandbox.text("log").matches(r#""event":"warning""#).count();
    assert_eq!(notes.len(), logged, "{done:?}");
    notes
}

#[test]
fn options_behind_the_command_are_noted_if_it_fails() {
    for option in ["--attempts", "--delay", "--factor", "--retry-after"] {
        let notes = noted(&["sh", "-c", "exit 7", "sh", option, "3"], 7);
        assert_eq!(notes.len(), 1, "{option}: {notes:?}");
        let expected = format!("{option} was passed to the command");
        assert!(notes[0].contains(&expected), "{notes:?}");
    }
    for (words, exit) in [
        (["--", "sh", "-c", "exit 7", "sh", "--attempts"], 7),
        (["sh", "-c", "exit 0", "sh", "--attempts", "3"], 0),
    ] {
        assert_eq!(noted(&words, exit), [""; 0], "{words:?}");
    }
}

#[test]
fn the_quiet_and_the_interrupted_hear_no_notes() {
    let sandbox = Sandbox::new();
    let call = sandbox.retry(&format!("{FAST} -a 1 -q sh -c"));
    call.args(["exit 7", "sh", "--cap"])
        .run()
        .exits(7)
        .stderr_is("");
}

#[cfg(target_os = "linux")]
#[test]
fn a_setsid_that_leaves_its_command_behind_is_noted_although_it_succeeds() {
    let notes = noted(&["setsid", "sh", "-c", "exit 7"], 0);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("use setsid --wait"), "{notes:?}");
    assert_eq!(noted(&["setsid", "-w", "sh", "-c", "exit 7"], 7), [""; 0]);
    let inherit = ["--process-group", "inherit", "setsid", "-w", "true"];
    assert_eq!(noted(&inherit, 0), [""; 0]);
}

#[test]
fn a_variable_of_ours_that_no_shell_expands_is_noted() {
    let notes = noted(&["echo", "Key: $RETRY_RUN_ID"], 0);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].contains("nothing expands $RETRY_RUN_ID"),
        "{notes:?}"
    );
    assert_eq!(
        noted(&["sh", "-c", "test -n \"$RETRY_RUN_ID\""], 0),
        [""; 0]
    );
}

#[test]
fn a_name_stands_in_every_line_and_in_the_log() {
    let sandbox = Sandbox::new();
    let options = format!("{FAST} -a 2 --log log --name");
    let call = sandbox
        .retry(&options)
        .arg("nightly \u{1b}[31mbackup of /home");
    let done = call.args(["--", "sh", "-c", "exit 7"]).run();
    done.exits(7);
    let named = "]: nightly \\u{1b}[31mbackup of /home: attempt ";
    assert_eq!(done.stderr.matches(named).count(), 2, "{done:?}");
    let log = sandbox.text("log");
    assert!(
        log.contains(r#""program":"sh","name":"nightly \u001b[31mbackup of /home""#),
        "{log}"
    );
}
