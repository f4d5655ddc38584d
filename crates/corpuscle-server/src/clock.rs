//! The time, as it is written in logs and events: UTC, RFC 3339, milliseconds.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now.
pub(crate) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    stamp(since.as_millis() as u64)
}

/// The moment so many milliseconds after 1970 began.
fn stamp(milliseconds: u64) -> String {
    let (days, rest) = (milliseconds / 86_400_000, milliseconds % 86_400_000);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1000)
}

/// Year, month and day of a number of days after 1970 began. Years are counted from March, so that the leap day comes
/// last; 400 years always have 146 097 days.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_calendars_have_them() {
        assert_eq!(stamp(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(stamp(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(stamp(1_794_867_563_007), "2026-11-16T22:19:23.007Z");
        assert_eq!(stamp(4_107_542_400_000), "2100-03-01T00:00:00.000Z");
    }
}
