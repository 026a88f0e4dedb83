//! Streams: what flows through the program, beside the same without it.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::process::{Child, Stdio};
use std::thread;

use crate::part;
use crate::program::{Program, Programs, Words};
use crate::sample::{Figures, Row, Sample, median, resident, run, seconds};

/// Bytes that flow in a run.
const FLOW: u64 = 256 << 20;

/// No delays and no words.
const FAST: [&str; 5] = ["-q", "--base", "0", "--attempts", "3"];

/// All rows.
pub(crate) fn rows<'a>(program: &'a Program, programs: &'a Programs) -> Vec<Row<'a>> {
    let passing = |name: &str, target: &str, options: &'static [&'static str]| Row {
        name: name.into(),
        target: target.into(),
        measure: Box::new(move || {
            let file = lines();
            let with = program.with(&FAST).and(options).and(&["--", "cat"]);
            let floor = || drained(&Words::new("cat"), &file, programs);
            let with = || drained(&with, &file, programs);
            beside(&floor, &with)
        }),
    };
    let literal = &["--retry-if", "Connection (reset|refused)"];
    let letters = &[
        "--retry-if",
        "error: (408|429|5..)",
        "--fail-if",
        "(?i)warning",
    ];
    let mut rows = vec![
        passing("stdout inherited", "1.00: the very same", &[]),
        passing(
            "stdout tapped, literal prefix",
            ">= 1 GiB/s, 8000 kB",
            literal,
        ),
        passing("stdout tapped, any letters", "", letters),
        passing("stdout tapped, heads", "", &["--retry-after", "stdout"]),
        passing("stdout tapped, silence", "", &["--idle-timeout", "1m"]),
        passing("stdout once", "<= 2.00, 4000 kB", &["--stdout", "once"]),
    ];
    rows.push(Row {
        name: "stdin replay".into(),
        target: "<= 1.30, 4000 kB".into(),
        measure: Box::new(move || {
            let with = program.with(&FAST).and(&["--stdin", "replay", "--"]);
            let floor = || replayed(&part::words("drain"), programs);
            let with = || replayed(&with, programs);
            beside(&floor, &with)
        }),
    });
    rows
}

fn beside(floor: &dyn Fn() -> Sample, program: &dyn Fn() -> Sample) -> Figures {
    // The first turn warms the caches.
    let turns: Vec<[Sample; 2]> = (0..10).map(|_| [floor(), program()]).skip(1).collect();
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let gib = FLOW as f64 / f64::from(1 << 30);
    let rate = |of| {
        format!(
            "{:.2} GiB/s",
            gib / median(&turns, |turn| seconds(turn, of))
        )
    };
    Figures {
        program: rate(1),
        floor: rate(0),
        ratio: Some(median(&turns, |turn| seconds(turn, 1) / seconds(turn, 0))),
        resident: Some(resident(&turns, 1)),
        ..Figures::default()
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

/// A command reads the file and writes into a pipe that is drained.
fn drained(words: &Words, file: &File, programs: &Programs) -> Sample {
    let mut file = file.try_clone().expect("a descriptor");
    file.rewind().expect("a file");
    run(
        words,
        programs,
        |command| {
            command.stdin(file).stdout(Stdio::piped());
        },
        |child| {
            let mut stdout = child.stdout.take().expect("a pipe");
            let mut buffer = vec![0; 1 << 16];
            let mut length = 0;
            while let Ok(read @ 1..) = stdout.read(&mut buffer) {
                length += read as u64;
            }
            assert_eq!(length, FLOW, "all of it came through");
        },
    )
}

/// A piped stdin, for a command that eats it and fails, and the second time succeeds.
fn replayed(words: &Words, programs: &Programs) -> Sample {
    let directory = tempfile::tempdir().expect("a directory");
    let flag = directory.path().join("flag");
    let eater = part::words("eat").and(&[&flag]).and(&[FLOW.to_string()]);
    run(
        &words.clone().and(&eater.0),
        programs,
        |command| {
            command.stdin(Stdio::piped());
        },
        |child: &mut Child| {
            let mut stdin = child.stdin.take().expect("a pipe");
            let writer = thread::spawn(move || {
                let block = vec![b'y'; 1 << 16];
                (0..FLOW >> 16).try_for_each(|_| stdin.write_all(&block))
            });
            let written = writer.join().expect("the writer");
            written.expect("all of it is taken");
        },
    )
}
