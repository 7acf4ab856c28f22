//! What every store must do. Each implementation calls [`keeps_all_laws`] and [`agrees_with_memory`] in its tests.

mod keys;
mod ledger;
mod random;

use agentloop::{GatewayBudget, Usd};

pub(crate) use random::agrees_with_memory;

use super::{KeyRecord, LedgerRow, MemoryStore, Outcome, Store, TeamRecord};

/// Checks every law with a store of its own. `open` returns an empty store.
pub(crate) async fn keeps_all_laws<S: Store>(open: impl AsyncFn() -> S) {
    keys::a_key_is_stored_with_all_its_settings(&open().await).await;
    keys::names_are_unique_among_keys_that_are_not_revoked(&open().await).await;
    keys::a_hash_is_never_used_twice(&open().await).await;
    keys::an_update_keeps_the_hash_and_the_time_of_creation(&open().await).await;
    keys::only_revoked_keys_are_forgotten(&open().await).await;
    keys::a_team_with_keys_stays(&open().await).await;
    keys::the_version_changes_with_every_change_only(&open().await).await;
    keys::hostile_names_are_only_text(&open().await).await;
    ledger::a_row_is_stored_once_and_completely(&open().await).await;
    ledger::an_append_with_known_ids_adds_the_others(&open().await).await;
    ledger::rows_come_in_pages_in_the_order_of_time_and_id(&open().await).await;
    ledger::filters_are_combined(&open().await).await;
    ledger::sums_are_exact_beyond_64_bits(&open().await).await;
    ledger::sums_count_what_they_name(&open().await).await;
    ledger::groups_have_their_names_and_order(&open().await).await;
    ledger::rows_are_deleted_in_pages(&open().await).await;
    ledger::what_deleted_rows_have_cost_is_kept(&open().await).await;
    ledger::a_price_stays_as_it_was_stored_first(&open().await).await;
    ledger::hostile_rows_are_stored(&open().await).await;
}

/// Returns a key whose hash depends on `number`.
pub(super) fn key(name: &str, number: u64) -> KeyRecord {
    KeyRecord {
        name: name.to_owned(),
        sha256: format!("{number:064x}"),
        created_ms: 1_000,
        ..KeyRecord::default()
    }
}

/// Returns a key in which every setting has a value.
pub(super) fn full_key(name: &str, number: u64) -> KeyRecord {
    let mut key = key(name, number);
    key.team = Some("web".to_owned());
    key.models = Some(vec!["openai/*".to_owned(), "fast".to_owned()]);
    key.strict = true;
    key.expires = Some(1_794_873_600);
    key.tags = vec!["ci".to_owned(), "eu".to_owned()];
    key.limits.budgets = vec![budget("0.000000000001/day"), budget("1000000/total")];
    key.limits.requests_per_minute = Some(60);
    key.limits.tokens_per_minute = Some(u64::from(u32::MAX) * 2);
    key.limits.concurrency = Some(4);
    key
}

pub(super) fn team(name: &str, budgets: &[&str]) -> TeamRecord {
    let mut team = TeamRecord { name: name.to_owned(), ..TeamRecord::default() };
    team.limits.budgets = budgets.iter().map(|text| budget(text)).collect();
    team
}

pub(super) fn budget(text: &str) -> GatewayBudget {
    text.parse().unwrap()
}

/// Returns a row in which every field has a value.
pub(super) fn row(id: &str, time_ms: i64) -> LedgerRow {
    LedgerRow {
        id: id.to_owned(),
        request: format!("request-of-{id}"),
        node: "node-1".to_owned(),
        time_ms,
        key: "ci".to_owned(),
        team: Some("web".to_owned()),
        api: "anthropic".to_owned(),
        call: "chat".to_owned(),
        model: "fast".to_owned(),
        provider: "openai".to_owned(),
        served: "gpt-5".to_owned(),
        tags: vec!["z".to_owned(), "a".to_owned()],
        outcome: Outcome::Complete,
        estimated: false,
        prompt_tokens: 100,
        completion_tokens: 20,
        cached_tokens: 30,
        reasoning_tokens: 5,
        usd: Some(Usd::from_picos(1_500_000_000)),
        reserved: Usd::from_picos(2_000_000_000),
        price: Some("0123456789abcdef".to_owned()),
        duration_ms: 1_234,
        first_byte_ms: Some(56),
        status: 200,
    }
}

#[tokio::test]
async fn memory_keeps_all_laws() {
    keeps_all_laws(async || MemoryStore::default()).await;
}

#[test]
fn memory_agrees_with_itself() {
    agrees_with_memory(32, async || MemoryStore::default());
}
