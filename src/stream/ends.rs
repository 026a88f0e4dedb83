//! What stands in for standard streams.

use std::io;
use std::os::fd::OwnedFd;

use anyhow::{Context as _, Result};
use rustix::fs::{Mode, OFlags};

/// What stands in for the standard streams of a command, where ours would not do.
#[derive(Default)]
pub(crate) struct Ends {
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
}

impl Ends {
    /// What a command between two attempts has for standard streams.
    ///
    /// # Errors
    /// When the system is short of descriptors, or has no /dev/null.
    pub(crate) fn for_hook() -> Result<Self> {
        Ok(Self {
            stdin: Some(null().context(NULL)?),
            stdout: Some(rustix::stdio::stderr().try_clone_to_owned()?),
            stderr: None,
        })
    }
}

/// Where nothing is read from.
pub(super) const NULL: &str = "/dev/null";

/// /dev/null, to read.
pub(super) fn null() -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(NULL, flags, Mode::empty())?)
}
