//! Surroundings that make it hard: PID 1, other users' processes, shortages, no /proc.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::getuid;

use crate::support::{AT_ONCE, Call, Done, RETRY, Sandbox, can_be_tried, send};

/// Whether a test that needs root may go on.
fn is_root() -> bool {
    can_be_tried(getuid().is_root(), "root")
}

/// The words that run a command as a user without privileges, which may be who we are.
fn as_nobody() -> Vec<&'static str> {
    if getuid().is_root() {
        vec![
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
        ]
    } else {
        vec!["env"]
    }
}

/// The words that run a command in new namespaces.
fn unshare(namespaces: &[&'static str]) -> Vec<&'static str> {
    let user: &[&str] = if getuid().is_root() {
        &[]
    } else {
        &["--user", "--map-root-user"]
    };
    [&["unshare"], user, namespaces].concat()
}

fn call(sandbox: &Sandbox, words: &[&str]) -> Call {
    sandbox.program(words[0]).args(&words[1..])
}

/// `retry` with these options as PID 1 around a script.
fn as_init(sandbox: &Sandbox, options: &str, script: &str) -> Call {
    let words = unshare(&["--pid", "--fork", "--mount-proc", "--kill-child"]);
    let options = options.split_whitespace();
    call(sandbox, &words)
        .arg(RETRY)
        .args(options)
        .args(["--", "sh", "-c", script])
}

#[test]
fn as_pid_1_a_death_by_signal_is_128_and_its_number() {
    for (signal, code) in [("SEGV", 139), ("TERM", 143), ("KILL", 137)] {
        as_init(&Sandbox::new(), "-a 1", &format!("kill -{signal} $$"))
            .run()
            .exits(code);
    }
}

/// Counts the zombies of PID 1 from within.
const ZOMBIES: &str = "ps -eo ppid=,stat= | awk '$1 == 1 && $2 ~ /Z/' | wc -l";

#[test]
fn as_pid_1_orphans_are_reaped_while_the_command_runs() {
    let orphans = "for i in 1 2 3 4; do (sleep 0.1 & ); done; sleep 0.5";
    let done = as_init(&Sandbox::new(), "-a 1", &format!("{orphans}; {ZOMBIES}")).run();
    done.exits(0).stdout_is("0\n");
}

#[test]
fn as_pid_1_orphans_are_reaped_during_a_delay() {
    let watcher = format!(
        "(setsid sh -c \"sleep 0.6; {} >zombies\" & )",
        ZOMBIES.replace('$', "\\$")
    );
    let script = format!(
        "[ $RETRY_ATTEMPT = 1 ] || exit 0; for i in 1 2 3 4; do (sleep 0.2 & ); done; {watcher}; exit 1"
    );
    let sandbox = Sandbox::new();
    as_init(&sandbox, "-a 2 --base 1500ms --jitter none", &script)
        .run()
        .exits(0);
    assert_eq!(sandbox.text("zombies"), "0\n");
}

#[test]
fn as_pid_1_a_time_limit_ends_the_group_and_reaps_it() {
    let script = format!(
        "[ $RETRY_ATTEMPT = 1 ] || {{ {ZOMBIES}; exit 0; }}; sleep 31 & sleep 31 & sleep 31; :"
    );
    let done = as_init(&Sandbox::new(), "-a 2 --timeout 1s --base 10ms", &script).run();
    done.exits(0).stdout_is("0\n");
}

/// The process that the only child of `parent` is, as seen from here.
fn only_child(parent: rustix::process::Pid) -> i32 {
    let parent = parent.as_raw_nonzero();
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    children
        .expect("a list of children")
        .trim()
        .parse()
        .expect("one child")
}

fn signal(pid: i32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
    rustix::process::kill_process(pid, signal).expect("the process is there");
}

#[test]
fn as_pid_1_a_signal_from_outside_ends_a_delay_at_once() {
    let sandbox = Sandbox::new();
    let mut running = as_init(&sandbox, "--base 60s --cap 60s --jitter none", "exit 1").spawn();
    running.await_stderr("next in 1m 0s");
    signal(only_child(running.pid()), rustix::process::Signal::TERM);
    running.wait().exits(143).took_less_than(AT_ONCE);
}

#[test]
fn as_pid_1_a_signal_from_outside_reaches_the_command() {
    let script = "trap 'echo cleaned; exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    let sandbox = Sandbox::new();
    let mut running = as_init(&sandbox, "--process-group inherit", script).spawn();
    running.await_stdout("ready");
    signal(only_child(running.pid()), rustix::process::Signal::TERM);
    running.wait().exits(7).stdout_is("ready\ncleaned\n");
}

#[test]
fn as_pid_1_a_real_time_signal_is_passed_on_like_any_other() {
    let script = "exec bash -c \"trap 'echo got; exit 9' RTMIN+1; echo ready; while :; do sleep 0.05; done\"";
    for group in ["new", "inherit"] {
        let options = format!("-a 3 --base 10ms --process-group {group}");
        let sandbox = Sandbox::new();
        let mut running = as_init(&sandbox, &options, script).spawn();
        running.await_stdout("ready");
        let init = rustix::process::Pid::from_raw(only_child(running.pid())).expect("a pid");
        assert!(send(init, libc::SIGRTMIN() + 1));
        running.wait().exits(9).stdout_is("ready\ngot\n");
    }
}

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
    done.exits(125);
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
    done.exits(125).says(&[
        "--stdin null needs /dev/null; mount /dev, or leave the option out: /dev/null: no such file or directory",
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
    done.exits(3);
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
        said.contains("could not be ended and is left behind") && said.lines().count() == 1,
        "{said}"
    );
}

#[test]
fn with_another_namespaces_proc_a_group_has_its_grace() {
    // Whom that names there are others, or nobody.
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
        .took_at_least(Duration::from_secs(1))
        .took_less_than(AT_ONCE);
}

#[test]
fn the_first_process_of_a_new_namespace_is_run_like_any_other() {
    let sandbox = Sandbox::new();
    let words = unshare(&["--pid"]);
    call(&sandbox, &words)
        .args([RETRY, "-a", "1", "--", "sh", "-c", "exit 3"])
        .run()
        .exits(3);
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
            .took_less_than(AT_ONCE);
    }
}

#[test]
fn no_secret_in_what_stands_where_the_command_should_is_printed_or_logged() {
    let sandbox = Sandbox::new();
    for word in [
        "https://user:secret@host",
        "user:secret@host",
        "Authorization:secret",
        "https://host/p;secret#tok",
        "/p;secret?secret",
        "TOKEN=secret",
    ] {
        for format in ["text", "json", "github"] {
            let options = format!("-v --log log --log-format {format} -- {word}");
            let done = sandbox.retry(&options).run();
            done.exits(127).stdout_is("");
            assert!(done.stderr.contains("not found"), "{done:?}");
            let log = sandbox.text("log");
            assert!(log.contains("not found"), "{log}");
            for said in [&done.stderr, &log] {
                assert!(!said.contains("secret") && !said.contains("tok"), "{said}");
            }
        }
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
