//! What the man page gives for the lines of other tools: each is run as it stands there.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::curl::{Answer, Server};
use crate::schema;
use crate::support::Sandbox;

/// A line of the page, what the command does, and what is then to be seen.
struct Case {
    line: &'static str,
    /// A script, in which `$n` is the number of the run.
    cmd: &'static str,
    runs: usize,
    status: i32,
    /// The range of each delay, in milliseconds; not looked at if there is none.
    delays: &'static [(u64, u64)],
    /// The delays of the plan before jitter; not looked at if there is none.
    plan: &'static [u64],
    stdout: Option<&'static str>,
    stderr: Option<&'static str>,
    /// The arguments of each run.
    arguments: Option<&'static str>,
    /// How often `undo` has run.
    undone: usize,
    answers: &'static [Answer],
    seconds: (u64, u64),
}

impl Case {
    const fn new(line: &'static str, cmd: &'static str, runs: usize, status: i32) -> Self {
        Self {
            line,
            cmd,
            runs,
            status,
            delays: &[],
            plan: &[],
            stdout: None,
            stderr: None,
            arguments: None,
            undone: 0,
            answers: &[],
            seconds: (0, 30),
        }
    }

    const fn delays(mut self, delays: &'static [(u64, u64)]) -> Self {
        self.delays = delays;
        self
    }

    const fn plan(mut self, plan: &'static [u64]) -> Self {
        self.plan = plan;
        self
    }

    const fn stdout(mut self, stdout: &'static str) -> Self {
        self.stdout = Some(stdout);
        self
    }

    const fn stderr(mut self, stderr: &'static str) -> Self {
        self.stderr = Some(stderr);
        self
    }

    const fn arguments(mut self, arguments: &'static str) -> Self {
        self.arguments = Some(arguments);
        self
    }

    const fn undone(mut self, undone: usize) -> Self {
        self.undone = undone;
        self
    }

    /// Of requests to a server, that is.
    const fn answers(mut self, answers: &'static [Answer]) -> Self {
        self.answers = answers;
        self
    }

    const fn seconds(mut self, least: u64, most: u64) -> Self {
        self.seconds = (least, most);
        self
    }
}

const ONE: (u64, u64) = (1000, 1000);

const TWO: (u64, u64) = (2000, 2000);

const OK: Answer = Some(("200 OK", "the body\n"));

const BUSY: Answer = Some(("503 Service Unavailable", "later\n"));

const GONE: Answer = Some(("404 Not Found", "no\n"));

const IN_TWO_SECONDS: Answer = Some(("429 Too Many Requests\r\nRetry-After: 2", "later\n"));

fn debians() -> Vec<Case> {
    vec![
        Case::new(
            "retry -a 3 --base 1s --backoff constant --jitter none -- cmd",
            "exit 4",
            3,
            4,
        )
        .delays(&[ONE, ONE]),
        Case::new(
            "retry -a 3 --cap 4s --jitter none -- cmd",
            "[ $n = 3 ]",
            3,
            0,
        )
        .delays(&[ONE, TWO]),
        Case::new(
            "retry -a inf --retry-on 75 -- cmd",
            "[ $n = 1 ] && exit 75; exit 4",
            2,
            4,
        ),
        Case::new(
            "retry -a inf -- sh -c 'cmd; [ $? = 24 ]'",
            "[ $n = 1 ] || exit 24",
            2,
            0,
        ),
        Case::new("retry -a inf -- sh -c '! cmd'", "[ $n = 1 ]", 2, 0),
        Case::new(
            "produce | retry -a inf --stdin replay --stdout once -- cmd \\\n    | consume",
            "cat; [ $n = 2 ]",
            2,
            0,
        )
        .stdout("got made\n"),
    ]
}

fn joshdks() -> Vec<Case> {
    vec![
        Case::new(
            "retry -a 4 --base 1s --deadline 1m --jitter none -- cmd",
            "[ $n = 3 ]",
            3,
            0,
        )
        .delays(&[ONE, TWO])
        .plan(&[1000, 2000, 4000]),
        Case::new(
            "retry -a 3 --base 2.5s --backoff constant --jitter 20% -- cmd",
            "[ $n = 2 ]",
            2,
            0,
        )
        .delays(&[(2000, 3000)]),
        Case::new(
            "retry -a 3 --timeout 1s --deadline 3s -- cmd",
            "exec sleep 60",
            2,
            124,
        )
        .seconds(2, 30),
        Case::new("retry -a 3 -- sh -c '! cmd'", "exit 0", 3, 1),
        Case::new(
            "retry -a 3 -- sh -c 'cmd && sleep 1 && cmd'",
            "[ $n != 2 ]",
            4,
            0,
        )
        .seconds(2, 30),
        Case::new("sleep 1; retry -a 3 -- cmd", "exit 0", 1, 0).seconds(1, 30),
        Case::new(
            "retry -q -a 3 -- cmd >/dev/null 2>&1",
            "echo said; echo said >&2; [ $n = 2 ]",
            2,
            0,
        )
        .stdout("")
        .stderr(""),
        Case::new("retry -a 3 -- curl -fsSLo /dev/null \"$URL\"", "", 2, 0).answers(&[BUSY, OK]),
    ]
}

fn kadwanevs() -> Vec<Case> {
    vec![
        Case::new(
            "retry -a 11 --base 300ms --cap 1m --jitter none -- cmd",
            "[ $n = 3 ]",
            3,
            0,
        )
        .delays(&[(300, 300), (600, 600)])
        .plan(&[300, 600, 1200, 2400, 4800, 9600, 19200, 38400, 60000, 60000]),
        Case::new(
            "retry -a 5 --base 1s --cap 3s --jitter none -- cmd",
            "[ $n = 2 ]",
            2,
            0,
        )
        .delays(&[ONE])
        .plan(&[1000, 2000, 3000, 3000]),
        Case::new(
            "retry -a 3 --base 1s --backoff constant --jitter none \\\n    -- bash -c 'cmd; cmd'",
            "[ $n = 4 ]",
            4,
            0,
        )
        .delays(&[ONE]),
        Case::new(
            "retry -a 3 -- cmd || { s=$?; undo; exit $s; }",
            "exit 4",
            3,
            4,
        )
        .undone(1),
    ]
}

fn recurs() -> Vec<Case> {
    vec![
        Case::new(
            "retry -a 4 --base 2s --factor 2 --cap 3s --jitter none -- cmd",
            "[ $n = 2 ]",
            2,
            0,
        )
        .delays(&[TWO])
        .plan(&[2000, 3000, 3000]),
        Case::new(
            "retry -a 3 --base 2s --backoff constant --jitter 50% -- cmd",
            "[ $n = 2 ]",
            2,
            0,
        )
        .delays(&[(1000, 3000)]),
        Case::new(
            "retry -a inf --base 0 --timeout 1s -- cmd",
            "[ $n = 2 ] || exec sleep 60",
            2,
            0,
        )
        .delays(&[(0, 0)])
        .seconds(1, 30),
        Case::new(
            "retry -a 10 --base 0 --stdin replay --stdout once -- cmd",
            "cat; [ $n = 2 ]",
            2,
            0,
        )
        .stdout("given\n"),
        Case::new(
            "retry -a 10 --base 0 --success-on 3 -- cmd",
            "[ $n = 1 ] && exit 4; exit 3",
            2,
            0,
        ),
        Case::new(
            "retry -a 10 --base 0 --stop-on 4 -- cmd",
            "[ $n = 1 ] && exit 3; exit 4",
            2,
            4,
        ),
        Case::new(
            "retry -a 10 --base 0 -- sh -c 'cmd | grep ready'",
            "[ $n = 1 ] && echo soon || echo ready; exit 1",
            2,
            0,
        )
        .stdout("ready\n"),
    ]
}

fn nick_fieldss() -> Vec<Case> {
    vec![
        Case::new(
            "retry -a 3 --timeout 1s --base 1s --backoff constant \\\n    --jitter none --log-format github -- bash -ec 'cmd'",
            "[ $n = 1 ] && exec sleep 60; exit 5",
            3,
            5,
        )
        .delays(&[ONE, ONE])
        .stderr("::group::"),
        Case::new(
            "retry -a 3 --timeout 1s --retry-on timeout -- cmd",
            "[ $n = 1 ] && exec sleep 60; exit 5",
            2,
            5,
        ),
        Case::new(
            "retry -a 3 --timeout 1s --stop-on timeout -- cmd",
            "[ $n = 1 ] && exit 5; exec sleep 60",
            2,
            124,
        ),
        Case::new(
            "retry -a 3 --retry-on 75 -- cmd",
            "[ $n = 1 ] && exit 75; exit 4",
            2,
            4,
        ),
        Case::new(
            "retry -a 3 --before-retry 'undo || :' -- cmd",
            "exit 4",
            3,
            4,
        )
        .undone(2),
        Case::new(
            "retry -a 3 -- sh -c 'case $RETRY_ATTEMPT in\n    1) cmd;; *) cmd --again;; esac'",
            "exit 4",
            3,
            4,
        )
        .arguments("\n--again\n--again\n"),
        Case::new("retry -a 3 -- cmd || :", "exit 4", 3, 0),
    ]
}

fn curls() -> Vec<Case> {
    vec![
        Case::new(
            "retry -a 4 --cap 10m --jitter none --retry-after @head \\\n    --retry-if 'curl: .(5|6|28)[)]|error: (408|429|50[0234])' \\\n    -- curl -fsS -D head -o f \"$URL\"",
            "",
            2,
            22,
        )
        .answers(&[IN_TWO_SECONDS, GONE])
        .delays(&[TWO])
        .plan(&[1000, 2000, 4000]),
        Case::new(
            "retry -a 3 --jitter none --retry-after @head \\\n    -- curl -fsS -D head -o f \"$URL\"",
            "",
            3,
            0,
        )
        .answers(&[GONE, BUSY, OK])
        .delays(&[ONE, TWO]),
        Case::new(
            "retry -a 3 --base 1s --backoff constant --jitter none \\\n    -- curl -fsS \"$URL\"",
            "",
            3,
            22,
        )
        .answers(&[BUSY])
        .delays(&[ONE, ONE]),
        Case::new(
            "retry -a 10 --deadline 2s --jitter none -- curl -fsS \"$URL\"",
            "",
            2,
            22,
        )
        .answers(&[BUSY])
        .delays(&[ONE])
        .seconds(1, 30),
    ]
}

fn loops_and_timeouts() -> Vec<Case> {
    let mut cases = vec![
        Case::new(
            "retry -a inf --base 1s --backoff constant --jitter none -- cmd",
            "[ $n = 3 ]",
            3,
            0,
        )
        .delays(&[ONE, ONE]),
        Case::new(
            "export -f deploy; retry -a inf --base 1s --backoff constant --jitter none \\\n    -- bash -c deploy",
            "[ $n = 2 ]",
            2,
            0,
        ),
        Case::new("retry -a 1 --timeout 1s -- cmd", "exec sleep 60", 1, 124).seconds(1, 30),
        Case::new(
            "retry -a 1 --timeout 1s --signal INT -k 1s -- cmd",
            "trap 'echo asked' INT; sleep 60 & wait; sleep 60",
            1,
            124,
        )
        .stdout("asked\n")
        .seconds(2, 30),
        Case::new("retry -a 2 --timeout 1s -- cmd", "exec sleep 60", 2, 124).seconds(2, 30),
        Case::new("retry -a inf --deadline 2s -- cmd", "exit 4", 3, 4).seconds(0, 30),
    ];
    // Elsewhere timeout(1) may be missing. What it leaves behind would be waited for.
    if cfg!(target_os = "linux") {
        let line = "timeout -k 1 1 retry --process-group inherit -- cmd";
        let cmd = "trap '' TERM; sleep 60; sleep 60";
        cases.push(Case::new(line, cmd, 1, 137).seconds(2, 30));
    }
    cases
}

fn cases() -> Vec<Case> {
    [
        debians(),
        joshdks(),
        kadwanevs(),
        recurs(),
        nick_fieldss(),
        curls(),
        loops_and_timeouts(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The lines for this program that the page gives.
fn lines_of_the_page() -> Vec<String> {
    let page = include_str!("../../man/retry.1");
    let (_, section) = page
        .split_once("\n.SH COMING FROM ELSEWHERE\n")
        .expect("the section");
    let section = section.split("\n.SH ").next().unwrap_or_default();
    let lines: Vec<String> = section
        .split(".EX\n")
        .skip(1)
        .map(|rest| {
            let (line, _) = rest.split_once("\n.EE\n").expect("an end");
            line.replace("\\-", "-")
                .replace("\\(aq", "'")
                .replace("\\e", "\\")
        })
        .collect();
    assert_eq!(lines.len(), section.matches("\n.TP\n").count());
    lines
}

#[test]
fn every_line_for_those_who_come_from_elsewhere_is_tried() {
    let page: BTreeSet<String> = lines_of_the_page().into_iter().collect();
    let tried: BTreeSet<String> = cases().iter().map(|case| case.line.to_owned()).collect();
    let is_linux = cfg!(target_os = "linux");
    let untried: Vec<&String> = page
        .difference(&tried)
        .filter(|line| is_linux || !line.starts_with("timeout "))
        .collect();
    assert!(untried.is_empty(), "{untried:#?}");
    let gone: Vec<&String> = tried.difference(&page).collect();
    assert!(gone.is_empty(), "{gone:#?}");
}

#[test]
fn every_line_for_those_who_come_from_elsewhere_does_what_the_other_tool_does() {
    let cases = cases();
    thread::scope(|scope| {
        let threads: Vec<_> = cases
            .iter()
            .map(|case| scope.spawn(|| try_it(case)))
            .collect();
        for (thread, case) in threads.into_iter().zip(&cases) {
            assert!(thread.join().is_ok(), "{}", case.line);
        }
    });
}

/// Puts a script where it is found.
fn stub(sandbox: &Sandbox, name: &str, script: &str) {
    let path = sandbox.path("bin").join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a file of ours");
}

fn try_it(case: &Case) {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("bin")).expect("a directory");
    let counted = "echo \"$*\" >>\"$T/runs\"; n=$(($(wc -l <\"$T/runs\")))";
    stub(&sandbox, "cmd", &format!("{counted}\n{}", case.cmd));
    stub(&sandbox, "undo", "echo >>\"$T/undone\"; exit 1");
    stub(&sandbox, "produce", "echo made");
    stub(&sandbox, "consume", "sed 's/^/got /'");
    // What is not said on the page: where to log, and by which draws. Those of this seed are such that
    // no attempt begins or ends near a deadline.
    let policy = format!("log {}\nseed 37\n", sandbox.path("log").display());
    fs::write(sandbox.path("policy"), policy).expect("a file");
    let server = (!case.answers.is_empty()).then(|| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        Server::serve(listener, case.answers)
    });
    let url = server.as_ref().map_or_else(String::new, Server::url);
    let script = format!(
        "unset http_proxy; export PATH=$T/bin:$PATH RETRY_POLICY=$T/policy; URL={url}
        deploy() {{ cmd; }}
        echo given | {{\n{}\n}}",
        case.line
    );
    let done = sandbox.bash(&script).run();
    done.exits(case.status);
    let (least, most) = case.seconds;
    done.took_at_least(Duration::from_secs(least))
        .took_less_than(Duration::from_secs(most));

    let runs = match &server {
        Some(server) => server.requests().len(),
        None => sandbox.lines("runs"),
    };
    assert_eq!(runs, case.runs, "{done:?}");
    if let Some(arguments) = case.arguments {
        assert_eq!(sandbox.text("runs"), arguments);
    }
    if let Some(stdout) = case.stdout {
        done.stdout_is(stdout);
    }
    match case.stderr {
        Some("") => assert_eq!(done.stderr, ""),
        Some(part) => assert!(done.stderr.contains(part), "{done:?}"),
        None => {}
    }
    let undone = sandbox.path("undone").exists();
    assert_eq!(
        if undone { sandbox.lines("undone") } else { 0 },
        case.undone
    );

    if !case.delays.is_empty() {
        let lines = schema::lines(&sandbox.text("log"));
        let delays = lines.iter().filter_map(|line| line["delay_ms"].as_u64());
        let delays: Vec<u64> = delays.collect();
        assert_eq!(delays.len(), case.delays.len(), "{delays:?}");
        for (delay, (from, to)) in delays.iter().zip(case.delays) {
            assert!((from..=to).contains(&delay), "{delays:?}");
        }
    }
    if !case.plan.is_empty() {
        let options = "retry --plan --log-format json ";
        let script = case.line.replacen("retry ", options, 1);
        let plan = sandbox.bash(&format!("URL=; {script}")).run();
        let plan: Value = serde_json::from_str(&plan.stdout).expect("an object");
        let retries = plan["retries"].as_array().expect("retries");
        let ceilings = retries
            .iter()
            .filter_map(|retry| retry["ceiling_ms"].as_u64());
        assert_eq!(ceilings.collect::<Vec<_>>(), case.plan);
    }
}
