//! A budget of retries for many runs.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::time::Duration;

use crate::support::{AT_ONCE, FAST, Running, Sandbox, rounds};

#[test]
fn first_attempts_cost_nothing() {
    let script = "for i in 1 2 3 4; do retry $FAST -a 1 --shared bud --budget 3 -- false; done
        retry $FAST -a 2 --shared bud --budget 3 -- failn 1 1 >/dev/null 2>&1; echo $?";
    Sandbox::new().bash(script).run().exits(0).stdout_is("0\n");
}

#[test]
fn a_spent_budget_ends_the_run_with_the_last_status_and_says_so() {
    let sandbox = Sandbox::new();
    let done = sandbox
        .retry_sh(
            &format!("{FAST} -a 9 --shared bud --budget 2"),
            "echo x; exit 4",
        )
        .run();
    done.exits(4).stdout_is("x\nx\nx\n");
    let said = done.said();
    let last = said.last().expect("a line");
    assert!(
        last.contains("; giving up after ")
            && last
                .ends_with(": budget: the shared retry budget of 2 in bud is used up (--budget)"),
        "{done:?}"
    );
    // With the same budget none is left, with a larger one there is, and with a budget of 0 there
    // never is.
    let again = |budget| {
        let options = format!("{FAST} -a 9 --shared bud --budget {budget}");
        sandbox
            .retry_sh(&options, "echo x; exit 4")
            .run()
            .stdout
            .lines()
            .count()
    };
    assert_eq!((again(2), again(3), again(0)), (1, 2, 1));
}

#[test]
fn a_budget_of_none_says_that_it_allows_no_retries() {
    let options = format!("{FAST} --shared bud --budget 0");
    let done = Sandbox::new().retry_sh(&options, "exit 4").run();
    done.exits(4).says(&[
        "sh: attempt 1/5 failed: exit 4 after …; giving up after …: budget: --budget 0 allows no retries",
    ]);
}

#[test]
fn successes_give_back() {
    let script = "retry -q $FAST -a 9 --shared bud --budget 1 -- false
        for i in 1 2 3 4 5 6 7 8 9 10; do retry --shared bud --budget 1 -- true; done
        retry -q $FAST -a 9 --shared bud --budget 1 -- sh -c 'echo x; exit 1'";
    Sandbox::new()
        .bash(script)
        .run()
        .exits(1)
        .stdout_is("x\nx\n");
}

#[test]
fn time_gives_back() {
    let script = "B='--shared bud --budget 1 --budget-refill 1/1s'
        retry -q $FAST -a 9 $B -- false
        retry -q --base 1100ms --jitter none -a 2 -- false
        retry -q $FAST -a 9 $B -- sh -c 'echo x; exit 1'";
    Sandbox::new()
        .bash(script)
        .run()
        .exits(1)
        .stdout_is("x\nx\n");
}

/// Returns the value of this name in a budget's file.
fn kept(text: &str, name: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    value
        .and_then(|value| value.trim().parse().ok())
        .expect(text)
}

/// Clocks that are not right, by faketime, which is there for Linux.
#[cfg(target_os = "linux")]
mod clocks {
    use std::time::Instant;

    use super::kept;
    use crate::support::{Sandbox, can_be_tried};

    /// Whether there is a faketime that reaches the program, as it does not where that is static.
    fn clocks_can_be_set() -> bool {
        let sandbox = Sandbox::new();
        let script = "retry --shared here -- true
            faketime -f +1000d retry --shared there -- true";
        let reaches = sandbox.bash(script).run().status.success()
            && kept(&sandbox.text("there"), "refilled") > kept(&sandbox.text("here"), "refilled");
        can_be_tried(reaches, "faketime, and a program that is not static")
    }

    /// Takes as many retries as it can from a budget of one with this refill, once with each of
    /// these clocks. Returns their number.
    fn granted(sandbox: &Sandbox, refill: &str, clocks: &[&str]) -> usize {
        let clocks = clocks.join(" ");
        let script = format!(
            "for clock in {clocks}; do
                faketime -f $clock retry -q --base 0 -a 3 --shared bud --budget 1 \\
                    --budget-refill {refill} -- sh -c 'echo x; exit 1' | tail -n +2
            done"
        );
        let done = sandbox.bash(&script).run();
        assert_eq!(done.stderr, "", "{done:?}");
        done.stdout.lines().count()
    }

    #[test]
    fn a_clock_that_goes_back_and_forth_mints_no_retries() {
        if !clocks_can_be_set() {
            return;
        }
        let sandbox = Sandbox::new();
        let start = Instant::now();
        let granted = granted(&sandbox, "1/10s", &["+0s", "-30s"].repeat(20));
        let took = start.elapsed();
        // One retry is there; the rest is earned by the time, and once by the difference of the
        // clocks.
        let most = 1 + (took.as_secs() + 30) / 10;
        assert!(
            (1..=most).contains(&(granted as u64)),
            "{granted} in {took:?}"
        );
    }

    #[test]
    fn a_clock_that_was_set_right_does_not_stop_the_refill_for_ever() {
        if !clocks_can_be_set() {
            return;
        }
        let sandbox = Sandbox::new();
        // A day ahead, then right, then two hours on.
        let each = ["+1d", "+0s", "+2h"].map(|clock| granted(&sandbox, "1/1h", &[clock]));
        assert_eq!(each, [1, 0, 1]);
    }

    #[test]
    fn a_clock_past_the_year_2554_does_not_make_a_budget_bound_nothing() {
        if !clocks_can_be_set() {
            return;
        }
        let sandbox = Sandbox::new();
        let granted = |clock| granted(&sandbox, "1/1h", &[clock; 3]);
        assert_eq!(granted("+600y"), 1);
        // Nor does what it has left behind, once the clock is right.
        assert_eq!(granted("+0s"), 0);
        assert_eq!(granted("+2h"), 1);
    }
}

#[test]
fn a_file_of_the_first_release_is_read() {
    let sandbox = Sandbox::new();
    let text =
        "retry budget, version 1\nspent 00000000000000001900\nrefilled 01700000000000000000\n";
    fs::write(sandbox.path("bud"), text).expect("a file");
    let done = sandbox.retry(&format!("{FAST} -a 9 --shared bud --budget 3 -- false"));
    assert_eq!(done.run().failures(), 2);
    assert_eq!(kept(&sandbox.text("bud"), "spent"), 2900);
}

/// Returns the number of retries that the budget allowed, by the log of a run. On a busy machine a
/// run may not get the lock in time; it then warns and goes on without the budget.
fn spent_by(log: &str) -> u64 {
    let lines = log.lines();
    let bound = lines.take_while(|line| !line.contains("\"kind\":\"budget_unusable\""));
    let retries = bound.filter(|line| line.contains("\"reason\":\"retry\""));
    retries.count() as u64
}

#[test]
fn many_processes_at_once_spend_exactly_what_there_is() {
    let sandbox = Sandbox::new();
    let draws = 200 * rounds();
    // 64 processes that want all of it, twice as much as there is.
    let budget = 32 * draws;
    let script = format!(
        "seq 64 | xargs -P64 -I{{}} sh -c 'retry -q --base 0 -a {} --log log{{}} --shared bud --budget {budget} -- false || :'",
        draws + 1
    );
    sandbox
        .bash(&script)
        .run()
        .exits(0)
        .stdout_is("")
        .stderr_is("");
    let logs: Vec<String> = (1..=64)
        .map(|run| sandbox.text(&format!("log{run}")))
        .collect();
    let spent: u64 = logs.iter().map(|log| spent_by(log)).sum();
    let kept = sandbox.text("bud");
    assert!(
        kept.contains(&format!("spent {:020}\n", spent * 1000)),
        "{spent}: {kept}"
    );
    assert!(spent <= budget, "{spent}");
    // All that there is, unless too few are left who want it.
    let is_bound = |log: &&String| log.contains("\"reason\":\"budget\"");
    assert!(
        spent == budget || logs.iter().filter(is_bound).count() == 0,
        "{spent}"
    );
    assert!(logs.iter().any(|log| spent_by(log) > 0), "{logs:?}");
}

#[test]
fn a_holder_that_is_killed_leaves_it_usable() {
    let sandbox = Sandbox::new();
    let script = "for i in $(seq 60); do
            retry -q --base 0 -a inf --shared bud --budget 4000000000 -- true_is_not & p=$!
            retry -q --base 0 -a inf --shared bud --budget 4000000000 -- false & q=$!
            perl -e 'select undef, undef, undef, rand 0.02'; kill -9 $q; wait $p $q 2>/dev/null
        done; retry -v $FAST -a 2 --shared bud --budget 4000000000 -- false; wc -c <bud";
    let done = sandbox.bash(script).run();
    assert!(!done.stderr.contains("--shared"), "{done:?}");
    let text = sandbox.text("bud");
    assert_eq!(done.stdout.trim(), text.len().to_string());
    assert!(
        text.starts_with("retry budget, version 1\nspent "),
        "{text}"
    );
}

#[test]
fn nobody_else_can_read_or_write_it() {
    let sandbox = Sandbox::new();
    sandbox
        .bash("umask 0; retry $FAST -a 2 --shared bud -- false")
        .run()
        .exits(1)
        .stdout_is("");
    assert_eq!(
        fs::metadata(sandbox.path("bud")).expect("a file").mode() & 0o7777,
        0o600
    );
}

/// Checks that a budget which cannot be used is reported once, and that retries go on without it.
#[track_caller]
fn is_unusable(sandbox: &Sandbox, path: &str, why: &str) {
    let done = sandbox
        .retry(&format!("{FAST} -a 4 --shared {path} --budget 1 -- false"))
        .run();
    done.exits(1);
    assert_eq!(done.failures(), 4, "{done:?}");
    assert_eq!(done.stderr.matches("--shared").count(), 1, "{done:?}");
    assert!(done.stderr.contains(why), "{done:?}");
}

#[test]
fn what_is_not_ours_is_left_as_it_is() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("foreign"), "precious").expect("a file");
    is_unusable(&sandbox, "foreign", "not a retry budget file");
    assert_eq!(sandbox.text("foreign"), "precious");
    fs::write(sandbox.path("empty"), "").expect("a file");
    symlink("empty", sandbox.path("link")).expect("a link");
    is_unusable(&sandbox, "link", "it is a symbolic link");
    assert_eq!(sandbox.text("empty"), "");
    fs::set_permissions(sandbox.path("empty"), fs::Permissions::from_mode(0o666)).expect("ours");
    is_unusable(&sandbox, "empty", "other users may write to it");
    is_unusable(&sandbox, ".", "is a directory");
    is_unusable(&sandbox, "no/such", "no such file");
    sandbox.bash("mkfifo pipe").run().exits(0).stdout_is("");
    is_unusable(&sandbox, "pipe", "not a regular file");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_takes_the_budget_and_nothing_else() {
    let sandbox = Sandbox::new();
    let script = "ulimit -f 0; retry $FAST -a 3 --shared bud --budget 1 -- false 2>&1 | cat";
    let done = sandbox.bash(script).run();
    assert_eq!(done.stdout.matches("attempt").count(), 3, "{done:?}");
    assert_eq!(done.stdout.matches("--shared").count(), 1, "{done:?}");
}

#[test]
fn a_damaged_file_of_ours_begins_anew() {
    let sandbox = Sandbox::new();
    for torn in [
        "retry budget, version 1\n",
        "retry budget, version 1\nspent 7\nrefilled",
        "retry budget, version 1\nspent 99999999999999999999\nrefilled 00000000000000000000\nmore\n",
        "retry budget, version 1\nspent +0000000000000000001\nrefilled 00000000000000000000\n",
        "retry budget, version 1\nspent 00000000000000000001\nrefilled +0000000000000000000\n",
        "retry budget, version 1\nspent 00000000000000000001\nrefilled 99999999999999999999\n",
    ] {
        fs::write(sandbox.path("bud"), torn).expect("a file");
        let done = sandbox
            .retry(&format!("{FAST} -a 4 --shared bud --budget 1 -- false"))
            .run();
        assert_eq!(done.failures(), 2, "{torn}: {done:?}");
        assert_eq!(
            done.stderr.matches("was damaged").count(),
            1,
            "{torn}: {done:?}"
        );
        let spent = sandbox.text("bud");
        assert!(
            spent.contains("spent 00000000000000001000\n") && spent.lines().count() == 3,
            "{spent}"
        );
    }
}

/// A process that has the lock of a budget until its stdin is closed.
fn lock_held(sandbox: &Sandbox) -> Running {
    sandbox.bash("retry --shared bud -- true").run().exits(0);
    let mut holder = sandbox
        .bash("exec 9<>bud; flock 9; echo held; read -r line")
        .stdin(std::process::Stdio::piped())
        .spawn();
    holder.await_stdout("held");
    holder
}

#[test]
fn a_lock_that_is_not_let_go_is_awaited_for_a_second_and_a_signal_ends_that() {
    let sandbox = Sandbox::new();
    let mut holder = lock_held(&sandbox);
    let done = sandbox
        .retry(&format!("{FAST} -a 2 --shared bud -- false"))
        .run();
    done.exits(1)
        .took_at_least(Duration::from_secs(1))
        .took_less_than(AT_ONCE);
    assert!(done.stderr.contains("does not let go"), "{done:?}");
    let mut running = sandbox
        .retry_sh("--base 1m --shared bud", "echo ready; exit 1")
        .spawn();
    running.await_stdout("ready");
    // It has ended, and we ask for the lock, which is held.
    running.await_alone().signal(libc::SIGTERM);
    running.wait().dies_of(libc::SIGTERM);
    holder.close_stdin();
    holder.wait();
}

#[test]
fn a_success_that_cannot_give_back_says_nothing() {
    let sandbox = Sandbox::new();
    let mut holder = lock_held(&sandbox);
    // The deadline comes first, or the second after which nobody waits for the lock any more.
    for deadline in ["--deadline 500ms", ""] {
        let options = format!("{deadline} --shared bud --log log -- true");
        let done = sandbox.retry(&options).run();
        done.exits(0).says(&[]).took_less_than(AT_ONCE);
    }
    holder.close_stdin();
    holder.wait();
    fs::write(sandbox.path("foreign"), "precious").expect("a file");
    let done = sandbox.retry("--shared foreign --log log -- true").run();
    done.exits(0).says(&[]);
    assert!(!sandbox.text("log").contains("warning"));
    // What it needs for a retry, it still says.
    let done = sandbox
        .retry(&format!("{FAST} -a 3 --shared foreign -- failn 1 1"))
        .run();
    assert_eq!(done.stderr.matches("--shared").count(), 1, "{done:?}");
}
