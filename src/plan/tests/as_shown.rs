//! Plans as people and programs see them.

use std::path::Path;

use snapbox::assert_data_eq;
use snapbox::data::{Data, DataFormat};

use super::*;

/// Compares the plan for the options on the first line of this file of `plans` with the rest of it.
/// `SNAPSHOTS=overwrite cargo test` accepts another plan.
#[track_caller]
fn check(name: &str) {
    let plans = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/plan/plans"));
    let file = plans.join(format!("{name}.txt"));
    let expected = Data::read_from(&file, Some(DataFormat::Text)).raw();
    let options = expected.render().unwrap_or_default();
    let options = options.lines().next().unwrap_or_default();
    assert_data_eq!(format!("{options}\n\n{}", text(options)), expected);
}

#[test]
fn no_plan_is_left_out() {
    let files = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/plan/plans"));
    for file in files.read_dir().expect("a directory") {
        let path = file.expect("a file").path();
        let name = path.file_stem().and_then(|name| name.to_str());
        let name = name.expect("a name");
        assert!(
            include_str!("as_shown.rs").contains(&format!("check(\"{name}\")")),
            "{name}"
        );
    }
}

#[test]
fn the_walk_as_published() {
    check("the_walk_as_published");
}

#[test]
fn the_walk_with_full_jitter() {
    check("the_walk_with_full_jitter");
}

#[test]
fn the_walk_with_equal_jitter() {
    check("the_walk_with_equal_jitter");
}

#[test]
fn the_walk_with_a_share() {
    check("the_walk_with_a_share");
}

#[test]
fn the_walk_with_decorrelated_jitter() {
    check("the_walk_with_decorrelated_jitter");
}

#[test]
fn six_retries_from_250_ms() {
    check("six_retries_from_250_ms");
}

#[test]
fn the_calculator_with_8_retries() {
    check("the_calculator_with_8_retries");
}

#[test]
fn the_calculator_with_10_retries() {
    check("the_calculator_with_10_retries");
}

#[test]
fn no_retry_needs_no_table() {
    check("no_retry_needs_no_table");
}

#[test]
fn more_than_twenty_retries_share_a_row() {
    check("more_than_twenty_retries_share_a_row");
}

#[test]
fn attempts_without_limit_are_without_bound() {
    check("attempts_without_limit_are_without_bound");
}

#[test]
fn a_deadline_cuts_the_schedule() {
    check("a_deadline_cuts_the_schedule");
}

#[test]
fn a_deadline_without_luck_says_one_number() {
    check("a_deadline_without_luck_says_one_number");
}

#[test]
fn a_time_limit_adds_a_worst_case() {
    check("a_time_limit_adds_a_worst_case");
}

#[test]
fn what_a_plan_cannot_know_is_said() {
    check("what_a_plan_cannot_know_is_said");
}

#[test]
fn a_herd_without_jitter_comes_in_waves() {
    check("a_herd_without_jitter_comes_in_waves");
}

#[test]
fn a_herd_with_jitter_is_spread() {
    check("a_herd_with_jitter_is_spread");
}

#[test]
fn a_herd_that_goes_on_is_looked_at_for_twenty_retries() {
    check("a_herd_that_goes_on_is_looked_at_for_twenty_retries");
}

#[test]
fn a_plan_for_programs_is_one_object() {
    check("a_plan_for_programs_is_one_object");
}

#[test]
fn a_plan_for_programs_has_nothing_where_there_is_no_bound() {
    check("a_plan_for_programs_has_nothing_where_there_is_no_bound");
}

#[test]
fn a_server_that_serves_only_so_many() {
    check("a_server_that_serves_only_so_many");
}

#[test]
fn a_herd_without_retries_has_no_chart() {
    check("a_herd_without_retries_has_no_chart");
}
