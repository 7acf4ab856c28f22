//! Requests in progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentloop::Error;
use tokio::time::Instant;

use super::Accounts;
use super::refusal::over_limit;
use super::scope::{Account, Scope};
use crate::cluster::Entry;
use crate::store::{KeyRecord, Limits};

/// A request in progress. Dropping it ends the request; its calls keep it.
pub(crate) struct Pass {
    pub(super) accounts: Accounts,
    pub(super) key: (Arc<Account>, Arc<KeyRecord>),
    pub(super) team: Option<(Arc<Account>, Arc<Limits>)>,
    /// The tokens that were taken of limits per minute.
    taken: u64,
    /// The tokens that were used.
    used: AtomicU64,
    /// What the other gateways know of it.
    entry: Option<Entry>,
}

agentloop::shown! { Pass: self { taken: self.taken } }

impl Accounts {
    /// Begins a request of a key, which may belong to a team.
    ///
    /// # Errors
    ///
    /// When a limit of the key or of the team is reached.
    pub(crate) async fn enter(
        &self,
        key: &Arc<KeyRecord>,
        team: Option<&Arc<Limits>>,
        tokens: u64,
    ) -> Result<Arc<Pass>, Error> {
        let now = Instant::now();
        let account = self.key(&key.name);
        let of_team = match (&key.team, team) {
            (Some(name), Some(limits)) => Some((self.team(name), Arc::clone(limits))),
            (Some(name), None) => Some((self.team(name), Arc::default())),
            (None, _) => None,
        };
        {
            // The key before the team, everywhere.
            let mut used = account.lock();
            let refused = |scope: Scope, limits: &Limits, wait| over_limit(&scope, limits, wait);
            used.check_limits(&key.limits, tokens, now)
                .map_err(|wait| refused(Scope::Key(key.name.clone()), &key.limits, wait))?;
            if let Some((account, limits)) = &of_team {
                let mut used = account.lock();
                used.check_limits(limits, tokens, now).map_err(|wait| {
                    refused(Scope::Team(key.team.clone().unwrap_or_default()), limits, wait)
                })?;
                used.enter(limits, tokens, now);
            }
            used.enter(&key.limits, tokens, now);
        }
        let (key, used) = ((account, Arc::clone(key)), AtomicU64::new(0));
        let accounts = self.clone();
        let mut pass = Pass { accounts, key, team: of_team, taken: tokens, used, entry: None };
        if self.is_shared() {
            // In a box, so the requests of a gateway without others do not have room for it.
            match Box::pin(self.enter_shared(&pass, tokens)).await {
                Ok(entry) => pass.entry = entry,
                Err(error) => {
                    pass.give_back_request();
                    return Err(error);
                }
            }
        }
        Ok(Arc::new(pass))
    }
}

impl Pass {
    /// Notes the tokens that a call used.
    pub(super) fn add_used(&self, tokens: u64) {
        self.used.fetch_add(tokens, Ordering::Relaxed);
    }

    fn give_back_request(&self) {
        let (account, key) = &self.key;
        account.lock().give_back_request(&key.limits);
        if let Some((account, limits)) = &self.team {
            account.lock().give_back_request(limits);
        }
    }

    /// Returns whether the key or its team has a budget.
    pub(super) fn has_budget(&self) -> bool {
        let of_team = self.team.as_ref().is_some_and(|(_, limits)| !limits.budgets.is_empty());
        of_team || !self.key.1.limits.budgets.is_empty()
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let now = Instant::now();
        // A request that used nothing gives all of its tokens back.
        let used = self.used.load(Ordering::Relaxed);
        if let Some(entry) = &mut self.entry {
            entry.set_tokens(used);
        }
        let (account, key) = &self.key;
        account.lock().leave(&key.limits, self.taken, used, now);
        if let Some((account, limits)) = &self.team {
            account.lock().leave(limits, self.taken, used, now);
        }
    }
}
