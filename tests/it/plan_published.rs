//! `--plan` shows the schedules that others have published.

use serde_json::Value;

use crate::plan::Plan;

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
        plan.column("before jitter").ends_with(", 14h 34m, 29h 8m"),
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
        &format!("{in_text}, 20.0s"),
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
