//! The herd as a bar chart, for people.

use super::clients::Busiest;
use super::clients::Herd;
use super::rows::{cell, jitter};
use crate::backoff::Jitter;

/// The length of the longest bar, in characters.
const LONGEST_BAR: u64 = 40;

/// Renders the retries over time, the busiest moment, and the number of attempts.
pub(super) fn render(herd: &Herd, jittered: Jitter) -> Vec<String> {
    let clients = herd.clients;
    let mut lines = vec![
        String::new(),
        match herd.first_retries {
            Some(retries) => format!(
                "{clients} clients fail together at 0s; the first {retries} retries of each:"
            ),
            None => format!("{clients} clients fail together at 0s; their retries:"),
        },
    ];
    let most = herd
        .bars
        .iter()
        .map(|bar| bar.retries)
        .max()
        .unwrap_or(0)
        .max(1);
    let starts: Vec<String> = herd.bars.iter().map(|bar| cell(bar.from)).collect();
    let widest = starts.iter().map(String::len).max().unwrap_or(0);
    let digits = most.to_string().len();
    lines.extend(herd.bars.iter().zip(&starts).map(|(bar, start)| {
        let length = (u128::from(bar.retries) * u128::from(LONGEST_BAR)).div_ceil(u128::from(most));
        let hashes = "#".repeat(usize::try_from(length).unwrap_or(0));
        let line = format!("  {start:>widest$}  {:>digits$}  {hashes}", bar.retries);
        line.trim_end().to_owned()
    }));
    let busiest = match herd.busiest {
        Busiest::Exactly(retries) => format!("busiest 10 ms: {retries} retries"),
        Busiest::AtMost(retries) => format!("busiest 10 ms: at most {retries} retries"),
    };
    lines.push(match jittered {
        Jitter::None => busiest,
        _ => format!(
            "{busiest} with {}, {} with none",
            jitter(jittered),
            herd.busiest_without_jitter
        ),
    });
    lines.push(herd.most_attempts.map_or_else(
        || "attempts of all together: unbounded".into(),
        |most| format!("attempts of all together: {most} at most"),
    ));
    lines.push(String::new());
    lines
}
