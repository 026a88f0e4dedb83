//! The last step of a child: it becomes the command.

use std::ffi::{CStr, CString, c_char, c_int};
use std::{io, ptr};

use super::SpawnSpec;

/// The interpreter of a script without an interpreter line, as in execvp(3).
const SHELL: &CStr = c"/bin/sh";

/// The lists of execve(2), built before the fork, because a child must not allocate.
pub(super) struct Lists<'a> {
    paths: &'a [CString],
    argv: Vec<*const c_char>,
    /// The same behind the shell and a slot for the path of the script.
    script: Vec<*const c_char>,
    environment: Vec<*const c_char>,
}

impl<'a> Lists<'a> {
    pub(super) fn new(spec: &SpawnSpec<'a>) -> Self {
        let argv = pointers(spec.words.iter().map(CString::as_c_str));
        let script = [SHELL.as_ptr(), ptr::null()].into_iter();
        Self {
            paths: spec.paths,
            script: script.chain(argv.iter().skip(1).copied()).collect(),
            argv,
            environment: pointers(spec.environment.iter().copied()),
        }
    }

    /// Executes the command from the first path that works. It returns only if there is none, with
    /// the most telling error, as execvp(3) does: a file that may not be executed says more than
    /// paths without one.
    pub(super) fn execute(&mut self) -> c_int {
        let mut error = libc::ENOENT;
        for path in self.paths {
            let path = path.as_ptr();
            match execute_at(path, &self.argv, &self.environment) {
                libc::EACCES => error = libc::EACCES,
                libc::ENOENT
                | libc::ENOTDIR
                | libc::ENAMETOOLONG
                | libc::ESTALE
                | libc::ENODEV
                | libc::ETIMEDOUT
                    if self.paths.len() > 1 => {}
                libc::ENOEXEC => {
                    // A script without an interpreter line.
                    self.script[1] = path;
                    return execute_at(self.script[0], &self.script, &self.environment);
                }
                final_error => return final_error,
            }
        }
        error
    }
}

fn pointers<'a>(strings: impl Iterator<Item = &'a CStr>) -> Vec<*const c_char> {
    strings.map(CStr::as_ptr).chain([ptr::null()]).collect()
}

/// Executes the file at a path, or returns the error number.
fn execute_at(
    path: *const c_char,
    words: &[*const c_char],
    environment: &[*const c_char],
) -> c_int {
    // SAFETY: all three point to strings that end in NUL and to lists that end in null.
    unsafe { libc::execve(path, words.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO)
}
