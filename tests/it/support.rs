//! What the tests speak: a sandbox, calls of `retry` in it, and what came of them.
//!
//! A call runs in a session of its own, without a terminal, with /dev/null for stdin. Nothing is
//! waited for by sleeping: a child says `ready`, the test reads it. The end of a call is the end of
//! its output, which comes when every process that could still write is gone: so "nothing is left
//! running" is part of every test.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use tempfile::TempDir;

/// The program under test.
pub(crate) const RETRY: &str = env!("CARGO_BIN_EXE_retry");

/// Delays that cost a test nothing.
pub(crate) const FAST: &str = "--base 10ms --cap 10ms --jitter none";

/// How many times as long as in the suite a storm or a soak is to be.
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
        Call {
            command,
            ignored: Vec::new(),
            blocked: Vec::new(),
            dir: Arc::clone(&self.dir),
        }
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
            .env("PATH", path.expect("a path"))
            .env_remove("RETRY_ATTEMPT");
    }
}

/// A call that is being put together.
pub(crate) struct Call {
    command: Command,
    ignored: Vec<i32>,
    blocked: Vec<i32>,
    dir: Arc<TempDir>,
}

impl Call {
    pub(crate) fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.command.arg(word);
        self
    }

    pub(crate) fn args<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, words: I) -> Self {
        self.command.args(words);
        self
    }

    pub(crate) fn stdin(mut self, stdin: impl Into<Stdio>) -> Self {
        self.command.stdin(stdin);
        self
    }

    pub(crate) fn stdout(mut self, stdout: impl Into<Stdio>) -> Self {
        self.command.stdout(stdout);
        self
    }

    pub(crate) fn stderr(mut self, stderr: impl Into<Stdio>) -> Self {
        self.command.stderr(stderr);
        self
    }

    /// Starts with this signal ignored.
    pub(crate) fn ignoring(mut self, signal: i32) -> Self {
        self.ignored.push(signal);
        self
    }

    /// Starts with this signal blocked.
    pub(crate) fn blocking(mut self, signal: i32) -> Self {
        self.blocked.push(signal);
        self
    }

    /// Starts where the kernel refuses this system call with this error, as a sandbox does, to us
    /// and to whatever we start.
    #[cfg(target_os = "linux")]
    pub(crate) fn refusing(mut self, call: libc::c_long, errno: i32) -> Self {
        let word = |code: u32, value: u32, jumps: [u8; 2]| libc::sock_filter {
            code: u16::try_from(code).expect("a code"),
            jt: jumps[0],
            jf: jumps[1],
            k: value,
        };
        let number = u32::try_from(call).expect("a call");
        let error = libc::SECCOMP_RET_ERRNO | u32::try_from(errno).expect("an error");
        let filter = [
            // The number of the call stands first.
            word(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, [0, 0]),
            word(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number, [0, 1]),
            word(libc::BPF_RET | libc::BPF_K, error, [0, 0]),
            word(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, [0, 0]),
        ];
        let prepare = move || {
            let program = libc::sock_fprog {
                len: 4,
                filter: filter.as_ptr().cast_mut(),
            };
            #[expect(unsafe_code, reason = "there is no safe form of a filter")]
            // SAFETY: the program and its filter outlive the calls, which only read them.
            let refused = unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
                    | libc::prctl(
                        libc::PR_SET_SECCOMP,
                        libc::SECCOMP_MODE_FILTER,
                        &raw const program,
                    )
            };
            match refused {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        #[expect(unsafe_code, reason = "there is no safe form of pre_exec")]
        // SAFETY: prctl(2) is safe between fork and exec.
        unsafe {
            self.command.pre_exec(prepare)
        };
        self
    }

    pub(crate) fn spawn(mut self) -> Running {
        let (ignored, blocked) = (self.ignored.clone(), self.blocked.clone());
        lead_session(&mut self.command, ignored, blocked, None);
        let started = Instant::now();
        let mut child = self.command.spawn().expect("the call starts");
        let pid = pid_of(&child);
        let (tell, ended) = channel();
        thread::spawn(move || {
            // The child stays a zombie until the test takes its status, so that no signal of the
            // test's can hit another process.
            let _ = waitid(
                WaitId::Pid(pid),
                WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
            );
            let _ = tell.send(Instant::now());
        });
        let stdout = child.stdout.take().map(Stream::new);
        let stderr = child.stderr.take().map(Stream::new);
        Running {
            child,
            pid,
            started,
            ended,
            stdout,
            stderr,
            reaped: false,
            _dir: self.dir,
        }
    }

    pub(crate) fn run(self) -> Done {
        self.spawn().wait()
    }
}

/// Has a command lead a session of its own, with this terminal, if any, and with signals as a login
/// finds them: whoever runs the tests may ignore or block some. But for these.
pub(crate) fn lead_session(
    command: &mut Command,
    ignored: Vec<i32>,
    blocked: Vec<i32>,
    terminal: Option<OwnedFd>,
) {
    let prepare = move || {
        rustix::process::setsid()?;
        if let Some(terminal) = &terminal {
            rustix::process::ioctl_tiocsctty(terminal)?;
        }
        #[expect(unsafe_code, reason = "there is no safe form of these")]
        // SAFETY: neither action installs code, and the set is initialized before use.
        unsafe {
            for signal in 1..32 {
                libc::signal(signal, libc::SIG_DFL);
            }
            for signal in &ignored {
                libc::signal(*signal, libc::SIG_IGN);
            }
            let mut mask = std::mem::zeroed();
            libc::sigemptyset(&raw mut mask);
            for signal in &blocked {
                libc::sigaddset(&raw mut mask, *signal);
            }
            libc::sigprocmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut());
        };
        Ok(())
    };
    #[expect(unsafe_code, reason = "there is no safe form of pre_exec")]
    // SAFETY: setsid(2), ioctl(2), signal(2) and sigprocmask(2) are safe between fork and exec.
    unsafe {
        command.pre_exec(prepare)
    };
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid")
}

/// What a call writes, as it comes.
pub(crate) struct Stream {
    chunks: Receiver<Vec<u8>>,
    seen: Vec<u8>,
}

impl Stream {
    pub(crate) fn new(mut pipe: impl Read + Send + 'static) -> Self {
        let (tell, chunks) = channel();
        thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            while let Ok(length @ 1..) = pipe.read(&mut buffer) {
                if tell.send(buffer[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            chunks,
            seen: Vec::new(),
        }
    }

    /// Reads until it has seen `text`.
    pub(crate) fn await_text(&mut self, text: &str) {
        self.await_count(text, 1);
    }

    /// Reads until it has seen `text` so many times.
    pub(crate) fn await_count(&mut self, text: &str, count: usize) {
        let until = Instant::now() + hang();
        while String::from_utf8_lossy(&self.seen).matches(text).count() < count {
            match self
                .chunks
                .recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                Ok(chunk) => self.seen.extend(chunk),
                Err(why) => {
                    panic!(
                        "no '{text}' ({why}) in: {}",
                        String::from_utf8_lossy(&self.seen)
                    )
                }
            }
        }
    }

    /// What was read until now.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// Reads to the end.
    pub(crate) fn finish(&mut self) -> String {
        let until = Instant::now() + hang();
        loop {
            match self
                .chunks
                .recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                Ok(chunk) => self.seen.extend(chunk),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("still open after: {}", String::from_utf8_lossy(&self.seen))
                }
            }
        }
        String::from_utf8_lossy(&self.seen).into_owned()
    }
}

/// A call that runs.
pub(crate) struct Running {
    child: Child,
    pid: Pid,
    started: Instant,
    ended: Receiver<Instant>,
    stdout: Option<Stream>,
    stderr: Option<Stream>,
    reaped: bool,
    _dir: Arc<TempDir>,
}

impl Running {
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Waits until the command has written this on stdout.
    pub(crate) fn await_stdout(&mut self, text: &str) -> &mut Self {
        self.stdout
            .as_mut()
            .expect("stdout is read")
            .await_text(text);
        self
    }

    /// Waits until this was written on stderr.
    pub(crate) fn await_stderr(&mut self, text: &str) -> &mut Self {
        self.stderr
            .as_mut()
            .expect("stderr is read")
            .await_text(text);
        self
    }

    pub(crate) fn signal(&mut self, number: i32) -> &mut Self {
        assert!(send(self.pid, number), "signal {number} could not be sent");
        self
    }

    pub(crate) fn close_stdin(&mut self) -> &mut Self {
        drop(self.child.stdin.take());
        self
    }

    /// Waits until the process ends, whoever still holds its output.
    pub(crate) fn wait_for_exit(&mut self) -> (ExitStatus, Instant) {
        let Ok(ended) = self.ended.recv_timeout(hang()) else {
            let said = |stream: Option<&mut Stream>| {
                stream.map_or_else(String::new, |stream| {
                    stream.seen.extend(stream.chunks.try_iter().flatten());
                    String::from_utf8_lossy(&stream.seen).into_owned()
                })
            };
            let (out, err) = (said(self.stdout.as_mut()), said(self.stderr.as_mut()));
            panic!("the call hangs; stdout: {out}\nstderr: {err}");
        };
        let status = self.child.wait().expect("the child is ours");
        self.reaped = true;
        (status, ended)
    }

    /// Waits until the process has ended and nobody can write any more.
    pub(crate) fn wait(mut self) -> Done {
        let (status, ended) = self.wait_for_exit();
        let stdout = self
            .stdout
            .as_mut()
            .map_or_else(String::new, Stream::finish);
        let stderr = self
            .stderr
            .as_mut()
            .map_or_else(String::new, Stream::finish);
        let took = ended - self.started;
        assert!(
            ended.elapsed() < AT_ONCE,
            "something was left running; stderr: {stderr}"
        );
        Done {
            status,
            stdout,
            stderr,
            took,
            ended,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = kill_process(self.pid, Signal::TERM);
            let _ = kill_process_group(self.pid, Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// What came of a call.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
    pub(crate) ended: Instant,
}

impl Done {
    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.status.code(), Some(code), "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn dies_of(&self, signal: i32) -> &Self {
        assert_eq!(self.status.signal(), Some(signal), "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn stdout_is(&self, expected: &str) -> &Self {
        assert_eq!(self.stdout, expected, "{self:?}");
        self
    }

    /// Compares what `retry` said, without process ids and with `…` for every time.
    #[track_caller]
    pub(crate) fn says(&self, expected: &[&str]) -> &Self {
        let said: Vec<String> = self.said().iter().map(|line| without_times(line)).collect();
        assert_eq!(said, expected, "{self:?}");
        self
    }

    /// The lines of `retry`'s own on stderr, without their prefix.
    pub(crate) fn said(&self) -> Vec<&str> {
        self.stderr.lines().filter_map(own_line).collect()
    }

    /// How many attempts it says have failed.
    pub(crate) fn failures(&self) -> usize {
        self.said()
            .iter()
            .filter(|line| line.contains(" failed: "))
            .count()
    }

    #[track_caller]
    pub(crate) fn took_at_least(&self, least: Duration) -> &Self {
        assert!(self.took >= least, "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn took_less_than(&self, most: Duration) -> &Self {
        assert!(self.took < most, "{self:?}");
        self
    }
}

/// What stands behind `retry[PID]: `.
fn own_line(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("retry[")?;
    let (pid, said) = rest.split_once("]: ")?;
    pid.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(said)
}

/// The line with `…` for what comes behind `after` and `next in`, up to the next punctuation.
fn without_times(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    loop {
        let next = ["after ", "next in ", "of which "]
            .iter()
            .filter_map(|mark| rest.find(mark).map(|at| at + mark.len()));
        let Some(at) = next.min() else {
            return shown + rest;
        };
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            shown.push('…');
            let end = rest.find([';', ':']).or(rest.find(" is left"));
            rest = &rest[end.unwrap_or(rest.len())..];
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

/// Lets real time pass, as only a child of its own may.
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
