//! What is measured, and what it is measured with.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A build of the program.
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) is_static: bool,
}

impl Program {
    /// What its rows are called.
    pub(crate) fn kind(&self) -> &'static str {
        if self.is_static { "static" } else { "dynamic" }
    }

    /// A copy, as it is there once it is installed. What a linker has just written is in the page
    /// cache page by page, and maps more slowly than what was copied or read from a disk.
    fn installed(&self, directory: &TempDir) -> Self {
        let path = directory.path().join(self.kind());
        fs::copy(&self.path, &path).expect("a copy");
        Self { path, ..*self }
    }

    /// It, with these options.
    pub(crate) fn with(&self, options: &[&str]) -> Words {
        Words::new(&self.path).and(options)
    }
}

/// The words of a command.
#[derive(Clone)]
pub(crate) struct Words(pub(crate) Vec<std::ffi::OsString>);

impl Words {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        Self(vec![program.as_ref().into()])
    }

    pub(crate) fn and(mut self, words: &[impl AsRef<OsStr>]) -> Self {
        self.0.extend(words.iter().map(Into::into));
        self
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.0[0]);
        command.args(&self.0[1..]);
        command
    }
}

/// The builds of the program, and the parts in C.
pub(crate) struct Programs {
    dynamic: Program,
    fixed: Option<Program>,
    parts: PathBuf,
    /// A command of a few instructions, where this processor's are known.
    nil: Option<PathBuf>,
    _directory: TempDir,
}

impl Programs {
    /// Builds what cargo has not: the parts, and the program as it is released.
    pub(crate) fn build() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let parts = directory.path().join("parts");
        let nil = directory.path().join("nil");
        let links_statically = compile(&parts, &["-static"]);
        assert!(
            links_statically || compile(&parts, &[]),
            "the benchmark needs a C compiler"
        );
        let has_nil = compile(&nil, &["-DNIL", "-static", "-nostdlib"]);
        Self {
            dynamic: dynamic().installed(&directory),
            fixed: released(links_statically).map(|program| program.installed(&directory)),
            parts,
            nil: has_nil.then_some(nil),
            _directory: directory,
        }
    }

    /// Every build that there is.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Program> {
        self.fixed.iter().chain([&self.dynamic])
    }

    /// The one that comes closest to what is released.
    pub(crate) fn released(&self) -> &Program {
        self.fixed.as_ref().unwrap_or(&self.dynamic)
    }

    /// One of the parts.
    pub(crate) fn part(&self, name: &str) -> Words {
        Words::new(&self.parts).and(&[name])
    }

    /// The floor of a run: so many attempts of a command, seconds apart.
    pub(crate) fn floor(&self, attempts: u32, seconds: &str, command: &[&OsStr]) -> Words {
        let attempts = attempts.to_string();
        self.part("loop")
            .and(&[attempts.as_str(), seconds])
            .and(command)
    }

    /// A command of a few instructions that fails, if there is one.
    pub(crate) fn nil(&self) -> Option<&Path> {
        self.nil.as_deref()
    }
}

/// Compiles the parts; not every system can do it with every flag.
fn compile(to: &Path, flags: &[&str]) -> bool {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/whole/parts.c");
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut command = Command::new(compiler);
    command.args(["-O2", "-o"]).arg(to).args(flags).arg(source);
    let done = command.stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

/// The directory that cargo builds in.
fn target() -> PathBuf {
    // This program is in target/release/deps.
    let here = env::current_exe().expect("this program");
    here.ancestors()
        .nth(3)
        .expect("the target's directory")
        .to_owned()
}

/// The program as `cargo build` makes it; the one that is built beside a benchmark also has what
/// only tests ask of its dependencies.
fn dynamic() -> Program {
    let target = target();
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--release", "--quiet"]);
    build.current_dir(env!("CARGO_MANIFEST_DIR"));
    let done = build.env("CARGO_TARGET_DIR", &target).status();
    assert!(done.is_ok_and(|status| status.success()), "the program");
    Program {
        path: target.join("release/retry"),
        is_static: false,
    }
}

/// The program as it is released, where that is a static one and can be linked; built by the script
/// that does it. It is never left out for another reason, or a budget would hold for nothing.
fn released(links_statically: bool) -> Option<Program> {
    let said = Command::new("rustc")
        .arg("-vV")
        .output()
        .expect("a compiler");
    let said = String::from_utf8(said.stdout).expect("text");
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.expect("a host");
    if !host.ends_with("-linux-gnu") || !links_statically {
        return None;
    }
    let target = target();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/.github/release/build");
    let mut build = Command::new(script);
    build.arg(host).env("CARGO_TARGET_DIR", &target);
    let done = build.output().expect("the script starts");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "the released program: {said}");
    Some(Program {
        path: target.join(host).join("dist/retry"),
        is_static: true,
    })
}
