//! The countdown under the last line of a terminal.

use rustix::process::Pid;

use crate::support::await_alone;
use crate::support::terminal::{INTERRUPT, SUSPEND, Terminal};

/// The text of a countdown, and the text that removes it.
const SHOWN: &str = "retry: next attempt in ";
const GONE: &str = "\r\u{1b}[K";

const SLOW: &str = "env TERM=xterm retry --base 1m --jitter none";

/// Returns the text that stays on the screen, without lines that were removed.
fn left_on_screen(printed: &str) -> String {
    let lines = printed.split('\n').map(|line| {
        let last = line.rfind("\u{1b}[K").map_or(0, |at| at + "\u{1b}[K".len());
        line[last..].to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn it_counts_the_seconds_and_is_gone_before_the_next_attempt() {
    let mut terminal = Terminal::new();
    terminal.enter("env TERM=xterm retry -a 2 --base 2100ms --jitter none -- sh -c 'echo run; exit 3'; echo rc=$?");
    terminal.await_text("rc=");
    let printed = terminal.printed();
    for seconds in ["3s", "2s", "1s"] {
        assert_eq!(
            printed.matches(&format!("{SHOWN}{seconds}")).count(),
            1,
            "{printed:?}"
        );
    }
    let left = left_on_screen(&printed);
    assert!(!left.contains(SHOWN), "{left}");
    assert!(
        left.contains("next in 2.10s\nrun\n") && left.contains("rc=3"),
        "{left}"
    );
}

#[test]
fn it_stands_there_although_the_output_passes_through_us_unless_somebody_may_still_write() {
    for (options, background, stands) in [
        ("--fail-if zzz", "", true),
        ("--stdout once", "", true),
        ("--fail-if zzz", "sleep 1 &", false),
    ] {
        let mut terminal = Terminal::new();
        terminal.enter(&format!(
            "env TERM=xterm retry -a 2 --base 1100ms --jitter none {options} -- sh -c '{background} exit 3'; echo rc=$?"
        ));
        terminal.await_text("rc=");
        assert_eq!(terminal.printed().contains(SHOWN), stands, "{options}");
    }
}

#[test]
fn an_interrupt_leaves_nothing_of_it() {
    let mut terminal = Terminal::new();
    terminal.enter(&format!("{SLOW} -- false"));
    terminal
        .await_text(SHOWN)
        .type_keys(INTERRUPT)
        .await_text("interrupted (SIGINT)");
    let left = left_on_screen(&terminal.printed());
    assert!(!left.contains(SHOWN), "{left}");
    assert!(
        left.contains("interrupted (SIGINT) after attempt 1/5"),
        "{left}"
    );
}

#[test]
fn a_stop_leaves_nothing_of_it_and_it_is_back_when_we_go_on() {
    let mut terminal = Terminal::new();
    terminal.enter(&format!("{SLOW} -- false; echo rc=$?"));
    terminal
        .await_text(SHOWN)
        .type_keys(SUSPEND)
        .await_text("Stopped");
    let printed = terminal.printed();
    let stopped = printed.find("Stopped").expect("it was stopped");
    let before = &printed[..stopped];
    let (gone, shown) = (before.rfind(GONE.trim_start()), before.rfind(SHOWN));
    assert!(gone > shown, "{printed:?}");
    let times = printed.matches(SHOWN).count();
    terminal.enter("fg").await_count(SHOWN, times + 1);
    terminal.type_keys(INTERRUPT);
    terminal.enter("echo al''l").await_text("all");
    assert!(!left_on_screen(&terminal.printed()).contains(SHOWN));
}

#[test]
fn a_stop_during_an_attempt_stops_as_ever_after_a_countdown() {
    let mut terminal = Terminal::new();
    let script = "[ $RETRY_ATTEMPT = 1 ] && exit 3; echo ready; sleep 30";
    terminal.enter(&format!(
        "env TERM=xterm retry -a 2 --base 1100ms --jitter none -- sh -c '{script}'; echo rc=$?"
    ));
    terminal
        .await_text("ready")
        .type_keys(SUSPEND)
        .await_text("Stopped");
    terminal
        .enter("kill -CONT %1; kill %1; wait %1; echo en''ded")
        .await_text("ended");
}

#[test]
fn it_stands_nowhere_but_on_a_terminal_that_people_look_at() {
    for surroundings in [
        "TERM=dumb retry",
        "TERM=xterm CI=true retry",
        "TERM=xterm retry -q",
        "TERM=xterm retry --log-format json",
        "TERM=xterm retry --log-format github",
    ] {
        let mut terminal = Terminal::new();
        terminal.enter(&format!(
            "env {surroundings} -a 2 --base 1100ms --jitter none -- false; echo rc=$?"
        ));
        terminal.await_text("rc=");
        let printed = terminal.printed();
        assert!(
            !printed.contains(SHOWN) && !printed.contains('\u{1b}'),
            "{surroundings}: {printed:?}"
        );
    }
}

#[test]
fn a_window_that_is_too_narrow_has_none() {
    let mut terminal = Terminal::new();
    terminal.enter(
        "stty cols 20; env TERM=xterm retry -a 2 --base 1100ms --jitter none -- false; echo rc=$?",
    );
    terminal.await_text("rc=");
    assert!(!terminal.printed().contains(SHOWN));
}

#[test]
fn a_job_in_the_background_does_not_write_it_over_what_is_in_front() {
    let mut terminal = Terminal::new();
    terminal.enter(
        "env TERM=xterm retry -a 2 --base 1100ms --jitter none -- false & wait $!; echo rc=$?",
    );
    terminal.await_text("rc=");
    assert!(!terminal.printed().contains(SHOWN));
}

/// Keys that stop the terminal's output, and continue it.
const HOLD: &str = "\x13";
const RESUME: &str = "\x11";

#[test]
fn a_terminal_that_is_held_during_the_countdown_loses_no_line_of_what_comes_then() {
    // retry waits for a reader for at most a second, which a busy machine may take. So there are
    // several rounds.
    let shown = (0..5).any(|_| {
        let mut terminal = Terminal::new();
        terminal.enter("env TERM=xterm NO_COLOR=1 retry -a 3 --base 2s --backoff constant --jitter none -- sh -c 'echo $PPID >pid; echo x >>runs; exit 3'; echo rc=$?");
        terminal.await_text(SHOWN).type_keys(HOLD);
        let text = |name| std::fs::read_to_string(terminal.path(name)).unwrap_or_default();
        while text("runs") != "x\nx\n" {
            std::thread::yield_now();
        }
        // It has ended, and we are stuck with the line about it.
        let pid = text("pid").trim().parse().ok().and_then(Pid::from_raw);
        await_alone(pid.expect("a pid"));
        terminal.type_keys(RESUME).await_text("rc=");
        terminal.printed().contains("attempt 2/3 failed")
    });
    assert!(shown, "the line was lost each time");
}

/// Returns the lines on a screen of this width after this output.
fn screen(printed: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![Vec::new()];
    let (mut at, mut rest) = (0, printed.chars().peekable());
    while let Some(next) = rest.next() {
        let line = lines.len() - 1;
        match next {
            '\n' => {
                lines.push(Vec::new());
                at = 0;
            }
            '\r' => at = 0,
            '\u{1b}' => {
                assert_eq!(rest.next(), Some('['));
                let last = rest.by_ref().find(|c| !c.is_ascii_digit());
                match last {
                    Some('K') => lines[line].truncate(at),
                    // A colour takes no place.
                    other => assert_eq!(other, Some('m')),
                }
            }
            letter => {
                if at == columns {
                    lines.push(Vec::new());
                    at = 0;
                }
                let line = lines.last_mut().expect("a line");
                line.resize(line.len().max(at + 1), ' ');
                line[at] = letter;
                at += 1;
            }
        }
    }
    let text = |line: Vec<char>| line.into_iter().collect::<String>().trim_end().to_owned();
    lines.into_iter().map(text).collect()
}

#[test]
fn our_lines_begin_a_line_whatever_the_command_has_left_unfinished() {
    for (columns, script, before) in [
        (80, "printf unfinished", "unfinished"),
        (80, "printf finished\\\\n", "finished"),
        (60, "printf %60s x", "x"),
        (60, "printf %59s x", "x"),
        (132, "printf %61s x", "x"),
    ] {
        let mut terminal = Terminal::new();
        terminal.enter(&format!("stty cols {columns}; echo be''gin"));
        terminal.await_text("begin");
        terminal.enter(&format!(
            "env TERM=xterm retry -a 1 -- sh -c '{script}; exit 3'; echo rc=$?"
        ));
        terminal.await_text("rc=3");
        let shown = screen(&terminal.printed_as_it_came(), columns);
        let ours = shown.iter().position(|line| line.starts_with("retry: sh:"));
        let ours = ours.unwrap_or_else(|| panic!("no line of ours: {shown:?}"));
        assert_eq!(shown[ours - 1].trim_start(), before, "{shown:?}");
    }
}

#[test]
fn our_lines_follow_an_unfinished_one_where_nothing_may_move_the_cursor() {
    for environment in ["TERM=dumb", "TERM=", "-u TERM", "TERM=xterm CI=1"] {
        let mut terminal = Terminal::new();
        terminal.enter(&format!(
            "env {environment} retry -a 1 -- sh -c 'printf unfinished; exit 3'; echo rc=$?"
        ));
        terminal.await_text("rc=3");
        let printed = terminal.printed_as_it_came();
        let expected = "unfinishedretry: sh: attempt 1/1 failed: exit 3";
        assert!(printed.contains(expected), "{environment}: {printed:?}");
    }
}
