//! A call that runs.

use std::io::Read;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;

use super::{AT_ONCE, Done, await_alone, hang, send};

/// The output of a call, as it comes.
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
        if let Err(why) = self.seek(text, count) {
            panic!(
                "no '{text}' ({why}) in: {}",
                String::from_utf8_lossy(&self.seen)
            )
        }
    }

    /// Reads until it has seen `text` so many times, if that ever comes.
    fn seek(&mut self, text: &str, count: usize) -> Result<(), RecvTimeoutError> {
        let until = Instant::now() + hang();
        while String::from_utf8_lossy(&self.seen).matches(text).count() < count {
            let left = until.saturating_duration_since(Instant::now());
            self.seen.extend(self.chunks.recv_timeout(left)?);
        }
        Ok(())
    }

    /// Returns the text read so far.
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
    pub(super) child: Child,
    pub(super) pid: Pid,
    pub(super) started: Instant,
    pub(super) ended: Receiver<Instant>,
    pub(super) stdout: Option<Stream>,
    pub(super) stderr: Option<Stream>,
    pub(super) reaped: bool,
    pub(super) _dir: Arc<TempDir>,
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

    /// Whether this is ever written on stdout; waits for it.
    pub(crate) fn comes_to_write(&mut self, text: &str) -> bool {
        let stdout = self.stdout.as_mut().expect("stdout is read");
        stdout.seek(text, 1).is_ok()
    }

    /// Whether this is ever written on stderr; waits for it.
    pub(crate) fn comes_to_say(&mut self, text: &str) -> bool {
        let stderr = self.stderr.as_mut().expect("stderr is read");
        stderr.seek(text, 1).is_ok()
    }

    /// Waits until the process waits itself, for nothing that it has started.
    pub(crate) fn await_alone(&mut self) -> &mut Self {
        await_alone(self.pid);
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
