//! The manual's recipes for curl, with the real curl and a server on loopback. They retry temporary
//! errors and nothing else.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use crate::curl::{Answer, Server};
use crate::recipes::{as_run, of_the_manual};
use crate::support::{Done, Sandbox};

/// The recipe for an API, and that for a page.
const API: &str = "-o items.json";
const PAGE: &str = "--base 100ms --cap 2s";

/// The statuses that TEMPORARY ERRORS tells to retry, and those it tells not to.
const MAY_PASS: &[&str] = &["408", "425", "429", "500", "502", "503", "504"];
const STAY: &[&str] = &["400", "401", "403", "404", "409", "422", "501"];

/// The recipe that has this part, without its address.
fn recipe(part: &str) -> String {
    let mut lines = of_the_manual().into_iter();
    let line = lines.find(|line| line.contains(part) && line.contains("curl -fsS"));
    let line = as_run(&line.expect(part));
    let (line, _) = line.rsplit_once(' ').expect("an address");
    line.to_owned()
}

/// Runs a recipe at this address, without delays that it does not ask for.
fn run(recipe: &str, url: &str) -> Done {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("policy"), "cap 0\n").expect("a file");
    let script = format!(
        "unset http_proxy https_proxy; export HOME=$T no_proxy='*' RETRY_POLICY=$T/policy
        {recipe} {url}"
    );
    sandbox.bash(&script).run()
}

/// How often a server that answers like this is asked, and how the recipe then exits.
fn asked(part: &str, answer: Answer) -> (usize, Option<i32>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = Server::serve(listener, vec![answer].leak());
    let done = run(&recipe(part), &server.url());
    (server.requests().len(), done.status.code())
}

/// Checks how often each status is asked for, all of them at the same time.
#[track_caller]
fn check(part: &str, statuses: &[&str], requests: usize) {
    thread::scope(|scope| {
        let threads: Vec<_> = statuses
            .iter()
            .map(|status| {
                let head: &'static str = format!("{status} X").leak();
                (status, scope.spawn(move || asked(part, Some((head, "")))))
            })
            .collect();
        for (status, thread) in threads {
            let found = thread.join().expect("a run");
            assert_eq!(found, (requests, Some(22)), "{part}: {status}");
        }
    });
}

#[test]
fn the_recipe_for_an_api_retries_the_statuses_that_may_pass_and_no_other() {
    check(API, MAY_PASS, 5);
    check(API, STAY, 1);
    let page = include_str!("../../man/sections.roff");
    let (_, page) = page
        .split_once(".SH TEMPORARY ERRORS\n")
        .expect("a section");
    let list = page.split(".TP\n").nth(1).unwrap_or_default();
    let numbers = list.split(|letter: char| !letter.is_ascii_digit());
    let listed: Vec<&str> = numbers.filter(|word| !word.is_empty()).collect();
    assert_eq!(listed, [MAY_PASS, STAY].concat());
}

#[test]
fn the_recipe_for_a_page_retries_none_that_its_text_calls_permanent() {
    check(PAGE, MAY_PASS, 5);
    check(
        PAGE,
        &["400", "401", "403", "404", "407", "409", "410", "419"],
        1,
    );
}

#[test]
fn a_success_is_not_asked_for_again() {
    for part in [API, PAGE] {
        assert_eq!(asked(part, Some(("200 OK", "body"))), (1, Some(0)));
    }
}

#[test]
fn the_recipe_for_an_api_gives_up_on_a_server_that_hangs_and_asks_again() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = Server::serve(listener, &[None]);
    let in_a_second = recipe(API).replace("--timeout 15s", "--timeout 1s");
    let done = run(&in_a_second, &server.url());
    done.exits(124);
    assert_eq!(done.stderr.matches(" timed out ").count(), 5, "{done:?}");
    assert!(!server.requests().is_empty(), "{done:?}");
}

/// A server that reads a little of each request, writes this and closes the connection.
fn closing(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let _ = connection.read(&mut [0; 4096]);
            let _ = connection.write_all(answer.as_bytes());
        }
    });
    address.to_string()
}

#[test]
fn the_recipe_for_an_api_retries_broken_connections() {
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf";
    let broken = [
        // Nobody listens at port 1.
        ("http://127.0.0.1:1/".to_owned(), 7),
        (format!("http://{}/", closing("")), 52),
        (format!("http://{}/", closing(half)), 18),
        (format!("https://{}/", closing("")), 35),
    ];
    for (url, status) in broken {
        let done = run(&recipe(API), &url);
        done.exits(status);
        assert_eq!(done.failures(), 5, "{url}: {done:?}");
    }
}
