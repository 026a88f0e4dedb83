//! What `--plan` shows: the published schedules, and what a run then does.

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
struct Plan {
    text: String,
    object: Value,
}

impl Plan {
    #[track_caller]
    fn of(options: &str) -> Self {
        let options = format!("{options} --seed 7");
        Self {
            text: plan(&options),
            object: object(&options),
        }
    }

    /// A column of the table, for people.
    fn column(&self, name: &str) -> String {
        let lines = self.text.lines();
        let mut table = lines.skip_while(|line| !line.starts_with("retry "));
        let cells = |line| {
            let cells = str::split(line, "  ").map(str::trim);
            cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>()
        };
        let heading = cells(table.next().expect("a table"));
        let index = heading.iter().position(|head| *head == name).expect(name);
        let rows = table.take_while(|line| !line.is_empty());
        let column: Vec<&str> = rows.map(|row| cells(row)[index]).collect();
        column.join(", ")
    }

    /// A field of all retries, for programs.
    fn field(&self, name: &str) -> Vec<u64> {
        let retries = self.object["retries"].as_array().expect("retries");
        retries
            .iter()
            .map(|retry| retry[name].as_u64().expect("a number"))
            .collect()
    }

    #[track_caller]
    fn has(&self, name: &str, field: &str, expected: &[u64], in_text: &str) -> &Self {
        assert_eq!(self.field(field), expected, "{}", self.text);
        assert_eq!(self.column(name), in_text, "{}", self.text);
        self
    }

    #[track_caller]
    fn ceilings(&self, expected: &[u64], in_text: &str) -> &Self {
        self.has("ceiling", "ceiling_ms", expected, in_text)
    }

    #[track_caller]
    fn ranges(&self, from: &[u64], from_in_text: &str, to: &[u64], to_in_text: &str) -> &Self {
        self.has("from", "from_ms", from, from_in_text)
            .has("to", "to_ms", to, to_in_text)
    }

    #[track_caller]
    fn means(&self, expected: &[u64], in_text: &str) -> &Self {
        self.has("mean", "mean_ms", expected, in_text)
    }

    #[track_caller]
    fn wakes_at(&self, expected: &[u64], in_text: &str) -> &Self {
        self.has("worst total", "worst_total_ms", expected, in_text)
    }

    #[track_caller]
    fn sums_up_to(&self, expected: u64, worst: u64, in_text: &str) -> &Self {
        assert_eq!(self.object["expected_ms"], expected, "{}", self.text);
        assert_eq!(self.object["worst_ms"], worst, "{}", self.text);
        self.says(&format!("total: {in_text}"))
    }

    #[track_caller]
    fn cap_takes_over_at(&self, retry: u64) -> &Self {
        assert_eq!(self.object["cap_from_retry"], retry, "{}", self.text);
        let end = format!(" takes over at retry {retry}\n");
        assert!(self.text.contains(&end), "{}", self.text);
        let marked: Vec<&str> = self
            .text
            .lines()
            .filter(|line| line.ends_with("  cap"))
            .collect();
        assert_eq!(marked.len(), 1, "{}", self.text);
        let row = format!("{retry} ");
        assert!(marked[0].trim_start().starts_with(&row), "{}", self.text);
        self
    }

    #[track_caller]
    fn cap_never_takes_over(&self) -> &Self {
        assert_eq!(self.object["cap_from_retry"], Value::Null, "{}", self.text);
        assert!(self.text.contains(" never takes over\n"), "{}", self.text);
        self
    }

    #[track_caller]
    fn says(&self, line: &str) -> &Self {
        let is_said = self.text.lines().any(|said| said == line);
        assert!(is_said, "{line} in {}", self.text);
        self
    }
}

// ── the published tables ────────────────────────────────────────────────────────────────────

const WALK: [u64; 6] = [100, 200, 400, 800, 1600, 2000];
const WALK_IN_TEXT: &str = "100ms, 200ms, 400ms, 800ms, 1.60s, 2.00s";

#[test]
fn the_walk_is_planned_as_published() {
    let walk = |jitter| Plan::of(&format!("-a 7 --base 100ms --cap 2000ms --jitter {jitter}"));
    walk("none")
        .ceilings(&WALK, WALK_IN_TEXT)
        .ranges(&WALK, WALK_IN_TEXT, &WALK, WALK_IN_TEXT)
        .wakes_at(
            &[100, 300, 700, 1500, 3100, 5100],
            "100ms, 300ms, 700ms, 1.50s, 3.10s, 5.10s",
        )
        .sums_up_to(5100, 5100, "5.10s expected, 5.10s at worst")
        .cap_takes_over_at(6);
    walk("full")
        .ceilings(&WALK, WALK_IN_TEXT)
        .ranges(&[0; 6], "0ms, 0ms, 0ms, 0ms, 0ms, 0ms", &WALK, WALK_IN_TEXT)
        .means(
            &[50, 100, 200, 400, 800, 1000],
            "50ms, 100ms, 200ms, 400ms, 800ms, 1.00s",
        )
        .sums_up_to(2550, 5100, "2.55s expected, 5.10s at worst");
    walk("equal")
        .ceilings(&WALK, WALK_IN_TEXT)
        .ranges(
            &[50, 100, 200, 400, 800, 1000],
            "50ms, 100ms, 200ms, 400ms, 800ms, 1.00s",
            &WALK,
            WALK_IN_TEXT,
        )
        .sums_up_to(3825, 5100, "3.83s expected, 5.10s at worst");
    walk("decorrelated")
        .ranges(
            &[100; 6],
            "100ms, 100ms, 100ms, 100ms, 100ms, 100ms",
            &[300, 900, 2000, 2000, 2000, 2000],
            "300ms, 900ms, 2.00s, 2.00s, 2.00s, 2.00s",
        )
        .means(
            &[200, 350, 568, 721, 788, 817],
            "≈200ms, ≈350ms, ≈568ms, ≈721ms, ≈788ms, ≈817ms",
        );
}

#[test]
fn without_a_cap_the_21st_delay_is_about_29_hours() {
    let plan = Plan::of("-a 22 --base 100ms --cap 1000d --jitter none");
    plan.cap_never_takes_over();
    assert_eq!(plan.object["rest"]["from_retry"], 21);
    assert_eq!(plan.object["rest"]["to_retry"], 21);
    assert_eq!(plan.object["rest"]["ceiling_ms"], 104_857_600);
    assert!(
        plan.column("ceiling").ends_with(", 14h 34m, 29h 8m"),
        "{}",
        plan.text
    );
}

#[test]
fn six_retries_from_250_ms_are_planned_as_published() {
    let six = |jitter| Plan::of(&format!("-a 7 --base 250ms --jitter {jitter}"));
    let ceilings = [250, 500, 1000, 2000, 4000, 8000];
    let in_text = "250ms, 500ms, 1.00s, 2.00s, 4.00s, 8.00s";
    six("none").ceilings(&ceilings, in_text).sums_up_to(
        15_750,
        15_750,
        "15.8s expected, 15.8s at worst",
    );
    six("full")
        .ranges(&[0; 6], "0ms, 0ms, 0ms, 0ms, 0ms, 0ms", &ceilings, in_text)
        .sums_up_to(7875, 15_750, "7.88s expected, 15.8s at worst");
    six("equal")
        .ranges(
            &[125, 250, 500, 1000, 2000, 4000],
            "125ms, 250ms, 500ms, 1.00s, 2.00s, 4.00s",
            &ceilings,
            in_text,
        )
        // 11.8125 s.
        .sums_up_to(11_813, 15_750, "11.8s expected, 15.8s at worst");
    for share in ["20%", "0.2"] {
        six(share)
            .ceilings(&ceilings, in_text)
            .ranges(
                &[200, 400, 800, 1600, 3200, 6400],
                "200ms, 400ms, 800ms, 1.60s, 3.20s, 6.40s",
                &[300, 600, 1200, 2400, 4800, 9600],
                "300ms, 600ms, 1.20s, 2.40s, 4.80s, 9.60s",
            )
            .sums_up_to(15_750, 18_900, "15.8s expected, 18.9s at worst");
    }
    // The cap holds, jitter included.
    let capped = Plan::of("-a 7 --base 250ms --cap 2s --jitter 20%");
    assert_eq!(capped.field("to_ms"), [300, 600, 1200, 2000, 2000, 2000]);
    assert_eq!(capped.field("from_ms"), [200, 400, 800, 1600, 1600, 1600]);
    capped.cap_takes_over_at(5);
}

#[test]
fn the_calculator_is_planned_as_published() {
    let eight = |jitter| Plan::of(&format!("-a 9 --base 100ms --cap 20s --jitter {jitter}"));
    let ceilings = [100, 200, 400, 800, 1600, 3200, 6400, 12_800];
    let in_text = "100ms, 200ms, 400ms, 800ms, 1.60s, 3.20s, 6.40s, 12.8s";
    eight("none")
        .ceilings(&ceilings, in_text)
        .sums_up_to(25_500, 25_500, "25.5s expected, 25.5s at worst")
        .cap_never_takes_over();
    eight("full").ceilings(&ceilings, in_text).sums_up_to(
        12_750,
        25_500,
        "12.8s expected, 25.5s at worst",
    );
    eight("equal")
        .ceilings(&ceilings, in_text)
        .ranges(
            &[50, 100, 200, 400, 800, 1600, 3200, 6400],
            "50ms, 100ms, 200ms, 400ms, 800ms, 1.60s, 3.20s, 6.40s",
            &ceilings,
            in_text,
        )
        .sums_up_to(19_125, 25_500, "19.1s expected, 25.5s at worst");
    let ten = Plan::of("-a 11 --base 100ms --cap 20s --jitter none");
    ten.ceilings(
        &[100, 200, 400, 800, 1600, 3200, 6400, 12_800, 20_000, 20_000],
        &format!("{in_text}, 20.0s, 20.0s"),
    )
    .cap_takes_over_at(9)
    .sums_up_to(65_500, 65_500, "1m 6s expected, 1m 6s at worst");
    for retries in 1..=20 {
        let plan = Plan::of(&format!("-a {} --base 100ms --cap 20s", retries + 1));
        assert_eq!(plan.field("retry"), (1..=retries).collect::<Vec<u64>>());
        assert_eq!(plan.object["rest"], Value::Null);
    }
}

#[test]
fn the_other_curves_are_planned_with_every_jitter() {
    let ranges = [
        ("none", [100, 200, 300, 350], [100, 200, 300, 350]),
        ("full", [0, 0, 0, 0], [100, 200, 300, 350]),
        ("equal", [50, 100, 150, 175], [100, 200, 300, 350]),
        ("10%", [90, 180, 270, 315], [110, 220, 330, 350]),
        ("decorrelated", [100, 100, 100, 100], [300, 350, 350, 350]),
    ];
    for (jitter, from, to) in ranges {
        let options = format!("-a 5 --backoff linear --base 100ms --cap 350ms --jitter {jitter}");
        let plan = Plan::of(&options);
        assert_eq!(plan.field("ceiling_ms"), [100, 200, 300, 350], "{options}");
        assert_eq!(plan.field("from_ms"), from, "{options}");
        assert_eq!(plan.field("to_ms"), to, "{options}");
        let first = if jitter == "decorrelated" { 2 } else { 4 };
        plan.cap_takes_over_at(first);
    }
    let ranges = [
        ("none", 200, 200),
        ("full", 0, 200),
        ("equal", 100, 200),
        ("50%", 100, 250),
    ];
    for (jitter, from, to) in ranges {
        let options = format!("-a 5 --backoff constant --base 200ms --cap 250ms --jitter {jitter}");
        let plan = Plan::of(&options);
        assert_eq!(plan.field("ceiling_ms"), [200; 4], "{options}");
        assert_eq!(plan.field("from_ms"), [from; 4], "{options}");
        assert_eq!(plan.field("to_ms"), [to; 4], "{options}");
        plan.cap_never_takes_over();
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
    none.says(&format!("  100ms  10000  {}", "#".repeat(40)))
        .says("busiest 10 ms: 10000 retries")
        .says("attempts of all together: 20000 at most");
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
        "busiest 10 ms: {busiest} retries with full jitter, 10000 with none"
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
    let done = Sandbox::new().bash(script).run();
    assert!(
        done.exits(0)
            .stdout
            .contains("\nattempts of all together: 2100000 at most\n"),
        "{done:?}"
    );
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
    let line = "last attempt within the deadline of 20.0s: 5 at worst, 10 at best; 4 if each";
    plan.says(line).says("  takes its --timeout");
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
