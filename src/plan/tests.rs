mod as_shown;
mod bounds;
mod contention;

use std::ffi::OsString;

use proptest::prelude::*;

use super::census::{Busiest, Census, Crowd};
use super::rows::Allowed;
use super::schedule::simulated;
use super::*;
use crate::backoff::Jitter;
use crate::backoff::tests::any_duration;
use crate::backoff::{Backoff, Curve};
use crate::cli::{self, Request};
use crate::engine;
use crate::event::Event;
use crate::numbers::{Attempts, Factor, Share};
use crate::simulation::{Script, Step};
use crate::status::Outcome;

fn asked(flags: &str) -> (Job, Option<job::Crowd>) {
    let words = ["retry", "--plan"]
        .into_iter()
        .chain(flags.split_whitespace());
    match cli::alone(words.map(OsString::from)) {
        Ok(Request::Plan(job, crowd)) => (*job, crowd),
        other => panic!("{flags} is no plan: {other:?}"),
    }
}

fn text(flags: &str) -> String {
    let (job, crowd) = asked(flags);
    let seed = job.seed.unwrap_or(7);
    shown(&job, crowd, seed, &crate::chance::draws)
}

fn plan(policy: &Policy) -> Plan {
    Plan::new(policy, 7, &crate::chance::draws)
}

fn planned(flags: &str) -> Plan {
    plan(&asked(flags).0.policy)
}

#[track_caller]
fn cap_takes_over_at(flags: &str, retry: Option<u64>) {
    assert_eq!(planned(flags).cap_from, retry, "{flags}");
}

#[test]
fn the_cap_takes_over_at_the_first_delay_that_would_be_above_it() {
    cap_takes_over_at("-a 9 --base 100ms --cap 20s", None);
    cap_takes_over_at("-a 10 --base 100ms --cap 20s", Some(9));
    cap_takes_over_at("-a 10 --base 100ms --cap 1600ms", Some(6));
    cap_takes_over_at("-a 5 --base 100ms --cap 1600ms", None);
    cap_takes_over_at("-a 5 --base 2s --cap 1s", Some(1));
    cap_takes_over_at("-a 5 --base 1s --cap 1s --backoff constant", None);
    cap_takes_over_at("-a inf --base 1s --backoff constant", None);
    cap_takes_over_at("-a inf --base 100ms --cap 350ms --backoff linear", Some(4));
    cap_takes_over_at("-a inf --base 100ms --cap 300ms --backoff linear", Some(4));
    cap_takes_over_at(
        "-a inf --base 1ns --cap 1h --backoff linear",
        Some(3_600_000_000_001),
    );
    cap_takes_over_at("-a inf --base 0 --backoff linear", None);
    cap_takes_over_at("-a inf --base 0", None);
    cap_takes_over_at("-a inf --base 1ns --factor 1.4", None);
    cap_takes_over_at("-a 9 --base 100ms --cap 2s --jitter decorrelated", Some(3));
    // ln 30 / ln 1.00001
    cap_takes_over_at("-a inf --base 1s --factor 1.00001", Some(340_123));
}

#[test]
fn a_billion_attempts_are_summed_up_and_not_walked() {
    let plan = planned("-a 1000000001 --base 1s --cap 30s");
    let seconds = |total: Option<u128>| total.expect("a bound") / 1_000_000_000;
    // 1 + 2 + 4 + 8 + 16, then 30 each.
    assert_eq!(seconds(plan.worst), 31 + 30 * (1_000_000_000 - 5));
    assert_eq!(
        seconds(plan.expected.total),
        u128::midpoint(31, 30 * (1_000_000_000 - 5))
    );
    assert!(!plan.expected.is_rough);
}

#[track_caller]
fn is_nearly(total: Option<u128>, seconds: f64) {
    let total = extrapolation::float(total.expect("a bound")) / 1e9;
    assert!(
        (total / seconds - 1.0).abs() < 1e-4,
        "{total} s, not {seconds} s"
    );
}

#[test]
fn an_expected_total_is_the_mean_of_the_runs_that_the_deadline_ends() {
    // One delay up to a second, of which only the half below 500 ms is slept.
    is_near(
        &planned("-a 2 --base 1s --deadline 500ms").expected,
        0.125,
        0.05,
    );
    for flags in [
        "-a 4 --timeout 1s --reserve 1s --deadline 5s",
        "-a 5 --deadline 10s",
        "-a 8 --jitter equal --deadline 20s",
        "-a inf --deadline 1m",
        "-a inf --jitter decorrelated --deadline 1m",
        "-a inf --base 10ms --cap 20ms --deadline 1m",
    ] {
        let policy = asked(flags).0.policy;
        let runs = (0..1500).map(|run| {
            let mut end = Duration::ZERO;
            let most = simulated(&policy, u64::MAX);
            walk(&most, &mut crate::chance::draws(8, run), &mut |_, at| {
                end = at;
            });
            end.as_secs_f64()
        });
        let mean = runs.sum::<f64>() / 1500.0;
        is_near(&plan(&policy).expected, mean, 0.05);
    }
}

#[track_caller]
fn is_near(expected: &Expected, seconds: f64, tolerance: f64) {
    let total = extrapolation::float(expected.total.expect("a bound")) / 1e9;
    assert!(
        (total / seconds - 1.0).abs() < tolerance,
        "{total} s, not {seconds} s"
    );
    assert!(expected.is_rough && expected.is_cut);
}

#[test]
fn a_schedule_that_grows_for_ages_is_followed_by_its_formula() {
    // n (n + 1) / 2 milliseconds up to an hour, then an hour each.
    let n = 3_600_000.0;
    let linear = planned("-a 10000001 --base 1ms --cap 1h --backoff linear --jitter none");
    is_nearly(linear.worst, n * (n + 1.0) / 2.0 / 1e3 + (1e7 - n) * 3600.0);
    assert!(linear.expected.is_rough);
    // A geometric series up to the cap.
    let (log, n) = (1.000_001_f64.ln(), 10_000_001.0);
    let grows = (3600.0_f64.ln() / log).floor();
    let series = ((log * (grows + 1.0)).exp() - 1.0) / 1e-6;
    let geometric = planned("-a 10000002 --base 1s --cap 1h --factor 1.000001 --jitter none");
    is_nearly(geometric.worst, series + (n - grows - 1.0) * 3600.0);
    // Without reaching it.
    let part = planned("-a 1000001 --base 1s --cap 1h --factor 1.000001 --jitter full");
    is_nearly(part.worst, 1e6_f64.mul_add(log, 0.0).exp_m1() / 1e-6);
    is_nearly(
        part.expected.total,
        1e6_f64.mul_add(log, 0.0).exp_m1() / 2e-6,
    );
    let last = part.rest.expect("a row for the rest").ceiling.as_secs_f64();
    assert!((last / (log * 1e6).exp() - 1.0).abs() < 1e-4, "{last}");
}

#[test]
fn each_client_has_draws_of_its_own_and_the_first_those_of_the_run() {
    let first = |seed, client| {
        let mut draw = crate::chance::draws(seed, client);
        [draw(), draw(), draw(), draw(), draw()].map(f64::to_bits)
    };
    let mut all: Vec<u64> = (0..2000)
        .flat_map(|client| first(7, client))
        .chain((0..2000).flat_map(|client| first(8, client)))
        .collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "streams overlap");
    let mut generator = crate::chance::draws(7, 0);
    let json = text("--seed 7 -a 2 --base 100s --cap 100s --log-format json");
    let millis = format!("\"delays_ms\":[{:.0}]", generator() * 100_000.0);
    assert!(json.contains(&millis), "{millis} in {json}");
}

// Properties.

fn any_backoff() -> impl Strategy<Value = Backoff> {
    let factor = prop_oneof![
        Just("1".to_owned()),
        Just("1.000000001".to_owned()),
        Just("1000000000".to_owned()),
        (1..4_u32, 0..100_u32).prop_map(|(whole, two)| format!("{whole}.{two:02}")),
    ];
    let curve = prop_oneof![
        factor.prop_map(|text| Curve::Exponential(Factor::parse(&text).expect("a factor"))),
        Just(Curve::Linear),
        Just(Curve::Constant)
    ];
    let share = |percent| Share::parse(&format!("{percent}%")).expect("a share");
    let jitter = prop_oneof![
        Just(Jitter::None),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        (0..=100_u8).prop_map(move |percent| Jitter::Around(share(percent))),
        Just(Jitter::Decorrelated),
    ];
    (any_duration(), any_duration(), curve, jitter).prop_map(|(base, cap, curve, jitter)| Backoff {
        base,
        cap,
        curve,
        jitter,
    })
}

fn any_attempts() -> impl Strategy<Value = Attempts> {
    prop_oneof![
        Just(Attempts::Unlimited),
        Just(Attempts::AtMost(u64::MAX)),
        (1..40_u64).prop_map(Attempts::AtMost),
        (1..u64::MAX).prop_map(Attempts::AtMost),
    ]
}

fn any_limit() -> impl Strategy<Value = Option<Duration>> {
    prop_oneof![Just(None), any_duration().prop_map(Some)]
        .prop_map(|limit| limit.filter(|limit| !limit.is_zero()))
}

prop_compose! {
    fn any_policy()(
        backoff in any_backoff(), attempts in any_attempts(), deadline in any_limit(),
        timeout in any_limit(), reserve in 0..100_u32,
    ) -> Policy {
        let reserve = deadline.unwrap_or(Duration::ZERO) / 100 * reserve;
        Policy { backoff, attempts, deadline, reserve, timeout, ..asked("").0.policy }
    }
}

#[test]
fn the_means_of_decorrelated_delays_are_those_of_many_samples() {
    const SAMPLES: u32 = 5_000;
    for flags in [
        "-a 8",
        "-a 20",
        "-a 15 --base 5ms --cap 2s",
        "-a 21 --base 100ms --cap 60s",
        "-a 9 --base 1s --cap 1100ms",
        "-a 12 --base 100ms --cap 3s",
        "-a 21 --cap 10s",
    ] {
        let (job, _) = asked(&format!("{flags} --jitter decorrelated"));
        let plan = plan(&job.policy);
        let mut sums = vec![0; plan.rows.len()];
        for client in 0..SAMPLES {
            let delays = run(&job.policy, u64::MAX, &mut crate::draws(3, client));
            for (sum, delay) in sums.iter_mut().zip(delays) {
                *sum += nanos(delay);
            }
        }
        for (row, sum) in plan.rows.iter().zip(&sums) {
            let sampled = sum / u128::from(SAMPLES);
            let off = sampled.abs_diff(nanos(row.mean));
            // Four standard errors or more.
            assert!(off <= sampled / 20, "{flags} {row:?}: {sampled}");
        }
        let all: u128 = sums.iter().sum::<u128>() / u128::from(SAMPLES);
        let rows: u128 = plan.rows.iter().map(|row| nanos(row.mean)).sum();
        assert!(rows.abs_diff(all) <= all / 100, "{flags}: {rows} {all}");
    }
}

#[test]
fn means_are_exact_until_the_cap_cuts_a_range() {
    let (job, _) = asked("-a 8 --base 1s --cap 1d --jitter decorrelated");
    let means: Vec<u128> = plan(&job.policy)
        .rows
        .iter()
        .map(|row| nanos(row.mean))
        .collect();
    let second = 1_000_000_000_u128;
    let expected = (1..8).scan(second, |mean, _| {
        *mean = second / 2 + *mean * 3 / 2;
        Some(*mean)
    });
    for (mean, expected) in means.iter().zip(expected) {
        assert!(mean.abs_diff(expected) <= 1000, "{means:?}");
    }
}

#[test]
fn means_settle_and_go_on_so() {
    for flags in [
        "--base 1ns --cap 1000000w",
        "--base 1s",
        "--base 1s --cap 1001ms",
    ] {
        let (job, _) = asked(&format!("{flags} -a 1000000000 --jitter decorrelated"));
        let plan = plan(&job.policy);
        let rest = plan.rest.expect("a row");
        let (expected, many) = (plan.expected.total.expect("a bound"), 1_000_000_000);
        let each = expected / many;
        assert!(
            each.abs_diff(nanos(rest.mean)) <= each / 1000,
            "{flags}: {rest:?}"
        );
        let cap = nanos(job.policy.backoff.cap);
        assert!((cap / 10..cap).contains(&each), "{flags}: {each}");
    }
}

/// Returns the delays of a run of the real loop, with at most `most` attempts.
fn run(policy: &Policy, most: u64, draw: &mut dyn FnMut() -> f64) -> Vec<Duration> {
    let attempts = match policy.attempts {
        Attempts::AtMost(count) => count.min(most),
        Attempts::Unlimited => most,
    };
    let policy = Policy {
        attempts: Attempts::AtMost(attempts),
        ..policy.clone()
    };
    let mut world = Script::new(vec![Step {
        takes: Duration::ZERO,
        ending: Outcome::Exited(7).into(),
    }]);
    let (mut delays, mut last) = (Vec::new(), Duration::ZERO);
    let mut emit = |event: &Event<'_>| {
        if let Event::Starting { attempt: 2.., at } = event {
            delays.push(at.saturating_sub(last));
            last = *at;
        }
    };
    engine::run(&policy, &mut world, draw, &mut emit).expect("a virtual world");
    delays
}

/// Counts a herd from a plain list: the most retries in one slot, and all slots.
fn listed(policy: &Policy, clients: u32) -> (u64, Vec<u64>) {
    let mut slots: Vec<u64> = (0..clients)
        .flat_map(|client| {
            let delays = run(policy, 21, &mut crate::draws(7, client));
            delays.into_iter().scan(Duration::ZERO, |at, delay| {
                *at += delay;
                Some(u64::try_from(at.as_millis() / 10).expect("a slot"))
            })
        })
        .collect();
    slots.sort_unstable();
    let most = slots
        .chunk_by(|a, b| a == b)
        .map(|same| same.len() as u64)
        .max();
    (most.unwrap_or(0), slots)
}

#[test]
fn a_herd_is_counted_as_exactly_as_if_all_of_it_were_listed() {
    for (flags, clients) in [
        // One window; in it, a slot with more than a byte holds, and one with a multiple of that.
        ("-a 9", 3000),
        ("-a 3 --jitter none", 512),
        ("-a 3 --jitter none", 513),
        ("-a 21 --base 10ms --deadline 30s", 2000),
        // Longer than a window, but few retries.
        ("-a 21 --cap 365d --factor 5", 500),
        ("-a 9 --base 30d --cap 365d --jitter none", 500),
        // Longer than a window and many retries: the busiest moment is early, or anywhere in a
        // week.
        ("-a 21 --base 10ms --cap 365d --factor 8", 14_000),
        ("-a 21 --base 3h --cap 6h", 14_000),
        ("-a 21 --base 6h --cap 6h --jitter 0.1%", 14_000),
    ] {
        let (job, _) = asked(flags);
        let policy = simulated(&job.policy, 20);
        let draws = |client| crate::draws(7, client);
        let Census { bars, busiest } = Crowd {
            policy: &policy,
            clients,
            draws: &draws,
            budget: None,
        }
        .counted();
        let (most, slots) = listed(&policy, clients);
        assert_eq!(busiest, Busiest::Exactly(most), "{flags}");
        let (width, bars) = (bars.width(), bars.all());
        assert_eq!(
            bars.iter().map(|bar| bar.retries).sum::<u64>(),
            slots.len() as u64
        );
        assert!((1..=20).contains(&bars.len()), "{flags}");
        for bar in bars {
            let in_it = |slot: &&u64| {
                let at = Duration::from_millis(*slot * 10);
                bar.from <= at && at < bar.from + width
            };
            assert_eq!(
                bar.retries,
                slots.iter().filter(in_it).count() as u64,
                "{flags} {bar:?}"
            );
        }
    }
}

#[test]
fn a_herd_that_is_too_large_and_too_thin_to_be_counted_is_bounded() {
    let (job, _) = asked("-a 21 --base 365d --cap 365d");
    let policy = simulated(&job.policy, 20);
    let draws = |client| crate::draws(7, client);
    let census = Crowd {
        policy: &policy,
        clients: 14_000,
        draws: &draws,
        budget: None,
    }
    .counted();
    let (most, slots) = listed(&policy, 14_000);
    let Busiest::AtMost(bound) = census.busiest else {
        panic!("{census:?}");
    };
    assert!((most..10).contains(&bound), "{most} {bound}");
    let counted: u64 = census.bars.all().iter().map(|bar| bar.retries).sum();
    assert_eq!(counted, slots.len() as u64);
    let text = text("-a 21 --base 365d --cap 365d --clients 14000");
    let line =
        format!("busiest 10 ms: at most {bound} retries with full jitter, 14000 with no jitter");
    assert!(text.contains(&line), "{text}");
}

proptest! {
    #[test]
    fn no_options_make_a_plan_panic_or_a_line_too_long(
        policy in any_policy(), clients in prop::option::of(1..20_u32),
    ) {
        let (mut job, _) = asked("");
        job.policy = policy;
        for format in [Format::Text, Format::Json] {
            job.format = format;
            let crowd = clients.map(|clients| job::Crowd {
                clients,
                // Without delays, or end, every such plan would be simulated as far as it can be.
                capacity: job.policy.attempts.most().filter(|most| *most < 100).map(|_| job::Capacity { attempts: 2, window: Duration::from_secs(1) }),
            });
            let shown = shown(&job, crowd, u64::MAX, &crate::chance::draws);
            prop_assert!(shown.ends_with('\n'));
            if format == Format::Text {
                for line in shown.lines().filter(|line| !line.starts_with("sample ")) {
                    prop_assert!(line.chars().count() <= 80, "{}", line);
                }
            }
        }
    }

    #[test]
    fn every_run_stays_within_the_rows_and_the_totals(policy in any_policy(), seed in any::<u64>()) {
        let plan = Plan::new(&policy, seed, &crate::chance::draws);
        let delays = run(&policy, 41, &mut crate::chance::draws(seed, 3));
        let mut total = 0;
        for (index, delay) in delays.iter().enumerate() {
            total += nanos(*delay);
            let row = plan.rows.get(index).or(plan.rest.as_ref()).expect("a row");
            // Times near the largest one saturate, and differ no longer.
            if total < nanos(Duration::MAX) / 2 {
                prop_assert!(row.from <= *delay && *delay <= row.to, "{:?} {:?}", row, delay);
            }
            prop_assert!(row.allowed != Allowed::Never || plan.rest.as_ref() == Some(row), "{:?}", row);
            if index < plan.rows.len() {
                prop_assert!(row.worst_total.expect("a bound") >= total);
            }
        }
        prop_assert!(plan.worst.is_none_or(|worst| worst >= total));
        if let Some(worst) = plan.worst_with_timeout {
            let attempts = (delays.len() as u128 + 1) * nanos(policy.timeout.expect("a limit"));
            let all = policy.deadline.map_or(u128::MAX, nanos);
            prop_assert!(worst >= (total + attempts).min(all));
        }
        if let Some(last) = plan.last {
            let made = delays.len() as u64 + 1;
            prop_assert!(last.at_best.is_none_or(|best| made <= best));
            prop_assert!(made == 41 || last.at_worst.is_some_and(|worst| made >= worst));
        }
    }

    #[test]
    fn the_deadline_allows_what_the_loop_allows(
        policy in any_policy(), deadline in any_duration(),
    ) {
        let deadline = Some(deadline).filter(|deadline| !deadline.is_zero());
        let policy = Policy { deadline, reserve: Duration::ZERO, ..policy };
        let Some(last) = plan(&policy).last else { return Ok(()) };
        for (attempts, u) in [(last.at_worst, LONGEST), (last.at_best, SHORTEST)] {
            let made = run(&policy, 100, &mut || u).len() as u64 + 1;
            prop_assert_eq!(made, attempts.unwrap_or(u64::MAX).min(100));
        }
    }

    #[test]
    fn rows_are_in_order_and_means_within_their_ranges(policy in any_policy()) {
        let plan = plan(&policy);
        let all: Vec<&Row> = plan.rows.iter().chain(&plan.rest).collect();
        for pair in all.windows(2) {
            prop_assert_eq!(pair[0].retry + 1, pair[1].retry);
            prop_assert!(pair[0].worst_total <= pair[1].worst_total || pair[1].worst_total.is_none());
            prop_assert!(pair[0].ceiling <= pair[1].ceiling);
            prop_assert!(pair[0].is_capped <= pair[1].is_capped);
        }
        for row in all {
            prop_assert!(row.from <= row.mean && row.mean <= row.to, "{:?}", row);
            prop_assert!(row.to <= policy.backoff.cap);
            prop_assert!(row.ceiling <= policy.backoff.cap);
        }
        prop_assert!(plan.expected.total <= plan.worst || plan.worst.is_none());
    }

    #[test]
    fn the_sample_is_the_run_of_its_seed(policy in any_policy(), seed in any::<u64>()) {
        let plan = Plan::new(&policy, seed, &crate::chance::draws);
        let mut delays = run(&policy, 22, &mut crate::chance::draws(seed, 0));
        prop_assert_eq!(plan.sample.goes_on, delays.len() > 20);
        delays.truncate(20);
        // Times near the largest one saturate, and differ no longer.
        if delays.iter().map(|delay| nanos(*delay)).sum::<u128>() < nanos(Duration::MAX) / 2 {
            prop_assert_eq!(plan.sample.delays, delays);
        }
    }

    #[test]
    fn a_herd_is_all_of_its_clients(policy in any_policy(), clients in 1..20_u32) {
        let policy = Policy { attempts: Attempts::AtMost(5), deadline: None, ..policy };
        let draws = |client| crate::chance::draws(7, client);
        let herd = Herd::new(&policy, Some(5), (clients, &draws), Bounds::default());
        prop_assert!(herd.bars.len() <= 20);
        prop_assert_eq!(herd.bars.iter().map(|bar| bar.retries).sum::<u64>(), u64::from(clients) * 4);
        let Busiest::Exactly(busiest) = herd.busiest else {
            return Err(TestCaseError::fail("so few can be counted"));
        };
        prop_assert!(busiest <= u64::from(clients) * 4 && busiest > 0);
        prop_assert!(herd.busiest_without_jitter >= u64::from(clients));
        prop_assert_eq!(herd.most_attempts, Some(u128::from(clients) * 5));
        prop_assert!(herd.bars[0].retries > 0 && herd.bars[herd.bars.len() - 1].retries > 0);
    }
}
