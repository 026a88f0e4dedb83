//! How long a delay still takes, under the last line of a terminal.

use std::time::Duration;

/// Goes back to the beginning of the line and empties it.
pub(crate) const GONE: &str = "\r\x1b[K";

/// What stands there with so much time left, on a terminal of this width; nothing if that is too
/// narrow. A line that does not fit would be broken, and a part of it would stay.
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
