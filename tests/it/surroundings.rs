//! Surroundings that lack something: no /proc, no /dev, calls and signals that are refused.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::namespace::{as_nobody, call, is_root, unshare};
use crate::support::{AT_ONCE, Call, Done, RETRY, Sandbox};

#[test]
fn without_proc_a_time_limit_ends_what_it_can_know() {
    for (group, command) in [
        ("new", "sh -c 'sleep 31 & sleep 31; :'"),
        ("inherit", "sleep 31"),
    ] {
        let sandbox = Sandbox::new();
        let options = format!("-a 1 --process-group {group} --timeout 300ms -k 500ms");
        let script = format!("mount -t tmpfs none /proc && exec {RETRY} {options} -- {command}");
        let words = [unshare(&["--mount"]), vec!["bash", "-c", &script]].concat();
        call(&sandbox, &words)
            .run()
            .exits(124)
            .stdout_is("")
            .took_less_than(AT_ONCE);
    }
}

/// `retry` with these options around a script, where there is no /proc.
fn without_proc(sandbox: &Sandbox, options: &str, script: &str) -> Call {
    let mount = "mount -t tmpfs none /proc && exec \"$@\"";
    let words = [unshare(&["--mount"]), vec!["bash", "-c", mount, "-", RETRY]].concat();
    let options = options.split_whitespace();
    let retry = call(sandbox, &words).args(options);
    retry.args(["--", "bash", "-c", script])
}

#[test]
fn without_proc_no_grace_is_waited_for_those_who_are_gone() {
    for (group, script) in [
        ("new", "sleep 31 & sleep 31; :"),
        (
            "new",
            "(trap 'sleep 0.5; echo cleaned; exit' TERM; while :; do sleep 0.05; done) & sleep 31; :",
        ),
        ("inherit", "exec sleep 31"),
    ] {
        let sandbox = Sandbox::new();
        let options = format!("-v -a 1 --process-group {group} --timeout 500ms -k 50s");
        let done = without_proc(&sandbox, &options, script).run();
        // Zombies answer for their group, and who adopts them may be slow to take them away.
        done.exits(124).took_less_than(AT_ONCE * 4);
        assert!(!done.stderr.contains("SIGKILL"), "{done:?}");
        assert_eq!(
            done.stdout.is_empty(),
            !script.contains("cleaned"),
            "{done:?}"
        );
    }
}

#[test]
fn without_proc_a_group_has_its_grace_and_then_kill_and_no_attempt_runs_beside_it() {
    let sandbox = Sandbox::new();
    let options = "-v -a 2 --base 0 --process-group new --timeout 500ms -k 500ms";
    let script =
        "exec 9>>lock; flock -n 9 || echo OVERLAP; (trap '' TERM; exec sleep 31) & sleep 31; :";
    let done = without_proc(&sandbox, options, script).run();
    done.exits(124)
        .stdout_is("")
        .took_at_least(Duration::from_secs(2))
        .took_less_than(AT_ONCE * 4);
    assert_eq!(done.stderr.matches("SIGKILL sent").count(), 2, "{done:?}");
}

/// What comes of `retry` with these words where there is no /dev/null.
fn without_null(sandbox: &Sandbox, words: &str) -> Done {
    let script = format!("mount -t tmpfs none /dev && exec {RETRY} {words}");
    let words = [unshare(&["--mount"]), vec!["bash", "-c", &script]].concat();
    call(sandbox, &words).run()
}

#[test]
fn without_dev_null_it_is_named_with_the_option_that_needs_it() {
    let sandbox = Sandbox::new();
    let done = without_null(&sandbox, "-a 2 --stdin null -- touch ran");
    done.exits(125).stdout_is("").says(&[
        "--stdin null needs /dev/null; mount /dev, or remove the option: /dev/null: no such file or directory",
    ]);
    assert!(!sandbox.path("ran").exists());
}

#[test]
fn a_hook_without_dev_null_cannot_be_started_and_the_last_status_is_kept() {
    let sandbox = Sandbox::new();
    let done = without_null(
        &sandbox,
        "-a 3 --base 1ms --before-retry true -- sh -c 'echo x >>runs; exit 3'",
    );
    done.exits(3).stdout_is("");
    assert_eq!(sandbox.lines("runs"), 1);
    assert!(
        done.said()[1].contains("--before-retry failed: cannot run: /dev/null: no such file"),
        "{done:?}"
    );
}

#[test]
fn what_we_may_not_signal_ends_the_retrying_and_is_named() {
    if !is_root() {
        return;
    }
    // A program that becomes root in every respect, which a user without privileges may start and
    // then not signal any more.
    let sandbox = Sandbox::new();
    let tool = PathBuf::from(sandbox.bash("type -P setpriv").run().stdout.trim());
    std::fs::copy(tool, sandbox.path("it")).expect("a copy");
    std::fs::set_permissions(sandbox.path("it"), PermissionsExt::from_mode(0o4755))
        .expect("a mode");
    std::fs::set_permissions(sandbox.path(""), PermissionsExt::from_mode(0o755)).expect("a mode");
    let options = "-a 3 --base 10ms --timeout 200ms --kill-after 200ms -- ./it --reuid=0";
    let words = [
        as_nobody(),
        vec![RETRY],
        options.split(' ').collect(),
        vec!["sleep", "2"],
    ]
    .concat();
    // What is left behind holds no stream of ours.
    let mut running = call(
        &sandbox,
        &[
            &["sh", "-c", "exec \"$@\" >/dev/null 2>said", "_"],
            &words[..],
        ]
        .concat(),
    )
    .spawn();
    let (status, _) = running.wait_for_exit();
    assert_eq!(status.code(), Some(124));
    let said = sandbox.text("said");
    assert_eq!(
        said.matches("attempt 1/3 failed: timed out").count(),
        1,
        "{said}"
    );
    assert!(
        said.contains("could not be killed") && said.lines().count() == 1,
        "{said}"
    );
}

#[test]
fn with_another_namespaces_proc_a_group_has_its_grace() {
    // In that /proc the pid belongs to another process, or to none.
    let sandbox = Sandbox::new();
    let words = unshare(&["--pid", "--fork", "--kill-child"]);
    let script = "(trap '' TERM; exec sleep 31) & sleep 31; :";
    let options = "-a 1 --timeout 300ms -k 700ms -- sh -c".split(' ');
    let done = call(&sandbox, &words)
        .arg(RETRY)
        .args(options)
        .arg(script)
        .run();
    done.exits(124)
        .stdout_is("")
        .took_at_least(Duration::from_secs(1))
        .took_less_than(AT_ONCE);
}

#[test]
fn where_processes_of_others_are_hidden_our_own_are_known_all_the_same() {
    if !is_root() {
        return;
    }
    for group in ["new", "inherit"] {
        let sandbox = Sandbox::new();
        let options = format!("-a 1 --process-group {group} --timeout 300ms -k 30s");
        let nobody = as_nobody().join(" ");
        let script = format!(
            "mount -t proc -o hidepid=1 proc /proc && exec {nobody} {RETRY} {options} -- sh -c 'sleep 31 & sleep 31; :'"
        );
        let words = [unshare(&["--mount"]), vec!["bash", "-c", &script]].concat();
        call(&sandbox, &words)
            .run()
            .exits(124)
            .stdout_is("")
            .took_less_than(AT_ONCE);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn where_the_call_for_random_numbers_is_refused_the_device_gives_them() {
    for errno in [libc::ENOSYS, libc::EPERM] {
        let mut ids = Vec::new();
        for options in [
            "-a 3 --base 1ms",
            "-a 3 --base 1ms --jitter none",
            "-a 3 --base 1ms --seed 4",
        ] {
            let done = Sandbox::new()
                .retry_sh(options, "echo $RETRY_RUN_ID; exit 7")
                .refusing(libc::SYS_getrandom, errno)
                .run();
            done.exits(7);
            let told: Vec<String> = done.stdout.lines().map(String::from).collect();
            assert!(
                told.len() == 3 && told[0] == told[1] && told[1] == told[2],
                "{done:?}"
            );
            assert!(
                told[0].len() == 32 && told[0].contains(|c| c != '0'),
                "{done:?}"
            );
            assert!(!ids.contains(&told[0]), "{done:?}");
            ids.push(told[0].clone());
        }
        let plan = Sandbox::new()
            .retry("--plan")
            .refusing(libc::SYS_getrandom, errno)
            .run();
        plan.exits(0);
        assert_eq!(plan.stderr, "");
    }
}
