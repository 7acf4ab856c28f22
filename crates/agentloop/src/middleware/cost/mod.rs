//! Adds the cost to every response, sums it up, and limits it.

#[cfg(feature = "config")]
pub(super) mod config;
mod ledger;
mod priced;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

pub use ledger::{CostEntry, CostLedger, Totals};

use self::ledger::Spent;
use self::priced::Pricer;
use super::estimate;
use super::watch::{Ending, Seen, Watch};
use crate::chat::{Cost, CostSource, Usage, Usd};
use crate::error::{Error, ErrorKind, Result};
use crate::middleware::{Middleware, Next, Request, Response};
use crate::models::{ModelData, Pricing};
use crate::provider::{Provider, Target};
use crate::transport::BoxFuture;

/// The time in which costs are added up for a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CostPeriod {
    /// As long as the process runs.
    #[default]
    Process,
    /// A day.
    Day,
    /// A month.
    Month,
    /// Without an end.
    Total,
}

impl CostPeriod {
    /// Returns the words that follow an amount: " per day".
    fn words(self) -> &'static str {
        match self {
            Self::Process => "",
            Self::Day => " per day",
            Self::Month => " per month",
            Self::Total => " in total",
        }
    }
}

/// The longest expected response, if neither the request nor the data of the model limits it.
const LONGEST_RESPONSE: u64 = 8_192;

type Function = dyn Fn(&CostEntry) + Send + Sync;
type SpentFunction = dyn Fn() -> Result<Usd> + Send + Sync;
type Clock = dyn Fn() -> SystemTime + Send + Sync;

/// Adds the cost to each response, sums it up, and refuses calls that could exceed a limit.
///
/// - A cost that the provider reports is used first; else it is computed from the usage and the [price list](crate::models). An unknown cost
///   is absent, not zero.
/// - Every call is added to the [ledger](CostLedger), by model and by the `tags` of its request. If a call is cut off or dropped before the
///   provider reported the usage, its cost is estimated and marked as an estimate.
/// - With a [limit](Self::limit), the most that a call can cost is reserved before it is made. A call for which not enough is left fails with
///   [`SpendingLimit`](ErrorKind::SpendingLimit), also if many calls are made at once.
///
/// Place it inside of retry and fallback, so that it counts every attempt, and inside of a cache, so that it does not count stored
/// responses. Clients that are derived from one another ([`with_key`](crate::AgentLoop::with_key)) share the ledger and the limit.
///
/// ```
/// use agentloop::{AgentLoop, middleware::Costs};
///
/// let costs = Costs::new().limit("10".parse()?);
/// let ledger = costs.ledger();
/// let ai = AgentLoop::builder().layer(costs).build()?;
/// // … calls …
/// println!("spent {} USD", ledger.total().usd);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Costs {
    ledger: CostLedger,
    limit: Option<Usd>,
    allow_unpriced: bool,
    clock: Option<Arc<Clock>>,
    function: Option<Arc<Function>>,
    period: CostPeriod,
    spent: Option<Arc<SpentFunction>>,
}

impl Default for Costs {
    fn default() -> Self {
        Self::new()
    }
}

impl Costs {
    /// Counts costs without a limit.
    pub fn new() -> Self {
        Self {
            ledger: CostLedger::default(),
            limit: None,
            allow_unpriced: false,
            clock: None,
            function: None,
            period: CostPeriod::Process,
            spent: None,
        }
    }

    setters! {
        /// Limits the cost of all calls together.
        limit(self, usd: Usd) => self.limit = Some(usd);

        /// Sets the time that the limit is for. It needs [`spent`](Self::spent), which adds up the costs of that time: by itself the
        /// limit is that of the process.
        per(self, period: CostPeriod) => self.period = period;
    }

    /// Returns the time that the limit is for.
    pub fn period(&self) -> CostPeriod {
        self.period
    }

    setters! {
        /// Compares the limit with the amount that the function returns, in place of the sum of the ledger: with what several processes have
        /// spent today, for example. The function is called before each call, and its error fails the call.
        ///
        /// Amounts that are reserved for calls under way are added, those of this ledger. [`on_call`](Self::on_call) has been called with a
        /// call before its reserved amount is released, so no call is missing in between.
        ///
        /// ```
        /// use agentloop::middleware::{CostPeriod, Costs};
        ///
        /// # let (read, write) = (|| Ok("9.99".parse().unwrap_or_default()), |_: &agentloop::middleware::CostEntry| {});
        /// let costs = Costs::new().limit("10".parse()?).per(CostPeriod::Day).spent(read).on_call(write);
        /// # Ok::<(), agentloop::ParseUsdError>(())
        /// ```
        spent(self, function: impl Fn() -> Result<Usd> + Send + Sync + 'static) =>
            self.spent = Some(Arc::new(function));

        /// Allows models whose price is not known, although there is a limit. Their calls count without a cost.
        allow_unpriced(self) => self.allow_unpriced = true;

        /// Uses a ledger that others use too.
        sharing(self, ledger: CostLedger) => self.ledger = ledger;

        /// Uses another clock than the system's, for prices that change over time.
        clock(self, now: impl Fn() -> SystemTime + Send + Sync + 'static) =>
            self.clock = Some(Arc::new(now));

        /// Passes every entry to a function, for example to store it. The function is called on the task that makes the call, so it must not block.
        on_call(self, function: impl Fn(&CostEntry) + Send + Sync + 'static) =>
            self.function = Some(Arc::new(function));
    }

    /// Returns the ledger, which can be read at any time.
    pub fn ledger(&self) -> CostLedger {
        self.ledger.clone()
    }

    fn now(&self) -> SystemTime {
        self.clock.as_ref().map_or_else(SystemTime::now, |now| now())
    }

    /// Reserves the most that the call can cost.
    fn reserve(
        &self,
        request: &Request,
        target: &Target,
        model: Option<&ModelData>,
    ) -> Result<Usd> {
        let Some(limit) = self.limit else { return Ok(Usd::default()) };
        let named = |error: Error| {
            error.with_provider(target.provider.name.as_ref()).with_model(&target.model)
        };
        let most = model.and_then(|model| most(request, &target.provider, model, self.now()));
        let Some(most) = most else {
            if self.allow_unpriced {
                return Ok(Usd::default());
            }
            let message = format!(
                "the price of {}/{} is not known, so the spending limit cannot be applied",
                target.provider.name, target.model
            );
            return Err(named(Error::new(ErrorKind::SpendingLimit, message).with_hint(
                "set its price in `[models]` of agentloop.toml, or allow models without a price",
            )));
        };
        let spent = self.spent.as_ref().map(|spent| spent()).transpose().map_err(named)?;
        self.ledger.reserve(most, limit, spent).map_err(|left| {
            let per = self.period.words();
            let message = format!(
                "the spending limit of {limit} USD{per}: this call can cost up to {most} USD, and {left} USD is left"
            );
            let hint = "shorten the response with `max_tokens`, or raise the limit";
            named(Error::new(ErrorKind::SpendingLimit, message).with_hint(hint))
        })?;
        Ok(most)
    }
}

impl Middleware for Costs {
    fn call<'a>(&'a self, request: Request, next: Next) -> BoxFuture<'a, Result<Response>> {
        Box::pin(async move {
            let target = next.target(request.model())?;
            let provider = &target.provider;
            let own = request.access().and_then(|access| access.base_url(&provider.name));
            let region = target.price_region(|| match own {
                Some(url) => Some(url.into()),
                None => Some(next.base_url(provider).ok()?.into()),
            });
            let model = self.ledger.model(&target, region.as_deref());
            let reserved = self.reserve(&request, &target, model.as_deref())?;
            let tier = request.chat().and_then(|chat| target.provider.service_tier(chat));
            let tier = tier.map(str::to_owned);
            let pricing = Pricing { model, tier, when: Some(self.now()), is_certain: false };
            let pricer = Pricer { pricing: pricing.clone(), own_clock: self.clock.is_some() };
            let call = Call {
                ledger: self.ledger.clone(),
                function: self.function.clone(),
                target,
                reserved,
                pricing,
                request: request.clone(),
            };
            let watch = Watch::new(move |ending: Ending<'_>, seen: &Seen| call.end(ending, seen));
            let response = next.run(request).await.map(|response| pricer.apply(response));
            watch.see(response)
        })
    }

    fn needs_events(&self) -> bool {
        false
    }
}

/// A call that will be added to the ledger.
struct Call {
    ledger: CostLedger,
    function: Option<Arc<Function>>,
    target: Arc<Target>,
    reserved: Usd,
    pricing: Pricing,
    request: Request,
}

impl Call {
    fn end(&self, ending: Ending<'_>, seen: &Seen) {
        let spent = match ending {
            // Some providers do not report the usage.
            Ending::Answered(response) if response.usage.is_empty() => {
                self.estimated(None, seen.content_bytes)
            }
            Ending::Answered(response) => {
                self.reported(Cow::Borrowed(&response.usage), response.cost.clone())
            }
            Ending::Embedded(response) => match &response.usage {
                Some(usage) => {
                    self.reported(Cow::Owned(priced::usage_of(usage)), response.cost.clone())
                }
                None => self.estimated(None, 0),
            },
            // Many of these calls are not charged by tokens, so there is nothing to estimate from.
            Ending::Done(response) => {
                let usage = response.usage().cloned().unwrap_or_default();
                self.reported(Cow::Owned(usage), response.cost().cloned())
            }
            Ending::Failed(error) => match error.partial() {
                Some(partial) => self.estimated(Some(&partial.usage), seen.content_bytes),
                None if error.may_have_begun() => self.estimated(None, 0),
                None => self.reported(Cow::Owned(Usage::default()), None),
            },
            Ending::Dropped => self.estimated(seen.usage.as_deref(), seen.content_bytes),
        };
        // The function comes first: what it stores is counted before the reserved amount is released.
        if let Some(function) = &self.function {
            function(&spent.to_entry());
        }
        self.ledger.settle(&spent, self.reserved);
    }

    /// Returns the cost as reported.
    fn reported<'a>(&'a self, usage: Cow<'a, Usage>, cost: Option<Cost>) -> Spent<'a> {
        let (target, tags) = (self.target.as_ref(), self.request.tags());
        Spent { target, tags, usage, cost, estimated: false }
    }

    /// Returns the cost with estimates for what was not reported.
    fn estimated(&self, known: Option<&Usage>, content_bytes: u64) -> Spent<'_> {
        let mut usage = known.cloned().unwrap_or_default();
        let estimated = || estimate::prompt_tokens(&self.request);
        let prompt = *usage.prompt_tokens.get_or_insert_with(estimated);
        let seen = estimate::of_bytes(content_bytes);
        let completion = usage.completion_tokens.map_or(seen, |reported| reported.max(seen));
        usage.completion_tokens = Some(completion);
        usage.total_tokens = Some(prompt.saturating_add(completion));
        let cost = self.pricing.cost(&usage, None);
        let cost = cost.map(|cost| Cost { source: CostSource::Estimate, ..cost });
        Spent { estimated: true, ..self.reported(Cow::Owned(usage), cost) }
    }
}

/// Returns the most that a call can cost, if its price is known: an estimate of the prompt and the longest response.
fn most(request: &Request, provider: &Provider, model: &ModelData, now: SystemTime) -> Option<Usd> {
    let (longest, tier) = match request.chat() {
        Some(chat) => {
            let longest = chat.max_tokens.or(model.max_output_tokens).unwrap_or(LONGEST_RESPONSE);
            let choices = u64::from(chat.n.unwrap_or(1).max(1));
            (longest.saturating_mul(choices), provider.service_tier(chat))
        }
        None => (0, None),
    };
    model.most(estimate::prompt_tokens(request), longest, now, tier)
}

shown! { Costs: self { limit: self.limit } }
