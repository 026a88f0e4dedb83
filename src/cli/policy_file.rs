//! A file of options.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::escape::{escaped, shortened};

/// The longest file, in bytes: far more than all options need.
const LONGEST: u64 = 64 * 1024;

/// Reads a file of options, without waiting for a writer should it be a pipe.
///
/// # Errors
/// When it is not there, or none of the kind.
pub(crate) fn read_policy_file(path: &Path) -> Result<String> {
    let name = shortened(&escaped(path.as_os_str()));
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path);
    let file = file.with_context(|| format!("policy file '{name}' cannot be read"))?;
    let kind = file.metadata().context("cannot look at the policy file")?;
    ensure!(
        kind.is_file(),
        "policy file '{name}' is no regular file; write the options to one"
    );
    let mut text = Vec::new();
    file.take(LONGEST + 1)
        .read_to_end(&mut text)
        .with_context(|| format!("policy file '{name}' cannot be read"))?;
    ensure!(
        text.len() as u64 <= LONGEST,
        "policy file '{name}' is longer than 64 KiB; leave out what are no options"
    );
    String::from_utf8(text)
        .ok()
        .with_context(|| format!("policy file '{name}' is not valid UTF-8; write it anew"))
}
