//! Runs that are many, and limits that are reached again and again. A fixed number of rounds is part of
//! the suite; more are run by hand:
//!
//! ```sh
//! RETRY_ROUNDS=100 cargo test --release soak -- --nocapture
//! ```

use crate::support::{AT_ONCE, Sandbox, rounds};

#[test]
fn of_many_at_once_each_keeps_its_status_and_leaves_nothing() {
    let (many, seconds) = (5 * rounds().min(100), 2 + rounds().min(100) * 58 / 100);
    let script = format!(
        "for i in $(seq {many}); do
             retry -q -a inf --base 100ms --cap 500ms --deadline {seconds}s -- sh -c \"exit $((i % 100 + 3))\" &
             pids=\"$pids $!:$((i % 100 + 3))\"
         done
         for pair in $pids; do
             wait ${{pair%:*}}; status=$?
             [ $status = ${{pair#*:}} ] || [ $status = 124 ] || echo $pair: $status
         done
         echo done"
    );
    let done = Sandbox::new().bash(&script).run();
    done.exits(0).stdout_is("done\n");
    assert_eq!(done.stderr, "", "{done:?}");
}

/// A time limit is over when all are gone, and not when the grace is.
fn ends_without_the_grace(options: &str, times: u64) {
    for _ in 0..times * rounds() {
        let options = format!("-a 1 -k 40s {options}");
        let done = Sandbox::new()
            .retry_sh(&options, "sleep 30 & sleep 30 | sleep 30; :")
            .run();
        done.exits(124).took_less_than(AT_ONCE);
    }
}

#[test]
fn a_time_limit_on_a_group_is_over_as_soon_as_all_are_gone() {
    ends_without_the_grace("--process-group new --timeout 30ms", 30);
}

#[test]
fn a_time_limit_in_our_own_group_is_over_as_soon_as_all_are_gone() {
    // What is started in the very instant of the limit is met by KILL only; here all are up by then.
    ends_without_the_grace("--process-group inherit --timeout 400ms", 10);
}
