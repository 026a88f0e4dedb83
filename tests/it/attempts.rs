//! `--attempts` counts runs, the first one included.

use crate::support::check_failn;

#[test]
fn a_success_ends_the_run_with_0_whatever_came_before_it() {
    check_failn("-a 5", "2 3", 0, 3);
}

#[test]
fn ten_attempts_are_ten_runs_of_which_the_last_may_succeed() {
    let done = check_failn("-a 10", "9 1", 0, 10);
    assert_eq!(done.failures(), 9, "{done:?}");
    assert!(
        done.said()[9].starts_with("failn: succeeded on attempt 10/10 after "),
        "{done:?}"
    );
}

#[test]
fn attempts_counts_runs_and_every_line_names_the_same_total() {
    for n in [1, 2, 5] {
        let done = check_failn(&format!("-a {n}"), "99 1", 1, n);
        let said = done.said();
        assert_eq!(said.len(), n, "{done:?}");
        for (line, k) in said.iter().zip(1..) {
            assert!(
                line.starts_with(&format!("failn: attempt {k}/{n} failed: exit 1 after ")),
                "{done:?}"
            );
        }
    }
}
