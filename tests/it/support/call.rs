//! A call that is being put together, and its start.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tempfile::TempDir;

use super::{Done, Running, Stream};

/// A call that is being put together.
pub(crate) struct Call {
    command: Command,
    ignored: Vec<i32>,
    blocked: Vec<i32>,
    dir: Arc<TempDir>,
}

impl Call {
    pub(super) fn new(command: Command, dir: Arc<TempDir>) -> Self {
        Self {
            command,
            ignored: Vec::new(),
            blocked: Vec::new(),
            dir,
        }
    }

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
    #[cfg(target_os = "linux")]
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
