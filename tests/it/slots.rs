//! `--concurrency`: a bound on the attempts of many runs that run at once.

use std::fs;

use rustix::process::Pid;

use crate::support::{FAST, Running, Sandbox, is_there, let_pass};

const SIGTERM: i32 = 15;
const SIGKILL: i32 = 9;

const SLOTS: &str = "--shared place --concurrency";

/// A run that holds one of so many slots until it is ended.
fn holder(sandbox: &Sandbox, slots: u32) -> Running {
    let options = format!("-a 1 {SLOTS} {slots}");
    let mut running = sandbox
        .retry_sh(&options, "echo ready $$; exec sleep 60")
        .spawn();
    running.await_stdout("ready");
    running
}

/// A run that waits for a slot.
fn waiter(sandbox: &Sandbox, options: &str) -> Running {
    let mut running = sandbox.retry(options).args(["--", "echo", "ran"]).spawn();
    running.await_stderr("waiting for one of ");
    running
}

#[test]
fn no_more_attempts_run_at_once_than_there_are_slots() {
    let sandbox = Sandbox::new();
    let script = format!(
        "for i in $(seq 24); do
            retry {FAST} -a 2 {SLOTS} 3 -- sh -c 'echo + >>events; sleep 0.02; echo - >>events; [ $RETRY_ATTEMPT = 2 ]' 2>>said || echo failed &
        done; wait; sort said | sed 's/.*sh: //' | grep -v attempt | sort -u"
    );
    let done = sandbox.bash(&script).run();
    done.exits(0)
        .stdout_is("waiting for one of 3 slots (--concurrency)\n");
    let (mut running, mut most) = (0_i32, 0);
    for event in sandbox.text("events").lines() {
        running += if event == "+" { 1 } else { -1 };
        most = running.max(most);
    }
    assert_eq!((running, most), (0, 3));
    assert_eq!(sandbox.lines("events"), 24 * 2 * 2);
    assert_eq!(sandbox.text("place.slots"), "retry slots, version 1\n");
    assert!(!sandbox.path("place").exists(), "there is no budget");
}

#[test]
fn a_run_that_sleeps_holds_no_slot() {
    let sandbox = Sandbox::new();
    let options = format!("-a 2 --delay 60s {SLOTS} 1");
    let mut sleeper = sandbox.retry_sh(&options, "exit 7").spawn();
    sleeper.await_stderr("next in 1m 0s");
    let other = format!("-a 1 {SLOTS} 1 --log log");
    let done = sandbox.retry(&other).args(["--", "echo", "ran"]).run();
    done.exits(0).stdout_is("ran\n").stderr_is("");
    assert!(sandbox.text("log").contains(r#""attempt":1,"waited_ms":0"#));
    sleeper.signal(SIGTERM);
    sleeper.wait().dies_of(SIGTERM);
}

#[test]
fn the_slot_of_a_holder_that_is_killed_or_ends_is_taken_at_once() {
    for signal in [SIGKILL, SIGTERM] {
        let sandbox = Sandbox::new();
        let mut holder = holder(&sandbox, 1);
        let waiter = waiter(&sandbox, &format!("{SLOTS} 1"));
        holder.signal(signal);
        waiter
            .wait()
            .exits(0)
            .stdout_is("ran\n")
            .says(&["echo: waiting for one of 1 slots (--concurrency)"]);
        holder.wait().dies_of(signal);
    }
}

#[test]
fn a_wait_for_a_slot_ends_with_the_deadline() {
    let sandbox = Sandbox::new();
    let mut holder = holder(&sandbox, 1);
    let options = format!("{SLOTS} 1 --deadline 300ms --log log");
    let done = sandbox.retry_sh(&options, "echo ran").run();
    done.exits(124).stdout_is("").says(&[
        "sh: waiting for one of 1 slots (--concurrency)",
        "sh: giving up after …: concurrency: no slot was free before the deadline of 300ms",
    ]);
    let end = sandbox.text("log");
    for words in [
        r#""outcome":null,"reason":"concurrency","exit_status":124,"attempts":0,"#,
        r#""deadline_exhausted":true"#,
    ] {
        assert!(end.contains(words), "{end}");
    }
    holder.signal(SIGTERM);
    holder.wait().dies_of(SIGTERM);
}

#[test]
fn a_wait_in_vain_is_a_failure_whose_held_lines_are_shown() {
    let sandbox = Sandbox::new();
    let mut holder = holder(&sandbox, 1);
    let options = format!("{SLOTS} 1 --deadline 300ms --output on-failure");
    let done = sandbox.retry_sh(&options, "echo ran").run();
    done.exits(124).stdout_is("").says(&[
        "sh: waiting for one of 1 slots (--concurrency)",
        "sh: giving up after …: concurrency: no slot was free before the deadline of 300ms",
    ]);
    let mut waiter = sandbox
        .retry(&format!(
            "{SLOTS} 1 --output on-failure --log log -- echo ran"
        ))
        .spawn();
    // From its first line on, it handles signals.
    while !sandbox.text("log").contains("start") {
        let_pass("0.01");
    }
    waiter.await_alone().signal(SIGTERM);
    let done = waiter.wait();
    done.dies_of(SIGTERM).stdout_is("");
    assert!(
        done.stderr
            .contains("interrupted (SIGTERM) before the first attempt"),
        "{done:?}"
    );
    holder.signal(SIGTERM);
    holder.wait().dies_of(SIGTERM);
}

#[test]
fn a_retry_that_gets_no_slot_in_time_keeps_the_status_of_the_last_attempt() {
    let sandbox = Sandbox::new();
    // Between its attempts, another run takes the slot, and keeps it.
    let script = "[ $RETRY_ATTEMPT = 2 ] || exit 7";
    let take = "retry -a 1 --shared place --concurrency 1 -- sh -c 'echo $$ >pid; : >taken; exec sleep 60' & until [ -e taken ]; do sleep 0.01; done";
    let script = format!(
        "retry -a 2 --delay 1s --deadline 4s --reserve 1s {SLOTS} 1 -- sh -c '{script}' & run=$!
        until [ -s place.slots ]; do sleep 0.01; done
        {take}
        wait $run; echo $?; kill $(cat pid); wait"
    );
    let done = sandbox.bash(&script).run();
    done.stdout_is("7\n");
    assert!(
        done.stderr.contains(
            ": concurrency: no slot was free before the deadline of 4.00s, less the reserve of 1.00s"
        ),
        "{done:?}"
    );
}

#[test]
fn a_fatal_signal_ends_the_wait_for_a_slot() {
    let sandbox = Sandbox::new();
    let mut holder = holder(&sandbox, 1);
    let mut waiter = waiter(&sandbox, &format!("{SLOTS} 1"));
    waiter.signal(SIGTERM);
    let done = waiter.wait();
    done.dies_of(SIGTERM).stdout_is("");
    let said = "echo: interrupted (SIGTERM) before the first attempt, ";
    assert!(done.stderr.contains(said), "{done:?}");
    holder.signal(SIGTERM);
    holder.wait().dies_of(SIGTERM);
}

#[test]
fn a_run_in_an_attempt_with_a_slot_of_the_same_place_takes_none() {
    let sandbox = Sandbox::new();
    let inner = format!("retry -a 1 {SLOTS} 1 -- sh -c 'echo $RETRY_SLOT'");
    let done = sandbox
        .bash(&format!("retry -a 1 {SLOTS} 1 -- sh -c 'cd ..; cd $T; retry -a 2 {FAST} --shared ./place --concurrency 1 -- sh -c \"echo inner; exit 7\"'"))
        .run();
    done.exits(7).stdout_is("inner\ninner\n");
    assert_eq!(done.stderr.matches("takes no other").count(), 1, "{done:?}");
    // Another place has a slot of its own, and both are told.
    let script = format!("retry -a 1 --shared other --concurrency 1 -- {inner}");
    let done = sandbox.bash(&script).run();
    done.exits(0).stderr_is("");
    assert_eq!(done.stdout.split_whitespace().count(), 2, "{done:?}");
    // Without the option, the command is told what we were told.
    let script = "RETRY_SLOT='a b' retry -a 1 -- sh -c 'echo $RETRY_SLOT'";
    sandbox.bash(script).run().stdout_is("a b\n");
}

#[test]
fn slots_that_cannot_be_used_are_said_once_and_bound_nothing() {
    for (prepare, why) in [
        (
            "echo mine >place.slots",
            "it is not a file of retry slots, and is left unchanged",
        ),
        ("mkdir place.slots", "is a directory"),
        (
            "ln -s x place.slots",
            "it is a symbolic link; links are not followed",
        ),
        (
            ": >place.slots; chmod 666 place.slots",
            "other users may write to it; run chmod go-w on it",
        ),
    ] {
        let sandbox = Sandbox::new();
        let script = format!(
            "{prepare}; retry {FAST} -a 3 {SLOTS} 1 --log log -- sh -c 'exit 7'; ls place*; cat place.slots 2>/dev/null; grep -c slots_unusable log"
        );
        let done = sandbox.bash(&script).run();
        let said = format!(
            "cannot use the slots of the --shared file ({why}); attempts run without waiting"
        );
        assert_eq!(done.stderr.matches(&said).count(), 1, "{done:?}");
        assert!(done.stdout.ends_with("1\n"), "{done:?}");
        assert_eq!(done.failures(), 3);
    }
    // One warning, if the budget cannot be used either.
    let script =
        format!("retry {FAST} -a 3 --shared no/where --concurrency 1 --budget 5 -- sh -c 'exit 7'");
    let done = Sandbox::new().bash(&script).run();
    assert_eq!(done.stderr.matches("cannot use").count(), 1, "{done:?}");
    assert_eq!(done.failures(), 3);
}

#[test]
fn callers_with_different_numbers_count_all_who_run() {
    let sandbox = Sandbox::new();
    let (mut first, mut second) = (holder(&sandbox, 2), holder(&sandbox, 2));
    let one = waiter(&sandbox, &format!("{SLOTS} 1"));
    let two = waiter(&sandbox, &format!("{SLOTS} 2"));
    let three = sandbox.retry(&format!("{SLOTS} 3 -- echo ran")).run();
    three.exits(0).stdout_is("ran\n").stderr_is("");
    first.signal(SIGTERM);
    two.wait().exits(0).stdout_is("ran\n");
    second.signal(SIGTERM);
    one.wait().exits(0).stdout_is("ran\n");
    for holder in [first, second] {
        holder.wait().dies_of(SIGTERM);
    }
}

#[test]
fn a_file_that_was_removed_is_made_anew_even_while_others_wait() {
    let sandbox = Sandbox::new();
    let mut holder = holder(&sandbox, 1);
    let waiter = waiter(&sandbox, &format!("{SLOTS} 1"));
    fs::remove_file(sandbox.path("place.slots")).expect("a file");
    waiter.wait().exits(0).stdout_is("ran\n");
    assert!(sandbox.path("place.slots").exists());
    holder.signal(SIGTERM);
    holder.wait().dies_of(SIGTERM);
}

#[test]
fn the_hook_runs_in_the_slot_of_its_attempt() {
    let sandbox = Sandbox::new();
    let hook = "retry --deadline 200ms --shared place --concurrency 1 -- echo inside; env -u RETRY_SLOT retry --deadline 200ms --shared place --concurrency 1 -- echo outside; :";
    let options = format!("{FAST} -a 2 {SLOTS} 1");
    let call = sandbox.retry(&options).arg("--before-retry").arg(hook);
    let done = call.args(["--", "sh", "-c", "exit 7"]).run();
    done.exits(7).stdout_is("");
    assert!(done.stderr.contains("inside\n"), "{done:?}");
    assert!(!done.stderr.contains("outside\n"), "{done:?}");
}

#[test]
fn nothing_wakes_us_while_we_wait_for_a_slot() {
    let sandbox = Sandbox::new();
    let mut holder = holder(&sandbox, 1);
    let mut waiter = waiter(&sandbox, &format!("{SLOTS} 1"));
    let activity = |pid: Pid| {
        let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()));
        let status = status.unwrap_or_default();
        let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    if cfg!(target_os = "linux") {
        let before = activity(waiter.await_alone().pid());
        let_pass("1");
        assert_eq!(activity(waiter.pid()), before);
    }
    holder.signal(SIGTERM);
    waiter.wait().exits(0).stdout_is("ran\n");
    holder.wait().dies_of(SIGTERM);
}

#[test]
fn many_who_wait_leave_nothing_behind_and_all_have_their_turn() {
    let sandbox = Sandbox::new();
    let script = format!(
        "for i in $(seq 60); do retry -q -a 1 {SLOTS} 4 -- sh -c 'echo $$ >>pids' & done; wait"
    );
    sandbox.bash(&script).run().exits(0).stderr_is("");
    let pids = sandbox.text("pids");
    assert_eq!(pids.lines().count(), 60);
    for pid in pids.lines() {
        assert!(!is_there(pid.parse().expect("a pid")));
    }
}
