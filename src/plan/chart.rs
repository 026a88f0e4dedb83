//! Many clients, for people: when they come back, and what becomes of them.

use super::census::Busiest;
use super::clients::{Capacities, Herd};
use super::contention::Tally;
use super::rows::{cell, describe_jitter};
use crate::backoff::Jitter;
use crate::duration::Shown;

/// The length of the longest bar, in characters.
const LONGEST_BAR: u64 = 40;

/// Renders the busiest moment, the retries over time, and the number of attempts.
pub(super) fn render(herd: &Herd, jitter: Jitter) -> Vec<String> {
    let mut lines = vec![String::new(), busiest(herd, jitter), String::new()];
    if !herd.bars.is_empty() {
        let clients = counted(herd.clients.into(), "client");
        lines.push(format!("{clients} failing together at 0s:"));
        lines.extend(bars(herd));
        lines.push(String::new());
    }
    lines.push(herd.most_attempts.map_or_else(
        || "attempts of all clients: unbounded".into(),
        |most| format!("attempts of all clients: at most {most}"),
    ));
    if let Some(capacities) = &herd.capacities {
        lines.extend(capacity(capacities, jitter, herd.clients));
    }
    lines.push(String::new());
    lines
}

fn busiest(herd: &Herd, jitter: Jitter) -> String {
    let busiest = match herd.busiest {
        Busiest::Exactly(retries) => format!("busiest 10 ms: {}", counted_retries(retries)),
        Busiest::AtMost(retries) => {
            format!("busiest 10 ms: at most {}", counted_retries(retries))
        }
    };
    match jitter {
        Jitter::None => busiest,
        _ => format!(
            "{busiest} with {}, {} with no jitter",
            describe_jitter(jitter),
            herd.busiest_without_jitter
        ),
    }
}

fn bars(herd: &Herd) -> Vec<String> {
    let most = herd.bars.iter().map(|bar| bar.retries).max();
    let most = most.unwrap_or(0).max(1);
    let starts: Vec<String> = herd.bars.iter().map(|bar| cell(bar.from)).collect();
    let widest = starts.iter().map(String::len).chain([4]).max();
    let widest = widest.unwrap_or_default();
    let digits = most.to_string().len().max("retries".len());
    let counted = herd.first_retries.map_or_else(String::new, |first| {
        format!("  (the first {first} of each client)")
    });
    let heading = format!("  {:>widest$}  {:>digits$}{counted}", "from", "retries");
    let bars = herd.bars.iter().zip(&starts).map(|(bar, start)| {
        let length = (u128::from(bar.retries) * u128::from(LONGEST_BAR)).div_ceil(u128::from(most));
        let hashes = "#".repeat(usize::try_from(length).unwrap_or(0));
        let line = format!("  {start:>widest$}  {:>digits$}  {hashes}", bar.retries);
        line.trim_end().to_owned()
    });
    [heading].into_iter().chain(bars).collect()
}

/// Renders a table of what becomes of the clients, with this jitter and without any.
fn capacity(capacities: &Capacities, jitter: Jitter, clients: u32) -> Vec<String> {
    let heading = ["", "served", "give up", "attempts", "each", "last served"].map(String::from);
    let row = |jitter: Jitter, done: &Tally| {
        let last = done.last.map(|last| Shown(last).to_string());
        [
            describe_jitter(jitter),
            done.served.to_string(),
            done.gave_up.to_string(),
            done.attempts.to_string(),
            each(done.attempts, clients),
            last.unwrap_or_else(|| "never".into()),
        ]
    };
    let mut rows = vec![heading, row(jitter, &capacities.with_jitter)];
    if jitter != Jitter::None {
        rows.push(row(Jitter::None, &capacities.without_jitter));
    }
    let mut lines = vec![
        String::new(),
        format!(
            "a server that serves {} per {}:",
            counted(capacities.capacity.attempts.into(), "attempt"),
            Shown(capacities.capacity.window)
        ),
    ];
    lines.extend(rows.iter().map(|[name, cells @ ..]| {
        let [served, gave_up, attempts, each, last] = cells;
        format!("  {name:<19}  {served:>7}  {gave_up:>7}  {attempts:>8}  {each:>5}  {last:>11}")
    }));
    if capacities.with_jitter.is_cut || capacities.without_jitter.is_cut {
        lines.push("  (the simulation stops after ten million retries)".into());
    }
    lines
}

/// Returns a number of things, in the plural unless it is one.
fn counted(number: u64, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!("{number} {thing}s"),
    }
}

/// Returns a number of retries, in the plural unless it is one.
pub(super) fn counted_retries(number: u64) -> String {
    match number {
        1 => "1 retry".into(),
        _ => format!("{number} retries"),
    }
}

/// Returns the attempts per client, rounded half up to a tenth.
fn each(attempts: u64, clients: u32) -> String {
    let clients = u64::from(clients.max(1));
    let tenths = (attempts * 20 / clients).div_ceil(2);
    format!("{}.{}", tenths / 10, tenths % 10)
}
