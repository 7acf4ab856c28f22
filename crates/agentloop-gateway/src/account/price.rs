//! The prices that calls are charged with.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use agentloop::internal::lock;
use agentloop::{Cost, CostSource, ModelData, Usage, Usd};
use ring::digest::{SHA256, digest};

use crate::key::hex;
use crate::store::PriceId;

/// The most models whose prices are remembered. Beyond that they are read again.
const MAX_MODELS: usize = 4_096;

/// How many bytes of a hash name a price.
const ID_BYTES: usize = 8;

/// A model with its prices and their name.
#[derive(Clone)]
pub(crate) struct Priced {
    pub(crate) model: Arc<ModelData>,
    pub(crate) id: PriceId,
}

impl fmt::Debug for Priced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Priced").field(&self.id).finish()
    }
}

impl Priced {
    /// Returns the most that a call with so many tokens costs. A tier whose price is not known costs as the usual one.
    pub(super) fn most(
        &self,
        prompt: u64,
        response: u64,
        now: SystemTime,
        tier: Option<&str>,
    ) -> Option<Usd> {
        let most = |tier: Option<&str>| self.model.most(prompt, response, now, tier);
        tier.and_then(|tier| most(Some(tier))).or_else(|| most(None))
    }

    /// Returns the cost of a usage that is an estimate, or whose exact price is not known: kinds of tokens without a price of
    /// their own cost as much as others.
    pub(super) fn estimate(&self, usage: &Usage) -> Option<Cost> {
        let now = SystemTime::now();
        let plain = || {
            let (prompt, completion) = (usage.prompt_tokens?, usage.completion_tokens?);
            self.model.cost(&Usage::new(prompt, completion), now, None)
        };
        let mut cost = self.model.cost(usage, now, None).or_else(plain)?;
        cost.source = CostSource::Estimate;
        Some(cost)
    }
}

/// The prices of models, by the model, and those that the store has not got yet.
#[derive(Debug, Default)]
pub(super) struct Prices(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// By the address of the data, which is kept here, so no other data gets the same one.
    models: HashMap<usize, Priced>,
    new: Vec<(PriceId, String)>,
}

agentloop::shown! { Known: self { models: self.models.len() } }

impl Prices {
    /// Returns a model with the name of its prices.
    pub(super) fn of(&self, model: &Arc<ModelData>) -> Priced {
        let mut known = lock(&self.0);
        let place = Arc::as_ptr(model) as usize;
        if let Some(priced) = known.models.get(&place) {
            return priced.clone();
        }
        // Prices are plain values, which can always be written.
        let json = serde_json::to_string(&model.prices).unwrap_or_default();
        let hash = digest(&SHA256, json.as_bytes());
        let id = hex(&hash.as_ref()[..ID_BYTES]);
        if known.models.len() >= MAX_MODELS {
            known.models.clear();
        }
        let priced = Priced { model: Arc::clone(model), id: id.clone() };
        let is_known = known.models.values().any(|other| other.id == id);
        known.models.insert(place, priced.clone());
        if !is_known && !known.new.iter().any(|(other, _)| *other == id) {
            known.new.push((id, json));
        }
        priced
    }

    /// Returns the prices that were used since the last time, for the store.
    pub(super) fn take_new(&self) -> Vec<(PriceId, String)> {
        std::mem::take(&mut lock(&self.0).new)
    }

    /// Puts prices back that could not be stored.
    pub(super) fn put_back(&self, prices: Vec<(PriceId, String)>) {
        lock(&self.0).new.extend(prices);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(json: &str) -> Arc<ModelData> {
        Arc::new(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn equal_prices_have_one_name_and_are_stored_once() {
        let prices = Prices::default();
        let text = r#"{"id":"a","prices":[{"per_million":{"input":"1","output":"2"}}]}"#;
        let (one, other) = (model(text), model(&text.replace("\"a\"", "\"b\"")));
        let id = prices.of(&one).id;
        assert_eq!((id.len(), &prices.of(&other).id, &prices.of(&one).id), (16, &id, &id));
        let new = prices.take_new();
        assert_eq!(new.len(), 1);
        assert!(new[0].1.contains("per_million"));
        assert!(prices.take_new().is_empty());
        prices.put_back(new);
        assert_eq!(prices.take_new().len(), 1);
        let dearer = model(&text.replace("\"2\"", "\"3\""));
        assert_ne!(prices.of(&dearer).id, id);
    }

    #[test]
    fn tokens_without_a_price_of_their_own_cost_as_much_as_others() {
        let prices = Prices::default();
        let text = r#"{"id":"a","prices":[{"per_million":{"input":"1","output":"2"}}]}"#;
        let priced = prices.of(&model(text));
        let mut usage = Usage::new(1_000_000, 0);
        usage.details.cached_tokens = Some(500_000);
        let cost = priced.estimate(&usage).unwrap();
        assert_eq!((cost.usd.to_string(), cost.source), ("1".to_owned(), CostSource::Estimate));
        assert_eq!(
            priced.most(1_000_000, 500_000, SystemTime::now(), Some("odd")).unwrap().to_string(),
            "2"
        );
    }
}
