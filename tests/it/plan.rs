//! The output of `--plan`, compared with what a run then does.

use serde_json::Value;

use crate::support::{AT_ONCE, Sandbox, open_to_write};

/// What it prints.
#[track_caller]
fn plan(options: &str) -> String {
    let done = Sandbox::new().retry(&format!("--plan {options}")).run();
    done.exits(0);
    assert_eq!(done.stderr, "", "{options}");
    done.stdout
}

#[track_caller]
fn object(options: &str) -> Value {
    let json = plan(&format!("{options} --log-format json"));
    assert_eq!(json.lines().count(), 1, "{json}");
    serde_json::from_str(&json).expect("an object")
}

/// A plan, both for people and for programs.
pub(crate) struct Plan {
    pub(crate) text: String,
    pub(crate) object: Value,
}

impl Plan {
    #[track_caller]
    pub(crate) fn of(options: &str) -> Self {
        let options = format!("{options} --seed 7");
        Self {
            text: plan(&options),
            object: object(&options),
        }
    }

    /// A column of the table, for people.
    pub(crate) fn column(&self, name: &str) -> String {
        let lines = self.text.lines();
        let mut table = lines.skip_while(|line| !line.starts_with("retry "));
        let cells = |line| {
            let cells = str::split(line, "  ").map(str::trim);
            cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>()
        };
        let heading = cells(table.next().expect("a table"));
        let index = heading.iter().position(|head| *head == name).expect(name);
        let rows = table.take_while(|line| !line.is_empty());
        // The delay before jitter means nothing to decorrelated delays, and its column is empty.
        let is_empty = |at: usize| at == 1 && self.object["jitter"] == "decorrelated";
        let index = index - (1..index).filter(|at| is_empty(*at)).count();
        let column: Vec<&str> = rows.map(|row| cells(row)[index]).collect();
        column.join(", ")
    }

    /// A field of all retries, for programs.
    pub(crate) fn field(&self, name: &str) -> Vec<u64> {
        let retries = self.object["retries"].as_array().expect("retries");
        retries
            .iter()
            .map(|retry| retry[name].as_u64().expect("a number"))
            .collect()
    }

    #[track_caller]
    pub(crate) fn has(&self, name: &str, field: &str, expected: &[u64], in_text: &str) -> &Self {
        assert_eq!(self.field(field), expected, "{}", self.text);
        assert_eq!(self.column(name), in_text, "{}", self.text);
        self
    }

    #[track_caller]
    pub(crate) fn ceilings(&self, expected: &[u64], in_text: &str) -> &Self {
        self.has("before jitter", "ceiling_ms", expected, in_text)
    }

    #[track_caller]
    pub(crate) fn ranges(
        &self,
        from: &[u64],
        from_in_text: &str,
        to: &[u64],
        to_in_text: &str,
    ) -> &Self {
        self.has("from", "from_ms", from, from_in_text)
            .has("to", "to_ms", to, to_in_text)
    }

    #[track_caller]
    pub(crate) fn means(&self, expected: &[u64], in_text: &str) -> &Self {
        self.has("mean", "mean_ms", expected, in_text)
    }

    #[track_caller]
    pub(crate) fn wakes_at(&self, expected: &[u64], in_text: &str) -> &Self {
        self.has("worst total", "worst_total_ms", expected, in_text)
    }

    #[track_caller]
    pub(crate) fn sums_up_to(&self, expected: u64, worst: u64, in_text: &str) -> &Self {
        assert_eq!(self.object["expected_ms"], expected, "{}", self.text);
        assert_eq!(self.object["worst_ms"], worst, "{}", self.text);
        self.says(&format!("total: {in_text}"))
    }

    #[track_caller]
    pub(crate) fn cap_takes_over_at(&self, retry: u64) -> &Self {
        assert_eq!(self.object["cap_from_retry"], retry, "{}", self.text);
        let end = format!(" applies from retry {retry} on\n");
        assert!(self.text.contains(&end), "{}", self.text);
        let marked: Vec<&str> = self
            .text
            .lines()
            .filter(|line| line.ends_with("  cap"))
            .collect();
        assert_eq!(marked.len(), 1, "{}", self.text);
        let row = marked[0].trim_start().strip_prefix(&retry.to_string());
        // All later ones may be like it.
        let row = row.unwrap_or_else(|| panic!("{}", self.text));
        assert!(row.starts_with([' ', '–']), "{}", self.text);
        self
    }

    #[track_caller]
    pub(crate) fn cap_never_takes_over(&self) -> &Self {
        assert_eq!(self.object["cap_from_retry"], Value::Null, "{}", self.text);
        assert!(self.text.contains(" is never reached\n"), "{}", self.text);
        self
    }

    #[track_caller]
    pub(crate) fn says(&self, line: &str) -> &Self {
        let is_said = self.text.lines().any(|said| said == line);
        assert!(is_said, "{line} in {}", self.text);
        self
    }
}

#[test]
fn ten_thousand_clients_wake_in_one_instant_without_jitter_and_over_the_whole_range_with_it() {
    let herd = |jitter| {
        Plan::of(&format!(
            "-a 2 --base 100ms --cap 2s --clients 10000 --jitter {jitter}"
        ))
    };
    let bars = |plan: &Plan| {
        let bars = plan.object["herd"]["bars"]
            .as_array()
            .expect("bars")
            .clone();
        let pair =
            |bar: &Value| [&bar["from_ms"], &bar["retries"]].map(|n| n.as_u64().expect("a number"));
        bars.iter().map(pair).collect::<Vec<_>>()
    };
    let none = herd("none");
    assert_eq!(bars(&none), [[100, 10_000]]);
    none.says(&format!("  100ms    10000  {}", "#".repeat(40)))
        .says("   from  retries")
        .says("busiest 10 ms: 10000 retries")
        .says("attempts of all clients: at most 20000");
    let full = herd("full");
    let bars = bars(&full);
    let starts: Vec<u64> = bars.iter().map(|[from, _]| *from).collect();
    assert_eq!(starts, [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
    assert_eq!(bars.iter().map(|[_, retries]| retries).sum::<u64>(), 10_000);
    // Ten standard deviations.
    assert!(
        bars.iter()
            .all(|[_, retries]| (700..1300).contains(retries)),
        "{bars:?}"
    );
    let busiest = bars.iter().map(|[_, retries]| retries).max().expect("bars");
    full.says(&format!(
        "busiest 10 ms: {busiest} retries with full jitter, 10000 with no jitter"
    ));
    assert_eq!(full.object["herd"]["busiest_10ms_without_jitter"], 10_000);
    assert_eq!(full.object["herd"]["most_attempts"], 20_000);
}

#[cfg(target_os = "linux")]
#[test]
fn the_memory_for_a_herd_does_not_grow_with_it() {
    // What a herd of one needs, to the next two megabytes, and then eight more for two million
    // retries: not five bytes for each.
    let script = "for kb in $(seq 4000 2000 400000); do
            (ulimit -v $kb; exec retry --plan --clients 1 >plan 2>&1) && break
        done
        ulimit -v $((kb + 8000)); exec retry --plan --clients 100000 -a 21";
    // A budget for all of their retries bounds none of them.
    for budget in ["", "--shared b --budget 2000000"] {
        let done = Sandbox::new().bash(&format!("{script} {budget}")).run();
        assert!(
            done.exits(0)
                .stdout
                .contains("\nattempts of all clients: at most 2100000\n"),
            "{done:?}"
        );
    }
}

// ── limits ──────────────────────────────────────────────────────────────────────────────────

#[test]
fn a_plan_without_limit_is_unbounded_and_one_of_a_billion_attempts_is_at_once_there() {
    let plan = Plan::of("-a inf --base 1s");
    plan.says("total: unbounded");
    assert!(
        plan.column("worst total").ends_with(", unbounded"),
        "{}",
        plan.text
    );
    for name in ["expected_ms", "worst_ms", "max_attempts", "max_retries"] {
        assert_eq!(plan.object[name], Value::Null, "{name}");
    }
    for attempts in ["1000000000", "18446744073709551615", "inf"] {
        let options = format!("--plan -a {attempts} --factor 1.000000001");
        let done = Sandbox::new().retry(&options).run();
        done.exits(0).took_less_than(AT_ONCE);
    }
}

#[test]
fn the_deadline_and_the_time_limit_are_planned_with() {
    let plan = Plan::of("-a 10 --base 1s --deadline 20s --reserve 1s --timeout 4s");
    let last = &plan.object["last_attempt_by_deadline"];
    // 1, 3, 7 and 15 s; with each attempt's 4 s besides 5, 11 and 19.
    assert_eq!(last["at_worst"], 5);
    assert_eq!(last["at_best"], 10);
    assert_eq!(last["with_timeouts"], 4);
    assert_eq!(plan.object["worst_ms"], 19_000);
    assert_eq!(plan.object["worst_with_timeout_ms"], 20_000);
    let line = "attempts that the deadline of 20.0s allows: 5 at worst, 10 at best; 4 if each";
    plan.says(line).says("  takes its --timeout");
    plan.says("total: ≈12.5s expected, 19.0s at worst, cut by the deadline");
    assert_eq!(plan.object["totals_are_cut_by_deadline"], true);
    let long = Plan::of("-a 5 --base 1s --timeout 10s");
    assert_eq!(long.object["worst_ms"], 15_000);
    assert_eq!(long.object["worst_with_timeout_ms"], 65_000);
    long.says("total if every attempt takes its --timeout of 10.0s: 1m 5s at worst");
}

#[test]
fn decorrelated_delays_are_planned_with_the_means_of_their_distribution() {
    // Found by numerical integration on a grid of 20000 cells, elsewhere.
    for (options, expected) in [
        ("-a 5", 19_582),
        ("-a 8", 51_289),
        ("-a 20", 189_417),
        ("-a 15 --base 5ms --cap 2s", 2_803),
        ("-a 21 --base 100ms --cap 60s", 143_712),
    ] {
        let plan = object(&format!("{options} --jitter decorrelated"));
        let planned = plan["expected_ms"].as_u64().expect("a number");
        assert!(planned.abs_diff(expected) <= 1 + expected / 1000, "{plan}");
        assert_eq!(plan["expected_is_approximate"], true, "{plan}");
    }
}

#[test]
fn jitters_are_compared_by_their_expected_totals() {
    for jitter in ["none", "full", "equal", "decorrelated", "10%"] {
        let plan = Plan::of(&format!("-a 5 --jitter {jitter}"));
        plan.says("expected total by jitter: none 15.0s, equal 11.3s, full 7.50s");
        let totals = &plan.object["expected_by_jitter_ms"];
        assert_eq!(
            (&totals["none"], &totals["full"]),
            (&15_000.into(), &7_500.into())
        );
    }
}

#[test]
fn every_total_that_the_deadline_cuts_says_so() {
    Plan::of("-a 5 --timeout 10s --deadline 30s")
        .says("total: 7.50s expected, 15.0s at worst")
        .says("expected total by jitter: none 15.0s, equal 11.3s, full 7.50s")
        .says("total if every attempt takes its --timeout of 10.0s: 30.0s at worst, cut by the")
        .says("  deadline");
    // Without jitter the fifth retry would be at 31 s.
    let plan = Plan::of("-a 6 --deadline 20s");
    plan.says("expected total by jitter: none 15.0s (cut), equal ≈12.4s (cut), full ≈12.6s")
        .says("  (cut)");
    let cut = &plan.object["expected_by_jitter_is_cut_by_deadline"];
    let cut = ["none", "equal", "full"].map(|jitter| &cut[jitter]);
    assert_eq!(cut, [true, true, true]);
}

#[test]
fn a_server_that_serves_only_so_many_is_planned_with() {
    let plan = Plan::of("-a 10 --clients 10000 --capacity 100/1s");
    let capacity = &plan.object["herd"]["capacity"];
    let served = |jitter: &str| capacity[jitter]["served"].as_u64().expect("a number");
    assert!(
        served("with_jitter") > 3 * served("without_jitter"),
        "{capacity}"
    );
    plan.says("a server that serves 100 attempts per 1.00s:");
    assert!(
        plan.text
            .contains("\n  no jitter                900     9100     96400    9.6       2m 31s\n"),
        "{}",
        plan.text
    );
}

// ── what a run then does ────────────────────────────────────────────────────────────────────

/// The sample at the end of a plan, or what stands behind `next in` in the lines of a run.
fn delays_of_run(options: &str) -> Vec<String> {
    let done = Sandbox::new().retry(&format!("{options} -- false")).run();
    done.exits(1);
    let said = done.said();
    let delays = said.iter().filter_map(|line| line.split_once("; next in "));
    delays.map(|(_, delay)| delay.to_owned()).collect()
}

#[test]
fn the_sample_of_a_seed_is_the_schedule_of_a_run_with_it() {
    for schedule in [
        "--jitter none",
        "--jitter full",
        "--jitter equal",
        "--jitter 30%",
        "--jitter decorrelated",
        "--backoff linear",
        "--backoff constant",
        "--factor 1.5",
    ] {
        for seed in ["7", "18446744073709551615"] {
            let options = format!("-a 6 --base 20ms --cap 80ms {schedule} --seed {seed}");
            let planned = plan(&options);
            let sample = planned.lines().last().expect("a sample");
            let delays = sample.strip_prefix(&format!("sample with --seed {seed}: "));
            let ran = delays_of_run(&options);
            assert_eq!(ran.len(), 5, "{options}");
            assert_eq!(delays, Some(&*ran.join(", ")), "{options}");
            let millis = object(&options)["sample"]["delays_ms"].to_string();
            assert_eq!(millis, format!("[{}]", ran.join(",").replace("ms", "")));
        }
    }
}

#[test]
fn a_sample_can_be_had_again() {
    let first = plan("-a 9");
    let sample = first.lines().last().expect("a sample");
    let seed = sample
        .strip_prefix("sample with --seed ")
        .and_then(|rest| rest.split(':').next())
        .expect("a seed");
    assert_eq!(plan(&format!("-a 9 --seed {seed}")), first);
    assert_ne!(plan("-a 9"), first);
}

#[test]
fn nothing_is_run_and_nothing_is_written() {
    let sandbox = Sandbox::new();
    let options = "--plan --before-retry ran>hook --log log --shared shared --clients 3 -- touch x";
    sandbox.retry(options).run().exits(0);
    for name in ["x", "hook", "log", "shared"] {
        assert!(!sandbox.path(name).exists(), "{name}");
    }
}

#[test]
fn a_plan_needs_no_command_and_has_another_name() {
    assert_eq!(plan("--seed 7"), plan("--seed 7 -q -- false"));
    let done = Sandbox::new().retry("--dry-run --seed 7").run();
    done.exits(0).stdout_is(&plan("--seed 7"));
}

#[test]
fn a_plan_is_plain_text_that_fits_eighty_columns() {
    for options in [
        "-a inf --jitter decorrelated --deadline 1h --timeout 1m --clients 1000",
        "-a 1000000 --base 1s --cap 9999h --deadline 9999h --jitter decorrelated",
        "-a 3 --retry-after output --shared p --budget 7 --budget-refill 1/1s",
    ] {
        let plan = plan(options);
        assert!(!plan.contains('\x1b'), "{plan}");
        let lines: Vec<&str> = plan.lines().collect();
        let (sample, others) = lines.split_last().expect("lines");
        // Its delays stand on one line, however many there are.
        assert!(sample.starts_with("sample with --seed "), "{plan}");
        for line in others {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

#[test]
fn a_plan_that_cannot_be_written_is_an_error() {
    let sandbox = Sandbox::new();
    if cfg!(target_os = "linux") {
        let full = sandbox.retry("--plan").stdout(open_to_write("/dev/full"));
        let done = full.run();
        done.exits(125);
        assert!(
            done.stderr
                .contains("cannot write to stdout: no space left"),
            "{done:?}"
        );
    }
    sandbox.bash("retry --plan >&-").run().exits(125);
}
