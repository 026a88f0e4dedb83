//! The scripts that make a release, and the one that fetches it.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

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

/// Runs `check` with this tag, manifest and changelog, in this repository of `example.org`. An
/// empty repository means a call by hand.
fn checked(repository: &str, tag: &str, manifest: &str, changelog: &str) -> Output {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path(".github/release")).expect("a directory");
    let script = sandbox.path(".github/release/check");
    fs::copy(root().join(".github/release/check"), &script).expect("a copy");
    fs::write(sandbox.path("Cargo.toml"), manifest).expect("a file");
    fs::write(sandbox.path("CHANGELOG.md"), changelog).expect("a file");
    // Executed itself, it could be busy in another test's child.
    run(Command::new("sh")
        .arg(script)
        .arg(tag)
        .env("GITHUB_SERVER_URL", "https://example.org")
        .env("GITHUB_REPOSITORY", repository))
}

const MANIFEST: &str = "[package]\nname = \"x\"\nversion = \"1.2.3\"\n\
    repository = \"https://example.org/me/retry\"\n[dependencies.y]\nversion = \"9\"\n";
const CHANGELOG: &str = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-12-01\n\n- New.\n\n\
    ### For some\n\n- More.\n\n## [1.2.2] - 2026-11-30\n\n- Old.\n";

#[test]
fn a_release_that_agrees_with_itself_gets_its_section_of_the_changelog_for_notes() {
    for repository in ["me/retry", ""] {
        let output = checked(repository, "v1.2.3", MANIFEST, CHANGELOG);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(text(&output.stdout), "- New.\n\n### For some\n\n- More.\n");
    }
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
        let output = checked("me/retry", tag, manifest, changelog);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(reason), "{said}");
        assert!(output.stdout.is_empty(), "{output:?}");
    }
    let by_hand = checked("", "v1.2.3", &homeless, CHANGELOG);
    assert!(!by_hand.status.success(), "{by_hand:?}");
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

/// Packs a program that says this of its version, into `packed` below the directory.
fn packed(directory: &Path, says: &str) -> PathBuf {
    let (target, ..) = here();
    let built = directory.join(&target).join("dist");
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
        let name = line.rsplit(' ').next().expect("a name");
        let mode = match name.rsplit('/').next() {
            Some("") => "drwxr-xr-x",
            Some("retry") => "-rwxr-xr-x",
            _ => "-rw-r--r--",
        };
        assert!(line.starts_with(mode), "{line}");
        assert!(line.contains("root") && line.contains("2023"), "{line}");
        name.strip_prefix(&top).expect("one folder at the top")
    });
    let expected = "/ /CHANGELOG.md /LICENSE-APACHE /LICENSE-MIT /README.md /completions/ \
        /completions/_retry /completions/retry.bash /completions/retry.fish /log.schema.json /man/ \
        /man/retry.1 /retry";
    let expected: Vec<&str> = expected.split_whitespace().collect();
    assert_eq!(names.collect::<Vec<_>>(), expected);
}

/// Serves the files of a directory as the release of this version in `me/retry`, with a redirect as
/// GitHub does it. Returns the URL.
fn serve(directory: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            answer(&connection, &directory);
        }
    });
    url
}

/// Answers one request. A client that is gone is no concern here.
fn answer(mut connection: &TcpStream, directory: &Path) {
    let lines = BufReader::new(connection).lines().map_while(Result::ok);
    let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let path = lines.first().and_then(|line| line.split(' ').nth(1));
    let path = path.unwrap_or_default();
    let released = path.strip_prefix(&format!("/me/retry/releases/download/v{VERSION}/"));
    let stored = path
        .strip_prefix("/stored/")
        .and_then(|name| fs::read(directory.join(name)).ok());
    let (head, body) = match (released, stored) {
        (Some(name), _) => (format!("302 Found\r\nLocation: /stored/{name}"), Vec::new()),
        (None, Some(body)) => ("200 OK".to_owned(), body),
        (None, None) => ("404 Not Found".to_owned(), Vec::new()),
    };
    let head = format!(
        "HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = connection.write_all(&[head.as_bytes(), &body].concat());
}

/// Runs the action for this version with the release in `packed`; returns its output, and what it
/// puts on PATH.
fn set_up(sandbox: &Sandbox, version: &str) -> (Output, String) {
    let (_, os, arch) = here();
    fs::write(sandbox.path("path"), "").expect("a file");
    let output = run(
        Command::new(root().join(".github/actions/setup-retry/setup"))
            .env("GITHUB_SERVER_URL", serve(sandbox.path("packed")))
            .env("GITHUB_PATH", sandbox.path("path"))
            .env("RETRY_REPOSITORY", "me/retry")
            .env("RETRY_VERSION", version)
            .env("RUNNER_OS", os)
            .env("RUNNER_ARCH", arch)
            .env("RUNNER_TEMP", sandbox.path("."))
            .env("no_proxy", "*"),
    );
    (output, sandbox.text("path"))
}

/// A release of a program that says this of its version.
fn release(says: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    packed(&sandbox.path("."), says);
    let sum = "cd packed && { sha256sum * || shasum -a 256 *; } 2>/dev/null >../sums; mv ../sums SHA256SUMS";
    sandbox.bash(sum).run().exits(0);
    sandbox
}

#[test]
fn the_action_puts_the_released_program_on_the_path() {
    let sandbox = release(&format!("retry {VERSION}"));
    for version in ["", VERSION, &format!("v{VERSION}")] {
        let (output, path) = set_up(&sandbox, version);
        assert!(output.status.success(), "{output:?}");
        let program = Path::new(path.trim_end()).join("retry");
        let output = run(Command::new(program).arg("--version"));
        assert_eq!(text(&output.stdout), format!("retry {VERSION}\n"));
    }
}

#[track_caller]
fn refused(sandbox: &Sandbox, version: &str, reason: &str) {
    let (output, path) = set_up(sandbox, version);
    assert!(!output.status.success(), "{output:?}");
    assert!(text(&output.stdout).contains(reason), "{output:?}");
    assert_eq!(path, "");
}

#[test]
fn the_action_refuses_what_is_not_the_release() {
    let sandbox = release(&format!("retry {VERSION}"));
    let sums = sandbox.text("packed/SHA256SUMS");
    for wrong in [
        format!("{:064}{}", 0, &sums[64..]),
        sums.replace(".tar.gz", ".tar.xz"),
        String::new(),
    ] {
        fs::write(sandbox.path("packed/SHA256SUMS"), wrong).expect("a file");
        refused(&sandbox, VERSION, "the checksum of retry-");
    }
    fs::remove_file(sandbox.path("packed/SHA256SUMS")).expect("it is there");
    refused(&sandbox, VERSION, "cannot fetch http://");
    refused(&sandbox, "999.0.0", "cannot fetch http://");
    refused(&sandbox, "1/../..", "write the version like 1.2.3");
    refused(&sandbox, "latest", "write the version like 1.2.3");
    let other = release("retry 0.0.0");
    refused(&other, VERSION, "this is retry 0.0.0");
}

/// Runs `tests/install` as this user, with these programs, which are stubs except for the shell.
/// Returns its output and the programs that it ran.
fn installing(user: &str, programs: &[&str]) -> (Output, String) {
    let sandbox = Sandbox::new();
    // Written by us, they could be busy in another test's child.
    let made = |name: &&str| format!("made {name} 'echo {name} \"$@\" >>\"$T/ran\"'; ");
    let made: String = programs.iter().map(made).collect();
    let script = format!(
        "mkdir bin; made() {{ printf '#!/bin/sh\\n%s\\n' \"$2\" >bin/$1; }}
        made id 'echo {user}'; {made} chmod +x bin/*"
    );
    sandbox.bash(&script).run().exits(0);
    let output = run(Command::new("/bin/sh")
        .arg(root().join("tests/install"))
        .args([
            "id:coreutils",
            "no-such-program:its-package",
            "/no/such.h:headers",
        ])
        .env("PATH", sandbox.path("bin"))
        .env("T", sandbox.path(".")));
    (output, sandbox.text("ran"))
}

#[test]
fn who_cannot_install_what_tests_need_is_told_what_to_install() {
    let (output, ran) = installing("1000", &["apt-get"]);
    let said = text(&output.stderr);
    assert_eq!(
        (output.status.code(), said.as_str(), ran.as_str()),
        (
            Some(1),
            "tests/install: these packages are missing: its-package headers; install them as root, then run this again:\n  apt-get install its-package headers\n",
            ""
        )
    );
    let (output, ran) = installing("0", &[]);
    let said = text(&output.stderr);
    assert_eq!(
        (output.status.code(), said.as_str(), ran.as_str()),
        (
            Some(1),
            "tests/install: these packages are missing: its-package headers; install them, then run this again\n",
            ""
        )
    );
}

#[test]
fn who_may_install_what_tests_need_gets_it_installed() {
    for (user, programs, before) in [
        ("0", &["apt-get"][..], ""),
        ("1000", &["apt-get", "sudo"], "sudo "),
    ] {
        let (output, ran) = installing(user, programs);
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{output:?}"
        );
        let installs = "apt-get install -qq -y --no-install-recommends its-package headers";
        assert_eq!(
            ran,
            format!("{before}apt-get update -qq\n{before}{installs}\n")
        );
    }
}
