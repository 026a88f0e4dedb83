//! The help, the version and other text that the program prints about itself.

use std::fs::File;
use std::io::Read as _;

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
use snapbox::{assert_data_eq, file};

use crate::support::Sandbox;
#[cfg(target_os = "linux")]
use crate::support::open_to_write;

fn help(option: &str) -> String {
    let done = Sandbox::new().retry(option).run();
    done.exits(0);
    done.stdout
}

#[test]
fn the_long_help_explains_every_option() {
    assert_data_eq!(help("--help"), file!["help.txt"].raw());
}

#[test]
fn the_short_help_is_one_line_an_option_under_its_heading() {
    let help = help("-h");
    let mut heading = String::new();
    for option in retry::command()
        .get_arguments()
        .filter(|option| !option.is_hide_set())
    {
        let long = format!("--{}", option.get_long().expect("a long name"));
        let group = option.get_help_heading().expect("a heading");
        let lines: Vec<&str> = help.lines().filter(|line| names(line, &long)).collect();
        assert_eq!(lines.len(), 1, "{long} in:\n{help}");
        assert!(
            lines[0].len() <= 80 && !lines[0].trim_end().ends_with(&long),
            "{}",
            lines[0]
        );
        if heading != group {
            heading = group.to_owned();
            assert!(
                help.contains(&format!("\n{heading}:\n")),
                "{heading} in:\n{help}"
            );
        }
    }
}

/// Whether a line of the help is this option's: its name stands before two blanks.
fn names(line: &str, long: &str) -> bool {
    let spelling = line
        .strip_prefix(' ')
        .unwrap_or_default()
        .trim_start()
        .split("  ")
        .next()
        .unwrap_or_default();
    spelling.starts_with('-') && spelling.split(' ').any(|word| word == long)
}

#[test]
fn the_short_help_fits_a_screen_of_eighty_columns() {
    let help = help("-h");
    for line in help.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert_data_eq!(help, file!["short-help.txt"].raw());
}

#[test]
fn every_option_is_in_the_man_page() {
    let page = include_str!("../../man/retry.1").replace("\\-", "-");
    for option in retry::command()
        .get_arguments()
        .filter(|option| !option.is_hide_set())
    {
        let long = format!("\\fB--{}\\fR", option.get_long().expect("a long name"));
        assert!(page.contains(&long), "{long}");
    }
}

/// The commands that the help shows, those of the short one and those of the long one.
fn examples() -> Vec<String> {
    let (short, long) = (help("-h"), help("--help"));
    let lines = short.lines().chain(long.lines());
    let lines = lines.filter_map(|line| line.strip_prefix("  "));
    lines
        .map(str::trim_start)
        .filter(|line| line.trim_start_matches("LC_ALL=C ").starts_with("retry -"))
        .map(String::from)
        .collect()
}

/// Runs this call with --plan, which shows its schedule without running the command.
#[track_caller]
fn is_understood(call: &str) {
    let script = call.replacen("retry ", "retry --plan ", 1);
    let done = Sandbox::new().bash(&script).run();
    done.exits(0);
    assert!(done.stdout.contains("attempt"), "{call}: {done:?}");
}

#[test]
fn every_example_of_the_help_is_a_call_that_is_understood() {
    let examples = examples();
    assert!(examples.len() >= 7, "{examples:?}");
    for example in examples {
        is_understood(&example);
    }
}

#[test]
fn every_example_of_the_readme_is_a_call_that_is_understood() {
    let readme = include_str!("../../README.md").replace("\\\n", "");
    let code = readme.split("```").skip(1).step_by(2);
    let lines = code.flat_map(str::lines);
    let calls = lines.filter_map(|line| line.find("retry -").map(|at| &line[at..]));
    // Commands after a pipe are not ours.
    let calls: Vec<&str> = calls.filter_map(|call| call.split(" | ").next()).collect();
    assert!(calls.len() >= 8, "{calls:?}");
    for call in calls {
        is_understood(call);
    }
}

/// A pipe whose writing end does not block, and which holds as much as it can.
fn full_pipe(sandbox: &Sandbox) -> (File, File, usize) {
    sandbox.bash("rm -f pipe; mkfifo pipe").run().exits(0);
    let open = |flags: OFlags| {
        let flags = flags | OFlags::NONBLOCK | OFlags::CLOEXEC;
        File::from(open(sandbox.path("pipe"), flags, Mode::empty()).expect("a pipe"))
    };
    let (reader, writer) = (open(OFlags::RDONLY), open(OFlags::WRONLY));
    fcntl_setfl(&reader, OFlags::empty()).expect("a pipe of ours");
    let mut held = 0;
    for size in [4096, 1] {
        while let Ok(more) = rustix::io::write(&writer, &vec![b'.'; size]) {
            held += more;
        }
    }
    (reader, writer, held)
}

#[test]
fn what_is_asked_for_waits_for_a_slow_reader_of_a_pipe_that_does_not_block() {
    for asked in ["--help", "-h", "--version", "--plan --seed 7"] {
        let sandbox = Sandbox::new();
        let (mut reader, writer, held) = full_pipe(&sandbox);
        let ours = writer.try_clone().expect("another");
        let mut running = sandbox.retry(asked).stdout(writer).spawn();
        // It has found the pipe full.
        running.await_alone();
        let is_nonblocking = |fd| fcntl_getfl(fd).is_ok_and(|on| on.contains(OFlags::NONBLOCK));
        assert!(is_nonblocking(&ours), "{asked}");
        drop(ours);
        let mut all = Vec::new();
        // A little now, so that there is room for a part of it.
        reader
            .by_ref()
            .take(100)
            .read_to_end(&mut all)
            .expect("text");
        running.await_alone();
        reader.read_to_end(&mut all).expect("text");
        let done = running.wait();
        done.exits(0);
        assert_eq!(done.stderr, "", "{asked}");
        assert!(
            String::from_utf8_lossy(&all[held..]) == help(asked),
            "{asked}"
        );
    }
}

#[test]
fn a_reader_that_leaves_a_pipe_that_does_not_block_ends_it_as_any_reader_does() {
    let sandbox = Sandbox::new();
    let (reader, writer, _) = full_pipe(&sandbox);
    let mut running = sandbox.retry("--help").stdout(writer).spawn();
    running.await_alone();
    drop(reader);
    running.wait().dies_of(libc::SIGPIPE).stderr_is("");
}

#[cfg(target_os = "linux")]
#[test]
fn help_on_a_full_stdout_is_an_error_and_no_panic() {
    let sandbox = Sandbox::new();
    for option in ["-h", "--help", "--version"] {
        let done = sandbox
            .retry(option)
            .stdout(open_to_write("/dev/full"))
            .run();
        done.exits(125);
        assert_eq!(done.stderr.lines().count(), 1, "{done:?}");
    }
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
