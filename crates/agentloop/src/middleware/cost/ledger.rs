//! The sums.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::chat::{Cost, CostSource, Usage, Usd};
use crate::client::Target;
use crate::limits::{MAX_COST_MODELS, MAX_COST_TAGS};
use crate::models::{ModelData, PriceBook};
use crate::provider::Provider;

/// What calls have cost so far. It is cheap to clone, and every clone is the same ledger.
#[derive(Clone, Default)]
pub struct CostLedger(Arc<Mutex<Sums>>);

/// Sums of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Totals {
    /// Calls that ended, in whatever way.
    pub calls: u64,
    /// Calls whose cost is not known.
    pub unpriced: u64,
    /// What the others cost.
    pub usd: Usd,
    /// The share of it that is an estimate: the provider never said what it used.
    pub estimated_usd: Usd,
    /// Calls of which that share is.
    pub estimated_calls: u64,
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
}

impl Totals {
    fn add(&mut self, spent: &Spent<'_>) {
        self.calls += 1;
        // Whoever reports a cost below zero, no call gives money back.
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
    /// What calls that are under way can cost.
    reserved: Usd,
    /// By provider and model.
    by_model: BTreeMap<String, BTreeMap<String, Totals>>,
    by_tag: BTreeMap<String, Totals>,
    /// The models that were looked up, and the last of them: mostly it is the same again.
    prices: PriceBook,
    last: Option<(Arc<Provider>, String, Option<Arc<ModelData>>)>,
}

/// What one call cost, as it goes into the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CostEntry {
    /// The provider.
    pub provider: String,
    /// The model, as the provider names it.
    pub model: String,
    /// What the caller counts it under.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The tokens used; empty when nothing was.
    pub usage: Usage,
    /// What it cost, if that is known. A call that used nothing has no cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Whether the tokens are an estimate, because the provider never said how many there were.
    pub estimated: bool,
}

/// The same while it is counted: most calls are not written down anywhere else, and nothing of them need be copied.
pub(super) struct Spent<'a> {
    pub(super) target: &'a Target,
    pub(super) tags: &'a [String],
    pub(super) usage: Cow<'a, Usage>,
    pub(super) cost: Option<Cost>,
    pub(super) estimated: bool,
}

impl Spent<'_> {
    pub(super) fn into_entry(self) -> CostEntry {
        CostEntry {
            provider: self.target.provider.name.to_string(),
            model: self.target.model.clone(),
            tags: self.tags.to_vec(),
            usage: self.usage.into_owned(),
            cost: self.cost,
            estimated: self.estimated,
        }
    }
}

impl CostLedger {
    /// All calls.
    pub fn total(&self) -> Totals {
        self.sums().total
    }

    /// What is set aside for calls that are under way.
    pub fn reserved(&self) -> Usd {
        self.sums().reserved
    }

    /// The calls of each model, by `provider/model`.
    pub fn by_model(&self) -> BTreeMap<String, Totals> {
        let sums = self.sums();
        let models = sums.by_model.iter().flat_map(|(provider, models)| {
            models.iter().map(move |(model, totals)| (format!("{provider}/{model}"), *totals))
        });
        models.collect()
    }

    /// The calls of each tag. A call with several tags is in each of them.
    pub fn by_tag(&self) -> BTreeMap<String, Totals> {
        self.sums().by_tag.clone()
    }

    /// Forgets what was counted. What is set aside stays.
    pub fn reset(&self) {
        let mut sums = self.sums();
        sums.total = Totals::default();
        sums.by_model.clear();
        sums.by_tag.clear();
    }

    /// What is known of the model: looked up once.
    pub(super) fn model(&self, target: &Target) -> Option<Arc<ModelData>> {
        let mut sums = self.sums();
        if let Some((provider, model, found)) = &sums.last
            && Arc::ptr_eq(provider, &target.provider)
            && *model == target.model
        {
            return found.clone();
        }
        let Target { provider, model } = target;
        let found = sums.prices.model(&provider.catalog, &provider.name, model);
        sums.last = Some((Arc::clone(&target.provider), target.model.clone(), found.clone()));
        found
    }

    /// Sets an amount aside, if it is left; else says how much is.
    pub(super) fn reserve(&self, most: Usd, limit: Usd) -> Result<(), Usd> {
        let mut sums = self.sums();
        let taken = sums.total.usd + sums.reserved;
        if taken + most > limit {
            return Err(limit - taken);
        }
        sums.reserved = sums.reserved + most;
        Ok(())
    }

    /// Enters a call, and gives back what was set aside for it.
    pub(super) fn settle(&self, spent: &Spent<'_>, reserved: Usd) {
        let mut guard = self.sums();
        let sums = &mut *guard;
        sums.reserved = sums.reserved - reserved;
        sums.total.add(spent);
        let Target { provider, model } = spent.target;
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
        // Nothing that is done under the lock panics, and sums stay sums.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds to the sums of that name; past the limit to those of no name.
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
