//! What one call costs, once its usage is known.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use serde_json::{Map, Value};

use super::{ModelCatalog, ModelData};
use crate::chat::{Cost, Usage};
use crate::limits::MAX_COST_MODELS;
use crate::lock::lock;

/// The name of the metadata field in which a provider reports the tier that served a call.
const TIER: &str = "serviceTier";

/// The prices that apply to a call.
#[derive(Clone, Debug)]
pub(crate) struct Pricing {
    /// The model, with its prices; `None` if they are not known.
    pub(crate) model: Option<Arc<ModelData>>,
    /// The requested tier.
    pub(crate) tier: Option<String>,
    /// When the call was made; `None` is now.
    pub(crate) when: Option<SystemTime>,
    /// Whether the tier is certain, whatever the response reports. A request of a batch has the price of the batch.
    pub(crate) is_certain: bool,
}

impl Pricing {
    /// Returns the cost, if it is known. `served` is the tier that the provider reports.
    pub(crate) fn cost(&self, usage: &Usage, served: Option<&str>) -> Option<Cost> {
        let model = self.model.as_ref()?;
        usage.prompt_tokens?;
        let when = self.when.unwrap_or_else(SystemTime::now);
        let served = served.filter(|_| !self.is_certain);
        model.cost(usage, when, served.or(self.tier.as_deref()))
    }
}

/// The latency of a call that is served faster (botocore 1.44.3: `PerformanceConfigLatency`). It counts as a tier, because the usual price may
/// not be its price, and no source lists one.
const FASTER: &str = "optimized";

/// Returns the tier that a provider reports among its metadata.
pub(crate) fn served_tier(metadata: &Map<String, Value>) -> Option<&str> {
    if metadata.is_empty() {
        return None;
    }
    let latency = || metadata.get("performanceConfig")?.get("latency")?.as_str();
    let faster = latency().filter(|latency| *latency == FASTER);
    faster.or_else(|| metadata.get(TIER)?.as_str())
}

/// Models that were looked up, with their prices: reading a record costs more than a call should.
#[derive(Debug, Default)]
pub(crate) struct PriceBook(Mutex<Pages>);

#[derive(Debug, Default)]
struct Pages {
    /// By provider, and by model and region; `None` is known to have no price.
    models: HashMap<String, HashMap<String, Option<Arc<ModelData>>>>,
}

impl PriceBook {
    /// Returns a model that has prices, with those of a region if it is known.
    pub(crate) fn model(
        &self,
        catalog: &ModelCatalog,
        provider: &str,
        model: &str,
        region: Option<&str>,
    ) -> Option<Arc<ModelData>> {
        // No name of a model has a blank.
        let key = match region {
            Some(region) => Cow::Owned(format!("{model} {region}")),
            None => Cow::Borrowed(model),
        };
        // Nothing that is done under the lock panics.
        let mut pages = lock(&self.0);
        if let Some(found) = pages.models.get(provider).and_then(|models| models.get(key.as_ref()))
        {
            return found.clone();
        }
        let found = match region {
            Some(region) => catalog.lookup_in(provider, model, region),
            None => catalog.lookup(provider, model),
        };
        let found = found.filter(|model| !model.prices.is_empty());
        let found = found.map(Arc::new);
        let models = pages.models.entry(provider.to_owned()).or_default();
        if models.len() < MAX_COST_MODELS {
            models.insert(key.into_owned(), found.clone());
        }
        found
    }
}
