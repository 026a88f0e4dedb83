//! Streams: what flows through the program, beside the same without it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;

use crate::sample::{Row, Sample, Unit, timed};

const RETRY: &str = env!("CARGO_BIN_EXE_retry");

/// Bytes that flow in a run.
const FLOW: u64 = 256 << 20;

/// No delays and no words.
const FAST: [&str; 5] = ["-q", "--base", "0", "--attempts", "3"];

/// All rows.
pub(crate) fn rows() -> Vec<Row> {
    vec![
        passing("inherited", "1.00: the very same descriptor", &[]),
        passing(
            "tapped, literal prefix",
            ">= 1 GiB/s",
            &["--retry-if", "Connection (reset|refused)"],
        ),
        passing(
            "tapped, any letters",
            "",
            &[
                "--retry-if",
                "error: (408|429|5..)",
                "--fail-if",
                "(?i)warning",
            ],
        ),
        passing("tapped, heads", "", &["--retry-after", "stdout"]),
        passing("tapped, silence", "", &["--idle-timeout", "1m"]),
        passing("once", "<= 2.00 and 4 MB", &["--stdout", "once"]),
        Row {
            name: "replay",
            target: "<= 1.30 and 4 MB",
            rounds: 9,
            program: Box::new(|| {
                replayed(
                    Command::new(RETRY)
                        .args(FAST)
                        .args(["--stdin", "replay", "--"]),
                )
            }),
            floor: Box::new(|| replayed(&mut part("drain", &[]))),
            unit: Unit::Bytes(FLOW),
        },
    ]
}

/// `cat` of a file into a pipe that is drained, with and without the program.
fn passing(name: &'static str, target: &'static str, options: &'static [&'static str]) -> Row {
    let file = lines();
    let again = file.try_clone().expect("a descriptor");
    Row {
        name,
        target,
        rounds: 9,
        program: Box::new(move || {
            drained(
                Command::new(RETRY)
                    .args(FAST)
                    .args(options)
                    .args(["--", "cat"]),
                &file,
            )
        }),
        floor: Box::new(move || drained(&mut Command::new("cat"), &again)),
        unit: Unit::Bytes(FLOW),
    }
}

/// A file of lines as logs have them, in the page cache.
fn lines() -> File {
    let mut file = tempfile::tempfile().expect("a file");
    let mut text = Vec::new();
    for number in 0.. {
        let line = format!(
            "{number:08} fetched https://registry.example.org/package-{number}.tar.gz in 12 ms\n"
        );
        if text.len() + line.len() > 1 << 20 {
            break;
        }
        text.extend(line.bytes());
    }
    text.resize(1 << 20, b'\n');
    for _ in 0..FLOW >> 20 {
        file.write_all(&text).expect("room for it");
    }
    file
}

fn drained(command: &mut Command, file: &File) -> Sample {
    let mut file = file.try_clone().expect("a descriptor");
    file.rewind().expect("a file");
    command.stdin(file).stdout(Stdio::piped());
    timed(command, |child| {
        let mut stdout = child.stdout.take().expect("a pipe");
        let mut buffer = vec![0; 1 << 16];
        let mut length = 0;
        while let Ok(read @ 1..) = stdout.read(&mut buffer) {
            length += read as u64;
        }
        assert_eq!(length, FLOW, "all of it came through");
    })
}

/// A piped stdin, for a command that eats it and fails, and the second time succeeds.
fn replayed(command: &mut Command) -> Sample {
    let dir = tempfile::tempdir().expect("a directory");
    let flag = dir.path().join("flag");
    let eater = part("eat", &[flag.to_str().expect("text")]);
    command
        .arg(eater.get_program())
        .args(eater.get_args())
        .stdin(Stdio::piped());
    timed(command, |child: &mut Child| {
        let mut stdin = child.stdin.take().expect("a pipe");
        thread::spawn(move || {
            let block = vec![b'y'; 1 << 16];
            (0..FLOW >> 16).try_for_each(|_| stdin.write_all(&block))
        })
        .join()
        .expect("the writer")
        .expect("all of it is taken");
    })
}

/// This very program in one of the parts below.
fn part(name: &str, args: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.arg(format!("part={name}")).args(args);
    command
}

/// What this program is when it plays a part.
pub(crate) fn play(part: &str, args: &[String]) -> ExitCode {
    match part {
        "eat" => eat(&args[0]),
        "drain" => drain(args),
        other => panic!("there is no part {other}"),
    }
}

/// Eats all of stdin; fails the first time.
fn eat(flag: &str) -> ExitCode {
    let mut buffer = vec![0; 1 << 16];
    let (mut stdin, mut length) = (io::stdin().lock(), 0);
    while let Ok(read @ 1..) = stdin.read(&mut buffer) {
        length += read as u64;
    }
    assert_eq!(length, FLOW, "all of it came");
    let is_first = File::create_new(flag).is_ok();
    ExitCode::from(u8::from(is_first))
}

/// The floor for a replay: all of stdin into a file in memory, and that for a command twice.
fn drain(args: &[String]) -> ExitCode {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::memfd_create("floor", flags).expect("memory"));
    let mut buffer = vec![0; 1 << 17];
    let mut stdin = io::stdin().lock();
    while let Ok(read @ 1..) = stdin.read(&mut buffer) {
        file.write_all(&buffer[..read]).expect("memory");
    }
    let mut is_done = false;
    for _ in 0..2 {
        file.rewind().expect("a file");
        let mut command = Command::new(&args[0]);
        command
            .args(&args[1..])
            .stdin(file.try_clone().expect("a descriptor"));
        is_done = command.status().expect("it starts").success();
    }
    ExitCode::from(u8::from(!is_done))
}
