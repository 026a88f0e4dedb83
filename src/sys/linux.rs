//! The system calls of Linux that other systems do not have.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with};
use rustix::process::{
    DumpableBehavior, Pid, Signal, set_dumpable_behavior, set_parent_process_death_signal,
};
use rustix::rand::{GetRandomFlags, getrandom};

use super::fd::is_ready;
use super::spawn::{Child, ChildReport, pid_or_error, run};

/// Fills `bytes` with random bits, without the C library, which may not have the call.
///
/// # Errors
/// When the kernel does not know the call, or a sandbox refuses it.
pub(crate) fn fill_with_random_bits(mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let filled = retry_on_intr(|| getrandom(&mut *bytes, GetRandomFlags::empty()))?;
        bytes = &mut bytes[filled..];
    }
    Ok(())
}

/// Prevents core dumps of this process, even to a handler that `core_pattern` names.
pub(crate) fn forbid_core_files() {
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Whether the kernel generated a signal. The sender's pid does not tell: it is 0 for a sender in
/// another pid namespace, such as `docker stop`.
pub(crate) fn is_from_kernel(info: &libc::siginfo_t) -> bool {
    info.si_code == libc::SI_KERNEL
}

/// Returns free memory to the system, which glibc does not do by itself.
pub(crate) fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it releases only memory that is not in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The size of the child's stack, in bytes. The child calls neither itself nor a handler, and uses
/// 1.3 KiB of it. A guard page below would catch nothing, and take two system calls at each start.
const STACK: usize = 16 * 1024;

/// Spawns a child in a group of its own as `posix_spawn` does: it shares our memory, on a stack of
/// its own, until it executes the command, and we stand still meanwhile. The cost does not depend
/// on the memory in use, and errors need no pipe. Unlike `posix_spawn` it can ask for the
/// parent-death signal, and resets our handlers instead of all there may be.
///
/// # Errors
/// Why there is no process.
pub(super) fn spawn_in_new_group(mut child: Child<'_>) -> io::Result<(Pid, ChildReport, u64)> {
    let mut stack = Box::<[u128]>::new_uninit_slice(STACK / size_of::<u128>());
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack is ours, aligned to 16 bytes, unused, and grows down from its end on
    // every system that Rust knows; CLONE_VFORK has us stand still until the child has left
    // both it and `child`, whose type is the one that `run` takes it for.
    let pid = unsafe {
        let top = stack.as_mut_ptr_range().end.cast::<c_void>();
        libc::clone(run, top, flags, (&raw mut child).cast::<c_void>())
    };
    Ok((pid_or_error(pid)?, child.report, 0))
}

/// Requests TERM for this child when its parent dies. Where this is forbidden, the command merely
/// outlives us.
pub(super) fn die_with_parent() {
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
}

/// The most bytes per zero-copy call.
const MOST: usize = 1024 * 1024;

/// Opens a close-on-exec pipe.
///
/// # Errors
/// When the system has none left.
pub(crate) fn private_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// Opens a close-on-exec pipe with both ends non-blocking.
///
/// # Errors
/// As [`private_pipe`].
pub(crate) fn pipe_without_waits() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?)
}

/// Reopens the file behind a descriptor, so that neither position nor flags are shared with others
/// that have it open.
///
/// # Errors
/// When that is not allowed.
pub(crate) fn reopened(fd: BorrowedFd<'_>, flags: OFlags) -> io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Enlarges the buffer of a pipe, so that its ends take turns less often; where that is forbidden,
/// it stays as it is.
pub(crate) fn widen(pipe: BorrowedFd<'_>) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, MOST);
}

/// Creates an anonymous file in memory.
///
/// # Errors
/// When the system has none to give.
pub(crate) fn memory_file() -> io::Result<File> {
    Ok(rustix::fs::memfd_create("retry-stdin", MemfdFlags::CLOEXEC)?.into())
}

/// Copies from one pipe to another without consuming; 0 at its end.
///
/// # Errors
/// AGAIN if there is nothing or no room for now, PIPE if nobody reads the other; any other if they
/// are not both pipes.
pub(crate) fn tee(from: BorrowedFd<'_>, to: &OwnedFd) -> Result<usize, Errno> {
    rustix::pipe::tee(from, to, MOST, SpliceFlags::NONBLOCK)
}

/// Moves the content of a pipe to an offset in a file.
///
/// # Errors
/// AGAIN if there is nothing for now; any other when there is no room, or the file cannot take it
/// like this.
pub(crate) fn drain(from: &OwnedFd, to: &File, at: u64, length: usize) -> Result<usize, Errno> {
    let mut at = at;
    rustix::pipe::splice(from, None, to, Some(&mut at), length, SpliceFlags::NONBLOCK)
}

/// Fills a pipe from an offset in a file; 0 at its end.
///
/// # Errors
/// AGAIN if there is no room for now, PIPE if nobody reads it; any other if the file cannot give it
/// like this.
pub(crate) fn fill(to: &OwnedFd, from: &File, at: u64, length: usize) -> Result<usize, Errno> {
    let (mut at, length) = (at, length.min(MOST));
    rustix::pipe::splice(from, Some(&mut at), to, None, length, SpliceFlags::NONBLOCK)
}

/// An inotify watch for reads of our stdin. It reports data read from a pipe, but not its end, a
/// write or a close.
pub(crate) struct Reads(OwnedFd);

impl Reads {
    /// Watches from now on; `None` where the system refuses, as with too many watchers.
    pub(crate) fn of_stdin() -> Option<Self> {
        watcher(Path::new("/proc/self/fd/0"), WatchFlags::ACCESS).map(Self)
    }

    /// Whether there was a read since the watch began, or since [`Self::forget`].
    pub(crate) fn have_been(&self) -> bool {
        is_ready(&self.0)
    }

    /// Forgets the reads so far.
    pub(crate) fn forget(&self) {
        forget(&self.0);
    }
}

/// An inotify watch for closed descriptors of a file, whoever closes them, and for its removal.
pub(crate) struct Closes(OwnedFd);

impl Closes {
    /// Watches from now on; `None` where the system refuses, as with too many watchers.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let changes = WatchFlags::CLOSE | WatchFlags::ATTRIB | WatchFlags::MOVE_SELF;
        watcher(path, changes).map(Self)
    }

    /// Returns the descriptor that becomes readable at the next one.
    pub(crate) fn watched(&self) -> PollFd<'_> {
        PollFd::new(&self.0, PollFlags::IN)
    }

    /// Forgets those so far.
    pub(crate) fn forget(&self) {
        forget(&self.0);
    }
}

fn watcher(path: &Path, changes: WatchFlags) -> Option<OwnedFd> {
    let watcher = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
    inotify::add_watch(&watcher, path, changes).ok()?;
    Some(watcher)
}

fn forget(watcher: &OwnedFd) {
    let mut events = [0; 4096];
    while rustix::io::read(watcher, &mut events).is_ok_and(|length| length > 0) {}
}
