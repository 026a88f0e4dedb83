//! The clock on the wall, for what others date.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The end of the year 9999, the last that a date can name.
const LAST_SECOND: Duration = Duration::from_secs(253_402_300_799);

/// What time it is.
pub(crate) fn now() -> SystemTime {
    datable(SystemTime::now())
}

/// A time that can be written as a date: of a clock that is off by ages the first or the last.
pub(crate) fn datable(time: SystemTime) -> SystemTime {
    time.clamp(UNIX_EPOCH, UNIX_EPOCH + LAST_SECOND)
}
