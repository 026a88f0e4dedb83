//! The command line: which words are our options, which belong to the command, and which calls are
//! usage errors.

use crate::support::{Sandbox, check};

#[test]
fn what_looks_like_our_options_behind_the_dashes_belongs_to_the_command() {
    check(
        "retry -a 1 -- printf '%s ' -b --base --jitter; echo",
        "-b --base --jitter \n",
    )
    .stderr_is("");
}

#[test]
fn empty_arguments_are_arguments() {
    check("retry -a 1 -- sh -c 'echo $#' _ '' 'b c' ''", "3\n").stderr_is("");
}

#[test]
fn the_arguments_reach_the_command_byte_for_byte() {
    let sandbox = Sandbox::new();
    let done = sandbox
        .retry("-a 1 -- printf %s\\n -x --help")
        .args(["", "b c", "--"])
        .run();
    done.exits(0)
        .stdout_is("-x\n--help\n\nb c\n--\n")
        .stderr_is("");
    let done = sandbox
        .retry("-a 1 printf %s\\n -x --help")
        .args(["", "--", "-a"])
        .run();
    done.exits(0)
        .stdout_is("-x\n--help\n\n--\n-a\n")
        .stderr_is("");
}

#[test]
fn bytes_that_are_no_text_reach_the_command() {
    let done = Sandbox::new()
        .bash("retry -a 1 -- printf %s $'\\xff\\xfe' | od -An -tx1 | tr -d ' '")
        .run();
    done.exits(0).stdout_is("fffe\n").stderr_is("");
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
        "--sleep 3 touch ran",
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
        let hint = "cannot run: not found (typographic dash; type plain hyphens: --attempts)";
        done.exits(127).stdout_is("");
        assert!(done.stderr.contains(hint), "{done:?}");
    }
}

#[test]
fn a_number_where_the_command_should_be_gets_a_hint() {
    let done = Sandbox::new().retry("5 true").run();
    done.exits(127).stdout_is("");
    assert!(done.stderr.contains("retry --attempts 5 ..."), "{done:?}");
}
