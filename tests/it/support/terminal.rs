//! An interactive bash in a real pty, with keys typed by the test.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{Sandbox, Stream, lead_session};

pub(crate) const INTERRUPT: &str = "\x03";

pub(crate) const QUIT: &str = "\x1c";

pub(crate) const SUSPEND: &str = "\x1a";

/// A terminal with an interactive shell in it.
pub(crate) struct Terminal {
    pub(crate) sandbox: Sandbox,
    keys: File,
    pub(crate) screen: Stream,
    shell: Child,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        let sandbox = Sandbox::new();
        let (keys, line) = open_terminal();
        let clone = |line: &OwnedFd| Stdio::from(line.try_clone().expect("a descriptor"));
        let mut command = sandbox.command("bash");
        command.args(["--norc", "--noprofile", "--noediting", "-i"]);
        // Whoever runs the tests may be a machine, but nobody is who types here.
        command.env_remove("CI");
        command.envs([("PS1", ""), ("PS2", ""), ("TERM", "dumb"), ("HISTFILE", "")]);
        command
            .stdin(clone(&line))
            .stdout(clone(&line))
            .stderr(clone(&line));
        lead_session(&mut command, Vec::new(), Vec::new(), Some(line));
        let shell = command.spawn().expect("bash starts");
        // The command holds the terminal's line as long as it lives.
        drop(command);
        let keys = File::from(keys);
        let screen = Stream::new(keys.try_clone().expect("a descriptor"));
        let mut terminal = Self {
            sandbox,
            keys,
            screen,
            shell,
        };
        // What is typed is not to be taken for what is printed.
        terminal
            .enter("stty -echo; ulimit -c 0; echo set u''p")
            .await_text("set up");
        terminal
    }

    /// Where a file of this name is.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.sandbox.path(name)
    }

    pub(crate) fn type_keys(&mut self, keys: &str) -> &mut Self {
        self.keys
            .write_all(keys.as_bytes())
            .expect("the terminal takes keys");
        self
    }

    pub(crate) fn enter(&mut self, line: &str) -> &mut Self {
        self.type_keys(&format!("{line}\n"))
    }

    pub(crate) fn await_text(&mut self, text: &str) -> &mut Self {
        self.screen.await_text(text);
        self
    }

    pub(crate) fn await_count(&mut self, text: &str, count: usize) -> &mut Self {
        self.screen.await_count(text, count);
        self
    }

    /// All that was printed until now, read up to a mark of this shell's.
    pub(crate) fn printed(&mut self) -> String {
        self.printed_as_it_came().replace('\r', "")
    }

    /// The same, with what moves the cursor.
    pub(crate) fn printed_as_it_came(&mut self) -> String {
        self.enter("echo the e''nd").await_text("the end");
        self.screen.text()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A hang-up, as when a window is closed; and then whatever did not hear it.
        let leader = Pid::from_child(&self.shell);
        let _ = kill_process_group(leader, Signal::HUP);
        let _ = kill_process_group(leader, Signal::KILL);
        let _ = self.shell.wait();
    }
}

/// The two ends of a new terminal: where keys are typed, and what programs use.
pub(crate) fn open_terminal() -> (OwnedFd, OwnedFd) {
    let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    // Not to be inherited by what other tests start at the same time.
    rustix::io::fcntl_setfd(&keys, rustix::io::FdFlags::CLOEXEC).expect("a terminal");
    grantpt(&keys).expect("a terminal");
    unlockpt(&keys).expect("a terminal");
    let name = ptsname(&keys, Vec::new()).expect("a terminal");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let line = open(name, flags, Mode::empty()).expect("a terminal");
    (keys, line)
}
