//! The paths where a program may be.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The search path if PATH is not set, as in execvp(3).
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Returns the paths to try: the word itself if it holds a slash, else one below each directory of
/// PATH.
pub(crate) fn candidates(program: &OsStr) -> Vec<OsString> {
    if program.is_empty() || has_slash(program) {
        return vec![program.to_owned()];
    }
    let path = env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    // An empty directory is the current one, and joining to it gives the bare name.
    env::split_paths(&path)
        .map(|directory: PathBuf| directory.join(program).into_os_string())
        .collect()
}

fn has_slash(program: &OsStr) -> bool {
    program.as_encoded_bytes().contains(&b'/')
}
