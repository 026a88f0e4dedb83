//! The lines that the man page has for users of other tools, each run as it is printed there.

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

/// A line of the page, the command's behaviour, and the expected result.
#[derive(Default)]
struct Case {
    line: String,
    /// A script, in which `$n` is the number of the run.
    cmd: &'static str,
    runs: usize,
    status: i32,
    /// The range of each delay, in milliseconds; not looked at if there is none.
    delays: Vec<(u64, u64)>,
    /// The delays of the plan before jitter; not looked at if there is none.
    plan: Vec<u64>,
    stdout: Option<String>,
    stderr: Option<&'static str>,
    /// The arguments of each run.
    arguments: Option<String>,
    /// How often `undo` has run.
    undone: usize,
    /// The server's answers, if the command calls a server.
    answers: Vec<Answer>,
    seconds: (u64, u64),
}

const OK: Answer = Some(("200 OK", "the body\n"));
const BUSY: Answer = Some(("503 Service Unavailable", "later\n"));
const GONE: Answer = Some(("404 Not Found", "no\n"));
const IN_TWO_SECONDS: Answer = Some(("429 Too Many Requests\r\nRetry-After: 2", "later\n"));

/// `5` or `2-30`.
fn range(text: &str) -> (u64, u64) {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.parse().expect("a number");
    (number(from), number(to))
}

impl Case {
    /// A sample of migration.txt, whose head says how it is written.
    fn parse(sample: &'static str) -> Self {
        let mut case = Self {
            seconds: (0, 30),
            ..Self::default()
        };
        for line in sample.lines() {
            if let Some(line) = line.strip_prefix("$ ") {
                line.clone_into(&mut case.line);
            } else if let Some(more) = line.strip_prefix("> ") {
                case.line.push('\n');
                case.line.push_str(more);
            } else {
                let (name, value) = line.split_once(':').expect("a name");
                case.set(name, value.trim_start());
            }
        }
        case
    }

    fn set(&mut self, name: &str, value: &'static str) {
        let text = || value.replace("\\n", "\n");
        match name {
            "cmd" => self.cmd = value,
            "runs" => self.runs = value.parse().expect("a number"),
            "status" => self.status = value.parse().expect("a status"),
            "delays" => self.delays = value.split(' ').map(range).collect(),
            "plan" => self.plan = value.split(' ').map(|delay| range(delay).0).collect(),
            "stdout" => self.stdout = Some(text()),
            "stderr" => self.stderr = Some(value),
            "arguments" => self.arguments = Some(text()),
            "undone" => self.undone = value.parse().expect("a number"),
            "answers" => self.answers = value.split(", ").map(answer).collect(),
            "seconds" => self.seconds = range(value),
            _ => panic!("what is {name} of {}?", self.line),
        }
    }
}

fn answer(word: &str) -> Answer {
    match word {
        "ok" => OK,
        "busy" => BUSY,
        "gone" => GONE,
        "busy for 2s" => IN_TWO_SECONDS,
        _ => panic!("what is {word}?"),
    }
}

fn cases() -> Vec<Case> {
    let samples = include_str!("migration.txt").split("\n\n");
    let cases = samples
        .filter(|sample| sample.starts_with('$'))
        .map(Case::parse);
    // Elsewhere timeout(1) may be missing, and the test would wait for processes that it leaves
    // behind.
    let is_linux = cfg!(target_os = "linux");
    cases
        .filter(|case| is_linux || !case.line.starts_with("timeout "))
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
    let tried: BTreeSet<String> = cases().iter().map(|case| case.line.clone()).collect();
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

#[test]
fn what_the_page_calls_an_error_here_is_one() {
    for options in ["-a -1", "--signal 0", "--timeout 1e3"] {
        let done = Sandbox::new()
            .retry(&format!("{options} -- echo ran"))
            .run();
        done.exits(125).stdout_is("");
    }
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
    // Adds a log and a seed, which the page does not have. With this seed no attempt begins or ends
    // near a deadline.
    let policy = format!("log {}\nseed 37\n", sandbox.path("log").display());
    fs::write(sandbox.path("policy"), policy).expect("a file");
    let server = (!case.answers.is_empty()).then(|| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        Server::serve(listener, case.answers.clone().leak())
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
    if let Some(arguments) = &case.arguments {
        assert_eq!(&sandbox.text("runs"), arguments);
    }
    if let Some(stdout) = &case.stdout {
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
        for (delay, (from, to)) in delays.iter().zip(&case.delays) {
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
