//! The real curl against a real server on loopback.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{AT_ONCE, Call, Done, Sandbox};

/// A server that answers each request with the next answer, and repeats the last one. It records
/// the time of each request.
pub(crate) struct Server {
    address: SocketAddr,
    requests: Receiver<Instant>,
}

/// An answer: a status line and a body; `None` never answers.
pub(crate) type Answer = Option<(&'static str, &'static str)>;

impl Server {
    fn start(answers: &'static [Answer]) -> Self {
        Self::serve(TcpListener::bind("127.0.0.1:0").expect("a port"), answers)
    }

    pub(crate) fn serve(listener: TcpListener, answers: &'static [Answer]) -> Self {
        let address = listener.local_addr().expect("an address");
        let (tell, requests) = channel();
        thread::spawn(move || {
            let mut held = Vec::new();
            for (number, connection) in listener.incoming().enumerate() {
                let Ok(connection) = connection else { continue };
                if tell.send(Instant::now()).is_err() {
                    return;
                }
                match answers[number.min(answers.len() - 1)] {
                    Some((status, body)) => answer(&connection, status, body),
                    None => held.push(connection),
                }
            }
        });
        Self { address, requests }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Returns the time of each request.
    pub(crate) fn requests(&self) -> Vec<Instant> {
        self.requests.try_iter().collect()
    }
}

/// Reads a request to its blank line and answers it. A client that is gone is no concern here.
fn answer(mut connection: &TcpStream, status: &str, body: &str) {
    let mut lines = BufReader::new(connection).lines();
    while lines
        .next()
        .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
    {}
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = connection.write_all(format!("{head}{body}").as_bytes());
}

/// `retry` with these options around `curl -fsS URL`. A proxy of the machine's has no say.
fn fetch(sandbox: &Sandbox, options: &str, url: &str) -> Call {
    sandbox
        .retry(options)
        .args(["--", "curl", "-fsS", "--noproxy", "*", url])
}

/// The delays that were announced, in milliseconds.
fn announced(done: &Done) -> Vec<u64> {
    let delays = done
        .said()
        .into_iter()
        .filter_map(|line| line.split_once("next in "));
    let milliseconds = |shown: &str| match shown.strip_suffix("ms") {
        Some(ms) => ms.parse().ok(),
        None => Some(
            shown
                .strip_suffix('s')?
                .replace('.', "")
                .parse::<u64>()
                .ok()?
                * 10,
        ),
    };
    delays
        .map(|(_, shown)| milliseconds(shown).expect("a short delay"))
        .collect()
}

const BUSY: Answer = Some(("503 Service Unavailable", "come back later"));
const OK: Answer = Some(("200 OK", "the body\n"));

#[test]
fn a_server_that_is_busy_twice_is_asked_three_times_and_its_body_comes_once() {
    let (sandbox, server) = (Sandbox::new(), Server::start(&[BUSY, BUSY, OK]));
    let options = "--base 100ms --cap 2s --jitter full --retry-on 22";
    let done = fetch(&sandbox, options, &server.url()).run();
    done.exits(0).stdout_is("the body\n");
    let (requests, delays) = (server.requests(), announced(&done));
    assert_eq!((requests.len(), delays.len()), (3, 2), "{done:?}");
    for (retry, ceiling) in [100, 200].into_iter().enumerate() {
        assert!(delays[retry] <= ceiling, "{done:?}");
        // What is shown is rounded to a millisecond.
        let slept = requests[retry + 1] - requests[retry];
        assert!(
            slept + Duration::from_millis(1) >= Duration::from_millis(delays[retry]),
            "{done:?}"
        );
    }
}

#[test]
fn an_error_that_is_not_listed_is_not_tried_again() {
    let (sandbox, server) = (Sandbox::new(), Server::start(&[BUSY]));
    fetch(&sandbox, "--base 10ms --retry-on 7", &server.url())
        .run()
        .exits(22)
        .stdout_is("");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_server_that_comes_up_during_the_delays_is_reached() {
    // An address of its own, where the system has many, so that no other test is given the port.
    let host = if cfg!(target_os = "linux") {
        "127.83.12.7"
    } else {
        "127.0.0.1"
    };
    let reserved = TcpListener::bind((host, 0)).expect("a port");
    let address = reserved.local_addr().expect("an address");
    drop(reserved);
    let sandbox = Sandbox::new();
    let options = "-a 200 --base 50ms --cap 200ms --jitter equal --retry-on 7";
    let mut running = fetch(&sandbox, options, &format!("http://{address}/")).spawn();
    running.await_stderr("attempt 2/200 failed: exit 7");
    let server = Server::serve(TcpListener::bind(address).expect("the same port"), &[OK]);
    let done = running.wait();
    done.exits(0).stdout_is("the body\n");
    assert_eq!(server.requests().len(), 1);
    assert!(
        done.said()
            .last()
            .is_some_and(|line| line.starts_with("curl: succeeded on attempt")),
        "{done:?}"
    );
}

#[test]
fn the_deadline_ends_the_asking_with_the_last_status() {
    let (sandbox, server) = (Sandbox::new(), Server::start(&[BUSY]));
    // The first delay fits, and the second does not, however long the requests take.
    let options =
        "-a inf --base 100ms --factor 1000 --cap 2m --jitter none --deadline 1m --retry-on 22";
    let done = fetch(&sandbox, options, &server.url()).run();
    done.exits(22).stdout_is("").took_less_than(AT_ONCE);
    let asked = server.requests().len();
    assert!(asked >= 2 && done.failures() == asked, "{done:?}");
    assert!(
        done.said()
            .last()
            .is_some_and(|line| line.contains("left of the deadline of 1m 0s"))
    );
}

#[test]
fn the_deadline_ends_a_request_that_is_never_answered() {
    let (sandbox, server) = (Sandbox::new(), Server::start(&[None]));
    let done = fetch(&sandbox, "--deadline 1s", &server.url()).run();
    done.exits(124)
        .stdout_is("")
        .took_at_least(Duration::from_secs(1))
        .took_less_than(AT_ONCE);
    assert_eq!(server.requests().len(), 1);
}
