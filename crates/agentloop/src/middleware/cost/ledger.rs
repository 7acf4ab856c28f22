//! Adds up the costs of calls.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use serde::{Deserialize, Serialize};

use crate::chat::{Cost, CostSource, Usage, Usd};
use crate::limits::{MAX_COST_MODELS, MAX_COST_TAGS};
use crate::lock::lock;
use crate::models::{ModelData, PriceBook};
use crate::provider::Provider;
use crate::provider::Target;

/// The costs of all calls so far. Clones share one ledger and are cheap.
///
/// ```
/// use agentloop::middleware::{CostLedger, Costs};
///
/// // Two clients can add up their costs in one ledger.
/// let ledger = CostLedger::default();
/// let costs = [Costs::new().sharing(ledger.clone()), Costs::new().sharing(ledger.clone())];
/// assert_eq!(ledger.total().calls, 0);
/// # drop(costs);
/// ```
#[derive(Clone, Default)]
pub struct CostLedger(Arc<Mutex<Sums>>);

/// Sums of calls.
///
/// ```
/// use agentloop::middleware::Costs;
///
/// let ledger = Costs::new().ledger();
/// assert_eq!((ledger.total().calls, ledger.total().unpriced), (0, 0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Totals {
    /// The calls that ended, with a response, an error or a drop.
    pub calls: u64,
    /// The calls whose cost is not known.
    pub unpriced: u64,
    /// The cost of the other calls.
    pub usd: Usd,
    /// The part of the cost that is an estimate, because the provider did not report the usage.
    pub estimated_usd: Usd,
    /// The calls whose cost is an estimate.
    pub estimated_calls: u64,
    /// The tokens of prompts.
    pub prompt_tokens: u64,
    /// The tokens of responses.
    pub completion_tokens: u64,
}

impl Totals {
    fn add(&mut self, spent: &Spent<'_>) {
        self.calls += 1;
        // A negative cost that a provider reports does not lower the sum.
        let amount = |cost: &Cost| cost.usd.max(Usd::default());
        match &spent.cost {
            Some(cost) => self.usd = self.usd + amount(cost),
            None if !spent.usage.is_empty() => self.unpriced += 1,
            None => {}
        }
        if spent.estimated {
            self.estimated_calls += 1;
        }
        if let Some(cost) = spent.cost.as_ref().filter(|cost| cost.source == CostSource::Estimate) {
            self.estimated_usd = self.estimated_usd + amount(cost);
        }
        let plus = |sum: &mut u64, more: Option<u64>| *sum = sum.saturating_add(more.unwrap_or(0));
        plus(&mut self.prompt_tokens, spent.usage.prompt_tokens);
        plus(&mut self.completion_tokens, spent.usage.completion_tokens);
    }
}

#[derive(Default)]
struct Sums {
    total: Totals,
    /// The most that the calls under way can cost.
    reserved: Usd,
    /// By provider and model.
    by_model: BTreeMap<String, BTreeMap<String, Totals>>,
    by_tag: BTreeMap<String, Totals>,
    /// The models that were looked up, and the last of them, which is mostly used again.
    prices: PriceBook,
    last: Option<(Arc<Provider>, String, Option<Arc<ModelData>>)>,
}

/// The cost of one call, as it is added to the ledger.
///
/// ```
/// use agentloop::middleware::Costs;
///
/// let costs = Costs::new().on_call(|entry| println!("{}/{}: {:?}", entry.provider, entry.model, entry.cost));
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CostEntry {
    /// The provider.
    pub provider: String,
    /// The model, as the provider names it.
    pub model: String,
    /// The tags of the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The tokens used. Empty if the call used none.
    pub usage: Usage,
    /// The cost, if it is known. A call that used no tokens has none.
    pub cost: Option<Cost>,
    /// Whether the tokens are an estimate, because the provider did not report them.
    pub estimated: bool,
}

/// The cost of one call while it is added up. It borrows, because most calls are not recorded anywhere else.
pub(super) struct Spent<'a> {
    pub(super) target: &'a Target,
    pub(super) tags: &'a [String],
    pub(super) usage: Cow<'a, Usage>,
    pub(super) cost: Option<Cost>,
    pub(super) estimated: bool,
}

impl Spent<'_> {
    pub(super) fn to_entry(&self) -> CostEntry {
        CostEntry {
            provider: self.target.provider.name.to_string(),
            model: self.target.model.clone(),
            tags: self.tags.to_vec(),
            usage: self.usage.clone().into_owned(),
            cost: self.cost.clone(),
            estimated: self.estimated,
        }
    }
}

impl CostLedger {
    /// Returns the sums of all calls.
    pub fn total(&self) -> Totals {
        self.sums().total
    }

    /// Returns the amount that is reserved for calls under way.
    pub fn reserved(&self) -> Usd {
        self.sums().reserved
    }

    /// Returns the sums of each model, by `provider/model`.
    pub fn by_model(&self) -> BTreeMap<String, Totals> {
        let sums = self.sums();
        let models = sums.by_model.iter().flat_map(|(provider, models)| {
            models.iter().map(move |(model, totals)| (format!("{provider}/{model}"), *totals))
        });
        models.collect()
    }

    /// Returns the sums of each tag. A call with several tags counts for each of them.
    pub fn by_tag(&self) -> BTreeMap<String, Totals> {
        self.sums().by_tag.clone()
    }

    /// Resets all sums. Reserved amounts stay.
    pub fn reset(&self) {
        let mut sums = self.sums();
        sums.total = Totals::default();
        sums.by_model.clear();
        sums.by_tag.clear();
    }

    /// Returns the data of the model, with its prices in a region if they depend on it. It is looked up once.
    pub(super) fn model(&self, target: &Target, region: Option<&str>) -> Option<Arc<ModelData>> {
        let mut sums = self.sums();
        if region.is_some() {
            return target.priced_in(&sums.prices, region);
        }
        if let Some((provider, model, found)) = &sums.last
            && Arc::ptr_eq(provider, &target.provider)
            && *model == target.model
        {
            return found.clone();
        }
        let found = target.priced_in(&sums.prices, None);
        sums.last = Some((Arc::clone(&target.provider), target.model.clone(), found.clone()));
        found
    }

    /// Reserves an amount within the limit, of which `spent` is spent, or else the sum of this ledger. Fails with the amount that is left
    /// if that is less.
    pub(super) fn reserve(&self, most: Usd, limit: Usd, spent: Option<Usd>) -> Result<(), Usd> {
        let mut sums = self.sums();
        let taken = spent.unwrap_or(sums.total.usd) + sums.reserved;
        if taken + most > limit {
            return Err(limit - taken);
        }
        sums.reserved = sums.reserved + most;
        Ok(())
    }

    /// Adds a call, and releases what was reserved for it.
    pub(super) fn settle(&self, spent: &Spent<'_>, reserved: Usd) {
        let mut guard = self.sums();
        let sums = &mut *guard;
        sums.reserved = sums.reserved - reserved;
        sums.total.add(spent);
        let Target { provider, model, .. } = spent.target;
        match sums.by_model.get_mut(provider.name.as_ref()) {
            Some(models) => add_to(models, model, MAX_COST_MODELS, spent),
            None => {
                let models = sums.by_model.entry(provider.name.to_string()).or_default();
                add_to(models, model, MAX_COST_MODELS, spent);
            }
        }
        for tag in spent.tags {
            add_to(&mut sums.by_tag, tag, MAX_COST_TAGS, spent);
        }
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        // Nothing panics while the lock is held.
        lock(&self.0)
    }
}

/// Adds a call to the sums of a name, or to those without a name if there are too many names.
fn add_to(sums: &mut BTreeMap<String, Totals>, name: &str, most: usize, spent: &Spent<'_>) {
    if let Some(totals) = sums.get_mut(name) {
        return totals.add(spent);
    }
    let name = if sums.len() < most { name } else { "" };
    sums.entry(name.to_owned()).or_default().add(spent);
}

impl fmt::Debug for CostLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CostLedger").field(&self.total()).finish()
    }
}
