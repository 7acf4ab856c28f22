//! What the dashboard shows of keys and teams.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use agentloop::Usd;
use agentloop::internal::read;
use serde::Serialize;

use super::Accounts;
use super::window::{next, starts};
use crate::state::State;
use crate::store::Limits;

/// The most keys, and the most teams, that are shown: those with the least left of a budget come first, those without one
/// last.
const MAX_SHOWN: usize = 200;

/// Some of the keys or teams.
#[derive(Debug, Default, Serialize)]
pub(crate) struct AccountsView {
    /// How many there are.
    total: usize,
    first: Vec<AccountView>,
}

/// A key or a team.
#[agentloop_macros::skip_serializing_none]
#[derive(Debug, Serialize)]
struct AccountView {
    name: String,
    /// `store` or `configuration`.
    source: &'static str,
    /// `valid` or `expired`.
    state: &'static str,
    team: Option<String>,
    /// The requests in progress on this gateway.
    running: usize,
    budgets: Vec<BudgetView>,
}

/// A budget in its current period.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BudgetView {
    usd: Usd,
    per: &'static str,
    spent: Usd,
    /// The amount that is reserved for calls in progress.
    reserved: Usd,
    /// When the next period begins, in milliseconds of Unix time.
    ends_ms: Option<i64>,
}

/// A key or a team, before it is known whether it is shown.
struct Known<'a> {
    source: &'static str,
    team: Option<&'a str>,
    expires: Option<u64>,
    limits: &'a Limits,
}

impl Accounts {
    /// Returns the keys and teams of the store and of the configuration, which comes first if both have the same name.
    pub(crate) fn view(&self, state: &State) -> (AccountsView, AccountsView) {
        let stored = self.stored_keys();
        let (mut keys, mut teams) = (BTreeMap::new(), BTreeMap::new());
        for key in stored.table.keys.iter().filter(|key| key.revoked_ms.is_none()) {
            let (team, expires, limits) = (key.team.as_deref(), key.expires, &key.limits);
            keys.insert(key.name.as_str(), Known { source: "store", team, expires, limits });
        }
        for key in state.keys.keys() {
            let (team, expires, limits) = (key.team.as_deref(), key.expires, &key.limits);
            keys.insert(&key.name, Known { source: "configuration", team, expires, limits });
        }
        let team = |source, limits| Known { source, team: None, expires: None, limits };
        for one in &stored.table.teams {
            teams.insert(one.name.as_str(), team("store", &one.limits));
        }
        for (name, limits) in &state.teams {
            teams.insert(name, team("configuration", limits));
        }
        (self.shown(keys, true), self.shown(teams, false))
    }

    fn shown(&self, known: BTreeMap<&str, Known<'_>>, are_keys: bool) -> AccountsView {
        let total = known.len();
        let now = self.now_ms();
        // Looked up without creating one: a key that was never used has none.
        let accounts = if are_keys { &self.0.keys } else { &self.0.teams };
        let accounts = read(accounts);
        let mut views: Vec<(u64, AccountView)> = Vec::new();
        for (name, one) in known {
            let (mut running, mut budgets, mut fullest) = (0, Vec::new(), 0);
            let account = accounts.get(name);
            let mut used = account.map(|account| account.lock());
            if let Some(used) = &mut used {
                used.roll(&starts(now));
                running = used.running();
            }
            for budget in &one.limits.budgets {
                let (spent, reserved) = match &used {
                    Some(used) => used.spent(budget.per),
                    None => (Usd::default(), Usd::default()),
                };
                fullest = fullest.max(1 + per_mille(spent + reserved, budget.usd));
                let start = starts(now).get(super::window::place(budget.per)).copied();
                budgets.push(BudgetView {
                    usd: budget.usd,
                    per: budget.per.as_str(),
                    spent,
                    reserved,
                    ends_ms: start.and_then(|start| next(budget.per, start)),
                });
            }
            let is_over =
                one.expires.is_some_and(|end| u64::try_from(now / 1000).unwrap_or(0) >= end);
            let state = if is_over { "expired" } else { "valid" };
            let (name, team) = (name.to_owned(), one.team.map(str::to_owned));
            let view = AccountView { name, source: one.source, state, team, running, budgets };
            views.push((fullest, view));
        }
        views.sort_by_key(|(fullest, view)| (Reverse(*fullest), Reverse(view.running)));
        let first = views.into_iter().take(MAX_SHOWN).map(|(_, view)| view).collect();
        AccountsView { total, first }
    }
}

/// Returns which part of a budget is used, in thousandths.
fn per_mille(used: Usd, budget: Usd) -> u64 {
    let part = used.picos().max(0).saturating_mul(1000) / budget.picos().max(1);
    u64::try_from(part).unwrap_or(u64::MAX - 1)
}
