//! The simplest store, with which tests compare the others.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use agentloop::internal::lock;
use agentloop::{BoxFuture, Result, Usd};

use super::refusal::{hash_is_taken, name_is_taken, no_such_key, team_has_keys};
use super::time::{DAY_MS, HOUR_MS, format_day, format_hour};
use super::{
    By, DeletedSum, KeyRecord, KeyTable, LedgerRow, MAX_PAGE, Outcome, PriceId, RowFilter, Store,
    TeamRecord, UsageQuery, UsageSum,
};

/// A [`Store`] in memory. It ends with the process, and grows with every row.
#[derive(Debug, Default)]
pub(crate) struct MemoryStore(Mutex<Tables>);

#[derive(Debug, Default)]
struct Tables {
    version: u64,
    keys: Vec<KeyRecord>,
    teams: BTreeMap<String, TeamRecord>,
    ids: HashSet<String>,
    /// By time and id.
    rows: BTreeMap<(i64, String), LedgerRow>,
    prices: HashMap<PriceId, String>,
    /// By whether it is a team, name and node.
    deleted: BTreeMap<(bool, String, String), Usd>,
}

impl MemoryStore {
    /// Runs an operation, and returns its result as a future.
    fn run<'a, T: Send + 'a>(
        &'a self,
        operation: impl FnOnce(&mut Tables) -> Result<T> + Send + 'a,
    ) -> BoxFuture<'a, Result<T>> {
        Box::pin(async move { operation(&mut self.lock()) })
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        lock(&self.0)
    }
}

impl Store for MemoryStore {
    fn keys_version(&self) -> BoxFuture<'_, Result<u64>> {
        self.run(|tables| Ok(tables.version))
    }

    fn load_keys(&self) -> BoxFuture<'_, Result<KeyTable>> {
        self.run(|tables| {
            let (keys, teams) = (tables.keys.clone(), tables.teams.values().cloned().collect());
            Ok(KeyTable { version: tables.version, keys, teams })
        })
    }

    fn create_key(&self, key: KeyRecord) -> BoxFuture<'_, Result<()>> {
        self.run(move |tables| {
            if tables.active(&key.name).is_some() {
                return Err(name_is_taken(&key.name));
            }
            if tables.keys.iter().any(|other| other.sha256 == key.sha256) {
                return Err(hash_is_taken());
            }
            tables.keys.push(key);
            tables.version += 1;
            Ok(())
        })
    }

    fn update_key(&self, key: KeyRecord) -> BoxFuture<'_, Result<()>> {
        self.run(move |tables| {
            let Some(known) = tables.active(&key.name) else { return Err(no_such_key(&key.name)) };
            let (sha256, created_ms) = (std::mem::take(&mut known.sha256), known.created_ms);
            *known = KeyRecord { sha256, created_ms, revoked_ms: None, ..key };
            tables.version += 1;
            Ok(())
        })
    }

    fn revoke_key<'a>(&'a self, name: &'a str, now_ms: i64) -> BoxFuture<'a, Result<bool>> {
        self.run(move |tables| {
            let Some(known) = tables.active(name) else { return Ok(false) };
            known.revoked_ms = Some(now_ms);
            tables.version += 1;
            Ok(true)
        })
    }

    fn put_team(&self, team: TeamRecord) -> BoxFuture<'_, Result<()>> {
        self.run(move |tables| {
            tables.teams.insert(team.name.clone(), team);
            tables.version += 1;
            Ok(())
        })
    }

    fn remove_team<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool>> {
        self.run(move |tables| {
            if !tables.teams.contains_key(name) {
                return Ok(false);
            }
            let belongs =
                |key: &&KeyRecord| key.revoked_ms.is_none() && key.team.as_deref() == Some(name);
            if let Some(key) = tables.keys.iter().find(belongs) {
                return Err(team_has_keys(name, &key.name));
            }
            tables.teams.remove(name);
            tables.version += 1;
            Ok(true)
        })
    }

    fn append(&self, rows: Arc<[LedgerRow]>) -> BoxFuture<'_, Result<()>> {
        self.run(move |tables| {
            for row in rows.iter().map(|row| row.storable().into_owned()) {
                if tables.ids.insert(row.id.clone()) {
                    tables.rows.insert((row.time_ms, row.id.clone()), row);
                }
            }
            Ok(())
        })
    }

    fn put_prices(&self, prices: Vec<(PriceId, String)>) -> BoxFuture<'_, Result<()>> {
        self.run(move |tables| {
            for (id, json) in prices {
                tables.prices.entry(id).or_insert(json);
            }
            Ok(())
        })
    }

    fn price<'a>(&'a self, id: &'a PriceId) -> BoxFuture<'a, Result<Option<String>>> {
        self.run(move |tables| Ok(tables.prices.get(id).cloned()))
    }

    fn usage<'a>(&'a self, query: &'a UsageQuery) -> BoxFuture<'a, Result<Vec<UsageSum>>> {
        self.run(move |tables| {
            let rows = tables.rows.values().filter(|row| query.filter.includes(row));
            Ok(sum(rows, query.by))
        })
    }

    fn rows<'a>(
        &'a self,
        filter: &'a RowFilter,
        after: Option<(i64, &'a str)>,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>>> {
        self.run(move |tables| {
            let start = match after {
                Some((time, id)) => std::ops::Bound::Excluded((time, id.to_owned())),
                None => std::ops::Bound::Unbounded,
            };
            let rows = tables.rows.range((start, std::ops::Bound::Unbounded));
            let rows = rows.map(|(_, row)| row).filter(|row| filter.includes(row));
            Ok(rows.take(MAX_PAGE).cloned().collect())
        })
    }

    fn deleted<'a>(
        &'a self,
        by: By,
        name: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<DeletedSum>>> {
        self.run(move |tables| {
            let meant = tables.deleted.iter().filter(|((is_team, of, _), _)| {
                by == if *is_team { By::Team } else { By::Key }
                    && name.is_none_or(|name| name == of)
            });
            let sum = |((_, name, node), usd): (&(bool, String, String), &Usd)| DeletedSum {
                name: name.clone(),
                node: node.clone(),
                usd: *usd,
            };
            Ok(meant.map(sum).collect())
        })
    }

    fn prune(&self, before_ms: i64) -> BoxFuture<'_, Result<u64>> {
        self.run(move |tables| Ok(tables.delete(true, |row| row.time_ms < before_ms)))
    }

    fn forget_rows<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<u64>> {
        self.run(move |tables| {
            tables.deleted.retain(|(is_team, name, _), _| *is_team || name != key);
            Ok(tables.delete(false, |row| row.key == key))
        })
    }

    fn forget_key<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool>> {
        self.run(move |tables| {
            let before = tables.keys.len();
            tables.keys.retain(|key| key.name != name || key.revoked_ms.is_none());
            let was_there = tables.keys.len() < before;
            tables.version += u64::from(was_there);
            Ok(was_there)
        })
    }
}

impl Tables {
    /// Returns the key of a name that is not revoked.
    fn active(&mut self, name: &str) -> Option<&mut KeyRecord> {
        self.keys.iter_mut().find(|key| key.name == name && key.revoked_ms.is_none())
    }

    /// Deletes rows, the oldest first, and keeps what they have cost: for their teams, and for their keys if `keep_keys`.
    fn delete(&mut self, keep_keys: bool, is_meant: impl Fn(&LedgerRow) -> bool) -> u64 {
        let meant = self.rows.iter().filter(|(_, row)| is_meant(row)).take(MAX_PAGE);
        let meant: Vec<(i64, String)> = meant.map(|(place, _)| place.clone()).collect();
        for place in &meant {
            self.ids.remove(&place.1);
            let Some(row) = self.rows.remove(place) else { continue };
            let Some(usd) = row.usd else { continue };
            let key = keep_keys.then_some((false, row.key));
            for (is_team, name) in key.into_iter().chain(row.team.map(|team| (true, team))) {
                let sum = self.deleted.entry((is_team, name, row.node.clone())).or_default();
                *sum = *sum + usd;
            }
        }
        meant.len() as u64
    }
}

/// Sums rows up, for each group.
fn sum<'a>(rows: impl Iterator<Item = &'a LedgerRow>, by: Option<By>) -> Vec<UsageSum> {
    let mut sums: BTreeMap<String, UsageSum> = BTreeMap::new();
    if by.is_none() {
        sums.insert(String::new(), UsageSum::default());
    }
    for row in rows {
        for group in groups(row, by) {
            let sum = sums.entry(group.clone()).or_default();
            sum.group = group;
            add(sum, row);
        }
    }
    let mut sums: Vec<UsageSum> = sums.into_values().collect();
    sort(&mut sums, by);
    sums.truncate(MAX_PAGE);
    sums
}

/// Orders sums as [`Store::usage`] returns them. Groups of the same cost are in the order of their names.
fn sort(sums: &mut [UsageSum], by: Option<By>) {
    match by {
        Some(By::Day | By::Hour) => sums.reverse(),
        _ => sums.sort_by(|one, other| {
            other.usd.cmp(&one.usd).then_with(|| one.group.cmp(&other.group))
        }),
    }
}

fn groups(row: &LedgerRow, by: Option<By>) -> BTreeSet<String> {
    let group = match by {
        None => String::new(),
        Some(By::Key) => row.key.clone(),
        Some(By::Team) => row.team.clone().unwrap_or_default(),
        Some(By::Model) => format!("{}/{}", row.provider, row.served),
        Some(By::Provider) => row.provider.clone(),
        Some(By::Day) => format_day(row.time_ms.div_euclid(DAY_MS)),
        Some(By::Hour) => format_hour(row.time_ms.div_euclid(HOUR_MS)),
        Some(By::Node) => row.node.clone(),
        Some(By::Outcome) => row.outcome.as_str().to_owned(),
        Some(By::Tag) if row.tags.is_empty() => String::new(),
        Some(By::Tag) => return row.tags.iter().cloned().collect(),
    };
    BTreeSet::from([group])
}

fn add(sum: &mut UsageSum, row: &LedgerRow) {
    sum.calls += 1;
    match row.outcome {
        Outcome::Complete => {}
        Outcome::Cached => sum.cached += 1,
        Outcome::Cancelled | Outcome::Failed | Outcome::Unknown => sum.incomplete += 1,
    }
    sum.estimated += u64::from(row.estimated);
    sum.unpriced += u64::from(row.usd.is_none());
    sum.prompt_tokens = sum.prompt_tokens.saturating_add(row.prompt_tokens);
    sum.completion_tokens = sum.completion_tokens.saturating_add(row.completion_tokens);
    sum.cached_tokens = sum.cached_tokens.saturating_add(row.cached_tokens);
    let usd = row.usd.unwrap_or_default();
    sum.usd = sum.usd + usd;
    sum.estimated_usd = sum.estimated_usd + if row.estimated { usd } else { Usd::default() };
}

impl RowFilter {
    /// Returns whether a row is meant.
    fn includes(&self, row: &LedgerRow) -> bool {
        let is = |wanted: &Option<String>, value: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == value)
        };
        self.since_ms.is_none_or(|since| row.time_ms >= since)
            && self.until_ms.is_none_or(|until| row.time_ms < until)
            && is(&self.key, &row.key)
            && self.team.as_ref().is_none_or(|team| row.team.as_ref() == Some(team))
            && is(&self.provider, &row.provider)
            && self.tag.as_ref().is_none_or(|tag| row.tags.contains(tag))
            && (self.model.is_none()
                || is(&self.model, &format!("{}/{}", row.provider, row.served)))
    }
}
