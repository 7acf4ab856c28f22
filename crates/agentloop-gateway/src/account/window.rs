//! The periods of budgets, in UTC.

use agentloop::GatewayPeriod;
use jiff::civil::Date;

use crate::store::date_of;

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
    [day * DAY_MS, week * DAY_MS, midnight(date_of(day).first_of_month()), 0]
}

/// Returns when the period after the one that began at `start` begins; `None` for a total.
pub(super) fn next(period: GatewayPeriod, start: i64) -> Option<i64> {
    let day = start.div_euclid(DAY_MS);
    match period {
        GatewayPeriod::Day => Some(start + DAY_MS),
        GatewayPeriod::Week => Some(start + 7 * DAY_MS),
        GatewayPeriod::Month => {
            let last = date_of(day).last_of_month();
            Some(midnight(last.tomorrow().unwrap_or(Date::MAX)))
        }
        _ => None,
    }
}

/// Returns the day of a moment, as `2026-11-16`.
pub(super) fn day_name(ms: i64) -> String {
    date_of(day(ms)).to_string()
}

/// Returns when a day begins, in milliseconds of Unix time.
fn midnight(date: Date) -> i64 {
    date.duration_since(jiff::civil::date(1970, 1, 1)).as_secs() * 1_000
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
