//! `--log`: the file itself, and that nothing about it changes a run.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::getuid;
use serde_json::Value;

use crate::log_records::on_stderr;
use crate::schema;
use crate::support::{AT_ONCE, FAST, Sandbox};

#[test]
fn many_runs_may_write_to_one_log() {
    let sandbox = Sandbox::new();
    let script = "seq 200 | xargs -P20 -I{} retry -q $FAST -a 2 --log $T/l -- false";
    sandbox
        .bash(script)
        .run()
        .exits(123)
        .stdout_is("")
        .stderr_is("");
    let log = sandbox.log();
    assert_eq!(log.len(), 200 * 5);
    for end in log.iter().filter(|line| line["event"] == "end") {
        let run = log.iter().filter(|line| line["run_id"] == end["run_id"]);
        let events: Vec<&Value> = run.map(|line| &line["event"]).collect();
        assert_eq!(events, ["start", "attempt", "delay", "attempt", "end"]);
    }
}

#[test]
fn a_log_is_appended_to_and_made_as_the_umask_says() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("old"), "what was there\n").expect("a file");
    sandbox
        .retry("--log old -- true")
        .run()
        .exits(0)
        .stdout_is("");
    let log = sandbox.text("old");
    let ours = log.strip_prefix("what was there\n").expect("it is there");
    assert_eq!(schema::lines(ours).len(), 3);
    for (umask, mode) in [("022", 0o644), ("077", 0o600)] {
        let script = format!("umask {umask}; retry --log $T/{umask} -- true");
        sandbox.bash(&script).run().exits(0).stdout_is("");
        let file = fs::metadata(sandbox.path(umask)).expect("a file");
        assert_eq!(file.permissions().mode() & 0o777, mode);
    }
}

/// Checks that a run which cannot write to this log warns once, and fails as it would without a
/// log.
#[track_caller]
fn goes_on_without(sandbox: &Sandbox, file: &str, reason: &str) {
    let lost = format!("sh: cannot write the --log file ({reason})");
    let options = format!("{FAST} -a 2 --log {file}");
    let done = sandbox.retry_sh(&options, "echo x; exit 7").run();
    done.exits(7).stdout_is("x\nx\n").says(&[
        &lost,
        "sh: attempt 1/2 failed: exit 7 after …; next in …",
        "sh: attempt 2/2 failed: exit 7 after …; giving up after …",
    ]);
    done.took_less_than(AT_ONCE);
    let done = sandbox.retry(&format!("-q --log {file} -- true")).run();
    assert_eq!(done.exits(0).stderr, "");
}

#[test]
fn a_log_that_cannot_be_written_is_said_once_and_changes_nothing() {
    let sandbox = Sandbox::new();
    goes_on_without(&sandbox, ".", "is a directory");
    goes_on_without(&sandbox, "no/such/log", "no such file or directory");
    let fifo = sandbox.path("fifo");
    sandbox.program("mkfifo").arg(&fifo).run().exits(0);
    let unread = "it is a FIFO or a socket, and nobody reads it";
    goes_on_without(&sandbox, "fifo", unread);
    if cfg!(target_os = "linux") {
        goes_on_without(&sandbox, "/dev/full", "no space left on device");
    }
    assert!(
        sandbox
            .bash("exec 9<>fifo; retry --log fifo -- true")
            .run()
            .stderr
            .is_empty()
    );
}

#[test]
fn a_log_of_somebody_elses_is_left_alone() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("l"), "").expect("a file");
    fs::set_permissions(sandbox.path("l"), PermissionsExt::from_mode(0o444)).expect("it is ours");
    let nobody: &[&str] = if getuid().is_root() {
        &[
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
        ]
    } else {
        &["env"]
    };
    let options = "retry -a 1 --log l -- false".split(' ');
    let done = sandbox
        .program(nobody[0])
        .args(&nobody[1..])
        .args(options)
        .run();
    done.exits(1).stdout_is("").says(&[
        "false: cannot write the --log file (permission denied)",
        "false: attempt 1/1 failed: exit 1 after …; giving up after …",
    ]);
    assert_eq!(sandbox.text("l"), "");
}

#[test]
fn a_log_that_must_not_grow_ends_nothing() {
    let sandbox = Sandbox::new();
    let script = "ulimit -f 0; retry $FAST -a 2 --log l -- false";
    let done = sandbox.bash(script).run();
    assert!(
        done.exits(1).stdout_is("").said()[0]
            .ends_with("cannot write the --log file (file too large)"),
        "{done:?}"
    );
    assert_eq!((done.said().len(), done.failures()), (3, 2));
}

#[test]
fn a_reader_that_does_not_read_holds_nothing_up() {
    let sandbox = Sandbox::new();
    let fifo = sandbox.path("fifo");
    sandbox.program("mkfifo").arg(&fifo).run().exits(0);
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let reader = open(&fifo, flags, Mode::empty()).expect("a reader");
    while rustix::io::write(&reader, &[b'x'; 4096]).is_ok() {}
    goes_on_without(&sandbox, "fifo", "resource temporarily unavailable");
}

#[test]
fn a_reader_that_has_read_enough_ends_nothing() {
    let sandbox = Sandbox::new();
    let script = "mkfifo fifo; sh -c 'exec 8<>fifo; echo $$ >reader; read line <&8' &
        until [ -s reader ]; do sleep .01; done
        while_read='while kill -0 $(cat reader); do sleep .01; done; exit 7'
        retry -a 1 --log fifo -- sh -c \"$while_read\" 2>&1 | grep '^retry'; exit ${PIPESTATUS[0]}";
    let done = sandbox.bash(script).run();
    let said: Vec<&str> = done.exits(7).stderr_is("").stdout.lines().collect();
    assert_eq!(said.len(), 2, "{done:?}");
    assert!(said[0].contains("failed: exit 7 after"), "{done:?}");
    let lost = "sh: cannot write the --log file (broken pipe)";
    assert!(said[1].ends_with(lost), "{done:?}");
}

#[test]
fn a_fifo_is_read_line_by_line() {
    let sandbox = Sandbox::new();
    let script =
        "mkfifo fifo; cat fifo >l & exec 9>fifo; retry --log fifo -- true; exec 9>&-; wait";
    assert_eq!(sandbox.logged(script, 0).len(), 3);
}

#[test]
#[cfg(target_os = "linux")]
fn the_command_does_not_get_the_log() {
    let sandbox = Sandbox::new();
    let done = sandbox
        .retry_sh("--log l", "readlink /proc/$$/fd/*; true")
        .run();
    assert!(
        !done.exits(0).stderr_is("").stdout.contains("/l\n"),
        "{done:?}"
    );
}

#[test]
fn a_wrong_call_is_no_run_and_leaves_the_log_alone() {
    let sandbox = Sandbox::new();
    let done = sandbox
        .retry("--log-format json --log l --factor 1 --backoff linear true")
        .run();
    assert_eq!(on_stderr(done.exits(125).stdout_is("")).len(), 1);
    assert_eq!(sandbox.text("l"), "");
}

#[test]
fn the_name_of_the_file_may_be_any_bytes() {
    let script = "retry -a 1 --log=$'\\xff' -- true; ls | od -An -tx1 | tr -d ' '";
    let done = Sandbox::new().bash(script).run();
    done.exits(0).stdout_is("ff0a\n").stderr_is("");
}
