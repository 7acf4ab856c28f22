//! Calls to providers that may cost something.

use std::sync::Arc;
use std::time::Duration;

use agentloop::{
    ChatResponse, Cost, CostSource, Error, GatewayLedger, ModelData, Protocol, Usage, Usd,
};
use tokio::time::Instant;

use super::estimate::{Estimate, of_bytes};
use super::price::Priced;
use super::refusal::{not_recorded, over_budget, without_price};
use super::scope::Scope;
use super::window::{Starts, starts};
use super::{Accounts, Pass, in_ms};
use crate::cluster::Claim;
use crate::store::{KeyRecord, LedgerRow, Outcome};

/// The status of a row whose client disconnected before there was a response.
const DISCONNECTED: u16 = 499;

/// The status of a row whose call failed without one.
const BAD_GATEWAY: u16 = 502;

/// What a request says of itself in its rows.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    /// The id of the request.
    pub(crate) request: &'a str,
    pub(crate) api: Protocol,
    /// The call: `chat` or `embed`.
    pub(crate) call: &'static str,
    /// The model as the client named it.
    pub(crate) model: &'a str,
    pub(crate) tags: &'a [String],
    /// The provider and its name of the model.
    pub(crate) provider: &'a str,
    pub(crate) served: &'a str,
}

/// The calls whose responses have no tokens.
const WITHOUT_COMPLETION: [&str; 3] = ["embed", "rerank", "moderation"];

/// How a call ended.
#[derive(Debug)]
pub(crate) struct End<'a> {
    pub(crate) outcome: Outcome,
    /// The tokens that the provider reported.
    pub(crate) usage: Option<&'a Usage>,
    /// The cost, if it is known already.
    pub(crate) cost: Option<&'a Cost>,
    /// How many bytes of text were received, or how many the media of the response count as.
    pub(crate) received: usize,
    pub(crate) first_byte: Option<Duration>,
    pub(crate) status: u16,
}

/// A call in progress, for which an amount is reserved. It ends exactly once: a call that is dropped was cancelled.
#[derive(Debug)]
pub(crate) struct Hold(Box<Held>);

#[derive(Debug)]
struct Held {
    pass: Arc<Pass>,
    starts: (Starts, Starts),
    priced: Option<Priced>,
    /// What the other gateways know of it.
    claim: Option<Claim>,
    /// The row that counts if nothing more is heard. Absent once the call has ended.
    row: Option<LedgerRow>,
    began: Instant,
}

/// What a call is expected to use and to cost.
struct Wanted {
    priced: Option<Priced>,
    prompt: u64,
    response: u64,
    most: Option<Usd>,
    /// The time in milliseconds of Unix time.
    now: i64,
}

impl Accounts {
    /// Begins a call: reserves the most that it is expected to cost, and keeps the row that counts if nothing more is heard.
    ///
    /// # Errors
    ///
    /// When a budget has not enough left, or cannot be applied.
    pub(crate) async fn reserve(
        &self,
        pass: &Arc<Pass>,
        origin: Origin<'_>,
        model: Option<&Arc<ModelData>>,
        estimate: &Estimate,
        settings: &GatewayLedger,
    ) -> Result<Hold, Error> {
        let wanted = self.want(pass, origin, model, estimate, settings)?;
        // First, because it waits: a request that ends while it waits gives it back.
        let (amount, now) = (wanted.most.unwrap_or_default(), wanted.now);
        let claim = if self.is_shared() {
            Box::pin(self.reserve_shared(pass, amount, now, origin.api)).await?
        } else {
            None
        };
        self.hold(pass, origin, wanted, claim)
    }

    /// Begins a call of a gateway that does not count together with others, which need not wait. See [`reserve`](Self::reserve).
    ///
    /// # Errors
    ///
    /// When a budget has not enough left, or cannot be applied.
    pub(crate) fn reserve_alone(
        &self,
        pass: &Arc<Pass>,
        origin: Origin<'_>,
        model: Option<&Arc<ModelData>>,
        estimate: &Estimate,
        settings: &GatewayLedger,
    ) -> Result<Hold, Error> {
        let wanted = self.want(pass, origin, model, estimate, settings)?;
        self.hold(pass, origin, wanted, None)
    }

    /// Returns the most that a call is expected to cost.
    fn want(
        &self,
        pass: &Pass,
        origin: Origin<'_>,
        model: Option<&Arc<ModelData>>,
        estimate: &Estimate,
        settings: &GatewayLedger,
    ) -> Result<Wanted, Error> {
        let priced = model.map(|model| self.0.prices.of(model));
        let response = estimate.response(model.map(Arc::as_ref), settings.reserve_tokens);
        let (tier, prompt, time) = (estimate.tier.as_deref(), estimate.prompt, (self.0.clock)());
        let most = priced.as_ref().and_then(|it| it.most(prompt, response, time, tier));
        if most.is_none() && pass.has_budget() && !settings.allow_unpriced {
            return Err(without_price(&format!("{}/{}", origin.provider, origin.served)));
        }
        Ok(Wanted { priced, prompt, response, most, now: in_ms(time) })
    }

    fn hold(
        &self,
        pass: &Arc<Pass>,
        origin: Origin<'_>,
        wanted: Wanted,
        claim: Option<Claim>,
    ) -> Result<Hold, Error> {
        let Wanted { priced, prompt, response, most, now } = wanted;
        let amount = most.unwrap_or_default();
        let starts = self.take(pass, amount, now, origin.api)?;
        let row = LedgerRow {
            outcome: Outcome::Unknown,
            estimated: true,
            prompt_tokens: prompt,
            completion_tokens: response,
            usd: most,
            reserved: amount,
            price: priced.as_ref().map(|priced| priced.id.clone()),
            ..self.begin_row(&pass.key.1, origin, now)
        };
        let kept = self.0.keep.reserve(&row);
        let (pass, began) = (Arc::clone(pass), Instant::now());
        let hold = Hold(Box::new(Held { pass, starts, priced, claim, row: Some(row), began }));
        if let Err(error) = kept {
            hold.release();
            return Err(not_recorded(&error));
        }
        Ok(hold)
    }

    /// Reserves an amount in all budgets of a key and its team, or in none.
    fn take(
        &self,
        pass: &Pass,
        amount: Usd,
        now: i64,
        protocol: Protocol,
    ) -> Result<(Starts, Starts), Error> {
        let begun = starts(now);
        let (account, key) = &pass.key;
        // The key before the team, everywhere.
        let mut used = account.lock();
        used.roll(&begun);
        used.check(&key.limits, amount).map_err(|short| {
            over_budget(&Scope::Key(key.name.clone()), &short, amount, protocol)
        })?;
        let of_team = match &pass.team {
            None => begun,
            Some((account, limits)) => {
                let mut used = account.lock();
                used.roll(&begun);
                used.check(limits, amount).map_err(|short| {
                    let name = key.team.clone().unwrap_or_default();
                    over_budget(&Scope::Team(name), &short, amount, protocol)
                })?;
                used.reserve(amount)
            }
        };
        Ok((used.reserve(amount), of_team))
    }

    /// Returns a row of a call that begins now.
    fn begin_row(&self, key: &KeyRecord, origin: Origin<'_>, now: i64) -> LedgerRow {
        // Only the memory of its texts is used again.
        let spare = self.0.keep.spare_row();
        let mut id = spare.id;
        self.write_id(&mut id);
        LedgerRow {
            id,
            request: refill(spare.request, origin.request),
            node: refill(spare.node, &self.0.node),
            time_ms: now,
            key: refill(spare.key, &key.name),
            team: key.team.as_deref().map(|name| refill(spare.team.unwrap_or_default(), name)),
            api: refill(spare.api, origin.api.name()),
            call: refill(spare.call, origin.call),
            model: refill(spare.model, origin.model),
            provider: refill(spare.provider, origin.provider),
            served: refill(spare.served, origin.served),
            tags: origin.tags.to_vec(),
            ..LedgerRow::default()
        }
    }
}

/// Writes a text in place of another.
fn refill(mut place: String, text: &str) -> String {
    place.clear();
    place.push_str(text);
    place
}

impl Pass {
    /// Adds a row for a response of the gateway's own cache, which cost nothing.
    pub(crate) fn add_cached(&self, origin: Origin<'_>, time: Duration, status: u16) {
        let accounts = &self.accounts;
        accounts.0.keep.settle(LedgerRow {
            outcome: Outcome::Cached,
            usd: Some(Usd::default()),
            duration_ms: milliseconds(time),
            status,
            ..accounts.begin_row(&self.key.1, origin, accounts.now_ms())
        });
    }
}

impl Hold {
    /// Ends a call that may have cost something. Returns the cost, and whether it is an estimate.
    pub(crate) fn settle(mut self, end: &End<'_>) -> Option<Cost> {
        self.0.finish(end)
    }

    /// Ends a call that certainly cost nothing.
    pub(crate) fn release(mut self) {
        let held = &mut *self.0;
        if let Some(row) = held.row.take() {
            held.change(row.reserved, Usd::default());
            held.pass.accounts.0.keep.release(&row.id);
        }
    }

    /// Ends a call that failed before its first content.
    pub(crate) fn fail(self, error: &Error) {
        if !error.may_have_begun() {
            return self.release();
        }
        let partial = error.partial();
        self.settle(&End {
            outcome: Outcome::Failed,
            usage: partial.map(|partial| &partial.usage),
            cost: None,
            received: partial.map_or(0, content_bytes),
            first_byte: None,
            status: error.status().unwrap_or(BAD_GATEWAY),
        });
    }
}

impl Held {
    fn finish(&mut self, end: &End<'_>) -> Option<Cost> {
        let mut row = self.row.take()?;
        let is_reported = |usage: &&Usage| {
            usage.prompt_tokens.is_some()
                && (usage.completion_tokens.is_some()
                    || WITHOUT_COMPLETION.contains(&row.call.as_str()))
        };
        let is_complete = end.outcome == Outcome::Complete;
        let reported = end.usage.filter(is_reported).filter(|_| is_complete);
        // Some providers report what an image costs, and no tokens.
        let known = end.cost.filter(|_| is_complete);
        let (usage, cost) = match (reported, known) {
            (Some(usage), _) => (usage.clone(), self.exact(usage, end.cost)),
            (None, Some(cost)) => (end.usage.cloned().unwrap_or_default(), Some(cost.clone())),
            (None, None) => {
                let usage = estimated(&row, end);
                let cost = self.priced.as_ref().and_then(|priced| priced.estimate(&usage));
                (usage, cost)
            }
        };
        let is_estimate = cost.as_ref().is_some_and(|cost| cost.source == CostSource::Estimate);
        row.estimated = (reported.is_none() && known.is_none()) || is_estimate;
        row.outcome = end.outcome;
        row.prompt_tokens = usage.prompt_tokens.unwrap_or(0);
        row.completion_tokens = usage.completion_tokens.unwrap_or(0);
        row.cached_tokens = usage.details.cached_tokens.unwrap_or(0);
        row.reasoning_tokens = usage.details.reasoning_tokens.unwrap_or(0);
        // A provider that reports a negative cost does not refill a budget.
        row.usd = cost.as_ref().map(|cost| cost.usd.max(Usd::default()));
        if cost.as_ref().is_none_or(|cost| cost.source == CostSource::Provider) {
            row.price = None;
        }
        row.duration_ms = milliseconds(self.began.elapsed());
        row.first_byte_ms = end.first_byte.map(milliseconds);
        row.status = end.status;
        self.pass.add_used(row.prompt_tokens.saturating_add(row.completion_tokens));
        self.change(row.reserved, row.usd.unwrap_or_default());
        self.pass.accounts.0.keep.settle(row);
        cost
    }

    /// Returns the cost of a usage that the provider reported.
    fn exact(&self, usage: &Usage, known: Option<&Cost>) -> Option<Cost> {
        if let Some(cost) = known {
            return Some(cost.clone());
        }
        let priced = self.priced.as_ref()?;
        let exact = priced.model.cost(usage, std::time::SystemTime::now(), None);
        exact.or_else(|| priced.estimate(usage))
    }

    /// Exchanges the reserved amount for the cost.
    fn change(&mut self, reserved: Usd, cost: Usd) {
        if let Some(claim) = self.claim.take() {
            claim.settle(cost);
        }
        self.pass.key.0.lock().settle(&self.starts.0, reserved, cost);
        if let Some((account, _)) = &self.pass.team {
            account.lock().settle(&self.starts.1, reserved, cost);
        }
    }
}

/// A call that is dropped: the client disconnected while the gateway waited for the provider.
impl Drop for Hold {
    fn drop(&mut self) {
        self.0.finish(&End {
            outcome: Outcome::Cancelled,
            usage: None,
            cost: None,
            received: 0,
            first_byte: None,
            status: DISCONNECTED,
        });
    }
}

/// Estimates what the provider did not report.
fn estimated(row: &LedgerRow, end: &End<'_>) -> Usage {
    let mut usage = end.usage.cloned().unwrap_or_default();
    let prompt = *usage.prompt_tokens.get_or_insert(row.prompt_tokens);
    let completion = usage.completion_tokens.unwrap_or(0).max(of_bytes(end.received));
    usage.completion_tokens = Some(completion);
    usage.total_tokens = Some(prompt.saturating_add(completion));
    usage
}

/// Returns how many bytes of text a response has.
fn content_bytes(response: &ChatResponse) -> usize {
    response.choices.iter().map(|choice| choice.text().len()).sum()
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
