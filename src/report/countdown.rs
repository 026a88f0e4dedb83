//! A countdown of the delay, below the last line on a terminal.

use std::time::Duration;

/// Returns to the start of the line and clears it.
pub(crate) const GONE: &str = "\r\x1b[K";

/// Returns the countdown for this time left, on a terminal of this width; none if it does not fit,
/// because a wrapped line could not be cleared.
pub(crate) fn shown(left: Duration, columns: usize) -> Option<String> {
    let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    let time = match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    };
    let text = format!("retry: next attempt in {time}");
    (text.len() < columns).then(|| format!("{GONE}{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shows(millis: u64, text: &str) {
        let expected = format!("{GONE}retry: next attempt in {text}");
        assert_eq!(shown(Duration::from_millis(millis), 80), Some(expected));
    }

    #[test]
    fn time_left_is_shown_in_whole_seconds_that_have_begun() {
        shows(1, "1s");
        shows(1000, "1s");
        shows(1001, "2s");
        shows(59_001, "1m 00s");
        shows(61_000, "1m 01s");
        shows(3_599_500, "1h 00m");
        shows(7_500_000, "2h 05m");
    }

    #[test]
    fn a_window_that_is_too_narrow_shows_nothing() {
        let left = Duration::from_secs(5);
        assert_eq!(shown(left, 25), None);
        assert!(shown(left, 26).is_some());
        assert_eq!(shown(left, 0), None);
    }
}
