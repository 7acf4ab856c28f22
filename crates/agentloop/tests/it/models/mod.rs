//! Model data, and the cost of a response.

mod cost;
mod embedded;
mod laws;
mod lookup;
mod overrides;
mod requests;
#[path = "../../../../../tools/model-data/src/write.rs"]
mod write;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agentloop::models::{Date, ModelData};

use self::write::Content;

/// Noon of a day, given in days since 1970.
fn noon(days: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(days * 86_400 + 43_200)
}

/// 2026-11-15.
fn today() -> SystemTime {
    noon(20_772)
}

/// A record, in the form in which users write one.
fn record(json: &str) -> ModelData {
    serde_json::from_str(json).unwrap()
}

/// A data file of these records.
fn file(records: &[&str]) -> Content {
    let mut file = Content::new(Date::new(2026, 11, 15).unwrap(), Vec::new());
    for json in records {
        file.insert(record(json));
    }
    file
}

#[test]
fn a_moment_has_a_day() {
    for (days, day) in
        [(0, "1970-01-01"), (11_016, "2000-02-29"), (20_772, "2026-11-15"), (20_818, "2026-12-31")]
    {
        assert_eq!(Date::of(noon(days)).to_string(), day);
    }
    for text in
        ["2026-02-29", "2026-13-01", "2026-1-01", "2026-01-011", "20260101", "", "2026-00-10"]
    {
        assert!(text.parse::<Date>().is_err(), "{text}");
    }
}
