//! Other users and namespaces to run in, as Linux has them.

use rustix::process::getuid;

use super::{Call, Sandbox, can_be_tried};

/// Whether a test that needs root may go on.
pub(crate) fn is_root() -> bool {
    can_be_tried(getuid().is_root(), "root")
}

/// The words that run a command as a user without privileges, which may be who we are.
pub(crate) fn as_nobody() -> Vec<&'static str> {
    if getuid().is_root() {
        vec![
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
        ]
    } else {
        vec!["env"]
    }
}

/// The words that run a command in new namespaces.
pub(crate) fn unshare(namespaces: &[&'static str]) -> Vec<&'static str> {
    let user: &[&str] = if getuid().is_root() {
        &[]
    } else {
        &["--user", "--map-root-user"]
    };
    [&["unshare"], user, namespaces].concat()
}

pub(crate) fn call(sandbox: &Sandbox, words: &[&str]) -> Call {
    sandbox.program(words[0]).args(&words[1..])
}
