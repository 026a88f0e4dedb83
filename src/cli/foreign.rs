//! Options of other programs, and what to write instead.

/// Options that other retry commands have, some with other meanings, and what to write instead. They
/// stay undefined, so that a script written for one of those fails loudly.
const FOREIGN: &[(&[&str], &str)] = &[
    (
        &["-t"],
        "for the number of runs use --attempts N, for the time of one --timeout DUR",
    ),
    (
        &[
            "-n",
            "--times",
            "--tries",
            "--max-tries",
            "--count",
            "--limit",
        ],
        "for the number of runs use --attempts N",
    ),
    (
        &[
            "-r",
            "--retries",
            "--retry",
            "--max-retries",
            "--max-retry",
            "--num-retries",
            "--retry-count",
        ],
        "for the number of runs use --attempts N, which counts the first one too",
    ),
    (
        &["--forever", "--infinite"],
        "for runs without end use --attempts inf",
    ),
    (
        &[
            "-d",
            "--delay",
            "--sleep",
            "-i",
            "--interval",
            "--wait",
            "--wait-time",
            "--pause",
            "--initial",
            "--initial-delay",
            "--initial-interval",
            "--min-delay",
            "--min-wait",
            "--min",
            "--retry-delay",
            "--retry-interval",
            "--retry-wait",
            "--retry-wait-seconds",
            "--waitretry",
        ],
        "for the delay use --base DUR, with --backoff constant --jitter none if it is to stay the same",
    ),
    (
        &["-s"],
        "for the delay use --base DUR, for what a time limit sends --signal SIG",
    ),
    (
        &["-w"],
        "for the statuses to retry use --retry-on LIST, for the delay --base DUR",
    ),
    (
        &[
            "-m",
            "--max-time",
            "--max-elapsed",
            "--max-elapsed-time",
            "--max-duration",
            "--retry-max-time",
            "--total-time",
            "--total-timeout",
        ],
        "for the time of everything use --deadline DUR, of one attempt --timeout DUR, of a delay --cap DUR",
    ),
    (
        &[
            "--task-time",
            "--attempt-timeout",
            "--timeout-seconds",
            "--timeout-minutes",
        ],
        "for the time of one attempt use --timeout DUR",
    ),
    (
        &[
            "-x",
            "--max",
            "--max-delay",
            "--max-wait",
            "--max-backoff",
            "--max-interval",
            "--backoff-max",
            "--delay-max",
        ],
        "for the longest delay use --cap DUR",
    ),
    (
        &[
            "--multiplier",
            "--exponent",
            "--backoff-factor",
            "--backoff-multiplier",
        ],
        "for the growth of the delays use --factor F",
    ),
    (
        &["--exponential", "--exponential-backoff"],
        "delays grow so unless --backoff says otherwise",
    ),
    (
        &["-b", "--backoff-base"],
        "for the first delay use --base DUR, for how delays grow --backoff CURVE and --factor F",
    ),
    (
        &["--stall-timeout"],
        "for a limit on silence use --idle-timeout DUR",
    ),
    (
        &["--retry-all-errors", "--retry-connrefused"],
        "every failure is retried unless --retry-on or --retry-if says otherwise",
    ),
    (
        &[
            "--on-failure",
            "--hook",
            "--cleanup",
            "--on-retry",
            "--on-retry-command",
        ],
        "for what is to run between attempts use --before-retry CMD, after the last one write || CMD behind it",
    ),
    (
        &["-f", "--fail"],
        "for what is to run when all have failed write || CMD behind it, for runs without end use --attempts inf",
    ),
    (
        &["--continue-on-error"],
        "to go on all the same write || true behind it",
    ),
    (
        &["--foreground"],
        "to keep the command in this process group use --process-group inherit",
    ),
    (
        &["--preserve-status"],
        "a time limit always exits 124; the log has the rest",
    ),
    (
        &["-e", "--shell"],
        "for a script write: retry -- sh -ec '...'",
    ),
    (&["--debug"], "to see every step use --verbose"),
    (&["--silent"], "to hear nothing use --quiet"),
    (&["-j"], "for the random part of a delay use --jitter"),
    (
        &["--no-jitter"],
        "for delays that are not random use --jitter none",
    ),
    (
        &[
            "--until",
            "--while",
            "-u",
            "-c",
            "--condition",
            "--retry-on-exit-code",
        ],
        "name the statuses that count with --retry-on, --stop-on or --success-on LIST",
    ),
    (
        &["--invert"],
        "to go on until the command fails write: retry -- sh -c '! COMMAND'",
    ),
    (
        &["--consecutive"],
        "for successes in a row write: retry -- sh -c 'COMMAND && COMMAND'",
    ),
    (
        &["-I", "--replay-stdin"],
        "to give stdin to each attempt use --stdin replay",
    ),
    (
        &["-O", "--hold-stdout"],
        "to hold stdout back until the success use --stdout once",
    ),
];

/// What to write instead of this option, if it is known from elsewhere.
pub(super) fn instead_of(option: &str) -> Option<&'static str> {
    FOREIGN
        .iter()
        .find(|(names, _)| names.contains(&option))
        .map(|(_, hint)| *hint)
}
