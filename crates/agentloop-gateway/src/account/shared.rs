//! Limits and budgets that several gateways share.
//!
//! What this gateway counts by itself is a lower bound of what all of them use. So it is asked first, and refuses without waiting
//! for the others.

use std::sync::Arc;

use agentloop::{Error, GatewayBudget, Protocol, Usd};

use super::refusal::{others_unknown, over_budget, over_limit};
use super::scope::{Account, Scope, Short, Wait};
use super::window::{self, starts};
use super::{Accounts, Pass};
use crate::cluster::{Budget, Claim, Cluster, ClusterHealth, Entry, Rates, Refusal, Window};
use crate::store::Limits;

impl Accounts {
    /// Counts together with other gateways from now on. Only the first call has an effect.
    #[cfg_attr(not(feature = "redis"), allow(dead_code, reason = "only Redis connects gateways"))]
    pub(crate) fn set_cluster(&self, cluster: Arc<dyn Cluster>) {
        let _ = self.0.cluster.set(cluster);
        self.note_replayed();
    }

    /// Returns how the connection to the other gateways goes, if there is one.
    pub(crate) fn cluster_health(&self) -> Option<ClusterHealth> {
        self.0.cluster.get().map(|cluster| cluster.health())
    }

    /// Reports what the other gateways do not know yet.
    pub(crate) async fn leave_cluster(&self) {
        if let Some(cluster) = self.0.cluster.get() {
            cluster.close().await;
        }
    }

    /// Tells the others when the ledger has all rows of earlier processes.
    pub(super) fn note_replayed(&self) {
        if let Some(cluster) = self.0.cluster.get()
            && self.0.replaying.load(std::sync::atomic::Ordering::SeqCst) == 0
        {
            cluster.set_replayed();
        }
    }

    /// Returns whether other gateways count together with this one.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.cluster.get().is_some()
    }

    /// Counts a request with the other gateways, if the key or its team has limits.
    pub(super) async fn enter_shared(
        &self,
        pass: &Pass,
        tokens: u64,
    ) -> Result<Option<Entry>, Error> {
        let Some(cluster) = self.0.cluster.get() else { return Ok(None) };
        let scopes: Vec<_> = scopes(pass).filter(|(_, _, limits)| has_rates(limits)).collect();
        if scopes.is_empty() {
            return Ok(None);
        }
        let rates = scopes.iter().map(|(scope, _, limits)| Rates {
            scope: name(scope),
            requests_per_minute: limits.requests_per_minute,
            tokens_per_minute: limits.tokens_per_minute,
            concurrency: limits.concurrency.map(|most| u64::try_from(most).unwrap_or(u64::MAX)),
        });
        let refusal = match cluster.enter(rates.collect(), tokens).await {
            Ok(entry) => return Ok(Some(entry)),
            Err(refusal) => refusal,
        };
        let (at, wait) = match refusal {
            Refusal::Requests { at, wait } => (at, Wait::Requests(wait)),
            Refusal::Tokens { at, wait } => (at, Wait::Tokens(wait)),
            Refusal::Concurrency { at } => (at, Wait::Running),
            Refusal::Budget { .. } | Refusal::Unavailable => return Err(others_unknown()),
        };
        Err(scopes
            .get(at)
            .map_or_else(others_unknown, |(scope, _, limits)| over_limit(scope, limits, wait)))
    }

    /// Reserves an amount with the other gateways, if the key or its team has a budget.
    pub(super) async fn reserve_shared(
        &self,
        pass: &Pass,
        amount: Usd,
        now: i64,
        protocol: Protocol,
    ) -> Result<Option<Claim>, Error> {
        let Some(cluster) = self.0.cluster.get() else { return Ok(None) };
        if !pass.has_budget() {
            return Ok(None);
        }
        let (begun, mut asked) = (starts(now), Vec::new());
        let mut budgets = Vec::new();
        for (scope, account, limits) in scopes(pass) {
            let mut used = account.lock();
            used.roll(&begun);
            used.check(limits, amount)
                .map_err(|short| over_budget(&scope, &short, amount, protocol))?;
            let of = name(&scope);
            for budget in &limits.budgets {
                let Some((start, known, own)) = used.sums(budget.per) else { continue };
                let (per, end_ms) = (budget.per, window::next(budget.per, start));
                let window = Window { scope: Arc::clone(&of), per, start_ms: start, end_ms };
                budgets.push(Budget { window, limit: budget.usd, known, own });
                asked.push((scope.clone(), *budget, start));
            }
        }
        match cluster.reserve(budgets, amount).await {
            Ok(claim) => Ok(Some(claim)),
            Err(Refusal::Budget { at, sum }) => Err(match asked.get(at) {
                Some((scope, budget, start)) => {
                    over_budget(scope, &short(budget, sum, *start), amount, protocol)
                }
                None => others_unknown(),
            }),
            Err(_) => Err(others_unknown()),
        }
    }
}

fn short(budget: &GatewayBudget, sum: Usd, start: i64) -> Short {
    Short { budget: *budget, left: (budget.usd - sum).max(Usd::default()), start }
}

fn has_rates(limits: &Limits) -> bool {
    limits.requests_per_minute.is_some()
        || limits.tokens_per_minute.is_some()
        || limits.concurrency.is_some()
}

/// Returns the key of a request and its team, each with its limits.
fn scopes(pass: &Pass) -> impl Iterator<Item = (Scope, &Account, &Limits)> {
    let (account, key) = &pass.key;
    let of_key = (Scope::Key(key.name.clone()), &**account, &key.limits);
    let of_team = pass.team.as_ref().map(|(account, limits)| {
        (Scope::Team(key.team.clone().unwrap_or_default()), &**account, &**limits)
    });
    std::iter::once(of_key).chain(of_team)
}

fn name(scope: &Scope) -> Arc<str> {
    match scope {
        Scope::Key(name) => format!("key:{name}").into(),
        Scope::Team(name) => format!("team:{name}").into(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;
    use std::time::Duration;

    use agentloop::{BoxFuture, GatewayLedger};

    use super::super::tests;
    use super::*;
    use crate::cluster::Ends;
    use crate::store::KeyRecord;

    /// A cluster with a list of decisions, which notes what happens.
    #[derive(Debug, Default)]
    struct Script {
        refusals: Mutex<VecDeque<Option<Refusal>>>,
        events: Arc<Mutex<Vec<String>>>,
    }

    #[derive(Debug)]
    struct Notes(Arc<Mutex<Vec<String>>>);

    impl Ends for Notes {
        fn settle(&self, windows: &[Window], reserved: Usd, cost: Usd) {
            let text = format!("settle {} {reserved} {cost}", windows.len());
            self.0.lock().unwrap().push(text);
        }

        fn correct(&self, _: &[Arc<str>], tokens: i64) {
            self.0.lock().unwrap().push(format!("correct {tokens}"));
        }

        fn leave(&self, scopes: &[Arc<str>]) {
            self.0.lock().unwrap().push(format!("leave {}", scopes.len()));
        }
    }

    impl Script {
        fn next(&self) -> Option<Refusal> {
            self.refusals.lock().unwrap().pop_front().expect("it is not asked")
        }

        fn ends(&self) -> Arc<dyn Ends> {
            Arc::new(Notes(Arc::clone(&self.events)))
        }
    }

    impl Cluster for Script {
        fn enter(&self, rates: Vec<Rates>, tokens: u64) -> BoxFuture<'_, Result<Entry, Refusal>> {
            let decision = self.next();
            let scopes = rates.into_iter().map(|rates| rates.scope).collect();
            let entry = || Entry::new(self.ends(), scopes, tokens);
            let decision = decision.map_or_else(|| Ok(entry()), Err);
            Box::pin(async { decision })
        }

        fn reserve(
            &self,
            budgets: Vec<Budget>,
            amount: Usd,
        ) -> BoxFuture<'_, Result<Claim, Refusal>> {
            let decision = self.next();
            let windows = budgets.into_iter().map(|budget| budget.window).collect();
            let claim = || Claim::new(self.ends(), windows, amount);
            let decision = decision.map_or_else(|| Ok(claim()), Err);
            Box::pin(async { decision })
        }

        fn set_replayed(&self) {
            self.events.lock().unwrap().push("replayed".to_owned());
        }

        fn health(&self) -> ClusterHealth {
            ClusterHealth::default()
        }

        fn close(&self) -> BoxFuture<'_, ()> {
            Box::pin(async {})
        }
    }

    fn stage(refusals: &[Option<Refusal>]) -> (Accounts, Arc<Mutex<Vec<String>>>) {
        let script = Script {
            refusals: Mutex::new(refusals.iter().copied().collect()),
            ..Script::default()
        };
        let (accounts, events) = (Accounts::in_memory(), Arc::clone(&script.events));
        accounts.set_cluster(Arc::new(script));
        assert_eq!(std::mem::take(&mut *events.lock().unwrap()), ["replayed"]);
        (accounts, events)
    }

    fn key(limits: Limits) -> Arc<KeyRecord> {
        Arc::new(KeyRecord { name: "ci".to_owned(), limits, ..KeyRecord::default() })
    }

    async fn reserve(accounts: &Accounts, pass: &Arc<Pass>) -> Result<super::super::Hold, Error> {
        let (model, settings) = (tests::model("1", "1"), GatewayLedger::default());
        tests::reserve(accounts, pass, Some(&model), (1_000, 1_000), &settings).await
    }

    #[tokio::test]
    async fn keys_without_limits_and_budgets_never_ask_others() {
        let (accounts, events) = stage(&[]);
        let pass = accounts.enter(&key(Limits::default()), None, 10).await.unwrap();
        reserve(&accounts, &pass).await.unwrap().release();
        drop(pass);
        assert!(events.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn others_learn_the_end_of_calls_and_requests() {
        let (accounts, events) = stage(&[None, None, None]);
        let budgets = vec!["1/day".parse().unwrap(), "9".parse().unwrap()];
        let limits = Limits { budgets, concurrency: Some(2), ..Limits::default() };
        let pass = accounts.enter(&key(limits), None, 10).await.unwrap();
        reserve(&accounts, &pass).await.unwrap().release();
        drop(reserve(&accounts, &pass).await.unwrap());
        drop(pass);
        let events = events.lock().unwrap();
        let expected = ["settle 2 0.002 0", "settle 2 0.002 0.001", "correct 990", "leave 1"];
        assert_eq!(*events, expected);
    }

    #[tokio::test]
    async fn refusals_of_others_have_their_own_status_and_code() {
        let wait = Duration::from_secs(3);
        let (accounts, _) = stage(&[
            Some(Refusal::Requests { at: 0, wait }),
            Some(Refusal::Unavailable),
            None,
            Some(Refusal::Budget { at: 0, sum: "0.9995".parse().unwrap() }),
            Some(Refusal::Unavailable),
        ]);
        let budgets = vec!["1/day".parse().unwrap()];
        let limits = Limits { budgets, requests_per_minute: Some(1), ..Limits::default() };
        let key = key(limits);
        let error = accounts.enter(&key, None, 0).await.unwrap_err();
        assert_eq!((error.status(), error.code()), (Some(429), Some("rate_limit_exceeded")));
        assert_eq!(error.retry_after(), Some(wait));
        // A request that was refused took nothing of the only one per minute.
        let error = accounts.enter(&key, None, 0).await.unwrap_err();
        assert_eq!((error.status(), error.code()), (Some(503), Some("limits_unavailable")));
        let pass = accounts.enter(&key, None, 0).await.unwrap();
        let error = reserve(&accounts, &pass).await.unwrap_err();
        assert_eq!((error.status(), error.code()), (Some(402), Some("budget_exceeded")));
        assert!(error.to_string().contains("0.0005 USD is left"), "{error}");
        let error = reserve(&accounts, &pass).await.unwrap_err();
        assert_eq!((error.status(), error.code()), (Some(503), Some("limits_unavailable")));
        assert_eq!(accounts.in_progress().0, Usd::default());
    }
}
