//! The `retry` program: hands over the command line and ends the process.

#![no_main]
#![expect(
    unsafe_code,
    reason = "without Rust's runtime the entry is one that the C library calls by name"
)]

use std::ffi::{c_char, c_int};

/// The entry that the C library calls. Rust's runtime would ignore SIGPIPE, open what our caller
/// has closed and guard a stack: the command must not see the first two, and the third is a sixth
/// of all instructions of a run.
// SAFETY: no other function has this name, and this one is called as the C library calls it.
#[unsafe(no_mangle)]
extern "C" fn main(count: c_int, words: *const *const c_char) -> c_int {
    // SAFETY: these are the arguments that we were given.
    let words = unsafe { retry::argv(count, words) };
    retry::run(words).into()
}

// Links the unwinder statically: no program that aborts on a panic is worth the loading of a
// library for it at each start.
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    not(target_feature = "crt-static")
))]
#[link(name = "gcc_eh", kind = "static", modifiers = "-bundle")]
unsafe extern "C" {}
