//! Why a command does not start, in words for whoever has to fix it.

use std::ffi::{CString, OsStr};
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::escape::described;
use crate::status::{FaultClass, StartFault};

/// Classifies an error of fork or exec, given the paths that were tried: some faults pass by
/// themselves, most do not.
pub(super) fn fault(error: &io::Error, paths: &[CString]) -> StartFault {
    let (class, reason) = match error.raw_os_error() {
        Some(libc::ENOENT) => match existing(paths).find(|(_, is)| is.is_file()) {
            Some((path, _)) => (FaultClass::NoInterpreter, without_interpreter(path).into()),
            None => (FaultClass::NotFound, "not found".into()),
        },
        Some(libc::EACCES) => (
            FaultClass::NotExecutable,
            forbidden(paths).map_or_else(|| described(error), String::from),
        ),
        Some(libc::ETXTBSY) => (FaultClass::Busy, described(error)),
        Some(libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE | libc::EIO) => {
            (FaultClass::Shortage, described(error))
        }
        _ => (FaultClass::NotExecutable, described(error)),
    };
    StartFault { class, reason }
}

/// Returns the files that exist at these paths, with their metadata.
fn existing(paths: &[CString]) -> impl Iterator<Item = (&OsStr, Metadata)> {
    let paths = paths.iter().map(|path| OsStr::from_bytes(path.as_bytes()));
    paths.filter_map(|path| fs::metadata(path).ok().map(|is| (path, is)))
}

/// Explains why the system refuses to execute a file, if its metadata shows it.
fn forbidden(paths: &[CString]) -> Option<&'static str> {
    let (_, is) = existing(paths).max_by_key(|(_, is)| is.is_file())?;
    match (is.is_dir(), is.is_file() && is.mode() & 0o111 == 0) {
        (true, _) => Some("it is a directory"),
        (_, true) => Some("permission denied: it is not marked as executable (chmod +x)"),
        _ => None,
    }
}

/// Explains ENOENT for a file that exists: its loader or interpreter is missing.
fn without_interpreter(path: &OsStr) -> &'static str {
    let mut start = [0; 256];
    let read = File::open(path).and_then(|mut file| file.read(&mut start));
    let start = &start[..read.unwrap_or_default()];
    let Some(named) = start.strip_prefix(b"#!") else {
        return if start.starts_with(b"\x7fELF") {
            "not found: its dynamic loader is missing (wrong libc or architecture?)"
        } else {
            "not found: its first line names no interpreter, and there is no /bin/sh"
        };
    };
    let line = named.split(|byte| *byte == b'\n').next();
    let mut words = line.unwrap_or_default().split(|byte| b" \t".contains(byte));
    let name = words.find(|word| !word.is_empty());
    let name = OsStr::from_bytes(name.unwrap_or_default());
    if name.as_bytes().ends_with(b"\r") {
        "not found: Windows line ending (CR) in line 1; convert the file, e.g. with dos2unix"
    } else if Path::new(name).exists() {
        "not found: the interpreter in its first line needs another one that does not exist"
    } else {
        "not found: the interpreter in its first line does not exist"
    }
}
