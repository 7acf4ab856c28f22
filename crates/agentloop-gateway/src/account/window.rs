//! The periods of budgets, in UTC.

use agentloop::GatewayPeriod;

const DAY_MS: i64 = 86_400_000;

/// The periods in the order in which they are kept.
#[cfg(test)]
pub(crate) const PERIODS: [GatewayPeriod; 4] =
    [GatewayPeriod::Day, GatewayPeriod::Week, GatewayPeriod::Month, GatewayPeriod::Total];

/// When each of the periods that a moment belongs to began, in milliseconds of Unix time. A total began at 0.
pub(crate) type Starts = [i64; 4];

/// Returns the place of a period in [`Starts`].
pub(super) fn place(period: GatewayPeriod) -> usize {
    match period {
        GatewayPeriod::Day => 0,
        GatewayPeriod::Week => 1,
        GatewayPeriod::Month => 2,
        // A period that is not known here has no end, which is the strictest.
        _ => 3,
    }
}

/// Returns the day of a moment, counted from 1970. All moments of a day belong to the same periods.
pub(super) fn day(ms: i64) -> i64 {
    ms.div_euclid(DAY_MS)
}

/// Returns when each period began that a moment belongs to.
pub(crate) fn starts(now_ms: i64) -> Starts {
    let day = day(now_ms);
    // 1970-01-01 was a Thursday; weeks begin on Monday.
    let week = (day + 3).div_euclid(7) * 7 - 3;
    let (year, month, _) = date(day);
    [day * DAY_MS, week * DAY_MS, first_of(year, month) * DAY_MS, 0]
}

/// Returns when the period after the one that began at `start` begins; `None` for a total.
pub(super) fn next(period: GatewayPeriod, start: i64) -> Option<i64> {
    let day = start.div_euclid(DAY_MS);
    match period {
        GatewayPeriod::Day => Some(start + DAY_MS),
        GatewayPeriod::Week => Some(start + 7 * DAY_MS),
        GatewayPeriod::Month => {
            let (year, month, _) = date(day);
            let (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
            Some(first_of(year, month) * DAY_MS)
        }
        _ => None,
    }
}

/// Returns the day of a moment, as `2026-11-16`.
pub(super) fn day_name(ms: i64) -> String {
    let (year, month, day) = date(ms.div_euclid(DAY_MS));
    format!("{year:04}-{month:02}-{day:02}")
}

/// Returns the year, month and day of a day since 1970. Years are counted from March, so a leap day is the last of its year.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Returns the first day of a month, in days since 1970.
fn first_of(year: i64, month: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leaps + (153 * month + 2) / 5 - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2026-11-16T13:05:00Z, a Monday.
    const NOW: i64 = 1_794_834_300_000;

    #[test]
    fn periods_begin_at_midnight_on_monday_and_on_the_first() {
        let names = starts(NOW).map(day_name);
        assert_eq!(names, ["2026-11-16", "2026-11-16", "2026-11-01", "1970-01-01"]);
        let sunday = starts(NOW - DAY_MS).map(day_name);
        assert_eq!(sunday, ["2026-11-15", "2026-11-09", "2026-11-01", "1970-01-01"]);
        let leap = starts(1_709_164_800_000).map(day_name);
        assert_eq!(leap, ["2024-02-29", "2024-02-26", "2024-02-01", "1970-01-01"]);
        let following = |at: usize| next(PERIODS[at], starts(NOW)[at]).map(day_name);
        assert_eq!(following(0).as_deref(), Some("2026-11-17"));
        assert_eq!(following(1).as_deref(), Some("2026-11-23"));
        assert_eq!(following(2).as_deref(), Some("2026-12-01"));
        assert_eq!(following(3), None);
    }

    proptest! {
        #[test]
        fn every_moment_is_in_its_periods(now in 0_i64..4_102_444_800_000) {
            let begun = starts(now);
            for (at, period) in PERIODS.into_iter().enumerate() {
                prop_assert_eq!(place(period), at);
                prop_assert!(begun[at] <= now);
                if let Some(end) = next(period, begun[at]) {
                    prop_assert!(now < end);
                    prop_assert_eq!(starts(end)[at], end, "the next period begins there");
                    prop_assert_eq!(starts(end - 1)[at], begun[at]);
                }
            }
        }
    }
}
