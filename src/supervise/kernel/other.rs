//! Stubs for systems where processes cannot be listed.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::Pid;

use super::{Stat, Which};

pub(super) fn processes(_: Which) -> Option<Vec<Stat>> {
    None
}

pub(super) fn environment(_: Pid) -> Vec<u8> {
    Vec::new()
}

pub(super) fn watch(_: Pid) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}
