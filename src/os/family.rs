//! The processes of an attempt: whom a time limit ends, and whether all of them are gone.
//!
//! Where the system can neither list processes nor watch them (no /proc, no pidfd, not Linux), the
//! members are not known: then the signals still go to the group, and the whole grace is waited.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::Pid;

use super::sys;
use crate::signal::Signal;

/// Whom a time limit means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The group that this child leads. Who left it by setsid or setpgid has opted out.
    Group(Pid),
    /// This child and its descendants that are still in our own group.
    Descendants(Pid),
}

/// A process that is watched; its descriptor becomes readable when it ends.
struct Member {
    pid: Pid,
    watch: OwnedFd,
}

/// The members besides the child itself, which is waited for by its parent, us.
pub(super) struct Family {
    scope: Scope,
    members: Vec<Member>,
    known: bool,
}

impl Family {
    /// Nobody is looked for before [`Family::look`].
    pub(super) fn new(scope: Scope) -> Self {
        Self {
            scope,
            members: Vec::new(),
            known: true,
        }
    }

    /// Whom a time limit means.
    pub(super) fn scope(&self) -> Scope {
        self.scope
    }

    /// Finds the members that are alive and not watched yet.
    pub(super) fn look(&mut self) {
        self.members.retain(|member| !has_ended(&member.watch));
        let watched: Vec<Pid> = self.members.iter().map(|member| member.pid).collect();
        match living(self.scope, &watched) {
            Some(found) => self.members.extend(found),
            None => self.known = false,
        }
    }

    /// Whether nobody is left besides the child. Members that are not known are gone when KILL has
    /// been `sent`.
    pub(super) fn is_gone(&mut self, sent: bool) -> bool {
        self.members.retain(|member| !has_ended(&member.watch));
        if self.members.is_empty() {
            // Whoever was started by a member in its last moments is found by a second look.
            self.look();
        }
        self.members.is_empty() && (self.known || sent)
    }

    /// The watches of the members.
    pub(super) fn watched(&self) -> Vec<&OwnedFd> {
        self.members.iter().map(|member| &member.watch).collect()
    }

    /// Some member that is left.
    pub(super) fn someone(&self) -> Option<Pid> {
        self.members.first().map(|member| member.pid)
    }

    /// Sends a signal to the child and all members.
    ///
    /// # Errors
    /// EPERM when one may not be signalled by us; that one is gone is no error.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        match self.scope {
            Scope::Group(leader) => sys::kill(-leader.as_raw_nonzero().get(), signal),
            Scope::Descendants(child) => {
                let own = sys::kill(child.as_raw_nonzero().get(), signal);
                self.members
                    .iter()
                    .map(|member| send(member, signal))
                    .fold(own, io::Result::and)
            }
        }
    }

    /// A last KILL to a group after a time limit, while its leader's pid still pins the group's.
    pub(super) fn sweep(&self, after_limit: bool) {
        if let (true, Scope::Group(leader)) = (after_limit, self.scope) {
            let _ = sys::kill(-leader.as_raw_nonzero().get(), Signal::KILL);
        }
    }
}

#[cfg(target_os = "linux")]
use linux::{has_ended, living, send};

#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
use elsewhere::{has_ended, living, send};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::process::Pid;

    use super::{Member, Scope};
    use crate::signal::Signal;

    /// Members are never known here.
    pub(super) fn living(_: Scope, _: &[Pid]) -> Option<Vec<Member>> {
        None
    }

    pub(super) fn has_ended(_: &OwnedFd) -> bool {
        true
    }

    pub(super) fn send(_: &Member, _: Signal) -> io::Result<()> {
        Ok(())
    }
}
