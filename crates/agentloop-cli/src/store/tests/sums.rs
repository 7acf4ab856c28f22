//! Costs and cached values.

use std::time::Duration;

use agentloop::Usd;
use agentloop::middleware::{CostEntry, CostPeriod};

use super::{Folder, new_store};

fn entry(usd: &str) -> CostEntry {
    let json = serde_json::json!({
        "provider": "openai", "model": "gpt-5", "usage": {}, "estimated": false,
        "cost": { "usd": usd, "source": "prices" },
    });
    serde_json::from_value(json).unwrap()
}

#[test]
fn costs_of_a_day_a_month_and_all_time_are_added_up() {
    let folder = Folder::new();
    let (mut one, mut two) = (folder.open(), folder.open());
    one.record_spending(&entry("0.25")).unwrap();
    two.record_spending(&entry("0.000000000001")).unwrap();
    two.record_spending(&entry("-5")).unwrap();
    let all = [CostPeriod::Day, CostPeriod::Month, CostPeriod::Total];
    for period in all {
        assert_eq!(one.spent(period).unwrap().to_string(), "0.250000000001", "{period:?}");
    }
    // Two days ago, and 40 days ago.
    for days in [2, 40] {
        let sql = format!(
            "INSERT INTO spending (time, provider, model, cost, is_estimate) VALUES ({}, 'p', 'm', 1, 0)",
            super::super::now() - days * 86_400_000
        );
        one.connection.execute(&sql, []).unwrap();
    }
    let spent = all.map(|period| two.spent(period).unwrap().picos());
    assert_eq!(spent[0], 250_000_000_001);
    assert!(spent[1] <= spent[0] + 1 && spent[2] == spent[0] + 2, "{spent:?}");
    // A sum beyond what the file can add up is a limit that is reached, not an error.
    one.record_spending(&entry("9000000")).unwrap();
    one.record_spending(&entry("9000000")).unwrap();
    assert!(one.spent(CostPeriod::Total).unwrap() > "9000000".parse::<Usd>().unwrap());
}

#[test]
fn cached_values_expire_and_make_room_for_others() {
    let (folder, mut store) = new_store();
    let hour = Duration::from_secs(3_600);
    let names = |store: &super::Store| -> Vec<&'static [u8]> {
        let all: [&'static [u8]; 4] = [b"a", b"b", b"c", b"d"];
        all.into_iter().filter(|key| store.cached(key).unwrap().is_some()).collect()
    };
    store.cache(b"a", &[1; 40], hour, 100).unwrap();
    store.cache(b"b", &[2; 40], 2 * hour, 100).unwrap();
    store.cache(b"a", &[3; 50], hour, 100).unwrap();
    assert_eq!(store.cached(b"a").unwrap().unwrap(), [3; 50].as_slice());
    assert_eq!(names(&store), [b"a", b"b"]);
    store.cache(b"c", &[4; 30], hour, 100).unwrap();
    assert_eq!(names(&store), [b"b", b"c"]);
    store.cache(b"d", &[5; 101], hour, 100).unwrap();
    assert_eq!(names(&store), [b"b", b"c"]);
    store.cache(b"d", &[5; 10], Duration::ZERO, 100).unwrap();
    assert_eq!(names(&store), [b"b", b"c"]);
    assert_eq!(folder.open().cached(b"c").unwrap().unwrap(), [4; 30].as_slice());
}
