//! Reads the sums of budgets.

use std::collections::{BTreeMap, HashMap};

use agentloop::{Result, Usd};
use serde::{Deserialize, Serialize};

use super::Context;
use super::health::Access;
use crate::store::{By, KeyTable, MAX_PAGE, RowFilter, UsageQuery};

/// From how many sums on that begin at the same time the store is asked for all keys, or all teams, at once.
const GROUP_FROM: usize = 5;

/// The sums of the store as they were read last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Sums(Vec<(RowFilter, Usd)>);

impl Sums {
    /// Sets sums. If they are not all there are, others stay.
    fn set(&mut self, sums: Vec<(RowFilter, Usd)>, all: bool) {
        if !all {
            let is_new = |(filter, _): &(RowFilter, Usd)| !sums.iter().any(|sum| sum.0 == *filter);
            self.0.retain(is_new);
        } else {
            self.0.clear();
        }
        self.0.extend(sums);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&RowFilter, Usd)> {
        self.0.iter().map(|(filter, usd)| (filter, *usd))
    }
}

/// Reads the sums that are wanted: those that are not known, or `all` of them. `table` has keys that are about to be set.
pub(super) async fn read_sums(
    context: &Context,
    table: Option<&KeyTable>,
    all: bool,
) -> Result<()> {
    if context.books.wanted(table, all).is_empty() {
        return Ok(());
    }
    let mut known = context.sums.lock().await;
    let mut groups: BTreeMap<(bool, Option<i64>), Vec<RowFilter>> = BTreeMap::new();
    for filter in context.books.wanted(table, all) {
        groups.entry((filter.team.is_some(), filter.since_ms)).or_default().push(filter);
    }
    let mut sums = Vec::new();
    for ((is_team, since_ms), filters) in groups {
        let by = if is_team { By::Team } else { By::Key };
        let mut found: HashMap<String, Usd> = HashMap::new();
        let mut is_complete = false;
        if filters.len() >= GROUP_FROM {
            let filter = RowFilter { since_ms, ..RowFilter::default() };
            let query = UsageQuery::new(Some(by), filter);
            let groups = context.ask(Access::Read, context.store.usage(&query)).await?;
            is_complete = groups.len() < MAX_PAGE;
            found.extend(groups.into_iter().map(|sum| (sum.group, sum.usd)));
        }
        let mut named = Vec::with_capacity(filters.len());
        for filter in filters {
            let name = filter.team.as_ref().or(filter.key.as_ref());
            let usd = match name.and_then(|name| found.get(name)) {
                Some(usd) => *usd,
                None if is_complete => Usd::default(),
                None => {
                    let query = UsageQuery::new(None, filter.clone());
                    let sums = context.ask(Access::Read, context.store.usage(&query)).await?;
                    sums.first().map(|sum| sum.usd).unwrap_or_default()
                }
            };
            named.push((filter, usd));
        }
        if since_ms.is_none_or(|start| start <= 0) {
            add_deleted(context, by, &mut named).await?;
        }
        for (filter, usd) in named {
            context.books.set_base(&filter, usd);
            sums.push((filter, usd));
        }
    }
    known.set(sums, all);
    Ok(())
}

/// Adds what deleted rows have cost. Rows are summed up before it: what is deleted in between counts twice until the sums are
/// read again, and never not at all.
async fn add_deleted(context: &Context, by: By, sums: &mut [(RowFilter, Usd)]) -> Result<()> {
    let only = match sums {
        [(filter, _)] => filter.team.clone().or_else(|| filter.key.clone()),
        _ => None,
    };
    let question = context.store.deleted(by, only.as_deref());
    let deleted = context.ask(Access::Read, question).await?;
    let mut by_name: HashMap<String, Usd> = HashMap::new();
    for sum in deleted {
        let known = by_name.entry(sum.name).or_default();
        *known = *known + sum.usd;
    }
    for (filter, usd) in sums {
        let name = filter.team.as_ref().or(filter.key.as_ref());
        *usd = *usd + name.and_then(|name| by_name.get(name)).copied().unwrap_or_default();
    }
    Ok(())
}
