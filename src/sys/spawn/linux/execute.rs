//! The last step of a child: it becomes the command.

use std::ffi::{CStr, c_char, c_int};
use std::io;

use super::Child;

/// What runs a script without an interpreter line, as execvp(3) has it.
pub(crate) const SHELL: &CStr = c"/bin/sh";

/// Executes the command from the first path that can be executed. It returns only if there is
/// none, with the error that says most, as execvp(3) does: a file that may not be executed says
/// more than places where there is none.
pub(crate) fn execute(child: &mut Child<'_>) -> c_int {
    let mut error = libc::ENOENT;
    for path in child.spec.paths {
        let path = path.as_ptr();
        match execute_at(path, &child.words, &child.environment) {
            libc::EACCES => error = libc::EACCES,
            libc::ENOENT
            | libc::ENOTDIR
            | libc::ENAMETOOLONG
            | libc::ESTALE
            | libc::ENODEV
            | libc::ETIMEDOUT
                if child.spec.paths.len() > 1 => {}
            libc::ENOEXEC => {
                // A script that does not say by what it is to be run.
                child.script[1] = path;
                return execute_at(child.script[0], &child.script, &child.environment);
            }
            final_error => return final_error,
        }
    }
    error
}

/// Executes what is at this path, or tells why not.
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
