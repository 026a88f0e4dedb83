//! `--retry-after` with the real curl and wget, at a server that asks for a wait.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Sandbox, let_pass};

/// A server that answers each request with the next answer, and repeats the last one. It records
/// the time of each request.
struct Server {
    address: SocketAddr,
    requests: Receiver<Instant>,
}

impl Server {
    fn start(answers: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (tell, requests) = channel();
        thread::spawn(move || {
            for (number, connection) in listener.incoming().enumerate() {
                let Ok(connection) = connection else { continue };
                if tell.send(Instant::now()).is_err() {
                    return;
                }
                answer(&connection, answers[number.min(answers.len() - 1)]);
            }
        });
        Self { address, requests }
    }
}

/// Reads a request to its blank line.
fn read_request(connection: &TcpStream) {
    let mut lines = BufReader::new(connection).lines();
    while lines
        .next()
        .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
    {}
}

/// Reads a request and answers it. A client that is gone is no concern here.
fn answer(mut connection: &TcpStream, answer: &str) {
    read_request(connection);
    let (head, body) = answer.split_once("\n\n").expect("a head and a body");
    let length = body.len();
    let head = format!("{head}\nContent-Length: {length}\nConnection: close\n\n");
    let _ = connection.write_all((head.replace('\n', "\r\n") + body).as_bytes());
}

const BUSY: &str = "HTTP/1.1 429 Too Many Requests\nRetry-After: 1\n\nRetry-After: 99\n";

/// With a body that looks like a head.
const BUSY_WITH_HEAD: &str =
    "HTTP/1.1 429 Too Many Requests\nRetry-After: 1\n\nnot so:\n\nHTTP/1.1 429\nRetry-After: 98\n";

const MOVED: &str = "HTTP/1.1 302 Found\nLocation: /other\nRetry-After: 60\n\n";

const OK: &str = "HTTP/1.1 200 OK\n\nthe body\n";

/// Checks that the client, with these options of ours, comes back no earlier than it was told, and
/// gets the body.
#[track_caller]
fn comes_back(answers: &'static [&'static str], options: &str, client: &str) {
    let server = Server::start(answers);
    let sandbox = Sandbox::new();
    let script = format!(
        "unset http_proxy; URL=http://{}/; retry $FAST -a 2 {options} -- {client}",
        server.address
    );
    let done = sandbox.bash(&script).run();
    done.exits(0);
    assert!(done.stdout.ends_with("the body\n"), "{done:?}");
    let delay = "; next in 1.00s (the server asks for 1.00s)";
    assert_eq!(done.stderr.matches(delay).count(), 1, "{done:?}");
    let times: Vec<Instant> = server.requests.try_iter().collect();
    assert_eq!(times.len(), answers.len(), "{done:?}");
    let (last, before) = (times[times.len() - 1], times[times.len() - 2]);
    assert!(last - before >= Duration::from_secs(1), "{done:?}");
}

/// Clients with their options, all of them at the same time.
#[track_caller]
fn all_come_back(answers: &'static [&'static str], clients: &[(&str, &str)]) {
    thread::scope(|scope| {
        for (options, client) in clients {
            scope.spawn(|| comes_back(answers, options, client));
        }
    });
}

const CURL: &str = "curl -q -sS --noproxy '*' $URL";

#[test]
fn curl_comes_back_when_the_server_has_said() {
    let curl = |more: &str| format!("{CURL} {more}");
    let by_text = "--retry-after output --fail-if '^(< )?HTTP/[0-9.]+ 429'";
    let clients = [
        ("--retry-after output", &*curl("-f -i")),
        ("--retry-after stdout", &curl("-f -i")),
        ("--retry-after stderr", &curl("-f -v")),
        ("--retry-after output", &curl("-f -v -H 'Retry-After: 97'")),
        ("--retry-after @head", &curl("-f -D head")),
        ("--retry-after @head --stdout once", &curl("-f -D head")),
        (by_text, &curl("-i")),
        (by_text, &curl("-v")),
    ];
    all_come_back(&[BUSY, OK], &clients);
    all_come_back(&[BUSY_WITH_HEAD, OK], &[(by_text, &curl("-i"))]);
}

#[test]
fn a_redirect_before_the_answer_has_no_say() {
    let curl = |more: &str| format!("{CURL} -f -L {more}");
    let clients = [
        ("--retry-after output", &*curl("-i")),
        ("--retry-after @head", &curl("-D head")),
        ("--retry-after stderr", &curl("-v")),
    ];
    all_come_back(&[MOVED, BUSY, OK], &clients);
}

#[test]
fn wget_comes_back_when_the_server_has_said() {
    let wget = "wget --no-proxy --tries=1 -S -O - $URL";
    let clients = [
        ("--retry-after stderr", wget),
        ("--retry-after output", wget),
    ];
    all_come_back(&[BUSY, OK], &clients);
    all_come_back(&[MOVED, BUSY, OK], &clients);
}

/// A server that is as slow as one under load: curl has drawn its meter before the first byte, or,
/// where there is a first part, before the rest.
fn slow_server(first: &'static str, rest: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            thread::spawn(move || answer_slowly(&connection, first, rest));
        }
    });
    address
}

fn answer_slowly(mut connection: &TcpStream, first: &str, rest: &str) {
    read_request(connection);
    let _ = connection.write_all(first.as_bytes());
    let_pass("1.3");
    let _ = connection.write_all(rest.as_bytes());
}

/// This curl is told at this server to wait for a week, and so does not come back.
#[track_caller]
fn hears_of_the_week(address: SocketAddr, curl: &str) {
    let sandbox = Sandbox::new();
    let script = format!(
        "unset http_proxy; retry $FAST -a 2 --retry-after output -- \
            sh -c 'exec curl -q -f --noproxy \"*\" {curl} http://{address}/'"
    );
    let done = sandbox.bash(&script).run();
    done.exits(22);
    let asked = "giving up after …: retry-after: the server asks for 168h 0m, more than --retry-after-max 5m 0s";
    done.says(&[&format!(
        "sh: attempt 1/2 failed: exit 22 (HTTP 429) after …; {asked}"
    )]);
    // Otherwise the test has shown nothing.
    let printed = [&*done.stdout, &*done.stderr].concat();
    assert!(
        curl.contains("-s") || printed.contains("\r  0") || printed.contains("#=#"),
        "{done:?}"
    );
}

#[test]
fn curl_hears_a_slow_server_behind_its_own_meter() {
    let busy =
        "HTTP/1.1 429 X\r\nRetry-After: 604800\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (status, fields) = busy.split_at(busy.find('\n').expect("a line") + 1);
    let (at_once, slow, halting) = (
        slow_server(busy, ""),
        slow_server("", busy),
        slow_server(status, fields),
    );
    let calls = [
        (slow, "-o body -v"),
        (slow, "-o body -v -#"),
        (slow, "-o body -v --trace-time"),
        (slow, "-o body -v --trace-time -#"),
        (halting, "-o body -v"),
        (halting, "-o body -v -#"),
        (halting, "-o body -v --trace-time"),
        (at_once, "-o body -s -v --trace-time"),
        (slow, "-i 2>&1"),
        (slow, "-i -# 2>&1"),
    ];
    thread::scope(|scope| {
        for (address, curl) in calls {
            scope.spawn(move || hears_of_the_week(address, curl));
        }
    });
}
