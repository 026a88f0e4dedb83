//! What this very program is when it plays a part in a measurement.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::process::{Command, ExitCode};

use crate::program::Words;

/// This program in one of the parts.
pub(crate) fn words(name: &str) -> Words {
    Words::new(std::env::current_exe().expect("this program")).and(&[format!("part={name}")])
}

/// Plays a part.
pub(crate) fn play(part: &str, args: &[String]) -> ExitCode {
    match part {
        "eat" => eat(&args[0], &args[1]),
        "drain" => drain(args),
        other => panic!("there is no part {other}"),
    }
}

/// Eats so many bytes of stdin; fails the first time.
fn eat(flag: &str, bytes: &str) -> ExitCode {
    let mut buffer = vec![0; 1 << 16];
    let (mut stdin, mut length) = (io::stdin().lock(), 0_usize);
    while let Ok(read @ 1..) = stdin.read(&mut buffer) {
        length += read;
    }
    assert_eq!(length.to_string(), bytes, "all of it came");
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
