//! Decisions: by the results of a step, or without Redis.

use std::sync::Arc;
use std::time::Duration;

use agentloop::{GatewayWithoutRedis, Usd};
use tokio::time::Instant;

use super::amount::to_picos;
use super::script::{EntryResult, Results};
use super::table::{Base, Batch, ClaimWait, Decided, Down, Seen, Table, WindowState};
use crate::bucket::Bucket;
use crate::cluster::{Budget, Rates, Refusal, Window};

/// A node that made a step within this time was not alone for longer: one and a half beats. On a slow network nodes often lose Redis for
/// a moment, and waiting for all others each time would keep them at their shares.
const QUIET: Duration = Duration::from_millis(1_500);

/// How units are taken from a bucket.
type Take = fn(&mut Bucket, Instant, u64, u64);

impl Table {
    /// Notes that Redis can be reached. Returns for how long it could not.
    pub(super) fn note_return(&mut self) -> Option<Duration> {
        let down = self.down.take()?;
        // Others may have been alone too, and may not be back yet: what they used meanwhile is not in Redis.
        self.returned = (!down.is_start).then(Instant::now);
        Some(down.since.elapsed())
    }

    /// Applies the results of a step.
    pub(super) fn apply(&mut self, batch: Batch, results: &Results, grace: Duration) -> Decided {
        self.round_trips += 1;
        let since_return = self.returned.map(|returned| returned.elapsed());
        if since_return.is_some_and(|since| results.silent < since.max(QUIET) || since >= grace) {
            self.returned = None;
        }
        let is_settled = self.returned.is_none() && self.down.is_none();
        self.nodes_seen = results.nodes;
        self.generation_since = Instant::now().checked_sub(results.age);
        self.must_introduce = false;
        let is_lost = self.generation != results.generation;
        let before = u64::try_from(results.before).unwrap_or(0);
        if is_lost || before < self.answered {
            // Wiped; or the server has gone back, for example to an old copy on its disk.
            let is_first = self.generation.is_empty();
            self.generation = Arc::clone(&results.generation);
            self.report_all(is_lost && !is_first);
        }
        self.answered = batch.number;
        for (report, result) in batch.windows.iter().zip(&results.windows) {
            let start_ms = self.start_ms;
            let Some(state) = self.windows.get_mut(&report.window) else { continue };
            state.is_ready = result.is_ready;
            match report.own {
                Some(own) => {
                    state.is_known = true;
                    // A share stays what it was until all have reported.
                    if result.is_ready && (is_settled || state.seen.is_none()) {
                        let others = to_picos(result.others);
                        state.seen = Some(Seen { others, own, is_frozen: false });
                    }
                }
                None if state.base == Base::Unknown => {
                    state.base = match result.column {
                        None if report.window.start_ms >= start_ms => Base::Ledger(0),
                        column => Base::Redis(to_picos(column.unwrap_or(0))),
                    };
                    self.touch_window(&report.window);
                }
                None => {}
            }
        }
        let mut decided = Decided::default();
        for (claim, place) in batch.claims.into_iter().zip(&results.claims) {
            let decision = self.decide_claim(&claim, *place, results);
            decided.claims.push((claim, decision));
        }
        for (entry, result) in batch.entries.into_iter().zip(&results.entries) {
            let decision = entry_decision(*result);
            if decision.is_ok() {
                self.count_entry(&entry.rates, entry.tokens, Bucket::drain);
            }
            decided.entries.push((entry, decision));
        }
        decided
    }

    fn decide_claim(
        &mut self,
        claim: &ClaimWait,
        place: usize,
        results: &Results,
    ) -> Result<(), Refusal> {
        if let Some(at) = place.checked_sub(1) {
            let sum = claim.budgets.get(at).zip(claim.places.get(at)).map(|(budget, place)| {
                let others = results.windows.get(place.0).map_or(0, |result| result.others);
                let own = self.windows.get(&budget.window).map_or(0, WindowState::own);
                Usd::from_picos(to_picos(others).saturating_add(own))
            });
            return Err(Refusal::Budget { at, sum: sum.unwrap_or_default() });
        }
        let is_ready =
            |budget: &Budget| self.windows.get(&budget.window).is_some_and(|w| w.is_ready);
        if self.returned.is_some() || !claim.budgets.iter().all(is_ready) {
            // The sums of Redis are not complete, and are less than what was known before.
            let decision = self.reserve_alone(&claim.budgets, claim.amount);
            if decision.is_err() {
                self.touch_budgets(&claim.budgets);
            }
            return decision;
        }
        for Budget { window, .. } in &claim.budgets {
            self.add(std::slice::from_ref(window), claim.amount);
            if let Some(seen) = self.windows.get_mut(window).and_then(|state| state.seen.as_mut()) {
                seen.own = seen.own.saturating_add(claim.amount);
            }
        }
        Ok(())
    }

    fn touch_budgets(&mut self, budgets: &[Budget]) {
        for budget in budgets {
            self.touch_window(&budget.window);
        }
    }

    /// Takes back a step that was certainly not made.
    pub(super) fn put_back(&mut self, batch: Batch) {
        for report in &batch.windows {
            self.touch_window(&report.window);
        }
        for report in &batch.scopes {
            if let Some(state) = self.scopes.get_mut(&report.rates.scope) {
                state.correction = state.correction.saturating_add(report.correction);
            }
            self.touch_scope(&report.rates.scope);
        }
        for claim in batch.claims.into_iter().rev() {
            self.claims.push_front(claim);
        }
        for entry in batch.entries.into_iter().rev() {
            self.entries.push_front(entry);
        }
    }

    /// Notes that Redis cannot be reached, and decides what waits for it.
    pub(super) fn fail(&mut self, batch: Batch, why: String) -> Decided {
        self.failures += 1;
        match &mut self.down {
            Some(down) => (down.why, down.is_start) = (why, false),
            None => self.down = Some(Down { since: Instant::now(), why, is_start: false }),
        }
        for report in &batch.windows {
            self.touch_window(&report.window);
        }
        for report in &batch.scopes {
            self.touch_scope(&report.rates.scope);
        }
        let mut claims = batch.claims;
        claims.extend(self.claims.drain(..));
        let mut entries = batch.entries;
        entries.extend(self.entries.drain(..));
        let mut decided = Decided::default();
        for claim in claims {
            let decision = self.reserve_alone(&claim.budgets, claim.amount);
            decided.claims.push((claim, decision));
        }
        for entry in entries {
            let decision = self.enter_alone(&entry.rates, entry.tokens);
            decided.entries.push((entry, decision));
        }
        decided
    }

    /// Decides about a claim without Redis.
    pub(super) fn reserve_alone(
        &mut self,
        budgets: &[Budget],
        amount: i128,
    ) -> Result<(), Refusal> {
        self.alone += 1;
        match self.without {
            GatewayWithoutRedis::Refuse => return Err(Refusal::Unavailable),
            GatewayWithoutRedis::Allow => {}
            _ => {
                for (at, budget) in budgets.iter().enumerate() {
                    self.check_share(at, budget, amount)?;
                }
            }
        }
        let windows: Vec<Window> = budgets.iter().map(|budget| budget.window.clone()).collect();
        self.add(&windows, amount);
        self.touch_budgets(budgets);
        Ok(())
    }

    /// Checks the share of this gateway in what was left of a budget at the last look.
    fn check_share(&mut self, at: usize, budget: &Budget, amount: i128) -> Result<(), Refusal> {
        let nodes = i128::from(self.nodes());
        let Some(state) = self.window(&budget.window) else { return Err(Refusal::Unavailable) };
        let own = state.own();
        let known = budget.known.picos();
        let seen = state.seen.get_or_insert(Seen { others: 0, own, is_frozen: false });
        if !std::mem::replace(&mut seen.is_frozen, true) {
            // The last look may be old. What others spend from now on is their share.
            seen.others = seen.others.max(known.saturating_sub(own));
        }
        let seen = *seen;
        let sum = known.max(seen.others.saturating_add(own));
        if sum.saturating_add(amount) > budget.limit.picos() {
            return Err(Refusal::Budget { at, sum: Usd::from_picos(sum) });
        }
        let left = budget.limit.picos().saturating_sub(seen.others).saturating_sub(seen.own).max(0);
        // The budget has enough, but perhaps others use it at the same time: this is not the client's mistake.
        if own.saturating_sub(seen.own).saturating_add(amount) > left / nodes {
            return Err(Refusal::Unavailable);
        }
        Ok(())
    }

    /// Decides about an entry without Redis.
    pub(super) fn enter_alone(&mut self, rates: &[Rates], tokens: u64) -> Result<(), Refusal> {
        self.alone += 1;
        match self.without {
            GatewayWithoutRedis::Refuse => return Err(Refusal::Unavailable),
            GatewayWithoutRedis::Allow => {}
            _ => {
                for (at, rates) in rates.iter().enumerate() {
                    self.check_rates(at, rates, tokens)?;
                }
            }
        }
        self.count_entry(rates, tokens, Bucket::take);
        for rates in rates {
            self.touch_scope(&rates.scope);
        }
        Ok(())
    }

    fn check_rates(&mut self, at: usize, rates: &Rates, tokens: u64) -> Result<(), Refusal> {
        let (now, nodes) = (Instant::now(), u64::from(self.nodes()));
        let Some(scope) = self.scope(rates) else { return Err(Refusal::Unavailable) };
        // Rounded up: a limit that is smaller than the number of gateways still allows one request on each.
        if let Some(rate) = rates.requests_per_minute {
            let wait = scope.requests.wait(now, 1, rate.div_ceil(nodes));
            if !wait.is_zero() {
                return Err(Refusal::Requests { at, wait });
            }
        }
        if let Some(rate) = rates.tokens_per_minute {
            let wait = scope.tokens.wait(now, tokens, rate.div_ceil(nodes));
            if !wait.is_zero() {
                return Err(Refusal::Tokens { at, wait });
            }
        }
        match rates.concurrency {
            Some(most) if scope.running >= most.div_ceil(nodes) => Err(Refusal::Concurrency { at }),
            _ => Ok(()),
        }
    }

    /// Counts a request that may go on.
    fn count_entry(&mut self, rates: &[Rates], tokens: u64, take: Take) {
        let (now, nodes) = (Instant::now(), u64::from(self.nodes()));
        for rates in rates {
            let Some(scope) = self.scope(rates) else { continue };
            scope.running += 1;
            // The share of this gateway is counted always, so that it is right when Redis fails.
            if let Some(rate) = rates.requests_per_minute {
                take(&mut scope.requests, now, 1, rate.div_ceil(nodes));
            }
            if let Some(rate) = rates.tokens_per_minute {
                take(&mut scope.tokens, now, tokens, rate.div_ceil(nodes));
            }
        }
    }

    /// Corrects tokens that were counted.
    pub(super) fn correct(&mut self, scope: &Arc<str>, tokens: i64) {
        let (now, nodes) = (Instant::now(), u64::from(self.nodes()));
        if let Some(state) = self.scopes.get_mut(scope)
            && let Some(rate) = state.rates.tokens_per_minute
        {
            state.tokens.correct(now, tokens, rate.div_ceil(nodes));
            state.correction = state.correction.saturating_add(tokens);
        }
    }
}

fn entry_decision(result: EntryResult) -> Result<(), Refusal> {
    let at = result.place.saturating_sub(1);
    match result.kind {
        0 => Ok(()),
        1 => Err(Refusal::Requests { at, wait: result.wait }),
        2 => Err(Refusal::Tokens { at, wait: result.wait }),
        _ => Err(Refusal::Concurrency { at }),
    }
}
