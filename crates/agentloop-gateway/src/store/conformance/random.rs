//! Compares a store with [`MemoryStore`] over random operations.

use agentloop::Usd;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::keys::load;
use super::ledger::all_rows;
use super::{full_key, key, row, team};
use crate::store::{By, LedgerRow, MemoryStore, Outcome, RowFilter, Store, UsageQuery};

#[derive(Clone, Debug)]
enum Operation {
    Create(usize, u64, bool),
    Update(usize, bool),
    Revoke(usize, i64),
    ForgetKey(usize),
    PutTeam(usize, u64),
    RemoveTeam(usize),
    Append(Vec<LedgerRow>),
    Usage(Option<By>, RowFilter),
    Prune(i64),
    ForgetRows(usize),
}

/// Names, some of which teams have too.
const NAMES: [&str; 4] = ["ci", "web", "Web", "a b"];

const GROUPS: [Option<By>; 10] = [
    None,
    Some(By::Key),
    Some(By::Team),
    Some(By::Model),
    Some(By::Provider),
    Some(By::Day),
    Some(By::Hour),
    Some(By::Tag),
    Some(By::Outcome),
    Some(By::Node),
];

/// Runs random operations on a store and on [`MemoryStore`], and compares every result. `open` returns an empty store.
pub(crate) fn agrees_with_memory<S: Store>(cases: u32, open: impl AsyncFn() -> S) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let operations = prop::collection::vec(operation(), 1..30);
    let checked = TestRunner::new(config).run(&operations, |operations| {
        runtime.block_on(async {
            let (store, memory) = (open().await, MemoryStore::default());
            for operation in &operations {
                let (found, expected) =
                    (run(&store, operation).await, run(&memory, operation).await);
                prop_assert_eq!(found, expected, "{:?}", operation);
            }
            let (found, expected) = (load(&store).await, load(&memory).await);
            prop_assert_eq!(found.keys, expected.keys);
            prop_assert_eq!(found.teams, expected.teams);
            let everything = RowFilter::default();
            let (found, expected) =
                (all_rows(&store, &everything).await, all_rows(&memory, &everything).await);
            prop_assert_eq!(found, expected);
            for by in [By::Key, By::Team] {
                let (found, expected) =
                    (store.deleted(by, None).await, memory.deleted(by, None).await);
                prop_assert_eq!(found.unwrap(), expected.unwrap());
            }
            Ok(())
        })
    });
    if let Err(error) = checked {
        panic!("{error}");
    }
}

/// Runs an operation. Returns its result as text, of an error only that it is one.
async fn run(store: &dyn Store, operation: &Operation) -> String {
    let name = |at: &usize| NAMES[*at % NAMES.len()];
    let done = match operation {
        Operation::Create(at, number, is_full) => {
            let new = if *is_full { full_key } else { key };
            store.create_key(new(name(at), *number)).await.map(|()| String::new())
        }
        Operation::Update(at, is_full) => {
            let new = if *is_full { full_key } else { key };
            store.update_key(new(name(at), 99)).await.map(|()| String::new())
        }
        Operation::Revoke(at, now) => {
            store.revoke_key(name(at), *now).await.map(|was| was.to_string())
        }
        Operation::ForgetKey(at) => store.forget_key(name(at)).await.map(|was| was.to_string()),
        Operation::PutTeam(at, amount) => {
            let team = team(name(at), &[&format!("{amount}/day")]);
            store.put_team(team).await.map(|()| String::new())
        }
        Operation::RemoveTeam(at) => store.remove_team(name(at)).await.map(|was| was.to_string()),
        Operation::Append(rows) => store.append(rows.clone().into()).await.map(|()| String::new()),
        Operation::Usage(by, filter) => {
            let query = UsageQuery::new(*by, filter.clone());
            store.usage(&query).await.map(|sums| format!("{sums:?}"))
        }
        Operation::Prune(before) => store.prune(*before).await.map(|count| count.to_string()),
        Operation::ForgetRows(at) => {
            store.forget_rows(name(at)).await.map(|count| count.to_string())
        }
    };
    done.unwrap_or_else(|_| "an error".to_owned())
}

fn operation() -> impl Strategy<Value = Operation> {
    let name = 0..NAMES.len();
    prop_oneof![
        1 => (name.clone(), 0..12_u64, any::<bool>())
            .prop_map(|(name, number, full)| Operation::Create(name, number, full)),
        1 => (name.clone(), any::<bool>()).prop_map(|(name, full)| Operation::Update(name, full)),
        1 => (name.clone(), 1..1_000_i64).prop_map(|(name, now)| Operation::Revoke(name, now)),
        1 => name.clone().prop_map(Operation::ForgetKey),
        1 => (name.clone(), 0..9_u64).prop_map(|(name, amount)| Operation::PutTeam(name, amount)),
        1 => name.clone().prop_map(Operation::RemoveTeam),
        4 => prop::collection::vec(any_row(), 0..12).prop_map(Operation::Append),
        4 => (prop::sample::select(GROUPS.to_vec()), any_filter())
            .prop_map(|(by, filter)| Operation::Usage(by, filter)),
        1 => time().prop_map(Operation::Prune),
        1 => name.prop_map(Operation::ForgetRows),
    ]
}

/// Times around the borders of hours and days.
fn time() -> impl Strategy<Value = i64> {
    (-30..60_i64, -1..2_i64).prop_map(|(hours, offset)| hours * 3_600_000 + offset)
}

fn any_row() -> impl Strategy<Value = LedgerRow> {
    let tags = prop::collection::vec(prop::sample::select(vec!["a", "b", "", "ü"]), 0..4);
    let usd = prop::option::of(prop_oneof![any::<i64>(), 0..1_000_i64]);
    let outcome = prop::sample::select(Outcome::ALL.to_vec());
    let names = (0..40_u32, 0..NAMES.len(), prop::option::of(0..NAMES.len()), 0..3_u32);
    let tokens = prop_oneof![any::<u64>(), 0..1_000_u64];
    (names, time(), tags, usd, outcome, any::<bool>(), tokens).prop_map(
        |((id, key, team, model), time, tags, usd, outcome, estimated, tokens)| LedgerRow {
            key: NAMES[key].to_owned(),
            team: team.map(|at| NAMES[at].to_owned()),
            provider: ["openai", "groq", ""][model as usize].to_owned(),
            served: format!("m{}", id % 2),
            tags: tags.into_iter().map(str::to_owned).collect(),
            usd: usd.map(|picos| Usd::from_picos(picos.into())),
            outcome,
            estimated,
            prompt_tokens: tokens,
            ..row(&format!("row{id}"), time)
        },
    )
}

fn any_filter() -> impl Strategy<Value = RowFilter> {
    let name = || prop::option::weighted(0.3, prop::sample::select(NAMES.to_vec()));
    let moment = || prop::option::weighted(0.3, time());
    let model = prop::option::weighted(0.2, prop::sample::select(vec!["openai/m0", "groq/m1"]));
    let tag = prop::option::weighted(0.3, prop::sample::select(vec!["a", "ü", "none"]));
    (moment(), moment(), name(), name(), model, tag).prop_map(
        |(since_ms, until_ms, key, team, model, tag)| RowFilter {
            since_ms,
            until_ms,
            key: key.map(str::to_owned),
            team: team.map(str::to_owned),
            model: model.map(str::to_owned),
            provider: None,
            tag: tag.map(str::to_owned),
        },
    )
}
