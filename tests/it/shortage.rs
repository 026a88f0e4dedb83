//! Too few processes or descriptors: an error, and a retry where it may pass.

use crate::support::namespace::{as_nobody, call};
use crate::support::{RETRY, Sandbox};

#[test]
fn a_hook_that_cannot_start_for_a_shortage_uses_up_an_attempt_and_is_tried_again() {
    let sandbox = Sandbox::new();
    // The first attempt uses up the last process that may be there.
    let script = format!(
        "ulimit -u 1; exec {RETRY} -a 3 --base 10ms --before-retry 'echo hook' --log-format json -- /bin/false"
    );
    let words = [as_nobody(), vec!["bash", "-c", &script]].concat();
    let done = call(&sandbox, &words).run();
    done.exits(125).stdout_is("");
    let attempts = done.stderr.matches("\"event\":\"attempt\"").count();
    let refused = done.stderr.matches("\"outcome\":\"not_started\"").count();
    assert_eq!((attempts, refused), (3, 4), "{done:?}");
    assert_eq!(done.stderr.matches("--before-retry").count(), 2, "{done:?}");
}

#[test]
fn too_many_processes_are_a_shortage_that_is_tried_again() {
    let sandbox = Sandbox::new();
    let script = format!("ulimit -u 1; exec {RETRY} -a 3 --base 10ms -- true");
    let words = [as_nobody(), vec!["bash", "-c", &script]].concat();
    let done = call(&sandbox, &words).run();
    done.exits(125).stdout_is("");
    let refused = done
        .said()
        .iter()
        .filter(|line| line.contains("cannot run: "))
        .count();
    assert_eq!(refused, 3, "{done:?}");
}

#[test]
fn too_few_descriptors_are_an_error_and_no_panic() {
    // Three are the standard streams, one is the directory that the loader reads.
    for limit in 4..8 {
        let done = Sandbox::new()
            .bash(&format!("ulimit -n {limit}; exec retry -a 1 -- true"))
            .run();
        let code = done.status.code();
        assert!(matches!(code, Some(0 | 125)), "{done:?}");
        assert_eq!(
            done.stderr.lines().count(),
            usize::from(code == Some(125)),
            "{done:?}"
        );
    }
}
