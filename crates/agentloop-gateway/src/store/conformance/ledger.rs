//! Laws of the ledger.

use agentloop::Usd;

use super::row;
use crate::store::{By, LedgerRow, MAX_PAGE, Outcome, RowFilter, Store, UsageQuery, UsageSum};

/// 2026-11-16T00:00:00Z.
const DAY: i64 = 1_794_787_200_000;

/// Returns all rows that a filter names.
pub(super) async fn all_rows(store: &dyn Store, filter: &RowFilter) -> Vec<LedgerRow> {
    let mut rows: Vec<LedgerRow> = Vec::new();
    loop {
        let after = rows.last().map(|row| (row.time_ms, row.id.clone()));
        let after = after.as_ref().map(|(time, id)| (*time, id.as_str()));
        let page = store.rows(filter, after).await.unwrap();
        if page.is_empty() {
            return rows;
        }
        assert!(page.len() <= MAX_PAGE);
        rows.extend(page);
    }
}

async fn sums(store: &dyn Store, by: Option<By>, filter: RowFilter) -> Vec<UsageSum> {
    store.usage(&UsageQuery::new(by, filter)).await.unwrap()
}

async fn groups(store: &dyn Store, by: By) -> Vec<(String, u64)> {
    let sums = sums(store, Some(by), RowFilter::default()).await;
    sums.into_iter().map(|sum| (sum.group, sum.calls)).collect()
}

pub(super) async fn a_row_is_stored_once_and_completely(store: &dyn Store) {
    store.append(Vec::new().into()).await.unwrap();
    let full = row("full", DAY);
    let empty = LedgerRow { id: "empty".to_owned(), time_ms: -5, ..LedgerRow::default() };
    store.append(vec![full.clone(), empty.clone()].into()).await.unwrap();
    let changed = LedgerRow { time_ms: 7, usd: None, ..full.clone() };
    store.append(vec![changed, empty.clone()].into()).await.unwrap();
    assert_eq!(all_rows(store, &RowFilter::default()).await, [empty, full]);
}

pub(super) async fn an_append_with_known_ids_adds_the_others(store: &dyn Store) {
    store.append(vec![row("b", 2)].into()).await.unwrap();
    // Also twice in one call.
    store.append(vec![row("a", 1), row("b", 2), row("c", 3), row("a", 9)].into()).await.unwrap();
    let rows = all_rows(store, &RowFilter::default()).await;
    assert_eq!(rows, [row("a", 1), row("b", 2), row("c", 3)]);
}

pub(super) async fn rows_come_in_pages_in_the_order_of_time_and_id(store: &dyn Store) {
    // Ids are ordered by their bytes, whatever the language of the database.
    let mut rows = vec![row("a", 5), row("B", 5), row("b", 5), row("_", 5), row("z", 4)];
    rows.extend((0..MAX_PAGE + 1).map(|number| row(&format!("n{number:06}"), 6)));
    store.append(rows.clone().into()).await.unwrap();
    rows.sort_by(|one, other| (one.time_ms, &one.id).cmp(&(other.time_ms, &other.id)));
    let first = store.rows(&RowFilter::default(), None).await.unwrap();
    assert_eq!(first.len(), MAX_PAGE);
    assert_eq!(all_rows(store, &RowFilter::default()).await, rows);
    let after = store.rows(&RowFilter::default(), Some((5, "a"))).await.unwrap();
    assert_eq!(after.first(), Some(&row("b", 5)));
    assert_eq!(store.rows(&RowFilter::default(), Some((7, ""))).await.unwrap(), []);
}

pub(super) async fn filters_are_combined(store: &dyn Store) {
    let other = LedgerRow {
        key: "web".to_owned(),
        team: None,
        provider: "groq".to_owned(),
        served: "llama/3".to_owned(),
        tags: vec!["b".to_owned()],
        ..row("3", 30)
    };
    let rows = [row("1", 10), row("2", 20), other];
    store.append(rows.to_vec().into()).await.unwrap();
    let text = |text: &str| Some(text.to_owned());
    let none = RowFilter::default;
    for (filter, ids) in [
        (none(), "123"),
        (RowFilter { since_ms: Some(20), ..none() }, "23"),
        (RowFilter { until_ms: Some(20), ..none() }, "1"),
        (RowFilter { since_ms: Some(11), until_ms: Some(30), ..none() }, "2"),
        (RowFilter { key: text("ci"), ..none() }, "12"),
        (RowFilter { key: text("CI"), ..none() }, ""),
        (RowFilter { team: text("web"), ..none() }, "12"),
        (RowFilter { team: text(""), ..none() }, ""),
        (RowFilter { provider: text("groq"), ..none() }, "3"),
        (RowFilter { model: text("groq/llama/3"), ..none() }, "3"),
        (RowFilter { model: text("llama/3"), ..none() }, ""),
        (RowFilter { tag: text("a"), ..none() }, "12"),
        (RowFilter { tag: text("%"), ..none() }, ""),
        (RowFilter { tag: text("b"), key: text("ci"), ..none() }, ""),
        (RowFilter { tag: text("z"), key: text("ci"), since_ms: Some(20), ..none() }, "2"),
    ] {
        let found: String = all_rows(store, &filter).await.into_iter().map(|row| row.id).collect();
        assert_eq!(found, ids, "{filter:?}");
        let sum = sums(store, None, filter.clone()).await;
        assert_eq!(sum.len(), 1, "{filter:?}");
        assert_eq!(sum[0].calls, ids.len() as u64, "{filter:?}");
    }
}

pub(super) async fn sums_are_exact_beyond_64_bits(store: &dyn Store) {
    let most = Usd::from_picos(i64::MAX.into());
    let rows = (0..5).map(|number| LedgerRow {
        usd: Some(most),
        prompt_tokens: (1 << 53) + 1,
        completion_tokens: i64::MAX.unsigned_abs(),
        estimated: number == 0,
        ..row(&number.to_string(), DAY)
    });
    store.append(rows.collect()).await.unwrap();
    let odd = LedgerRow { usd: Some(Usd::from_picos(-3)), ..row("odd", DAY) };
    store.append(vec![odd].into()).await.unwrap();
    for by in [None, Some(By::Key), Some(By::Tag)] {
        let sum = sums(store, by, RowFilter::default()).await.remove(0);
        assert_eq!(sum.usd.picos(), 5 * i128::from(i64::MAX) - 3);
        assert_eq!(sum.estimated_usd, most);
        assert_eq!(sum.prompt_tokens, 5 * ((1 << 53) + 1) + 100);
        assert_eq!(sum.completion_tokens, u64::MAX, "the greatest number");
    }
}

pub(super) async fn sums_count_what_they_name(store: &dyn Store) {
    assert_eq!(sums(store, None, RowFilter::default()).await, [UsageSum::default()]);
    assert_eq!(sums(store, Some(By::Key), RowFilter::default()).await, []);
    let rows = Outcome::ALL.into_iter().zip(1..).map(|(outcome, number)| LedgerRow {
        outcome,
        estimated: outcome == Outcome::Unknown,
        usd: (outcome != Outcome::Failed).then_some(Usd::from_picos(number)),
        ..row(outcome.as_str(), DAY)
    });
    store.append(rows.collect()).await.unwrap();
    let expected = UsageSum {
        group: String::new(),
        calls: 5,
        incomplete: 3,
        cached: 1,
        estimated: 1,
        unpriced: 1,
        prompt_tokens: 500,
        completion_tokens: 100,
        cached_tokens: 150,
        usd: Usd::from_picos(1 + 2 + 4 + 5),
        estimated_usd: Usd::from_picos(4),
    };
    assert_eq!(sums(store, None, RowFilter::default()).await, [expected]);
}

pub(super) async fn groups_have_their_names_and_order(store: &dyn Store) {
    let hour = 3_600_000;
    let cheap = LedgerRow {
        key: "web".to_owned(),
        team: None,
        provider: "groq".to_owned(),
        served: "llama".to_owned(),
        tags: Vec::new(),
        outcome: Outcome::Failed,
        usd: Some(Usd::from_picos(1)),
        ..row("3", DAY + 30 * hour)
    };
    let twice = LedgerRow { tags: vec!["a".to_owned(), "a".to_owned()], ..row("2", DAY + hour) };
    store.append(vec![row("1", DAY - 1), twice, cheap].into()).await.unwrap();
    for (by, expected) in [
        (By::Key, vec![("ci", 2), ("web", 1)]),
        (By::Team, vec![("web", 2), ("", 1)]),
        (By::Model, vec![("openai/gpt-5", 2), ("groq/llama", 1)]),
        (By::Provider, vec![("openai", 2), ("groq", 1)]),
        (By::Day, vec![("2026-11-17", 1), ("2026-11-16", 1), ("2026-11-15", 1)]),
        (By::Hour, vec![("2026-11-17T06", 1), ("2026-11-16T01", 1), ("2026-11-15T23", 1)]),
        (By::Tag, vec![("a", 2), ("z", 1), ("", 1)]),
        (By::Outcome, vec![("complete", 2), ("failed", 1)]),
        (By::Node, vec![("node-1", 3)]),
    ] {
        let found = groups(store, by).await;
        let found: Vec<(&str, u64)> = found.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        assert_eq!(found, expected, "{by:?}");
    }
}

pub(super) async fn rows_are_deleted_in_pages(store: &dyn Store) {
    let (page, extra) = (MAX_PAGE as u64, 3);
    let rows = (0..MAX_PAGE + extra).map(|number| LedgerRow {
        key: if number < extra { "other" } else { "ci" }.to_owned(),
        ..row(&format!("{number:06}"), number as i64)
    });
    store.append(rows.collect()).await.unwrap();
    assert_eq!(store.prune(1).await.unwrap(), 1);
    assert_eq!(store.prune(1).await.unwrap(), 0);
    assert_eq!(store.forget_rows("none").await.unwrap(), 0);
    assert_eq!(store.forget_rows("ci").await.unwrap(), page);
    assert_eq!(store.forget_rows("ci").await.unwrap(), 0);
    let left: Vec<String> =
        all_rows(store, &RowFilter::default()).await.into_iter().map(|row| row.id).collect();
    assert_eq!(left, ["000001", "000002"]);
    assert_eq!(groups(store, By::Tag).await, [("a".to_owned(), 2), ("z".to_owned(), 2)]);
    assert_eq!(store.prune(i64::MAX).await.unwrap(), 2);
    assert_eq!(sums(store, None, RowFilter::default()).await, [UsageSum::default()]);
}

pub(super) async fn what_deleted_rows_have_cost_is_kept(store: &dyn Store) {
    let priced = |id: &str, time, node: &str, picos: Option<i64>| LedgerRow {
        node: node.to_owned(),
        usd: picos.map(|picos| Usd::from_picos(picos.into())),
        ..row(id, time)
    };
    let alone = LedgerRow { key: "solo".to_owned(), team: None, ..priced("4", 4, "n1", Some(7)) };
    let rows = [
        priced("1", 1, "n1", Some(i64::MAX)),
        priced("2", 2, "n1", Some(i64::MAX)),
        priced("3", 3, "n2", None),
        alone,
        priced("5", 5, "n2", Some(5)),
        priced("6", 6, "n2", Some(6)),
    ];
    store.append(rows.to_vec().into()).await.unwrap();
    assert_eq!(deleted(store, By::Key, None).await, []);
    assert_eq!(store.prune(2).await.unwrap(), 1);
    assert_eq!(store.prune(6).await.unwrap(), 4);
    let large = 2 * i128::from(i64::MAX);
    let of = |name: &str, node: &str, picos| (name.to_owned(), node.to_owned(), picos);
    let expected = [of("ci", "n1", large), of("ci", "n2", 5), of("solo", "n1", 7)];
    assert_eq!(deleted(store, By::Key, None).await, expected);
    assert_eq!(deleted(store, By::Key, Some("solo")).await, expected[2..]);
    let teams = [of("web", "n1", large), of("web", "n2", 5)];
    assert_eq!(deleted(store, By::Team, None).await, teams);
    assert_eq!(deleted(store, By::Team, Some("ci")).await, []);
    assert_eq!(deleted(store, By::Model, None).await, []);
    for hostile in ["", "a\0b", "'; DROP TABLE deleted; --"] {
        assert_eq!(deleted(store, By::Key, Some(hostile)).await, []);
    }
    // The sums of the ledger are those of its rows.
    assert_eq!(groups(store, By::Key).await, [("ci".to_owned(), 1)]);
    // Of a key that is forgotten, only its team keeps anything.
    assert_eq!(store.forget_rows("ci").await.unwrap(), 1);
    assert_eq!(deleted(store, By::Key, None).await, expected[2..]);
    let teams = [of("web", "n1", large), of("web", "n2", 11)];
    assert_eq!(deleted(store, By::Team, Some("web")).await, teams);
}

async fn deleted(store: &dyn Store, by: By, name: Option<&str>) -> Vec<(String, String, i128)> {
    let sums = store.deleted(by, name).await.unwrap();
    sums.into_iter().map(|sum| (sum.name, sum.node, sum.usd.picos())).collect()
}

pub(super) async fn a_price_stays_as_it_was_stored_first(store: &dyn Store) {
    let id = "0123456789abcdef".to_owned();
    assert_eq!(store.price(&id).await.unwrap(), None);
    let price = |json: &str| vec![(id.clone(), json.to_owned())];
    store.put_prices(Vec::new()).await.unwrap();
    store.put_prices(price("{\"input\":\"1\"}")).await.unwrap();
    store.put_prices(price("{}")).await.unwrap();
    assert_eq!(store.price(&id).await.unwrap().as_deref(), Some("{\"input\":\"1\"}"));
}

pub(super) async fn hostile_rows_are_stored(store: &dyn Store) {
    let hostile = LedgerRow {
        key: "'); DROP TABLE ledger; --".to_owned(),
        model: "\0".repeat(100_000),
        served: "\u{202e}\"\\\n\t{}".to_owned(),
        tags: vec!["x\0y".to_owned(), String::new(), "[\"a\"]".to_owned(), "\u{1}".to_owned()],
        prompt_tokens: u64::MAX,
        usd: Some(Usd::from_picos(i128::MIN)),
        reserved: Usd::from_picos(i128::MAX),
        duration_ms: u64::MAX,
        first_byte_ms: Some(u64::MAX),
        status: u16::MAX,
        ..row("hostile", i64::MAX)
    };
    let oldest = row("oldest", i64::MIN);
    store.append(vec![hostile.clone(), oldest.clone()].into()).await.unwrap();
    let stored = hostile.storable().into_owned();
    assert_eq!(all_rows(store, &RowFilter::default()).await, [oldest, stored.clone()]);
    let by_key = RowFilter { key: Some(stored.key.clone()), ..RowFilter::default() };
    assert_eq!(all_rows(store, &by_key).await, std::slice::from_ref(&stored));
    for tag in &stored.tags {
        let filter = RowFilter { tag: Some(tag.clone()), ..RowFilter::default() };
        assert_eq!(all_rows(store, &filter).await, std::slice::from_ref(&stored), "{tag:?}");
    }
    for by in [By::Day, By::Hour, By::Tag, By::Model] {
        assert!(groups(store, by).await.len() >= 2, "{by:?}");
    }
}
