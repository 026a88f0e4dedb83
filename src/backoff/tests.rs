use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::numbers::{Factor, Share};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn exponential(base: Duration, cap: Duration, jitter: Jitter) -> Backoff {
    Backoff {
        base,
        cap,
        curve: Curve::Exponential(Factor::TWO),
        jitter,
    }
}

/// Returns the ranges of the first `count` retries, if each draw is `u`.
fn windows(backoff: &Backoff, count: usize, u: f64) -> Vec<DelayRange> {
    let mut at = backoff.start();
    let mut windows = Vec::new();
    for _ in 0..count {
        let range = backoff.range(at);
        windows.push(range);
        backoff.advance(&mut at, range.at(u));
    }
    windows
}

fn ceilings(backoff: &Backoff, count: usize) -> Vec<Duration> {
    windows(backoff, count, 0.0)
        .iter()
        .map(|range| range.ceiling)
        .collect()
}

fn ranges(backoff: &Backoff, count: usize) -> Vec<(Duration, Duration)> {
    let windows = windows(backoff, count, 0.0);
    windows
        .iter()
        .map(|range| (range.fixed, range.fixed + range.width))
        .collect()
}

#[track_caller]
fn ceilings_are(backoff: &Backoff, expected_ms: &[u64]) {
    let expected: Vec<_> = expected_ms.iter().copied().map(ms).collect();
    assert_eq!(ceilings(backoff, expected.len()), expected);
}

#[track_caller]
fn ranges_are(backoff: &Backoff, expected_ms: &[(u64, u64)]) {
    let expected: Vec<_> = expected_ms
        .iter()
        .map(|(low, high)| (ms(*low), ms(*high)))
        .collect();
    assert_eq!(ranges(backoff, expected.len()), expected);
}

// ── the published tables ────────────────────────────────────────────────────────────────────

#[test]
fn ceilings_double_until_the_cap() {
    let backoff = exponential(ms(100), ms(2000), Jitter::None);
    ceilings_are(&backoff, &[100, 200, 400, 800, 1600, 2000]);
}

#[test]
fn without_jitter_all_clients_wake_at_the_same_times() {
    let delays = windows(&exponential(ms(100), ms(2000), Jitter::None), 6, 0.7);
    let wake_ups: Vec<_> = delays
        .iter()
        .scan(Duration::ZERO, |now, range| {
            *now += range.at(0.7);
            Some(*now)
        })
        .collect();
    assert_eq!(wake_ups, [100, 300, 700, 1500, 3100, 5100].map(ms));
}

#[test]
fn full_jitter_ranges_from_nothing_to_the_ceiling() {
    let backoff = exponential(ms(100), ms(2000), Jitter::Full);
    ranges_are(
        &backoff,
        &[(0, 100), (0, 200), (0, 400), (0, 800), (0, 1600), (0, 2000)],
    );
}

#[test]
fn equal_jitter_ranges_over_the_upper_half() {
    let backoff = exponential(ms(100), ms(2000), Jitter::Equal);
    ranges_are(
        &backoff,
        &[
            (50, 100),
            (100, 200),
            (200, 400),
            (400, 800),
            (800, 1600),
            (1000, 2000),
        ],
    );
}

#[test]
fn ten_thousand_clients_wake_in_one_instant_without_jitter_and_over_the_whole_range_with_it() {
    let first = |jitter, client: u32| {
        let range = windows(&exponential(ms(100), ms(2000), jitter), 1, 0.0)[0];
        range.at(f64::from(client) / 10_000.0)
    };
    let mut none: Vec<_> = (0..10_000)
        .map(|client| first(Jitter::None, client))
        .collect();
    none.dedup();
    assert_eq!(none, [ms(100)]);
    let full: Vec<_> = (0..10_000)
        .map(|client| first(Jitter::Full, client))
        .collect();
    for slot in 0..10 {
        let (from, to) = (ms(slot * 10), ms(slot * 10 + 10));
        let woken = full
            .iter()
            .filter(|delay| **delay >= from && **delay < to)
            .count();
        assert_eq!(woken, 1000, "wake-ups from {from:?} to {to:?}");
    }
}

#[test]
fn without_a_cap_the_21st_delay_is_about_29_hours() {
    let backoff = exponential(ms(100), Duration::MAX, Jitter::None);
    assert_eq!(ceilings(&backoff, 21)[20], ms(104_857_600));
}

/// The generator of the published example.
fn minstd(state: &mut u64) -> f64 {
    *state = *state * 48_271 % 2_147_483_647;
    f64::from(u32::try_from(*state).expect("below 2^31")) / 2_147_483_647.0
}

#[track_caller]
fn worker_waits(seed: u64, expected_ms: [u128; 5]) {
    let backoff = exponential(ms(100), ms(2000), Jitter::Full);
    let (mut at, mut state) = (backoff.start(), seed);
    let delays = expected_ms.map(|_| {
        let delay = backoff.range(at).at(minstd(&mut state));
        backoff.advance(&mut at, delay);
        delay.as_millis()
    });
    assert_eq!(delays, expected_ms);
}

#[test]
fn three_workers_that_failed_together_wait_differently() {
    worker_waits(7919, [17, 74, 44, 535, 385]);
    worker_waits(15_838, [35, 148, 89, 271, 771]);
    worker_waits(23_757, [53, 23, 133, 7, 1157]);
}

fn sum(delays: impl Iterator<Item = Duration>) -> Duration {
    delays.sum()
}

fn mean(range: &DelayRange) -> Duration {
    range.fixed + range.width / 2
}

#[test]
fn six_retries_from_250_ms_sum_up_as_published() {
    let at = |jitter| exponential(ms(250), ms(30_000), jitter);
    ceilings_are(&at(Jitter::None), &[250, 500, 1000, 2000, 4000, 8000]);
    assert_eq!(sum(ceilings(&at(Jitter::None), 6).into_iter()), ms(15_750));
    assert_eq!(
        sum(windows(&at(Jitter::Full), 6, 0.0).iter().map(mean)),
        ms(7875)
    );
    assert_eq!(
        sum(windows(&at(Jitter::Equal), 6, 0.0).iter().map(mean)),
        Duration::from_micros(11_812_500)
    );
    ranges_are(
        &at(Jitter::Equal),
        &[
            (125, 250),
            (250, 500),
            (500, 1000),
            (1000, 2000),
            (2000, 4000),
            (4000, 8000),
        ],
    );
}

fn around(text: &str) -> Jitter {
    Jitter::Around(Share::parse(text).expect("a share"))
}

#[test]
fn a_share_ranges_on_both_sides_of_the_ceiling_and_the_cap_still_holds() {
    let backoff = exponential(ms(250), ms(2000), around("20%"));
    ranges_are(
        &backoff,
        &[
            (200, 300),
            (400, 600),
            (800, 1200),
            (1600, 2000),
            (1600, 2000),
        ],
    );
}

#[test]
fn eight_retries_from_100_ms_sum_up_as_published() {
    let at = |jitter| exponential(ms(100), ms(20_000), jitter);
    ceilings_are(
        &at(Jitter::None),
        &[100, 200, 400, 800, 1600, 3200, 6400, 12_800],
    );
    assert_eq!(sum(ceilings(&at(Jitter::None), 8).into_iter()), ms(25_500));
    assert_eq!(
        sum(windows(&at(Jitter::Full), 8, 0.0).iter().map(mean)),
        ms(12_750)
    );
    assert_eq!(
        sum(windows(&at(Jitter::Equal), 8, 0.0).iter().map(mean)),
        ms(19_125)
    );
}

#[test]
fn ten_retries_from_100_ms_meet_the_cap_at_the_ninth() {
    let backoff = exponential(ms(100), ms(20_000), Jitter::None);
    assert_eq!(
        ceilings(&backoff, 10)[7..],
        [12_800, 20_000, 20_000].map(ms)
    );
    assert_eq!(sum(ceilings(&backoff, 10).into_iter()), ms(65_500));
}

// ── the other curves and jitters ────────────────────────────────────────────────────────────

#[test]
fn linear_ceilings_grow_by_the_base() {
    let backoff = Backoff {
        curve: Curve::Linear,
        ..exponential(ms(100), ms(350), Jitter::None)
    };
    ceilings_are(&backoff, &[100, 200, 300, 350, 350]);
}

#[test]
fn constant_ceilings_stay() {
    let backoff = Backoff {
        curve: Curve::Constant,
        ..exponential(ms(100), ms(350), Jitter::None)
    };
    ceilings_are(&backoff, &[100, 100, 100]);
}

#[test]
fn a_fractional_factor_is_exact_to_the_nanosecond() {
    let curve = Curve::Exponential(Factor::parse("1.5").expect("a factor"));
    let backoff = Backoff {
        curve,
        ..exponential(ms(1000), ms(60_000), Jitter::None)
    };
    let expected = [
        1_000_000_000,
        1_500_000_000,
        2_250_000_000,
        3_375_000_000,
        5_062_500_000,
    ];
    assert_eq!(ceilings(&backoff, 5), expected.map(Duration::from_nanos));
}

#[test]
fn decorrelated_delays_range_from_the_base_to_thrice_the_previous_one() {
    let backoff = exponential(ms(100), ms(2000), Jitter::Decorrelated);
    ranges_are(&backoff, &[(100, 300), (100, 300)]);
    let highest = windows(&backoff, 4, 1.0 - f64::EPSILON / 2.0);
    let ends: Vec<_> = highest
        .iter()
        .map(|range| range.fixed + range.width)
        .collect();
    assert_eq!(
        ends.iter().map(Duration::as_millis).collect::<Vec<_>>(),
        [300, 899, 2000, 2000]
    );
}

#[test]
fn decorrelated_delays_stay_at_the_cap_if_the_base_is_there_already() {
    let backoff = exponential(ms(100), ms(80), Jitter::Decorrelated);
    ranges_are(&backoff, &[(80, 80), (80, 80)]);
}

#[test]
fn a_base_or_a_cap_of_nothing_means_no_delay() {
    for jitter in [
        Jitter::None,
        Jitter::Full,
        Jitter::Equal,
        around("0.2"),
        Jitter::Decorrelated,
    ] {
        ranges_are(
            &exponential(ms(0), ms(2000), jitter),
            &[(0, 0), (0, 0), (0, 0)],
        );
        ranges_are(
            &exponential(ms(100), ms(0), jitter),
            &[(0, 0), (0, 0), (0, 0)],
        );
    }
}

// ── properties ──────────────────────────────────────────────────────────────────────────────

/// Durations of every size, including both extremes.
pub(crate) fn any_duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::MAX),
        Just(Duration::from_nanos(1)),
        (0..100_000_u64).prop_map(Duration::from_millis),
        (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(s, ns)| Duration::new(s, ns)),
    ]
}

fn any_curve() -> impl Strategy<Value = Curve> {
    let factor = (1..=1_000_000_000_u64, 0..1_000_000_000_u32)
        .prop_map(|(whole, nine)| Factor::parse(&format!("{whole}.{nine:09}")).expect("a factor"));
    let small = (1..4_u64, 0..100_u32)
        .prop_map(|(whole, two)| Factor::parse(&format!("{whole}.{two:02}")).expect("a factor"));
    prop_oneof![
        factor.prop_map(Curve::Exponential),
        small.prop_map(Curve::Exponential),
        Just(Curve::Linear),
        Just(Curve::Constant)
    ]
}

fn any_jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        Just(Jitter::None),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        (0..=100_u8).prop_map(|percent| around(&format!("{percent}%"))),
        Just(Jitter::Decorrelated),
    ]
}

prop_compose! {
    fn any_backoff()(base in any_duration(), cap in any_duration(), curve in any_curve(), jitter in any_jitter()) -> Backoff {
        Backoff { base, cap, curve, jitter }
    }
}

proptest! {
    #[test]
    fn a_servers_wait_is_a_floor_and_what_comes_on_top_is_bounded(
        base in any_duration(), cap in any_duration(), curve in any_curve(), jitter in any_jitter(),
        floor in any_duration(), u in 0.0..1.0,
    ) {
        let backoff = Backoff { base, cap, curve, jitter };
        let range = backoff.range(backoff.start());
        let delay = backoff.at_least(floor, &range).at(u);
        prop_assert!(delay >= floor && delay >= range.fixed);
        let spread = if jitter == Jitter::None { Duration::ZERO } else { (floor / 10).min(Duration::from_secs(10)) };
        let most = floor.max(range.fixed).saturating_add(spread.max(range.width));
        prop_assert!(delay <= most);
    }

    #[test]
    fn a_range_that_is_cut_begins_where_it_did_and_ends_in_time(
        fixed in any_duration(), width in any_duration(), most in any_duration(), u in 0.0..1.0,
    ) {
        let whole = DelayRange { ceiling: fixed, fixed, width };
        let cut = whole.within(most);
        prop_assert_eq!(cut.fixed, fixed);
        if most.checked_sub(fixed).is_none_or(|left| width <= left) {
            prop_assert_eq!(cut, whole);
        } else {
            prop_assert!(cut.at(u) >= fixed && cut.at(u) <= most);
            prop_assert_eq!(cut.fixed.saturating_add(cut.width), most);
        }
    }

    #[test]
    fn no_delay_is_ever_above_the_cap(backoff in any_backoff(), us in prop::collection::vec(0.0..1.0, 40)) {
        let mut at = backoff.start();
        for u in us {
            let range = backoff.range(at);
            let delay = range.at(u);
            prop_assert!(range.ceiling <= backoff.cap);
            prop_assert!(delay >= range.fixed);
            prop_assert!(delay <= backoff.cap);
            backoff.advance(&mut at, delay);
        }
    }

    #[test]
    fn no_ceiling_is_below_the_one_before(backoff in any_backoff()) {
        let ceilings = ceilings(&backoff, 80);
        prop_assert!(ceilings.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn a_draw_outside_its_range_is_cut_and_not_believed(backoff in any_backoff(), u in any::<f64>()) {
        let range = backoff.range(backoff.start());
        let delay = range.at(u);
        prop_assert!(delay >= range.fixed && delay <= backoff.cap);
    }

    #[test]
    fn whole_factors_are_exact_below_the_cap(base in 1..1_000_000_u64, factor in 1..10_u64, retry in 1..12_u32) {
        let curve = Curve::Exponential(Factor::parse(&factor.to_string()).expect("a factor"));
        let backoff = Backoff { base: Duration::from_nanos(base), cap: Duration::MAX, curve, jitter: Jitter::None };
        let expected = u128::from(base) * u128::from(factor).pow(retry - 1);
        prop_assert_eq!(ceilings(&backoff, retry as usize)[retry as usize - 1].as_nanos(), expected);
    }
}

#[test]
fn the_four_billionth_retry_is_as_sound_as_the_first() {
    // A delay depends on the state alone, which no longer changes at the cap: there, a hundred
    // retries are as good as 2^32.
    for curve in [Curve::Exponential(Factor::TWO), Curve::Constant] {
        let backoff = Backoff {
            curve,
            ..exponential(ms(1), ms(2000), Jitter::Full)
        };
        let mut at = backoff.start();
        for _ in 0..100 {
            backoff.advance(&mut at, ms(1));
        }
        let settled = at;
        backoff.advance(&mut at, ms(1));
        assert_eq!(at, settled);
    }
    // A linear curve still grows there. A million steps of a base that is 2^12 times as long end
    // where 2^32 steps would.
    let base = Duration::from_nanos(1 << 12);
    let linear = exponential(base, Duration::MAX, Jitter::None);
    let linear = Backoff {
        curve: Curve::Linear,
        ..linear
    };
    let mut at = linear.start();
    for _ in 1..1 << 20 {
        linear.advance(&mut at, Duration::ZERO);
    }
    assert_eq!(linear.range(at).ceiling, Duration::from_nanos(1 << 32));
}

/// Returns 100 000 delays, evenly stepped through a full cycle of a generator.
fn draws(backoff: &Backoff) -> Vec<f64> {
    let mut state = 7919;
    let at = backoff.start();
    (0..100_000)
        .map(|_| backoff.range(at).at(minstd(&mut state)).as_secs_f64())
        .collect()
}

#[track_caller]
fn draws_fit(jitter: Jitter, low: f64, high: f64) {
    let draws = draws(&exponential(
        Duration::from_secs(1),
        Duration::from_secs(10),
        jitter,
    ));
    let mean = draws.iter().sum::<f64>() / 100_000.0;
    // Four standard errors of the mean of this many even draws.
    let tolerance = (high - low) / 12.0_f64.sqrt() / 100_000.0_f64.sqrt() * 4.0 + 1e-9;
    assert!(
        (mean - f64::midpoint(low, high)).abs() <= tolerance,
        "mean {mean}"
    );
    let smallest = draws.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = draws.iter().copied().fold(0.0, f64::max);
    let edge = (high - low) / 1000.0;
    assert!(
        smallest >= low && smallest <= low + edge,
        "smallest {smallest}"
    );
    assert!(
        largest <= high && largest >= high - edge,
        "largest {largest}"
    );
}

#[test]
fn clients_that_were_told_the_same_wait_spread_over_a_tenth_of_it_and_ten_seconds_at_most() {
    let at = |jitter, base_s, floor_s, u| {
        let backoff = exponential(
            Duration::from_secs(base_s),
            Duration::from_secs(100),
            jitter,
        );
        let range = backoff.range(backoff.start());
        backoff
            .at_least(Duration::from_secs(floor_s), &range)
            .at(u)
            .as_secs_f64()
    };
    let near = |delay: f64, expected: f64| {
        assert!((delay - expected).abs() < 1e-6, "{delay} is not {expected}");
    };
    near(at(Jitter::Full, 1, 30, 0.0), 30.0);
    near(at(Jitter::Full, 1, 30, 0.999_999_999), 33.0);
    near(at(Jitter::Full, 0, 30, 0.5), 31.5);
    near(at(Jitter::Full, 1, 300, 0.5), 305.0);
    near(at(Jitter::Full, 60, 30, 0.5), 60.0);
    near(at(Jitter::Equal, 60, 10, 0.5), 45.0);
    near(at(Jitter::None, 1, 30, 0.999), 30.0);
}

#[test]
fn a_hundred_thousand_draws_fill_the_range_of_each_jitter_evenly() {
    draws_fit(Jitter::None, 1.0, 1.0);
    draws_fit(Jitter::Full, 0.0, 1.0);
    draws_fit(Jitter::Equal, 0.5, 1.0);
    draws_fit(around("20%"), 0.8, 1.2);
    draws_fit(around("0.5"), 0.5, 1.5);
    draws_fit(Jitter::Decorrelated, 1.0, 3.0);
}

proptest! {
    #[test]
    fn narrow_ranges_are_drawn_from_as_wide_ones_are(
        fixed in any_duration(), width in any::<u64>(), u in -0.5..1.5_f64,
    ) {
        let range = DelayRange {
            ceiling: Duration::ZERO,
            fixed,
            width: Duration::from_nanos(width),
        };
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the cast back saturates"
        )]
        let drawn = (u * width as f64) as u128;
        prop_assert_eq!(range.at(u), from_nanos(nanos(fixed) + drawn.min(width.into())));
    }
}
