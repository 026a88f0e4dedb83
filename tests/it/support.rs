//! The vocabulary of the tests: a sandbox, calls of `retry` in it, and their results.
//!
//! A call runs in a session of its own, without a terminal, with /dev/null for stdin. Nothing is
//! waited for by sleeping: a child says `ready`, the test reads it. The end of a call is the end of
//! its output, which comes when every process that could still write is gone: so "nothing is left
//! running" is part of every test.

mod call;
mod done;
#[cfg(target_os = "linux")]
pub(crate) mod namespace;
mod running;
pub(crate) mod terminal;

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::thread;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

pub(crate) use call::{Call, lead_session};
pub(crate) use done::Done;
pub(crate) use running::{Running, Stream};

/// The program under test.
pub(crate) const RETRY: &str = env!("CARGO_BIN_EXE_retry");

/// Delays that cost a test nothing.
pub(crate) const FAST: &str = "--base 10ms --cap 10ms --jitter none";

/// How many times longer than in the suite a storm or a soak takes.
pub(crate) fn rounds() -> u64 {
    let rounds = std::env::var("RETRY_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok());
    rounds.unwrap_or(1)
}

/// Far longer than anything here takes; reached only by what hangs.
fn hang() -> Duration {
    Duration::from_secs(60 + 3 * rounds())
}

/// Far longer than "at once" takes on a machine with sixty others to run, and shorter than any delay,
/// grace or sleep that must not be waited for: they are of thirty seconds or more.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(20);

/// A file that tests bring along.
pub(crate) fn fixture(name: &str) -> String {
    format!("{}/tests/it/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A directory for one test. It lasts as long as what was called in it.
pub(crate) struct Sandbox {
    dir: Arc<TempDir>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self {
            dir: Arc::new(TempDir::new().expect("a directory for the test")),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The text of a file, empty if there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// How many lines a file has, which is how a command here counts its runs.
    pub(crate) fn lines(&self, name: &str) -> usize {
        self.text(name).lines().count()
    }

    /// `retry` with these words, split at blanks; [`Call::arg`] adds those that hold any.
    pub(crate) fn retry(&self, words: &str) -> Call {
        let mut command = Command::new(RETRY);
        command.args(words.split_whitespace());
        self.call(command)
    }

    /// `retry` with these options around `sh -c SCRIPT`.
    pub(crate) fn retry_sh(&self, options: &str, script: &str) -> Call {
        self.retry(options)
            .arg("--")
            .arg("sh")
            .arg("-c")
            .arg(script)
    }

    /// Another program, as a call of its own.
    pub(crate) fn program(&self, program: &str) -> Call {
        self.call(Command::new(program))
    }

    /// A bash script in which `retry`, `$FAST`, `$T` (this sandbox) and `failn` can be used.
    pub(crate) fn bash(&self, script: &str) -> Call {
        let mut command = Command::new("bash");
        command.arg("-c").arg(script);
        self.call(command)
    }

    fn call(&self, mut command: Command) -> Call {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self.furnish(&mut command);
        Call::new(command, Arc::clone(&self.dir))
    }

    /// A command that is started here and finds what it needs.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        self.furnish(&mut command);
        command
    }

    fn furnish(&self, command: &mut Command) {
        let program = PathBuf::from(RETRY);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let ours = [
            program.parent().expect("a directory").to_owned(),
            fixture("").into(),
        ];
        // A directory that this user cannot read would make "not found" a "permission denied".
        let theirs = std::env::split_paths(&path).filter(|theirs| fs::read_dir(theirs).is_ok());
        let path = std::env::join_paths(ours.into_iter().chain(theirs));
        command
            .current_dir(self.dir.path())
            .env("T", self.dir.path())
            .env("FAST", FAST)
            .env("PATH", path.expect("a path"));
        // A test asks for what it wants told; a tester's own variables, or a run around the tests, must not show.
        for (name, _) in std::env::vars_os() {
            if name.as_bytes().starts_with(b"RETRY_") {
                command.env_remove(name);
            }
        }
    }
}

/// Sends any signal to a process; tells whether it was there.
pub(crate) fn send(pid: Pid, number: i32) -> bool {
    #[expect(unsafe_code, reason = "rustix has no real-time signals by number")]
    // SAFETY: it touches no memory.
    unsafe {
        libc::kill(pid.as_raw_nonzero().get(), number) == 0
    }
}

/// Whether a process is there, be it as a zombie.
pub(crate) fn is_there(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

/// Ends a process that a test started.
pub(crate) fn end(pid: i32) {
    let _ = kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL);
}

/// Whether a test that needs something may go on. Where it may not, that is said aloud, and in CI
/// it is a failure: what was not tried must not look as if it had passed.
#[cfg(target_os = "linux")]
pub(crate) fn can_be_tried(is_there: bool, needed: &str) -> bool {
    if is_there {
        return true;
    }
    assert!(std::env::var_os("CI").is_none(), "this test needs {needed}");
    let name = thread::current().name().unwrap_or_default().to_owned();
    let said = format!("NOT TRIED: {name} needs {needed}\n");
    let _ = rustix::io::write(rustix::stdio::stderr(), said.as_bytes());
    false
}

/// Waits until a process waits itself, and not for a child: it has none.
#[cfg(target_os = "linux")]
pub(crate) fn await_alone(pid: Pid) {
    let pid = pid.as_raw_nonzero();
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let children = format!("task/{pid}/children");
    while !(read("stat").contains(") S ") && read(&children).is_empty()) {
        thread::yield_now();
    }
}

/// Waits as long as a process needs, as a rule, to come to the point where it waits: there is no way
/// to see it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn await_alone(_: Pid) {
    let_pass("0.3");
}

/// Lets real time pass, as only a child of its own may. Only where that is the point: what can be
/// seen is waited for.
pub(crate) fn let_pass(seconds: &str) {
    assert!(
        Command::new("sleep")
            .arg(seconds)
            .status()
            .expect("sleep runs")
            .success()
    );
}

/// A file to write to.
pub(crate) fn open_to_write(path: &str) -> File {
    File::options()
        .write(true)
        .open(path)
        .expect("a file to write to")
}

/// Checks how `retry` with these options around `failn N CODE` ends, and after how many runs.
#[track_caller]
pub(crate) fn check_failn(options: &str, n_and_code: &str, exit: i32, runs: usize) -> Done {
    let sandbox = Sandbox::new();
    let done = sandbox
        .retry(&format!("{FAST} {options} -- failn {n_and_code}"))
        .run();
    done.exits(exit);
    assert_eq!(sandbox.text("n"), format!("{runs}\n"), "{done:?}");
    done
}

/// Runs `sh -c SCRIPT` as [`limited_by`] does, with `LIMIT` in the options for the limit.
#[track_caller]
pub(crate) fn limited(options: &str, attempts: usize, script: &str) -> (Duration, Done) {
    limited_by(attempts, |limit| {
        Sandbox::new().retry_sh(&options.replace("LIMIT", limit), script)
    })
}

/// Makes a call with a limit that is long enough, however busy the machine is, for each of so many
/// attempts to say `ready` on stdout, as it does when it has set its traps. Returns that limit, and
/// what came of it; on stdout, what else was said.
#[track_caller]
pub(crate) fn limited_by(attempts: usize, call: impl Fn(&str) -> Call) -> (Duration, Done) {
    for millis in [300, 1_000, 4_000, 16_000] {
        let mut done = call(&format!("{millis}ms")).run();
        if done.stdout.matches("ready\n").count() == attempts {
            done.stdout = done.stdout.replace("ready\n", "");
            return (Duration::from_millis(millis), done);
        }
    }
    panic!("no attempt is ever ready");
}

/// Checks what a script prints, and that it exits with 0.
#[track_caller]
pub(crate) fn check(script: &str, stdout: &str) -> Done {
    let done = Sandbox::new().bash(script).run();
    done.exits(0).stdout_is(stdout);
    done
}

/// A pipe that nobody else has: the way to read from it, and the way to write to it.
pub(crate) fn pipe() -> (File, File) {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).expect("a pipe");
    (File::from(reader), File::from(writer))
}
