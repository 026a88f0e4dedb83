//! The recipes of the manual and of the README, each run as it stands there, with programs that
//! fail in the ways that matter: none is retried that its text calls permanent.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::{AT_ONCE, Done, Sandbox};

/// The program's script, the expected number of runs, and the exit status of the line.
type Case = (&'static str, usize, i32);

/// The program fails each time.
const FAILS: Case = ("exit 9", 5, 9);

/// It succeeds the second time.
const SECOND: Case = ("[ $n = 2 ]", 2, 0);

/// curl connects the second time.
const CONNECTS: Case = (
    "[ $n = 2 ] || { echo 'curl: (7) Failed to connect' >&2; exit 7; }",
    2,
    0,
);

/// rsync gets through the second time.
const THROUGH: Case = ("[ $n = 2 ] || exit 12", 2, 0);

/// The errors of curl for HTTP statuses and broken connections.
macro_rules! curl {
    ($code:literal, $message:literal, $runs:literal) => {
        (
            concat!(
                "echo 'curl: (",
                $code,
                ") ",
                $message,
                "' >&2; exit ",
                $code
            ),
            $runs,
            $code,
        )
    };
    ($status:literal, $runs:literal) => {
        curl!(22, $status, $runs)
    };
}

/// A part that only one recipe has, and its cases.
const RECIPES: &[(&str, &[Case])] = &[
    (
        "--timeout 15s --deadline 1m --retry-after @head",
        &[
            CONNECTS,
            curl!("The requested URL returned error: 400", 1),
            curl!("The requested URL returned error: 401", 1),
            curl!("The requested URL returned error: 403", 1),
            curl!("The requested URL returned error: 404", 1),
            curl!("The requested URL returned error: 408", 5),
            curl!("The requested URL returned error: 409", 1),
            curl!("The requested URL returned error: 410", 1),
            curl!("The requested URL returned error: 422", 1),
            curl!("The requested URL returned error: 425", 5),
            curl!("The requested URL returned error: 429", 5),
            curl!("The requested URL returned error: 500", 5),
            curl!("The requested URL returned error: 501", 1),
            curl!("The requested URL returned error: 502", 5),
            curl!("The requested URL returned error: 503", 5),
            curl!("The requested URL returned error: 504", 5),
            curl!("The requested URL returned error: 522", 5),
            curl!(6, "Could not resolve host: x", 5),
            curl!(7, "Failed to connect to x port 1", 5),
            curl!(35, "Recv failure", 5),
            curl!(52, "Empty reply from server", 5),
            curl!(56, "Recv failure: Connection reset by peer", 5),
            curl!(60, "SSL certificate problem", 1),
            curl!(3, "URL using bad/illegal format", 1),
        ],
    ),
    (
        "--retry-on 5-7,16,18,22",
        &[
            CONNECTS,
            curl!("The requested URL returned error: 404", 1),
            curl!("The requested URL returned error: 410", 1),
            curl!("The requested URL returned error: 429", 5),
            curl!("The requested URL returned error: 503", 5),
            curl!(7, "Failed to connect", 5),
            curl!(60, "SSL certificate problem", 1),
        ],
    ),
    (
        "--stdout once --stop-if",
        &[CONNECTS, curl!("error: 404", 1), curl!("error: 503", 5)],
    ),
    (
        "--timeout 5m --stop-if",
        &[CONNECTS, curl!("error: 404", 1), curl!("error: 503", 5)],
    ),
    (
        "--idle-timeout 30s --stop-if",
        &[
            SECOND,
            (
                "echo \"fatal: destination path 'x' already exists\" >&2; exit 128",
                1,
                128,
            ),
        ],
    ),
    (
        "--success-on 24",
        &[
            THROUGH,
            ("exit 24", 1, 0),
            ("exit 12", 5, 12),
            ("exit 23", 1, 23),
        ],
    ),
    (
        "apt-get update; apt-get install",
        &[("exit 100", 5, 100), ("true", 2, 0)],
    ),
    ("deploy \"$@\"", &[SECOND, FAILS]),
    ("make fetch; make", &[FAILS, ("true", 2, 0)]),
    ("|| notify", &[("exit 9", 5, 0), SECOND]),
    (
        "docker login",
        &[
            ("[ \"$(cat)\" = secret ] && [ $n = 2 ]", 2, 0),
            ("echo 'unauthorized: incorrect password' >&2; exit 1", 1, 1),
        ],
    ),
    (
        "Failed to fetch",
        &[
            ("[ \"$LC_ALL\" = C ]", 1, 0),
            (
                "echo 'W: Failed to fetch x' >&2; [ $n != 3 ] || exit 0",
                5,
                1,
            ),
            ("true", 1, 0),
        ],
    ),
    (
        "previously published",
        &[
            SECOND,
            (
                "echo 'cannot publish over the previously published x'; exit 1",
                1,
                0,
            ),
        ],
    ),
    ("on-failure --deadline 12m -- backup", &[SECOND, FAILS]),
    (
        "flock -n sync.lock",
        &[THROUGH, ("exit 23", 1, 23), ("exit 35", 5, 35)],
    ),
    ("'retry -- backup 2>&1", &[SECOND, FAILS]),
    ("--shared me.budget", &[SECOND, FAILS]),
    ("--concurrency 4 -- fetch", &[SECOND, FAILS]),
    (
        "--before-retry 'rm -rf repo'",
        &[SECOND, FAILS, ("mkdir repo && [ $n = 3 ]", 3, 0)],
    ),
    ("Idempotency-Key: $RETRY_RUN_ID", &[SECOND, FAILS]),
    ("Idempotency-Key: order-$ORDER", &[SECOND, FAILS]),
    ("--retry-after @wait", &[SECOND, FAILS]),
    // Values to choose.
    ("-a 2 --base 100ms", &[SECOND, ("exit 9", 2, 9)]),
    ("-a 4 --base 100ms --cap 2s", &[SECOND, ("exit 9", 4, 9)]),
    ("-a 5 --timeout 5m --deadline 15m", &[SECOND, FAILS]),
    (
        "--cap 5m -a inf --deadline 2h",
        &[SECOND, ("[ $n = 7 ] || exit 9", 7, 0)],
    ),
    // The table of the README.
    ("--delay 5ms --deadline 1h -- cmd", &[SECOND]),
    ("-a inf --deadline 10m -- cmd", &[SECOND]),
    ("retry --timeout 30s -- cmd", &[SECOND, FAILS]),
    (
        "--retry-on 75 -- cmd",
        &[("exit 75", 5, 75), ("exit 74", 1, 74)],
    ),
    ("--output on-failure -- cmd", &[SECOND, FAILS]),
    ("--base 250ms --plan", &[("", 0, 0)]),
    ("--generate man", &[("", 0, 0)]),
];

/// Programs that stand in for those of the recipes.
const PROGRAMS: &[&str] = &[
    "curl", "git", "rsync", "apt-get", "docker", "npm", "make", "backup", "cmd", "deployer",
    "poll", "fetch",
];

/// Programs that only take what they are given.
const TAKERS: &[&str] = &["tar", "logger", "notify", "man"];

/// The lines of the manual's examples.
pub(crate) fn of_the_manual() -> Vec<String> {
    let page = include_str!("../../man/sections.roff");
    let page = page.split(".SH COMING FROM").next().expect("a page");
    let blocks = page.split("\n.EX\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split("\n.EE").next());
    let plain = |block: &str| {
        [
            ("\\-", "-"),
            ("\\(aq", "'"),
            ("\\(ha", "^"),
            ("\\(ti", "~"),
            ("\\(ga", "`"),
            ("\\e", "\\"),
        ]
        .iter()
        .fold(block.to_owned(), |text, (roff, plain)| {
            text.replace(roff, plain)
        })
    };
    blocks.map(plain).collect()
}

/// The lines of the README's blocks and of its table.
fn of_the_readme() -> Vec<String> {
    let readme = include_str!("../../README.md");
    let blocks = readme.split("```").skip(1).step_by(2);
    let blocks = blocks.filter(|block| block.starts_with("sh\n") || block.starts_with("crontab\n"));
    let joined: Vec<String> = blocks.map(|block| block.replace("\\\n", "")).collect();
    let lines = joined.iter().flat_map(|block| block.lines().skip(1));
    let table = readme
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("| `"));
    let cells = table.filter_map(|line| line.split_once("| `")?.1.rsplit_once('`'));
    let cells = cells.map(|(cell, _)| cell.to_owned());
    lines.map(String::from).chain(cells).collect()
}

#[test]
fn a_line_of_the_table_is_the_same_in_the_file_and_on_the_page() {
    let lines = of_the_readme();
    assert!(lines.iter().all(|line| !line.contains("\\|")), "{lines:?}");
}

/// The line without what cron reads, with delays that a test can wait for, and with limits that a
/// busy machine does not miss.
pub(crate) fn as_run(line: &str) -> String {
    let joined = line.replace("\\\n", " ");
    let joined: Vec<String> = joined
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let joined = joined.join("\n");
    let line = joined.strip_prefix("*/15 * * * * ").unwrap_or(&joined);
    let line = line.strip_prefix("@hourly ").unwrap_or(line);
    line.replace("--delay 5s", "--delay 5ms")
        .replace("--base 10s", "--base 10ms")
        .replace("Retry-After: 30", "Retry-After: 0.01")
        .replace(
            "--timeout 900ms --deadline 2s",
            "--timeout 15m --deadline 2h",
        )
}

/// The one line of the manual that has this part, as it is run.
#[track_caller]
pub(crate) fn the_one_with(part: &str) -> String {
    let lines = of_the_manual().into_iter().map(|line| as_run(&line));
    let mut lines = lines.filter(|line| line.contains(part));
    let line = lines.next().expect(part);
    assert_eq!(lines.next(), None, "{part}");
    line
}

/// Runs a line with programs that do this.
fn run(line: &str, does: &str) -> (Done, usize) {
    let sandbox = Sandbox::new();
    let bin = sandbox.path("bin");
    fs::create_dir(&bin).expect("a directory");
    let counts = format!(
        "#!/bin/bash\nn=$(($(cat \"$T/n\" 2>/dev/null || echo 0) + 1)); echo $n >\"$T/n\"\n{does}\n"
    );
    let takes = "#!/bin/sh\ncat >/dev/null\n".to_owned();
    for (names, text) in [(PROGRAMS, counts), (TAKERS, takes)] {
        for name in names {
            let path = bin.join(name);
            fs::write(&path, &text).expect("a program");
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a program");
        }
    }
    fs::write(sandbox.path("policy"), "cap 0\n").expect("a file");
    let script = format!(
        "export PATH=$T/bin:$PATH RETRY_POLICY=$T/policy PASSWORD=secret; set -o pipefail
        deploy() {{ deployer; }}; {line}"
    );
    let done = sandbox.bash(&script).run();
    let runs = sandbox.text("n").trim().parse().unwrap_or(0);
    (done, runs)
}

#[test]
fn every_recipe_retries_what_may_pass_and_nothing_else() {
    let lines = of_the_manual().into_iter().chain(of_the_readme());
    let lines: Vec<String> = lines.map(|line| as_run(&line)).collect();
    // Plans and the port of a service have tests of their own. The installation is not run.
    let others = ["retry --plan", "/dev/tcp", "cargo ", "sudo ", "tests/run"];
    let is_other = |line: &str| others.iter().any(|part| line.contains(part));
    let ours: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("retry -") && !is_other(line))
        .collect();
    let mut found = vec![0; RECIPES.len()];
    for line in &ours {
        let of_line: Vec<usize> = (0..RECIPES.len())
            .filter(|at| line.contains(RECIPES[*at].0))
            .collect();
        let [at] = of_line[..] else {
            panic!("{} recipes for {line}", of_line.len());
        };
        found[at] += 1;
        for (does, runs, status) in RECIPES[at].1 {
            let (done, counted) = run(line, does);
            assert_eq!(
                (counted, done.status.code()),
                (*runs, Some(*status)),
                "{line}\n{does}\n{done:?}"
            );
        }
    }
    let missing: Vec<&str> = (0..RECIPES.len())
        .filter(|at| found[*at] == 0)
        .map(|at| RECIPES[at].0)
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_server_that_hangs_is_given_up_on_and_asked_again() {
    let line = the_one_with("--timeout 15s").replace("--timeout 15s", "--timeout 300ms");
    let (done, runs) = run(&line, "[ $n = 3 ] || exec sleep 60");
    done.exits(0).took_less_than(AT_ONCE);
    assert_eq!(runs, 3);
}

#[test]
fn the_port_of_a_service_is_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    for line in of_the_manual().into_iter().chain(of_the_readme()) {
        if !line.contains("/dev/tcp/") {
            continue;
        }
        let here = as_run(&line).replace("localhost/5432", &format!("127.0.0.1/{port}"));
        run(&here, "").0.exits(0).stderr_is("");
        // Nobody listens at port 1.
        let nowhere = as_run(&line)
            .replace("localhost/5432", "127.0.0.1/1")
            .replace("--deadline 1m", "--deadline 3s");
        let (done, _) = run(&nowhere, "");
        done.exits(1);
        assert!(done.stderr.contains("giving up"), "{done:?}");
    }
}

#[test]
fn a_write_has_the_same_key_in_every_attempt() {
    let sent = |part: &str| {
        let line = format!("ORDER=7; {}", the_one_with(part));
        let (done, _) = run(&line, "echo \"$*\"; [ $n = 2 ]");
        done.exits(0);
        let sent: Vec<&str> = done.stdout.lines().collect();
        let [first, second] = sent[..] else {
            panic!("{done:?}");
        };
        assert_eq!(first, second);
        assert!(first.contains("-d amount=5"), "{first}");
        assert!(first.contains("https://api.example.com/pay"), "{first}");
        let (_, key) = first.split_once("Idempotency-Key: ").expect("a key");
        key.split(' ').next().unwrap_or_default().to_owned()
    };
    assert_eq!(sent("order-$ORDER"), "order-7");
    let (one, other) = (sent("$RETRY_RUN_ID"), sent("$RETRY_RUN_ID"));
    assert!(one.len() == 32 && one != other, "{one} {other}");
}

#[test]
fn any_command_can_ask_for_a_wait() {
    let (done, _) = run(&the_one_with("@wait"), "[ $n = 2 ]");
    assert!(
        done.exits(0).stderr.contains("(the server asks for 10ms)"),
        "{done:?}"
    );
}

#[test]
fn every_plan_of_the_manual_is_printed() {
    let block = the_one_with("retry --plan");
    let plans: Vec<&str> = block.lines().collect();
    assert!(plans.len() > 2, "{block}");
    for plan in plans {
        // The commands after a pipe are tested below.
        let plan = plan.split(" | ").next().unwrap_or_default();
        let done = Sandbox::new().bash(plan).run();
        done.exits(0).stderr_is("");
        assert!(done.stdout.contains("attempt"), "{plan}: {done:?}");
    }
}

/// Whether a test that needs jq may go on.
#[cfg(target_os = "linux")]
fn has_jq() -> bool {
    let found = Sandbox::new().bash("command -v jq >/dev/null").run();
    crate::support::can_be_tried(found.status.success(), "jq")
}

#[cfg(target_os = "linux")]
#[test]
fn jq_reads_a_plan_and_a_week_of_the_log() {
    if !has_jq() {
        return;
    }
    let block = the_one_with("retry --plan");
    let plan = block.lines().find(|line| line.contains("jq")).expect("jq");
    let done = Sandbox::new().bash(plan).run();
    done.exits(0).stdout_is("15000\n");

    // An end that is old, and a line that was not written to its end.
    let others = r#"
        echo '{"event":"end","time":"2000-01-01T00:00:00.000Z","attempts":9,"reason":"budget"}'
        echo '{"event":"end","ti'"#;
    let line = of_the_manual()
        .into_iter()
        .find(|line| line.contains("jq -nR"));
    let script = format!(
        "R=\"retry -q $FAST --log retry.jsonl -a 3\"
        $R -- false; $R -- true; $R -- sh -c '[ $RETRY_ATTEMPT = 2 ]'
        {{ {others}\n}} >>retry.jsonl
        {}",
        line.expect("a recipe")
    );
    let done = Sandbox::new().bash(&script).run();
    done.exits(0);
    let counted: serde_json::Value = serde_json::from_str(&done.stdout).expect("an object");
    let expected = serde_json::json!({
        "runs": 3, "attempts": 6, "amplification": 2, "reasons": {"attempts": 1, "success": 2}
    });
    assert_eq!(counted, expected);
}
