//! The scripts that make a release.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::Sandbox;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the command starts")
}

/// What `check` makes of this tag, manifest and changelog in the repository `example.org/me/retry`.
fn checked(tag: &str, manifest: &str, changelog: &str) -> Output {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path(".github/release")).expect("a directory");
    let script = sandbox.path(".github/release/check");
    fs::copy(root().join(".github/release/check"), &script).expect("a copy");
    fs::write(sandbox.path("Cargo.toml"), manifest).expect("a file");
    fs::write(sandbox.path("CHANGELOG.md"), changelog).expect("a file");
    run(Command::new(script)
        .arg(tag)
        .env("GITHUB_SERVER_URL", "https://example.org")
        .env("GITHUB_REPOSITORY", "me/retry"))
}

const MANIFEST: &str = "[package]\nname = \"x\"\nversion = \"1.2.3\"\n\
    repository = \"https://example.org/me/retry\"\n[dependencies.y]\nversion = \"9\"\n";
const CHANGELOG: &str = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-12-01\n\n- New.\n\n\
    ### For some\n\n- More.\n\n## [1.2.2] - 2026-11-30\n\n- Old.\n";

#[test]
fn a_release_that_agrees_with_itself_gets_its_section_of_the_changelog_for_notes() {
    let output = checked("v1.2.3", MANIFEST, CHANGELOG);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stdout), "- New.\n\n### For some\n\n- More.\n");
}

#[test]
fn a_release_that_does_not_agree_with_itself_is_refused_with_the_reason() {
    let other_version = MANIFEST.replace("1.2.3", "1.2.4");
    let homeless = MANIFEST.replace("repository", "homepage");
    let moved = MANIFEST.replace("me/retry", "you/retry");
    let no_heading = CHANGELOG.replace("1.2.3", "1.2.1");
    let not_newest = CHANGELOG.replace("## [1.2.3]", "## [1.3.0] - 2027-01-01\n\n## [1.2.3]");
    let no_date = CHANGELOG.replace(" - 2026-12-01", "");
    let waiting = CHANGELOG.replace("## [1.2.3]", "- A fix.\n\n## [1.2.3]");
    let silent = CHANGELOG.replace("- New.\n\n### For some\n\n- More.\n", "");
    let home = "repository = \"https://example.org/me/retry\"";
    for (tag, manifest, changelog, reason) in [
        ("v1.2.4", MANIFEST, CHANGELOG, "the tag is v1.2.4"),
        ("1.2.3", MANIFEST, CHANGELOG, "the tag is 1.2.3"),
        ("v1.2.3", &other_version, CHANGELOG, "has version 1.2.4"),
        ("v1.2.4", &other_version, CHANGELOG, "## [1.2.4] - YEAR"),
        ("v1.2.3", &homeless, CHANGELOG, home),
        ("v1.2.3", &moved, CHANGELOG, home),
        ("v1.2.3", MANIFEST, &no_heading, "newest heading"),
        ("v1.2.3", MANIFEST, &not_newest, "newest heading"),
        ("v1.2.3", MANIFEST, &no_date, "newest heading"),
        ("v1.2.3", MANIFEST, &waiting, "under [Unreleased]"),
        ("v1.2.3", MANIFEST, &silent, "says nothing of 1.2.3"),
        ("v1.2.3", MANIFEST, "", "newest heading"),
    ] {
        let output = checked(tag, manifest, changelog);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(reason), "{said}");
        assert!(output.stdout.is_empty(), "{output:?}");
    }
}

/// The target that is released for this machine, and what a job's runner calls it.
fn here() -> (String, &'static str, &'static str) {
    let (os, system) = if cfg!(target_os = "macos") {
        ("macOS", "apple-darwin")
    } else {
        ("Linux", "unknown-linux-gnu")
    };
    let arch = if cfg!(target_arch = "aarch64") {
        "ARM64"
    } else {
        "X64"
    };
    (format!("{}-{system}", std::env::consts::ARCH), os, arch)
}

/// Packs a program that says this of its version, into `dist` below the directory.
fn packed(directory: &Path, says: &str) -> PathBuf {
    let (target, ..) = here();
    let built = directory.join(&target).join("release");
    fs::create_dir_all(&built).expect("a directory");
    let program = built.join("retry");
    fs::write(&program, format!("#!/bin/sh\necho {says}\n")).expect("a program");
    let output = run(Command::new(root().join(".github/release/pack"))
        .arg(target)
        .env("CARGO_TARGET_DIR", directory)
        .env("SOURCE_DATE_EPOCH", "1700000000"));
    assert!(output.status.success(), "{output:?}");
    PathBuf::from(text(&output.stdout).trim_end())
}

#[test]
fn the_same_files_make_the_same_archive_with_all_that_a_user_needs() {
    let (one, two) = (Sandbox::new(), Sandbox::new());
    let archives = [&one, &two].map(|sandbox| packed(&sandbox.path("."), "the same"));
    let [first, second] = archives
        .each_ref()
        .map(|path| fs::read(path).expect("an archive"));
    assert!(first == second, "the archives differ");

    let list = run(Command::new("tar").arg("-tzvf").arg(&archives[0]));
    let list = text(&list.stdout);
    let top = format!("retry-{VERSION}-{}", here().0);
    let names = list.lines().map(|line| {
        assert!(line.contains("root") && line.contains("2023"), "{line}");
        let name = line.rsplit(' ').next().expect("a name");
        name.strip_prefix(&top).expect("one folder at the top")
    });
    let expected = "/ /CHANGELOG.md /LICENSE-APACHE /LICENSE-MIT /README.md /completions/ \
        /completions/_retry /completions/retry.bash /completions/retry.fish /man/ /man/retry.1 /retry";
    let expected: Vec<&str> = expected.split_whitespace().collect();
    assert_eq!(names.collect::<Vec<_>>(), expected);
}
