//! On a terminal: keys, groups and modes.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::Instant;

use crate::support::terminal::{INTERRUPT, QUIT, SUSPEND, Terminal, open_terminal};
use crate::support::{AT_ONCE, RETRY, Sandbox, Stream, lead_session};

#[test]
fn an_interrupt_key_reaches_the_command_once_and_it_is_not_run_again() {
    let mut terminal = Terminal::new();
    // perl counts every one; a shell takes two that come together for one.
    let script = "$| = 1; $SIG{INT} = sub { $n++ }; print qq(ready\\n);
        select undef, undef, undef, 0.05 until $n;
        select undef, undef, undef, 0.3 for 1, 2;
        print qq(ints=$n\\n); exit 9";
    fs::write(terminal.sandbox.path("count.pl"), script).expect("a script");
    terminal.enter("retry -v $FAST -- perl count.pl; echo rc=$?");
    terminal
        .await_text("ready")
        .type_keys(INTERRUPT)
        .await_text("rc=");
    let printed = terminal.printed();
    assert!(
        printed.contains("ints=1\n") && printed.contains("rc=9\n"),
        "{printed}"
    );
    assert!(!printed.contains("SIGINT forwarded"), "{printed}");
    assert_eq!(printed.matches("ready").count(), 1, "{printed}");
}

#[test]
fn an_interrupt_key_ends_a_command_that_has_stopped_itself() {
    let mut terminal = Terminal::new();
    let script = "until ps -o stat= -p $$ | grep -q T; do :; done && echo stopped & kill -STOP $$";
    fs::write(terminal.sandbox.path("script"), script).expect("a script");
    terminal
        .enter("retry $FAST -- sh script")
        .await_text("stopped")
        .type_keys(INTERRUPT);
    terminal.enter("echo rc=$?").await_text("rc=130");
    assert_eq!(terminal.printed().matches("stopped").count(), 1);
}

/// A loop in a script around `retry` with these options, which the key that is typed now must end.
#[track_caller]
fn interrupt_ends_a_loop(options: &str, command: &str, ready: &str) {
    let mut terminal = Terminal::new();
    let script = format!("for i in 1 2 3; do retry {options} -- {command}; echo it; done");
    fs::write(terminal.sandbox.path("loop"), script).expect("a script");
    terminal
        .enter("bash loop")
        .await_text(ready)
        .type_keys(INTERRUPT);
    // The shell gives up a line in which something was interrupted, so this is one of its own.
    terminal.enter("echo rc=$?").await_text("rc=130");
    assert!(!terminal.printed().contains("it\n"));
}

#[test]
fn an_interrupt_key_ends_the_loop_that_we_stand_in() {
    interrupt_ends_a_loop("$FAST", "sh -c 'echo ready; exec sleep 30'", "ready");
}

#[test]
fn an_interrupt_key_during_a_delay_ends_the_loop_that_we_stand_in() {
    interrupt_ends_a_loop(
        "--base 30s --cap 30s --jitter none",
        "false",
        "next in 30.0s",
    );
}

#[test]
fn a_suspend_key_stops_the_job_and_it_goes_on_in_the_foreground() {
    let mut terminal = Terminal::new();
    terminal.enter("retry $FAST -- sh -c 'echo rea''dy; sleep 1; echo do''ne'; echo rc=$?");
    terminal
        .await_text("ready")
        .type_keys(SUSPEND)
        .await_text("rc=148");
    terminal
        .enter("jobs; fg; echo then=$?")
        .await_text("then=0");
    let printed = terminal.printed();
    assert!(
        printed.contains("Stopped") && printed.contains("done\n"),
        "{printed}"
    );
}

#[test]
fn a_job_in_the_background_that_reads_the_terminal_stops_and_reads_in_the_foreground() {
    let mut terminal = Terminal::new();
    terminal
        .enter("set -b; retry $FAST -- head -n1 &")
        .await_text("Stopped");
    terminal
        .enter("fg; echo rc=$?")
        .await_text("retry $FAST")
        .enter("hello")
        .await_text("rc=0");
    let printed = terminal.printed();
    assert!(
        printed.contains("hello\n") && !printed.contains("failed"),
        "{printed}"
    );
}

#[test]
fn a_quit_key_ends_the_command_and_it_is_not_run_again() {
    let mut terminal = Terminal::new();
    terminal.enter("retry $FAST -- sh -c 'echo rea''dy; exec sleep 30'; echo rc=$?");
    terminal
        .await_text("ready")
        .type_keys(QUIT)
        .await_text("rc=131");
    assert_eq!(terminal.printed().matches("ready").count(), 1);
}

#[test]
fn a_time_limit_on_a_terminal_ends_the_command_and_its_descendants() {
    let mut terminal = Terminal::new();
    let script = "sleep 51 & echo $! >one; sh -c 'sleep 51; :' & sleep 51; :";
    fs::write(terminal.sandbox.path("script"), script).expect("a script");
    terminal
        .enter("retry -a 1 --timeout 500ms -k 500ms -- sh script; echo rc=$?")
        .await_text("rc=124");
    // A zombie whose new parent is slow to take it away has ended all the same.
    terminal
        .enter("ps -o stat= -p $(cat one) | grep -v Z || echo go''ne")
        .await_text("gone");
}

/// What the terminal is like for the second attempt and afterwards, when `first` has been ended by
/// this limit.
#[track_caller]
fn modes_after(limit: &str, first: &str, redirection: &str, expected: [&str; 2]) {
    let mut terminal = Terminal::new();
    let show = "stty -a </dev/tty | grep -o -e '-\\?icanon' >>modes";
    let script = format!("[ $RETRY_ATTEMPT = 2 ] && {{ {show}; exit 3; }}; {first}");
    fs::write(terminal.sandbox.path("script"), script).expect("a script");
    let call = format!("retry -a 2 $FAST {limit} -- sh script {redirection}; {show}; echo rc=$?");
    terminal.enter(&call).await_text("rc=0");
    let modes = terminal.sandbox.text("modes");
    let modes: Vec<&str> = modes.lines().collect();
    assert_eq!(modes, expected, "{}", terminal.printed());
}

#[test]
fn a_terminal_that_an_ended_attempt_has_changed_gets_its_modes_back() {
    let hangs = "stty -icanon </dev/tty; exec sleep 30";
    for limit in ["--timeout 700ms", "--idle-timeout 700ms"] {
        modes_after(limit, hangs, "", ["icanon", "icanon"]);
    }
}

#[test]
fn a_terminal_that_is_not_ours_to_change_or_was_changed_by_a_failure_stays_as_it_is() {
    let hangs = "stty -icanon </dev/tty; exec sleep 30";
    for redirection in [">/dev/null", "</dev/null"] {
        modes_after(
            "--timeout 700ms",
            hangs,
            redirection,
            ["-icanon", "-icanon"],
        );
    }
    let fails = "stty -icanon </dev/tty; exit 3";
    modes_after("--timeout 30s", fails, "", ["-icanon", "-icanon"]);
}

#[test]
fn a_command_with_a_time_limit_may_read_the_terminal() {
    let mut terminal = Terminal::new();
    terminal.enter(
        "sh -c 'retry -a 1 --timeout 20s -- sh -c \"echo rea\"\"dy; head -n1\"; echo rc=$?'",
    );
    terminal
        .await_text("ready")
        .enter("hello")
        .await_text("rc=0");
    assert!(terminal.printed().contains("hello\n"));
}

#[test]
fn a_password_prompt_may_read_the_terminal_although_stdin_is_a_file() {
    let mut terminal = Terminal::new();
    terminal.enter("retry -a 1 --timeout 20s -- sh -c 'echo rea''dy; read x </dev/tty; echo got:$x' </dev/null");
    terminal
        .await_text("ready")
        .enter("abc")
        .await_text("got:abc");
}

#[test]
fn a_time_limit_leaves_the_rest_of_the_pipeline_alone() {
    let mut terminal = Terminal::new();
    terminal.enter("retry -a 1 --timeout 300ms -- sleep 30 | (sleep 1; echo RI''GHT); echo status=${PIPESTATUS[*]}");
    terminal.await_text("status=124 0");
    assert!(terminal.printed().contains("RIGHT\n"));
}

#[test]
fn on_a_terminal_the_command_stays_in_our_group() {
    let mut terminal = Terminal::new();
    terminal
        .enter("retry -a 1 -- sh -c 'echo groups: $(ps -o pgid= -p $$) $(ps -o pgid= -p $PPID).'");
    terminal.await_text("groups: ");
    let printed = terminal.printed();
    let groups = printed
        .split("groups: ")
        .nth(1)
        .and_then(|rest| rest.split('.').next());
    let groups: Vec<&str> = groups.expect("two groups").split(' ').collect();
    assert!(groups.len() == 2 && groups[0] == groups[1], "{printed}");
}

#[test]
fn the_command_sees_the_terminal() {
    let mut terminal = Terminal::new();
    terminal
        .enter("retry -a 1 -- sh -c 'test -t 0 -a -t 1 -a -t 2'; echo rc=$?")
        .await_text("rc=0");
}

#[test]
fn on_a_terminal_lines_carry_no_process_id() {
    let mut terminal = Terminal::new();
    terminal
        .enter("retry $FAST -a 2 -- false; echo rc=$?")
        .await_text("rc=1");
    assert!(
        terminal
            .printed()
            .contains("\nretry: false: attempt 1/2 failed: exit 1 after ")
    );
}

/// A call that a key may hit at its start: `retry` reports the start, and a moment later the
/// command is there.
const STARTING: &str = "retry -v -a 1 -- sleep 30";

#[test]
fn a_suspend_key_at_the_start_of_the_command_stops_both() {
    let mut terminal = Terminal::new();
    // Every place where the program is not takes its time.
    terminal.enter("for i in 1 2 3 4 5 6 7 8; do PATH=/no/such/$i:$PATH; done");
    let show =
        "ps -eo pgid=,stat= | awk -v g=$(jobs -p) '$1 == g { printf \"%s\", substr($2, 1, 1) }'";
    for round in 1..=20 {
        terminal
            .enter(STARTING)
            .screen
            .await_count("attempt 1/1 starts", round);
        terminal.type_keys(SUSPEND);
        // Both are there and come to a stop; or the command has not come to be yet.
        terminal.enter(&format!("while {show} | grep -q '[^T]'; do :; done"));
        terminal.enter(&format!("echo st''ate $({show}) {round}."));
        terminal.await_text(&format!(" {round}."));
        terminal.enter("kill -KILL %%; until [ -z \"$(jobs -p)\" ]; do jobs >/dev/null; done");
    }
    let printed = terminal.printed();
    let states: Vec<&str> = printed
        .lines()
        .filter(|line| line.starts_with("state "))
        .collect();
    assert_eq!(states.len(), 20, "{printed}");
    for state in states {
        assert!(
            state.starts_with("state TT ") || state.starts_with("state T "),
            "{state} in {printed}"
        );
    }
}

#[test]
fn an_interrupt_key_at_the_start_of_the_command_ends_both() {
    let mut terminal = Terminal::new();
    for round in 0..20 {
        terminal
            .enter(STARTING)
            .screen
            .await_count("attempt 1/1 starts", round + 1);
        let typed = Instant::now();
        terminal.type_keys(INTERRUPT);
        terminal
            .enter(&format!("echo ro''und {round} $?"))
            .await_text(&format!("round {round} 130"));
        assert!(typed.elapsed() < AT_ONCE);
    }
}

#[test]
fn a_terminal_that_is_closed_ends_a_session_that_we_lead() {
    let sandbox = Sandbox::new();
    let (keys, line) = open_terminal();
    let mut command = sandbox.command(RETRY);
    command.args(["-a", "1", "--", "sh", "-c", "echo ready; exec sleep 61"]);
    command
        .stdin(Stdio::from(line.try_clone().expect("a descriptor")))
        .stdout(Stdio::piped());
    lead_session(&mut command, Vec::new(), Vec::new(), Some(line));
    let mut leader = command.spawn().expect("retry starts");
    drop(command);
    let mut stdout = Stream::new(leader.stdout.take().expect("a pipe"));
    stdout.await_text("ready");
    drop(keys);
    stdout.finish();
    assert_eq!(
        leader.wait().expect("our child").signal(),
        Some(libc::SIGHUP)
    );
}

/// Returns what a terminal shows of a run that fails and of one that succeeds, with this
/// environment.
fn coloured(environment: &str) -> (String, String) {
    let mut terminal = Terminal::new();
    let script = r#"sh -c '[ "$RETRY_ATTEMPT" = 2 ]'"#;
    terminal.enter(&format!(
        "{environment} retry $FAST -a 2 -- false; {environment} retry $FAST -- {script}; echo e''nd"
    ));
    terminal.await_text("end");
    let printed = terminal.printed_as_it_came();
    let (failed, succeeded) = printed.split_once("giving up").expect("two runs");
    (failed.to_owned(), succeeded.to_owned())
}

#[test]
fn the_words_that_matter_have_a_colour_on_a_terminal_and_nowhere_else() {
    let (failed, succeeded) = coloured("env -u CI TERM=xterm NO_COLOR=");
    assert!(
        failed.contains("attempt 1/2 \x1b[33mfailed\x1b[0m: exit 1"),
        "{failed:?}"
    );
    assert!(failed.ends_with("; \x1b[31m"), "{failed:?}");
    assert!(
        succeeded.contains("\x1b[32msucceeded\x1b[0m on attempt 2/5"),
        "{succeeded:?}"
    );
    for environment in [
        "env -u CI TERM=xterm NO_COLOR=1",
        "env -u CI TERM=dumb",
        "env CI=1 TERM=xterm",
        // An empty CI is one that is set.
        "env CI= TERM=xterm",
    ] {
        let (failed, succeeded) = coloured(environment);
        assert!(!failed.contains("\x1b[3"), "{environment}: {failed:?}");
        assert!(
            !succeeded.contains("\x1b[3"),
            "{environment}: {succeeded:?}"
        );
    }
}

#[test]
fn what_is_no_terminal_gets_no_colours() {
    let done = Sandbox::new()
        .bash("unset CI NO_COLOR; TERM=xterm retry $FAST -a 2 -- false")
        .run();
    assert!(!done.stderr.contains('\u{1b}'), "{done:?}");
}
