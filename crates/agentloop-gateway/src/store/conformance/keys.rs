//! Laws of keys and teams.

use super::{budget, full_key, key, team};
use crate::store::{KeyRecord, KeyTable, Store};

/// Returns all keys and teams, in the order of their names and hashes.
pub(super) async fn load(store: &dyn Store) -> KeyTable {
    let mut table = store.load_keys().await.unwrap();
    table.keys.sort_by(|one, other| (&one.name, &one.sha256).cmp(&(&other.name, &other.sha256)));
    table.teams.sort_by(|one, other| one.name.cmp(&other.name));
    table
}

pub(super) async fn a_key_is_stored_with_all_its_settings(store: &dyn Store) {
    assert_eq!(store.load_keys().await.unwrap().keys, []);
    let (full, plain) = (full_key("full", 1), key("plain", 2));
    store.create_key(full.clone()).await.unwrap();
    store.create_key(plain.clone()).await.unwrap();
    let mut none = key("none", 3);
    none.models = Some(Vec::new());
    store.create_key(none.clone()).await.unwrap();
    assert_eq!(load(store).await.keys, [full, none, plain]);
}

pub(super) async fn names_are_unique_among_keys_that_are_not_revoked(store: &dyn Store) {
    store.create_key(key("ci", 1)).await.unwrap();
    let error = store.create_key(key("ci", 2)).await.unwrap_err();
    assert!(error.to_string().contains("`ci`") && error.hint().is_some(), "{error:?}");
    assert!(!error.is_retryable(), "{error:?}");
    assert_eq!(load(store).await.keys, [key("ci", 1)]);
    // Names differ by case.
    store.create_key(key("CI", 3)).await.unwrap();
    assert!(store.revoke_key("ci", 5_000).await.unwrap());
    assert!(!store.revoke_key("ci", 6_000).await.unwrap(), "it is revoked already");
    store.create_key(key("ci", 4)).await.unwrap();
    let revoked = KeyRecord { revoked_ms: Some(5_000), ..key("ci", 1) };
    assert_eq!(load(store).await.keys, [key("CI", 3), revoked, key("ci", 4)]);
}

pub(super) async fn a_hash_is_never_used_twice(store: &dyn Store) {
    store.create_key(key("one", 1)).await.unwrap();
    assert!(store.create_key(key("other", 1)).await.is_err());
    store.revoke_key("one", 1).await.unwrap();
    assert!(store.create_key(key("other", 1)).await.is_err(), "not after it is revoked either");
    assert_eq!(load(store).await.keys.len(), 1);
}

pub(super) async fn an_update_keeps_the_hash_and_the_time_of_creation(store: &dyn Store) {
    let error = store.update_key(key("ci", 1)).await.unwrap_err();
    assert!(error.to_string().contains("`ci`"), "{error}");
    store.create_key(key("ci", 1)).await.unwrap();
    store.create_key(key("other", 2)).await.unwrap();
    let mut changed = full_key("ci", 9);
    changed.created_ms = 77;
    changed.revoked_ms = Some(88);
    store.update_key(changed.clone()).await.unwrap();
    let expected =
        KeyRecord { sha256: key("ci", 1).sha256, created_ms: 1_000, revoked_ms: None, ..changed };
    assert_eq!(load(store).await.keys, [expected, key("other", 2)]);
    // Back to no settings at all.
    store.update_key(key("ci", 9)).await.unwrap();
    assert_eq!(load(store).await.keys, [key("ci", 1), key("other", 2)]);
    store.revoke_key("ci", 1).await.unwrap();
    assert!(store.update_key(key("ci", 1)).await.is_err(), "a revoked key cannot be changed");
}

pub(super) async fn only_revoked_keys_are_forgotten(store: &dyn Store) {
    assert!(!store.forget_key("ci").await.unwrap());
    store.create_key(key("ci", 1)).await.unwrap();
    assert!(!store.forget_key("ci").await.unwrap());
    store.revoke_key("ci", 1).await.unwrap();
    store.create_key(key("ci", 2)).await.unwrap();
    assert!(store.forget_key("ci").await.unwrap());
    assert_eq!(load(store).await.keys, [key("ci", 2)]);
}

pub(super) async fn a_team_with_keys_stays(store: &dyn Store) {
    assert!(!store.remove_team("web").await.unwrap());
    store.put_team(team("web", &["100/month", "5/day"])).await.unwrap();
    store.put_team(team("apps", &[])).await.unwrap();
    assert_eq!(load(store).await.teams, [team("apps", &[]), team("web", &["100/month", "5/day"])]);
    let mut changed = team("web", &["7/week"]);
    changed.limits.concurrency = Some(3);
    store.put_team(changed.clone()).await.unwrap();
    assert_eq!(load(store).await.teams, [team("apps", &[]), changed]);
    store.create_key(full_key("ci", 1)).await.unwrap();
    let error = store.remove_team("web").await.unwrap_err();
    assert!(error.to_string().contains("`ci`") && error.hint().is_some(), "{error:?}");
    store.revoke_key("ci", 1).await.unwrap();
    assert!(store.remove_team("web").await.unwrap());
    assert_eq!(load(store).await.teams, [team("apps", &[])]);
}

pub(super) async fn the_version_changes_with_every_change_only(store: &dyn Store) {
    let mut last = store.keys_version().await.unwrap();
    assert_eq!(load(store).await.version, last);
    let mut mutated = full_key("ci", 1);
    for step in 0..9 {
        match step {
            0 => store.create_key(full_key("ci", 1)).await.unwrap(),
            1 => {
                mutated.limits.budgets = vec![budget("3/week")];
                store.update_key(mutated.clone()).await.unwrap();
            }
            2 => store.put_team(team("web", &["1/day"])).await.unwrap(),
            3 => store.put_team(team("web", &["2/day"])).await.unwrap(),
            4 => assert!(store.revoke_key("ci", 1).await.unwrap()),
            5 => store.create_key(key("ci", 2)).await.unwrap(),
            6 => assert!(store.forget_key("ci").await.unwrap()),
            7 => assert!(store.remove_team("web").await.unwrap()),
            _ => {
                // Nothing changes.
                assert!(!store.remove_team("web").await.unwrap());
                assert!(!store.revoke_key("none", 1).await.unwrap());
                assert!(!store.forget_key("none").await.unwrap());
                assert!(store.create_key(key("ci", 2)).await.is_err());
                assert!(store.update_key(key("none", 2)).await.is_err());
                store.append(vec![super::row("1", 1)].into()).await.unwrap();
                assert_eq!(store.keys_version().await.unwrap(), last);
                continue;
            }
        }
        let version = store.keys_version().await.unwrap();
        assert!(version > last, "step {step}: {version} after {last}");
        assert_eq!(load(store).await.version, version);
        last = version;
    }
}

pub(super) async fn hostile_names_are_only_text(store: &dyn Store) {
    let names = ["'; DROP TABLE keys; --", "%", "_", "\"", "\\", "$1", "?1", "", "ü\u{202e}", " "];
    for (number, name) in (1..).zip(names) {
        store.create_key(key(name, number)).await.unwrap();
        store.put_team(team(name, &[])).await.unwrap();
    }
    assert!(store.revoke_key("%", 1).await.unwrap());
    let table = load(store).await;
    assert_eq!((table.keys.len(), table.teams.len()), (names.len(), names.len()));
    assert_eq!(table.keys.iter().filter(|key| key.revoked_ms.is_some()).count(), 1);
    for name in names {
        assert!(store.remove_team(name).await.unwrap(), "{name}");
    }
}
