//! What the store has of the sums of budgets.

use std::sync::atomic::Ordering;

use agentloop::Usd;

use super::Accounts;
use super::scope::Scope;
use super::window::{Starts, day, starts};
use crate::store::{KeyTable, LedgerRow, Limits, PriceId, RowFilter};

impl Accounts {
    /// Returns the sums of budgets that must be read from the store: those that are not known, or `all` of them if other gateways use
    /// the same store. `table` has keys and teams that are about to be set; without it they are those that are in use.
    ///
    /// No row may be stored between the question to the store and [`set_base`](Self::set_base): it would be counted in neither sum.
    pub(crate) fn wanted(&self, table: Option<&KeyTable>, all: bool) -> Vec<RowFilter> {
        let stored = self.stored_keys();
        let table = table.unwrap_or(&stored.table);
        let mut scopes: Vec<(Scope, &Limits)> = Vec::new();
        for key in table.keys.iter().filter(|key| key.revoked_ms.is_none()) {
            scopes.push((Scope::Key(key.name.clone()), &key.limits));
        }
        for team in &table.teams {
            scopes.push((Scope::Team(team.name.clone()), &team.limits));
        }
        let configured = self.configured();
        scopes.extend(configured.iter().map(|(scope, limits)| (scope.clone(), limits)));
        let now = starts(self.now_ms());
        let mut wanted = Vec::new();
        for (scope, limits) in scopes {
            if limits.budgets.is_empty() {
                continue;
            }
            let account = self.account(&scope);
            let mut used = account.lock();
            used.roll(&now);
            let mut times = used.wanted(limits, all);
            // Several periods can begin on the same day.
            times.sort_unstable();
            times.dedup();
            wanted.extend(times.into_iter().map(|since_ms| scope.filter(since_ms)));
        }
        wanted
    }

    /// Sets a sum that was [`wanted`](Self::wanted).
    pub(crate) fn set_base(&self, sum: &RowFilter, usd: Usd) {
        let Some(since_ms) = sum.since_ms else { return };
        for account in [
            sum.key.as_deref().map(|name| self.key(name)),
            sum.team.as_deref().map(|name| self.team(name)),
        ]
        .into_iter()
        .flatten()
        {
            account.lock().set_base(since_ms, usd);
        }
    }

    /// Adds rows of an earlier process that are not stored yet. All of them must be added before the first is stored.
    pub(crate) fn add_unstored(&self, row: &LedgerRow) {
        self.0.replaying.fetch_add(1, Ordering::SeqCst);
        let now = starts(self.now_ms());
        let usd = row.usd.unwrap_or_default();
        self.each_account(row, usd, &now, |used, at, usd| used.add_unstored(at, usd));
    }

    /// Notes that rows are in the store now.
    pub(crate) fn rows_stored(&self, rows: &[LedgerRow]) {
        let mut replayed = 0;
        let now = starts(self.now_ms());
        // Rows in a row are mostly of one key and one day: their sum is added at once, because requests wait for the same locks.
        let has_same = |one: &LedgerRow, other: &LedgerRow| {
            day(one.time_ms) == day(other.time_ms) && one.key == other.key && one.team == other.team
        };
        for same in rows.chunk_by(has_same) {
            let usd =
                same.iter().filter_map(|row| row.usd).fold(Usd::default(), |sum, usd| sum + usd);
            if let Some(row) = same.first() {
                self.each_account(row, usd, &now, |used, at, usd| used.stored(at, usd));
            }
            let is_old = |row: &&LedgerRow| !row.id.starts_with(&self.0.run);
            replayed += same.iter().filter(is_old).count() as u64;
        }
        if replayed > 0 {
            let less = |left: u64| Some(left.saturating_sub(replayed));
            let _ = self.0.replaying.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
            self.note_replayed();
        }
    }

    /// Changes the sums of the key and the team of a row by an amount.
    fn each_account(
        &self,
        row: &LedgerRow,
        usd: Usd,
        now: &Starts,
        change: impl Fn(&mut super::scope::Used, &Starts, Usd),
    ) {
        if usd == Usd::default() {
            return;
        }
        let at = starts(row.time_ms);
        let team = row.team.as_deref().map(|name| self.team(name));
        for account in [Some(self.key(&row.key)), team].into_iter().flatten() {
            let mut used = account.lock();
            used.roll(now);
            change(&mut used, &at, usd);
        }
    }

    fn account(&self, scope: &Scope) -> std::sync::Arc<super::scope::Account> {
        match scope {
            Scope::Key(name) => self.key(name),
            Scope::Team(name) => self.team(name),
        }
    }

    /// Returns the prices that were used since the last time, for the store.
    pub(crate) fn take_prices(&self) -> Vec<(PriceId, String)> {
        self.0.prices.take_new()
    }

    /// Puts prices back that could not be stored.
    pub(crate) fn put_back_prices(&self, prices: Vec<(PriceId, String)>) {
        self.0.prices.put_back(prices);
    }
}
