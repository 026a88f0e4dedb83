//! A command that cannot be run: the status, the reason, and the hint.

use std::fs::File;

use crate::support::{Sandbox, check, fixture};

/// Three attempts without waiting.
const R: &str = "--attempts 3 --base 10ms --cap 10ms --jitter none";

#[test]
fn a_command_line_in_one_word_is_not_split_and_gets_a_hint() {
    let done = check(
        r#"retry $FAST -a 2 -- 'sh -c "exit 2"'; echo rc=$?"#,
        "rc=127\n",
    );
    assert_eq!(done.said().len(), 1, "{done:?}");
    assert!(
        done.stderr
            .contains("it contains spaces: remove the quotes, or to run a script: retry -- sh -c"),
        "{done:?}"
    );
}

#[test]
fn a_shell_function_is_not_found_at_once_and_the_hint_shows_how_to_run_it() {
    let done = check("f() { true; }; retry -a 5 -- f; echo $?", "127\n");
    assert_eq!(done.said().len(), 1, "{done:?}");
    assert!(
        done.stderr
            .contains("export -f f; retry -- bash -c 'f \"$@\"' f ..."),
        "{done:?}"
    );
    check(
        "f() { echo \"ran $*\"; }; export -f f; retry -- bash -c 'f \"$@\"' f a b; echo $?",
        "ran a b\n0\n",
    );
}

/// Checks that a command which no retry can help gets one attempt and one line, and ends with this
/// status.
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
    sandbox.bash(files).run().exits(0).stdout_is("");
    let not_marked = "permission denied: it is not marked as executable (chmod +x)";
    let no_interpreter = "not found: the interpreter in its first line does not exist";
    let dos = "not found: Windows line ending (CR) in line 1; convert the file, e.g. with dos2unix";
    for (program, exit, why) in [
        ("plain", 126, not_marked),
        ("folder", 126, "it is a directory"),
        ("lost", 127, no_interpreter),
        ("dos", 127, dos),
        (
            "chain",
            127,
            "not found: the interpreter in its first line needs another one that does not exist",
        ),
    ] {
        for place in ["./bin/", ""] {
            let script = format!("PATH=$PWD/bin:$PATH retry -- {place}{program}");
            let done = sandbox.bash(&script).run();
            done.exits(exit)
                .stdout_is("")
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
    done.exits(0)
        .stdout_is(&format!("{} x\n4\n126\npermission denied\n", ran.display()));
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

/// Makes the program `busy`, which cannot be executed while it is open for writing.
fn open_a_program(sandbox: &Sandbox) -> File {
    sandbox
        .bash("cp \"$(type -P true)\" busy")
        .run()
        .exits(0)
        .stdout_is("");
    let program = File::options().append(true).open(sandbox.path("busy"));
    program.expect("a file")
}

#[test]
fn a_program_that_is_being_written_is_tried_again_until_it_is_done() {
    let sandbox = Sandbox::new();
    let writer = open_a_program(&sandbox);
    let mut running = sandbox
        .retry("-a 100 --base 20ms --cap 20ms -- ./busy")
        .spawn();
    running.await_stderr("attempt 1/100 failed: cannot run: text file busy; next in");
    drop(writer);
    running.wait().exits(0).stdout_is("");
}

#[test]
fn a_program_that_stays_busy_exits_126_after_all_attempts() {
    let sandbox = Sandbox::new();
    let writer = open_a_program(&sandbox);
    let done = sandbox.retry(R).args(["--", "./busy"]).run();
    drop(writer);
    done.exits(126).stdout_is("");
    assert_eq!(done.failures(), 3, "{done:?}");
}

#[test]
fn a_path_that_leads_nowhere_is_shown_as_typed() {
    let done = Sandbox::new().retry("-- /opt/nonexistent/curl").run();
    done.exits(127)
        .stdout_is("")
        .says(&["/opt/nonexistent/curl: cannot run: not found"]);
    let done = Sandbox::new()
        .retry("--log-format github -- ./no/curl")
        .run();
    done.exits(127).stdout_is("");
    assert!(
        done.stderr
            .contains("\n::error title=retry::./no/curl: cannot run: not found\n"),
        "{done:?}"
    );
}
