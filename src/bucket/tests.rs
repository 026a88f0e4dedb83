use proptest::prelude::*;

use super::*;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn budget(tokens: u32, refill: &str) -> Budget {
    let refill = Some(refill).filter(|refill| !refill.is_empty());
    Budget {
        tokens,
        refill: refill.map(|refill| Refill::parse(refill).expect(refill)),
    }
}

/// Returns how many tokens can be taken in a row at this time.
fn takes(bucket: &mut Bucket, budget: &Budget, now: Duration) -> usize {
    (0..1000).take_while(|_| bucket.take(budget, now)).count()
}

#[test]
fn a_full_bucket_gives_as_many_tokens_as_it_holds() {
    for (tokens, takes_of_it) in [(0, 0), (1, 1), (3, 3), (10, 10)] {
        assert_eq!(
            takes(&mut Bucket::default(), &budget(tokens, ""), secs(9)),
            takes_of_it
        );
    }
}

#[test]
fn ten_successes_give_a_token_back() {
    let (mut bucket, budget) = (Bucket::default(), budget(2, ""));
    assert_eq!(takes(&mut bucket, &budget, secs(0)), 2);
    for _ in 0..9 {
        bucket.reward(&budget, secs(0));
        assert!(!bucket.take(&budget, secs(0)));
    }
    bucket.reward(&budget, secs(0));
    assert_eq!(takes(&mut bucket, &budget, secs(0)), 1);
}

#[test]
fn successes_never_fill_a_bucket_beyond_its_size() {
    let (mut bucket, budget) = (Bucket::default(), budget(2, ""));
    for _ in 0..100 {
        bucket.reward(&budget, secs(0));
    }
    assert_eq!(takes(&mut bucket, &budget, secs(0)), 2);
}

#[test]
fn tokens_come_back_with_time() {
    let (mut bucket, budget) = (Bucket::default(), budget(3, "1/10s"));
    assert_eq!(takes(&mut bucket, &budget, secs(1000)), 3);
    assert_eq!(takes(&mut bucket, &budget, secs(1009)), 0);
    assert_eq!(takes(&mut bucket, &budget, secs(1010)), 1);
    assert_eq!(takes(&mut bucket, &budget, secs(1025)), 1);
    assert_eq!(takes(&mut bucket, &budget, secs(1030)), 1);
    assert_eq!(takes(&mut bucket, &budget, secs(9000)), 3);
}

#[test]
fn a_refill_that_is_asked_for_often_is_not_lost_in_rounding() {
    let (mut bucket, budget) = (Bucket::default(), budget(1, "1/7s"));
    assert!(bucket.take(&budget, secs(0)));
    let mut now = Duration::ZERO;
    while now < secs(7) {
        assert!(!bucket.take(&budget, now));
        now += Duration::from_micros(777);
    }
    assert!(bucket.take(&budget, secs(7)));
}

#[test]
fn time_before_the_first_retry_earns_nothing() {
    let (mut bucket, budget) = (Bucket::default(), budget(2, "1/10s"));
    bucket.reward(&budget, secs(0));
    assert_eq!(takes(&mut bucket, &budget, secs(5000)), 2);
    assert_eq!(takes(&mut bucket, &budget, secs(5001)), 0);
}

#[test]
fn a_clock_that_is_set_back_gives_nothing() {
    let (mut bucket, budget) = (Bucket::default(), budget(2, "1/10s"));
    assert_eq!(takes(&mut bucket, &budget, secs(5000)), 2);
    assert_eq!(takes(&mut bucket, &budget, secs(100)), 0);
    assert_eq!(takes(&mut bucket, &budget, secs(110)), 1);
}

#[test]
fn a_clock_that_goes_back_and_forth_earns_nothing_by_it() {
    for skew in [1, 5, 30, 299] {
        let (mut bucket, budget) = (Bucket::new(secs(1000)), budget(1, "1/10s"));
        let granted = (0..40).filter(|run| {
            let behind = if run % 2 == 0 { 0 } else { skew };
            bucket.take(&budget, secs(1000 - behind))
        });
        assert_eq!(granted.count(), 1, "{skew}");
    }
}

#[test]
fn nothing_comes_back_until_a_clock_that_was_set_back_has_caught_up() {
    // A whole refill takes 1000 seconds, and clocks may differ by 300.
    let budget = budget(10, "1/100s");
    for (set_back_to, then) in [
        (4990, 5000),
        (4701, 5000),
        (4100, 5000),
        (4000, 5000),
        (3999, 3999),
    ] {
        let mut bucket = Bucket::new(secs(0));
        assert_eq!(takes(&mut bucket, &budget, secs(5000)), 10);
        for now in set_back_to..then + 100 {
            assert!(!bucket.take(&budget, secs(now)), "{set_back_to}: {now}");
        }
        assert!(bucket.take(&budget, secs(then + 100)), "{set_back_to}");
    }
    // A bucket that fills in a moment waits for clocks that are within the five minutes.
    let quick = self::budget(10, "1/1s");
    for (set_back_to, then) in [(4700, 5000), (4699, 4699)] {
        let mut bucket = Bucket::new(secs(0));
        assert_eq!(takes(&mut bucket, &quick, secs(5000)), 10);
        assert!(!bucket.take(&quick, secs(set_back_to)), "{set_back_to}");
        assert!(!bucket.take(&quick, secs(then)), "{set_back_to}");
        assert!(bucket.take(&quick, secs(then + 1)), "{set_back_to}");
    }
}

#[test]
fn a_full_bucket_does_not_forget_up_to_when_it_was_filled() {
    for (filled, refill) in [(5000, "1/10s"), (5000, ""), (5299, "1/10s")] {
        let mut bucket = Bucket::new(secs(filled));
        assert!(bucket.take(&budget(1, refill), secs(5000)));
        assert_eq!(bucket.refilled, secs(filled), "{refill}");
        assert!(
            !bucket.take(&budget(1, "1/10s"), secs(filled + 9)),
            "{refill}"
        );
        assert!(
            bucket.take(&budget(1, "1/10s"), secs(filled + 10)),
            "{refill}"
        );
    }
    // Unless the clock was far from right.
    let mut bucket = Bucket::new(secs(5301));
    assert!(bucket.take(&budget(1, "1/10s"), secs(5000)));
    assert_eq!(bucket.refilled, secs(5000));
}

#[test]
fn centuries_are_earned_once() {
    let (mut bucket, budget) = (Bucket::new(secs(0)), budget(2, "1/1000000w"));
    assert_eq!(takes(&mut bucket, &budget, secs(0)), 2);
    let later = secs(900_000 * 604_800);
    assert!(!bucket.take(&budget, later));
    assert!(!bucket.take(&budget, later));
    assert!(bucket.take(&budget, secs(1_000_000 * 604_800)));
    assert!(!bucket.take(&budget, secs(1_000_000 * 604_800)));
}

#[test]
fn runs_with_different_budgets_agree_on_what_is_spent() {
    let mut bucket = Bucket::default();
    assert_eq!(takes(&mut bucket, &budget(3, ""), secs(0)), 3);
    assert_eq!(takes(&mut bucket, &budget(5, ""), secs(0)), 2);
    assert_eq!(takes(&mut bucket, &budget(3, ""), secs(0)), 0);
}

#[test]
fn what_one_without_refill_spends_is_not_paid_with_time_from_before() {
    let mut bucket = Bucket::default();
    assert_eq!(takes(&mut bucket, &budget(5, ""), secs(0)), 5);
    assert_eq!(takes(&mut bucket, &budget(6, ""), secs(100)), 1);
    assert_eq!(takes(&mut bucket, &budget(5, "1/1s"), secs(100)), 0);
}

#[test]
fn budgets_are_read_as_people_write_them_and_nothing_else() {
    assert_eq!(Budget::parse_tokens("0"), Ok(0));
    assert_eq!(Budget::parse_tokens("4294967295"), Ok(u32::MAX));
    for text in ["", "-1", "1.5", "inf", "4294967296", "+3"] {
        assert!(Budget::parse_tokens(text).is_err(), "{text}");
    }
    let refill = Refill {
        tokens: 3,
        period: secs(90),
    };
    assert_eq!(Refill::parse("3/1m30s"), Ok(refill));
    assert_eq!(Refill::parse("3 / 90"), Ok(refill));
    for text in [
        "", "1", "1/", "/1s", "0/1s", "1/0s", "1/0", "x/1s", "1/x", "1/1s/2", "1.5/s",
    ] {
        assert!(Refill::parse(text).is_err(), "{text}");
    }
}

/// An operation on a bucket.
#[derive(Clone, Copy, Debug)]
enum Op {
    Spend,
    Refund,
}

proptest! {
    #[test]
    fn clocks_within_five_minutes_of_each_other_earn_their_difference_once_at_most(
        tokens in 0..20_u32,
        rate in 1..20_u32,
        period_ms in 1..1_000_000_u64,
        // For each run: the time that passes before it, how far ahead its clock is, whether it has
        // a refill.
        deeds in prop::collection::vec(
            (prop_oneof![Just(0), 0..1000_u64, 0..1_000_000_u64], 0..=300_000_u64, prop::bool::weighted(0.9)),
            1..300,
        ),
    ) {
        let refill = Refill { tokens: rate, period: Duration::from_millis(period_ms) };
        let start = secs(1_000_000);
        let (mut elapsed, mut granted) = (Duration::ZERO, 0_u64);
        let mut bucket = Bucket::new(start + Duration::from_millis(deeds[0].1));
        let mut steps = (Duration::MAX, Duration::ZERO);
        for (passes, ahead, refills) in deeds {
            let ahead = Duration::from_millis(ahead);
            steps = (steps.0.min(ahead), steps.1.max(ahead));
            elapsed += Duration::from_millis(passes);
            let budget = Budget { tokens, refill: refills.then_some(refill) };
            granted += u64::from(bucket.take(&budget, start + elapsed + ahead));
        }
        let earns = elapsed + steps.1.saturating_sub(steps.0);
        let most = u128::from(tokens) + earns.as_nanos() * u128::from(rate) / refill.period.as_nanos();
        prop_assert!(u128::from(granted) <= most, "{granted} of {most}");
    }

    #[test]
    fn a_bucket_is_never_emptier_than_empty_nor_fuller_than_full(
        tokens in 0..50_u32,
        rate in 1..20_u32,
        period_ms in 1..100_000_u64,
        refills in any::<bool>(),
        deeds in prop::collection::vec((prop_oneof![Just(Op::Spend), Just(Op::Refund)], any::<u32>()), 0..200),
    ) {
        let refill = Refill { tokens: rate, period: Duration::from_millis(period_ms) };
        let budget = Budget { tokens, refill: refills.then_some(refill) };
        let mut bucket = Bucket::default();
        for (op, at) in deeds {
            // The clock jumps at random.
            let now = Duration::from_millis(at.into());
            let before = bucket;
            match op {
                Op::Spend => { bucket.take(&budget, now); }
                Op::Refund => bucket.reward(&budget, now),
            }
            prop_assert!(bucket.spent <= u64::from(tokens) * TOKEN);
            prop_assert!(now >= before.refilled || bucket.spent + REWARD >= before.spent);
        }
    }

    #[test]
    fn later_is_never_worse(
        spent in 0..1_000_000_u64,
        refilled in any::<u32>(),
        at in any::<u32>(),
        more in any::<u32>(),
    ) {
        let budget = budget(1000, "7/13s");
        let bucket = Bucket { spent, refilled: Duration::from_millis(refilled.into()) };
        let after = |millis: u64| {
            let mut bucket = bucket;
            bucket.reward(&budget, Duration::from_millis(millis));
            bucket.spent
        };
        prop_assert!(after(u64::from(at) + u64::from(more)) <= after(at.into()));
    }

    #[test]
    fn any_state_and_any_time_are_sound(
        spent in any::<u64>(), secs in any::<u64>(), now in any::<u64>(), tokens in any::<u32>(), rate in 1..u32::MAX,
    ) {
        let refill = Refill { tokens: rate, period: Duration::MAX };
        for refill in [None, Some(refill), Some(Refill { period: Duration::from_nanos(1), ..refill })] {
            let mut bucket = Bucket { spent, refilled: Duration::from_secs(secs) };
            let budget = Budget { tokens, refill };
            bucket.take(&budget, Duration::from_secs(now));
            bucket.reward(&budget, Duration::MAX);
        }
    }
}
