//! Exit statuses, and what is and is not tried again.

use crate::support::{FAST, Sandbox, fixture};

/// Three attempts without waiting.
const R: &str = "--attempts 3 --base 10ms --cap 10ms --jitter none";

#[test]
fn the_status_of_the_last_attempt_is_reported() {
    Sandbox::new()
        .retry_sh(R, "exit $((RETRY_ATTEMPT + 2))")
        .run()
        .exits(5);
}

#[test]
fn every_exit_code_comes_through_unchanged() {
    let sandbox = Sandbox::new();
    for code in [1, 2, 124, 125, 126, 127, 128, 137, 254, 255] {
        sandbox
            .retry_sh("-a 1", &format!("exit {code}"))
            .run()
            .exits(code);
    }
}

#[test]
fn a_success_after_failures_exits_0_and_says_so() {
    let sandbox = Sandbox::new();
    let done = sandbox.retry(R).args(["--", "failn", "2", "3"]).run();
    done.exits(0).stdout_is("out1\nout2\nout3\n").says(&[
        "failn: attempt 1/3 failed: exit 3 after …; next in …",
        "failn: attempt 2/3 failed: exit 3 after …; next in …",
        "failn: succeeded on attempt 3/3 after …",
    ]);
    assert_eq!(sandbox.text("n"), "3\n");
}

#[test]
fn a_success_at_first_says_nothing_and_exits_0() {
    let done = Sandbox::new().retry(R).args(["--", "echo", "hi"]).run();
    done.exits(0).stdout_is("hi\n");
    assert_eq!(done.stderr, "");
}

/// A command that no retry can help: one try, one line, this status.
#[track_caller]
fn is_tried_once(command: &str, exit: i32, said: &str) {
    let done = Sandbox::new().retry(R).arg("--").arg(command).run();
    done.exits(exit);
    assert_eq!(done.said().len(), 1, "{done:?}");
    assert!(done.stderr.contains(said), "{done:?}");
}

#[test]
fn a_command_that_is_not_found_is_tried_once_and_exits_127() {
    for command in ["/no/such", "", "nosuchprogram", &fixture("bad-interpreter")] {
        is_tried_once(command, 127, "cannot run: not found");
    }
}

#[test]
fn a_command_that_cannot_be_executed_is_tried_once_and_exits_126() {
    let long = format!("./{}", "x".repeat(5000));
    for command in ["/tmp", "/etc/passwd/x", &fixture("not-executable"), &long] {
        is_tried_once(command, 126, "cannot run: ");
    }
}

#[test]
fn why_a_command_cannot_be_executed_is_said() {
    let sandbox = Sandbox::new();
    let files = "mkdir bin bin/folder; echo >bin/plain
        printf '#!/no/such -e\\r\\n' >bin/lost; printf '#! /bin/sh\\r\\nexit 0\\r\\n' >bin/dos
        printf '#!%s\\n' $PWD/bin/lost >bin/chain; chmod +x bin/lost bin/dos bin/chain";
    sandbox.bash(files).run().exits(0);
    let not_marked = "permission denied: it is not marked as executable (chmod +x)";
    let no_interpreter = "not found: the interpreter that its first line names does not exist";
    let dos = "not found: its first line ends in CR, which makes a wrong name of its interpreter";
    for (program, exit, why) in [
        ("plain", 126, not_marked),
        ("folder", 126, "it is a directory"),
        ("lost", 127, no_interpreter),
        ("dos", 127, dos),
        (
            "chain",
            127,
            "not found: the interpreter that its first line names needs one that does not exist",
        ),
    ] {
        for place in ["./bin/", ""] {
            let script = format!("PATH=$PWD/bin:$PATH retry -- {place}{program}");
            let done = sandbox.bash(&script).run();
            done.exits(exit)
                .says(&[&format!("{place}{program}: cannot run: {why}")]);
        }
    }
}

#[test]
fn the_first_program_in_path_that_can_be_executed_is_run() {
    let sandbox = Sandbox::new();
    let script =
        "mkdir a b; echo 'exit 3' >a/prog; echo 'echo $0 $1; exit 4' >b/prog; chmod +x b/prog
        PATH=/no/such:$PWD/a:$PWD/b:$PATH retry -a 1 -- prog x; echo $?
        PATH=$PWD/a:$PATH retry -a 1 -- prog 2>said; echo $?; grep -o 'permission denied' said";
    let done = sandbox.bash(script).run();
    let ran = sandbox.path("b/prog");
    done.stdout_is(&format!("{} x\n4\n126\npermission denied\n", ran.display()));
}

#[test]
fn a_script_without_an_interpreter_line_is_run_by_the_shell() {
    Sandbox::new()
        .retry("-a 1 --")
        .arg(fixture("no-shebang"))
        .run()
        .exits(4)
        .stdout_is("ran\n");
}

#[test]
fn a_program_that_is_being_written_is_tried_again_until_it_is_done() {
    let sandbox = Sandbox::new();
    sandbox.bash("cp \"$(type -P true)\" busy").run().exits(0);
    let writer = std::fs::File::options()
        .append(true)
        .open(sandbox.path("busy"))
        .expect("a file");
    let mut running = sandbox
        .retry("-a 100 --base 20ms --cap 20ms -- ./busy")
        .spawn();
    running.await_stderr("attempt 1/100 failed: cannot run: text file busy; next in");
    drop(writer);
    running.wait().exits(0);
}

#[test]
fn a_program_that_stays_busy_exits_126_after_all_attempts() {
    let sandbox = Sandbox::new();
    sandbox.bash("cp \"$(type -P true)\" busy").run().exits(0);
    let writer = std::fs::File::options()
        .append(true)
        .open(sandbox.path("busy"))
        .expect("a file");
    let done = sandbox.retry(R).args(["--", "./busy"]).run();
    drop(writer);
    done.exits(126);
    assert_eq!(done.failures(), 3, "{done:?}");
}

#[test]
fn a_shell_that_does_not_find_its_command_is_an_ordinary_failure() {
    let done = Sandbox::new().retry_sh(R, "nosuchprogram").run();
    done.exits(127);
    assert_eq!(done.failures(), 3, "{done:?}");
}

#[test]
fn a_command_that_dies_of_a_signal_ends_us_with_the_same_signal() {
    let sandbox = Sandbox::new();
    for signal in [
        libc::SIGKILL,
        libc::SIGPIPE,
        libc::SIGSEGV,
        libc::SIGTERM,
        libc::SIGHUP,
        libc::SIGABRT,
        libc::SIGUSR1,
    ] {
        sandbox
            .retry_sh("-a 1", &format!("kill -{signal} $$"))
            .run()
            .dies_of(signal);
    }
}

#[test]
fn a_command_that_kills_itself_is_tried_again_and_the_shell_says_137() {
    let sandbox = Sandbox::new();
    let done = sandbox
        .bash(&format!(
            "retry {R} -- sh -c 'echo x >>k; kill -9 $$'; echo $?"
        ))
        .run();
    assert_eq!(done.stdout, "137\n", "{done:?}");
    assert_eq!((sandbox.lines("k"), done.failures()), (3, 3));
}

#[test]
fn death_by_what_the_user_or_a_closed_pipe_sent_is_not_tried_again() {
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGPIPE] {
        let sandbox = Sandbox::new();
        let done = sandbox
            .retry_sh(R, &format!("echo x >>k; ulimit -c 0; kill -{signal} $$"))
            .run();
        done.dies_of(signal);
        assert_eq!(sandbox.lines("k"), 1, "{done:?}");
    }
}

#[test]
fn the_arguments_reach_the_command_byte_for_byte() {
    let sandbox = Sandbox::new();
    let done = sandbox
        .retry("-a 1 -- printf %s\\n -x --help")
        .args(["", "b c", "--"])
        .run();
    done.exits(0).stdout_is("-x\n--help\n\nb c\n--\n");
    let done = sandbox
        .retry("-a 1 printf %s\\n -x --help")
        .args(["", "--", "-a"])
        .run();
    done.exits(0).stdout_is("-x\n--help\n\n--\n-a\n");
}

#[test]
fn bytes_that_are_no_text_reach_the_command() {
    let done = Sandbox::new()
        .bash("retry -a 1 -- printf %s $'\\xff\\xfe' | od -An -tx1 | tr -d ' '")
        .run();
    done.exits(0).stdout_is("fffe\n");
}

#[test]
fn a_wrong_call_exits_125_and_runs_nothing() {
    let sandbox = Sandbox::new();
    for options in [
        "--attempts 3",
        "--bogus touch ran",
        "--timeout xyz touch ran",
        "--attempts 0 touch ran",
        "-t 3 touch ran",
        "--delay 3 touch ran",
        "--retry-on 0 touch ran",
        "--retry-on 5 --stop-on 5 touch ran",
        "--factor 2 --backoff linear touch ran",
        "--reserve 1s touch ran",
        "--signal FOO touch ran",
        "--jitter 101% touch ran",
    ] {
        let done = sandbox.retry(options).run();
        done.exits(125).stdout_is("");
        assert_eq!(done.stderr.lines().count(), 1, "{done:?}");
        assert!(!sandbox.path("ran").exists(), "{done:?}");
    }
}

#[test]
fn the_name_alone_exits_125_and_shows_what_to_type() {
    let done = Sandbox::new().retry("").run();
    done.exits(125).stdout_is("");
    for said in [
        "]: there is no command to run\nUsage: ",
        "\nExample: retry ",
        "'retry -h'",
    ] {
        assert!(done.stderr.contains(said), "{done:?}");
    }
}

#[test]
fn a_dash_from_a_printed_text_gets_a_hint() {
    for option in ["\u{2013}attempts 3", "\u{2014}attempts=3"] {
        let done = Sandbox::new().retry(&format!("{option} true")).run();
        let hint =
            "cannot run: not found (a dash as printed in texts; write --attempts with hyphens)";
        done.exits(127);
        assert!(done.stderr.contains(hint), "{done:?}");
    }
}

#[test]
fn a_number_where_the_command_should_be_gets_a_hint() {
    let done = Sandbox::new().retry("5 true").run();
    done.exits(127);
    assert!(done.stderr.contains("retry --attempts 5 ..."), "{done:?}");
}

#[test]
fn help_and_version_go_to_stdout_and_exit_0() {
    let sandbox = Sandbox::new();
    for option in ["-h", "--help", "-V", "--version"] {
        let done = sandbox.retry(option).run();
        done.exits(0);
        assert!(
            done.stdout.ends_with('\n') && done.stderr.is_empty(),
            "{done:?}"
        );
    }
}

#[test]
fn the_attempt_and_the_last_status_are_in_the_commands_environment() {
    let script = "echo $RETRY_ATTEMPT/$RETRY_MAX_ATTEMPTS [$RETRY_LAST_STATUS]; [ $RETRY_ATTEMPT != 2 ] || kill -9 $$; exit 7";
    let done = Sandbox::new().retry_sh(R, script).run();
    done.exits(7).stdout_is("1/3 []\n2/3 [7]\n3/3 [SIGKILL]\n");
}

#[test]
fn unlimited_attempts_and_a_time_out_are_in_the_commands_environment() {
    let script =
        "echo $RETRY_MAX_ATTEMPTS [$RETRY_LAST_STATUS]; [ $RETRY_ATTEMPT = 2 ] || exec sleep 30";
    let done = Sandbox::new()
        .retry_sh(&format!("{FAST} -a inf --timeout 300ms"), script)
        .run();
    done.exits(0).stdout_is("inf []\ninf [timeout]\n");
}

#[test]
fn every_attempt_of_a_run_has_the_same_id_and_no_two_runs_share_one() {
    let sandbox = Sandbox::new();
    let run = || {
        sandbox
            .retry_sh(&format!("{R} --seed 1"), "echo $RETRY_RUN_ID; exit 1")
            .run()
            .stdout
    };
    let (one, other) = (run(), run());
    let ids: Vec<&str> = one.lines().collect();
    assert_eq!((ids.len(), ids[0].len()), (3, 32), "{one}");
    assert!(ids.iter().all(|id| *id == ids[0]) && ids[0].bytes().all(|b| b.is_ascii_hexdigit()));
    assert_ne!(one, other);
}

#[cfg(target_os = "linux")]
#[test]
fn death_by_a_signal_without_a_name_is_no_success() {
    let done = Sandbox::new()
        .retry(R)
        .args(["--", "bash", "-c", "kill -33 $$"])
        .run();
    done.dies_of(33);
    assert_eq!(done.failures(), 3, "{done:?}");
}

#[test]
fn the_environment_is_handed_on_as_it_is() {
    let script = "export X='a
b' Y= Z=1; env | grep -v ^_= >plain; retry -a 1 -- env | grep -v -e ^_= -e ^RETRY_ >wrapped; diff plain wrapped";
    Sandbox::new().bash(script).run().exits(0).stdout_is("");
}

#[test]
fn a_path_that_leads_nowhere_is_shown_as_typed() {
    let done = Sandbox::new().retry("-- /opt/nonexistent/curl").run();
    done.exits(127)
        .says(&["/opt/nonexistent/curl: cannot run: not found"]);
    let done = Sandbox::new()
        .retry("--log-format github -- ./no/curl")
        .run();
    done.exits(127);
    assert!(
        done.stderr
            .contains("\n::error title=retry::./no/curl: cannot run: not found\n"),
        "{done:?}"
    );
}

#[test]
fn without_an_end_the_number_of_an_attempt_stands_alone() {
    let script = "[ $RETRY_ATTEMPT = 3 ]";
    let done = Sandbox::new()
        .retry_sh(&format!("{FAST} -a inf"), script)
        .run();
    done.exits(0).says(&[
        "sh: attempt 1 failed: exit 1 after …; next in …",
        "sh: attempt 2 failed: exit 1 after …; next in …",
        "sh: succeeded on attempt 3 after …",
    ]);
}
