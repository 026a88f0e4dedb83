//! The rules of the house.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// The program's rooms: each file's place below src without its ending, and its text without tests.
fn rooms() -> Vec<(String, String)> {
    let src = root().join("src");
    let mut rooms = Vec::new();
    for path in files_below(&src) {
        let place = path
            .strip_prefix(&src)
            .expect("below src")
            .with_extension("");
        let place = place.to_str().expect("text").to_owned();
        let is_code = path.extension().is_some_and(|ending| ending == "rs");
        let is_test = place.split('/').any(|room| room == "tests");
        if !is_code || is_test {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source file");
        let text = text
            .split("#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or_default()
            .to_owned();
        rooms.push((place, text));
    }
    assert!(rooms.len() > 15, "the rooms were not found");
    rooms
}

/// The rooms that each room may use, in the order of the architecture, bottom to top.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("signal", &[]),
    ("sys", &["signal"]),
    ("escape", &[]),
    ("numbers", &[]),
    ("duration", &["numbers"]),
    ("backoff", &["numbers", "duration"]),
    ("patterns", &["escape"]),
    ("retry_after", &["escape", "numbers", "duration"]),
    ("status", &["patterns", "signal"]),
    ("status_set", &["signal", "status"]),
    (
        "policy",
        &[
            "backoff",
            "status_set",
            "numbers",
            "patterns",
            "signal",
            "status",
        ],
    ),
    ("bucket", &["numbers", "duration"]),
    ("escalation", &[]),
    ("job", &["bucket", "patterns", "policy", "signal"]),
    ("event", &["policy", "signal", "status"]),
    ("notes", &["event", "job"]),
    (
        "cli",
        &[
            "backoff",
            "bucket",
            "job",
            "status_set",
            "numbers",
            "patterns",
            "escape",
            "policy",
            "signal",
            "duration",
        ],
    ),
    ("engine", &["bucket", "event", "policy", "signal", "status"]),
    ("simulation", &["bucket", "engine", "signal", "status"]),
    (
        "plan",
        &[
            "backoff",
            "bucket",
            "engine",
            "event",
            "job",
            "numbers",
            "patterns",
            "escape",
            "policy",
            "simulation",
            "status",
            "duration",
        ],
    ),
    ("clock", &[]),
    ("shared", &["bucket", "clock", "escape", "sys"]),
    (
        "stream",
        &["clock", "job", "patterns", "escape", "retry_after", "sys"],
    ),
    (
        "supervise",
        &[
            "bucket",
            "engine",
            "event",
            "job",
            "escalation",
            "escape",
            "shared",
            "signal",
            "status",
            "stream",
            "sys",
        ],
    ),
    ("chance", &["job", "policy", "sys"]),
    (
        "report",
        &[
            "clock",
            "duration",
            "escape",
            "event",
            "job",
            "numbers",
            "patterns",
            "policy",
            "signal",
            "status",
            "status_set",
            "sys",
        ],
    ),
];

#[test]
fn arrows_between_rooms_run_one_way() {
    for (place, text) in rooms() {
        let room = place.split('/').next().expect("a name");
        if room == "lib" || room == "main" {
            continue;
        }
        let (_, may_know) = MAY_KNOW.iter().find(|(name, _)| *name == room).expect(room);
        for (at, _) in text.match_indices("crate::") {
            let known = text[at + "crate::".len()..]
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .next();
            let known = known.expect("a name");
            assert!(
                known == room || may_know.contains(&known),
                "{place} must not know {known}"
            );
        }
    }
    for (index, (room, may_know)) in MAY_KNOW.iter().enumerate() {
        let below = &MAY_KNOW[..index];
        assert!(
            may_know
                .iter()
                .all(|known| below.iter().any(|(name, _)| name == known)),
            "{room}"
        );
    }
}

#[track_caller]
fn occurs_only_in(words: &[&str], allowed: &[&str]) {
    for (place, text) in rooms() {
        let room = place.split('/').next().expect("a name");
        for word in words {
            let found = text
                .lines()
                .any(|line| line.contains(word) && !line.trim_start().starts_with("//"));
            assert!(
                !found || allowed.contains(&room) || allowed.contains(&place.as_str()),
                "{word} in {place}"
            );
        }
    }
}

#[test]
fn clocks_and_chance_come_in_at_the_edge() {
    occurs_only_in(&["Instant::now", "thread::sleep"], &["lib"]);
    occurs_only_in(&["Xoshiro"], &["chance"]);
    occurs_only_in(&["entropy"], &["chance", "sys"]);
    // A server may name a time of day, a shared budget comes back with time, and a log is dated.
    occurs_only_in(&["SystemTime::now"], &["clock"]);
    occurs_only_in(&["SystemTime"], &["clock", "report"]);
    occurs_only_in(
        &["std::fs", "std::process", "rustix::"],
        &[
            "cli/policy_file",
            "lib",
            "main",
            "supervise",
            "report/sink",
            "report/stderr",
            "shared",
            "stream",
            "sys",
        ],
    );
    occurs_only_in(&["thread::"], &[]);
}

#[test]
fn unsafe_code_is_in_one_room() {
    occurs_only_in(
        &["unsafe {", "unsafe fn", "unsafe extern", "unsafe("],
        &[
            "main", // the entry
            "sys",
        ],
    );
}

#[test]
fn what_depends_on_the_system_is_in_a_file_for_it() {
    for (place, text) in rooms() {
        let is_for_a_system = place.ends_with("/linux") || place.ends_with("/other");
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (at, line) in lines.iter().enumerate() {
            let chooses =
                (line.contains("cfg(") || line.contains("cfg!(")) && !line.contains("(test)");
            let next = lines.get(at + 1).copied().unwrap_or_default();
            let is_choice_of_a_file = ["mod ", "use "]
                .iter()
                .filter_map(|word| next.split_once(word))
                .any(|(_, name)| name.starts_with("linux") || name.starts_with("other"));
            // Numbers and names alone need no file.
            let is_table = place == "signal" && next == "mod system {";
            assert!(
                // What is linked in has no other place.
                !chooses || is_choice_of_a_file || is_table || is_for_a_system || place == "main",
                "{place} asks for the system at {next:?}"
            );
        }
    }
}

#[test]
fn one_file_knows_clap_and_one_sends_signals() {
    occurs_only_in(&["clap::"], &["cli"]);
    occurs_only_in(
        &[
            "libc::kill",
            "libc::raise",
            "pidfd_send_signal",
            "tgkill",
            " kill_process",
            "{kill_process",
            "sigqueue",
        ],
        &["sys/mod"],
    );
    occurs_only_in(
        &[
            "waitid(",
            "waitpid(",
            "waitpgid(",
            "wait4(",
            "wait3(",
            "libc::wait",
            ".wait()",
            "try_wait(",
        ],
        &[
            "supervise/kernel/system",
            "sys/mod",
            // A child that never became the command.
            "sys/spawn",
        ],
    );
}

#[test]
fn every_file_says_what_it_is_for_and_none_is_too_long() {
    for (place, text) in rooms() {
        assert!(
            text.starts_with("//! ") || text.contains("\n//! "),
            "{place} does not say what it is for"
        );
        // The options are one table, and their help is part of it.
        let longest = if place == "cli/options" { 300 } else { 250 };
        assert!(
            text.lines().count() <= longest,
            "{place} has {} lines",
            text.lines().count()
        );
    }
}

#[test]
fn nothing_is_left_open() {
    let here = Path::new(file!()).file_name();
    let directories = [root().join("src"), root().join("tests")];
    for path in directories
        .iter()
        .flat_map(|directory| files_below(directory))
    {
        if path.file_name() == here {
            continue;
        }
        let text = fs::read_to_string(&path).expect("text");
        for word in [
            "todo!",
            "TODO",
            "FIXME",
            "unimplemented!",
            "dbg!(",
            "#[ignore",
        ] {
            assert!(!text.contains(word), "{word} in {}", path.display());
        }
    }
}

/// What is wrong with a changelog while this version is in the works, or was released last.
fn fault_of(changelog: &str, version: &str) -> Option<String> {
    let mut sections = changelog.split("\n## ").skip(1);
    let (next, newest) = (sections.next().unwrap_or_default(), sections.next());
    let Some(waiting) = next.strip_prefix("[Unreleased]\n") else {
        return Some(format!("the first heading is no [Unreleased]: {next}"));
    };
    let is_released = newest.is_some_and(|newest| newest.starts_with(&format!("[{version}] - 20")));
    if !is_released && waiting.trim().is_empty() {
        return Some(format!("nothing is said of {version}"));
    }
    let is_older = sections.any(|section| section.starts_with(&format!("[{version}]")));
    is_older.then(|| format!("{version} is not the newest"))
}

#[test]
fn the_changelog_knows_this_version_or_the_next() {
    let fault = fault_of(
        include_str!("../../CHANGELOG.md"),
        env!("CARGO_PKG_VERSION"),
    );
    assert_eq!(fault, None);
    let (top, empty) = (
        "# Changelog\n\n## [Unreleased]\n\n- New.\n",
        "# Changelog\n\n## [Unreleased]\n",
    );
    let last = "\n## [1.2.3] - 2026-12-01\n\n- Old.\n";
    for (changelog, version, is_sound) in [
        (top.to_owned(), "1.2.3", true),
        (format!("{top}{last}"), "1.2.3", true),
        (format!("{empty}{last}"), "1.2.3", true),
        (format!("{top}{last}"), "1.2.4", true),
        (format!("{empty}{last}"), "1.2.4", false),
        (empty.to_owned(), "1.2.3", false),
        (format!("# Changelog\n{last}"), "1.2.3", false),
        (
            format!("{top}\n## [2.0.0] - 2027-01-01\n\n- New.\n{last}"),
            "1.2.3",
            false,
        ),
    ] {
        let fault = fault_of(&changelog, version);
        assert_eq!(
            fault.is_none(),
            is_sound,
            "{version}, {fault:?}:\n{changelog}"
        );
    }
}

#[test]
fn the_readme_is_one_page() {
    assert!(include_str!("../../README.md").lines().count() <= 150);
}
