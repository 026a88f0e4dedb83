//! The wall clock, for timestamps.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The end of the year 9999, the latest time that can be written as a date.
const LAST_SECOND: Duration = Duration::from_secs(253_402_300_799);

/// Returns the current time.
pub(crate) fn now() -> SystemTime {
    datable(SystemTime::now())
}

/// Clamps a time to what can be written as a date, in case the clock is off by ages.
pub(crate) fn datable(time: SystemTime) -> SystemTime {
    time.clamp(UNIX_EPOCH, UNIX_EPOCH + LAST_SECOND)
}
