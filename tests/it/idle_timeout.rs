//! `--idle-timeout`: a command that writes nothing for this long is ended.

use std::io::Read as _;

use crate::support::{AT_ONCE, FAST, Sandbox, let_pass, pipe};

#[test]
fn a_command_that_writes_now_and_then_is_not_silent() {
    let spawn = |(to, stdout)| {
        let script = format!("for i in 1 2 3 4 5; do echo $i {to}; sleep 0.4; done");
        let options = format!("{FAST} --idle-timeout 900ms --stdout {stdout}");
        Sandbox::new().retry_sh(&options, &script).spawn()
    };
    let cases = [
        ("", "stream"),
        (">&2", "stream"),
        ("", "once"),
        (">&2", "once"),
    ];
    for running in cases.map(spawn) {
        let done = running.wait();
        done.exits(0);
        assert_eq!(format!("{}{}", done.stdout, done.stderr), "1\n2\n3\n4\n5\n");
    }
}

#[test]
fn a_command_that_falls_silent_is_ended_and_the_line_says_why() {
    for options in ["", "--stdout once", "--timeout 90s"] {
        let options = format!("{FAST} -a 2 --idle-timeout 300ms {options}");
        let done = Sandbox::new()
            .retry_sh(&options, "echo x; sleep 30; :")
            .run();
        done.exits(124).took_less_than(AT_ONCE);
        assert_eq!(
            done.stderr
                .matches(": no output for 300ms (--idle-timeout)")
                .count(),
            2,
            "{done:?}"
        );
    }
    let options = format!("{FAST} -a 1 --idle-timeout 20s --timeout 300ms");
    let done = Sandbox::new().retry_sh(&options, "sleep 30").run();
    done.exits(124).stdout_is("");
    assert!(!done.stderr.contains("no output"), "{done:?}");
}

#[test]
fn no_limit_is_no_limit_for_silence() {
    for none in ["0", "inf"] {
        let options = format!("--idle-timeout {none}");
        Sandbox::new()
            .retry_sh(&options, "sleep 0.5")
            .run()
            .exits(0)
            .stdout_is("")
            .stderr_is("");
    }
}

#[test]
fn a_command_that_waits_for_our_reader_is_not_silent() {
    let (mut reader, stdout) = pipe();
    let options = "-a 1 --idle-timeout 500ms";
    let call = Sandbox::new().retry_sh(options, "echo ready >&2; seq 300000");
    let mut running = call.stdout(stdout).spawn();
    running.await_stderr("ready");
    // Longer than the limit: were it silent, it would have been ended by then.
    let_pass("0.8");
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("numbers");
    running.wait().exits(0);
    assert!(text.len() == 1_988_895 && text.ends_with("\n300000\n"));
}
