//! `--generate`: the manual and the completions from the program itself.

use std::fs;

use libc::SIGPIPE;

use crate::support::{Sandbox, check, pipe};

/// A file of this repository.
fn shipped(name: &str) -> String {
    fs::read_to_string(format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))).expect("a file")
}

#[test]
fn what_is_generated_is_what_is_shipped() {
    for (what, file) in [
        ("man", "man/retry.1"),
        ("bash", "completions/retry.bash"),
        ("zsh", "completions/_retry"),
        ("fish", "completions/retry.fish"),
    ] {
        let done = Sandbox::new().retry(&format!("--generate {what}")).run();
        done.exits(0).stdout_is(&shipped(file)).stderr_is("");
    }
}

#[test]
fn it_runs_nothing_and_is_refused_with_a_command() {
    let done = Sandbox::new().retry("--generate man -- touch ran").run();
    done.exits(125).stdout_is("");
    assert!(done.stderr.contains("remove the command"), "{done:?}");
}

#[test]
fn it_works_although_the_policy_file_is_broken() {
    check(
        "echo nonsense >p; RETRY_POLICY=p retry --generate zsh | head -c 15",
        "#compdef retry\n",
    );
}

#[test]
fn a_reader_that_is_gone_is_a_death_by_sigpipe_and_a_full_disk_is_125() {
    let (reader, writer) = pipe();
    drop(reader);
    let call = Sandbox::new().retry("--generate man").stdout(writer);
    call.run().dies_of(SIGPIPE).stderr_is("");
    check("retry --generate man >/dev/full; echo $?", "125\n");
}
