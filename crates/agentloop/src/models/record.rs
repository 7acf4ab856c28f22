//! The record of one model.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{Abilities, Date, ModelRestrictions, Price, cost};
use crate::chat::{Cost, Effort, Usage, UsageDetails, Usd};

/// The data of one model. An absent field is unknown; it does not mean no or zero.
///
/// A user's own records have the same fields: the output of `agentloop models provider/model` can be changed and added to
/// `agentloop.toml`.
///
/// ```
/// use agentloop::ModelData;
///
/// let model: ModelData = serde_json::from_str(r#"{"id":"lab/one","context_window":32768}"#)?;
/// assert_eq!(model.context_window, Some(32_768));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ModelData {
    /// `provider/model`, as the catalog writes it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// What it is used for.
    pub kind: Option<ModelKind>,
    /// The number of tokens of a prompt and its response together.
    pub context_window: Option<u64>,
    /// The largest number of tokens of a prompt, if it is smaller than the context window.
    pub max_input_tokens: Option<u64>,
    /// The largest number of tokens of a response.
    pub max_output_tokens: Option<u64>,
    /// What it can do.
    #[serde(skip_serializing_if = "Abilities::is_empty")]
    pub abilities: Abilities,
    /// The levels of effort that it knows.
    pub efforts: Option<Vec<Effort>>,
    /// The length of its vectors.
    pub dimensions: Option<u64>,
    /// The end of its training data: a year, a month or a day.
    pub knowledge_cutoff: Option<String>,
    /// The day from which it is no longer served.
    pub deprecation_date: Option<Date>,
    /// Its prices; empty means unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<Price>,
    /// The user's changes to its [restrictions](crate::models::Restriction).
    pub restrictions: Option<ModelRestrictions>,
}

/// The purpose of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelKind {
    /// Responses to messages.
    Chat,
    /// Embeddings.
    Embedding,
}

impl ModelData {
    /// Creates a record of a model, `provider/model`, of which nothing else is known.
    ///
    /// ```
    /// use agentloop::ModelData;
    ///
    /// let mut model = ModelData::new("lab/big-one");
    /// model.context_window = Some(32_768);
    /// ```
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    /// Fills in absent values from `other`. Prices are one field: lists are never mixed.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            id: if self.id.is_empty() { other.id } else { self.id },
            kind: self.kind.or(other.kind),
            context_window: self.context_window.or(other.context_window),
            max_input_tokens: self.max_input_tokens.or(other.max_input_tokens),
            max_output_tokens: self.max_output_tokens.or(other.max_output_tokens),
            abilities: self.abilities.or(other.abilities),
            efforts: self.efforts.or(other.efforts),
            dimensions: self.dimensions.or(other.dimensions),
            knowledge_cutoff: self.knowledge_cutoff.or(other.knowledge_cutoff),
            deprecation_date: self.deprecation_date.or(other.deprecation_date),
            prices: if self.prices.is_empty() { other.prices } else { self.prices },
            restrictions: self.restrictions.or(other.restrictions),
        }
    }

    /// Returns the price that applies to a prompt of that many tokens, at that moment, in that service tier.
    ///
    /// Without a tier, and for the names of the standard one (`default`, `standard`, `standard_only`, `on_demand`), it
    /// is the standard price. There is no price for a tier that is not listed, nor for a prompt of a size that costs
    /// more in the standard tier and is not listed in this one.
    pub fn price(
        &self,
        prompt_tokens: u64,
        when: SystemTime,
        service_tier: Option<&str>,
    ) -> Option<&Price> {
        super::price::choose(&self.prices, prompt_tokens, when, service_tier)
    }

    /// Returns the exact cost of `usage`, or `None` if a price that it needs is not known. The result is never a part of the
    /// cost.
    ///
    /// - Prompt tokens that were read from or written to a cache have their own prices; writing them for an hour has another
    ///   one.
    /// - Audio and generated images have their own prices. Audio that may have been read from a cache has none.
    /// - Reasoning tokens cost as much as the response, unless they have a price.
    /// - Calls of the provider's own tools have a price under the name by which the provider counts them.
    /// - A kind of tokens that `usage` does not have counts as zero. Without the number of prompt or completion tokens the cost
    ///   is unknown.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use agentloop::{Usage, models::ModelCatalog};
    ///
    /// let model = ModelCatalog::embedded().lookup("openai", "gpt-4o").expect("it is well known");
    /// let usage = Usage::new(1_000, 100);
    /// let cost = model.cost(&usage, SystemTime::now(), None).expect("its price is known");
    /// assert_eq!(cost.usd.to_string(), "0.0035");
    /// ```
    pub fn cost(
        &self,
        usage: &Usage,
        when: SystemTime,
        service_tier: Option<&str>,
    ) -> Option<Cost> {
        let completion = match (usage.completion_tokens, self.kind) {
            (Some(tokens), _) => tokens,
            // Vectors are not counted in tokens.
            (None, Some(ModelKind::Embedding)) => 0,
            (None, _) => return None,
        };
        let prompt = usage.prompt_tokens?;
        let price = self.price(prompt, when, service_tier)?;
        cost::of(price, prompt, completion, &usage.details).map(Cost::from_prices)
    }

    /// Returns the most that a call with so many tokens costs, or `None` if its price is not known. Tokens of the prompt may be
    /// written to a cache, which costs more than reading them.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use agentloop::models::ModelCatalog;
    ///
    /// let catalog = ModelCatalog::embedded();
    /// let model = catalog.lookup("openai", "gpt-4o").expect("it is well known");
    /// let most = model.most(1_000, 100, SystemTime::now(), None).expect("its price is known");
    /// assert_eq!(most.to_string(), "0.0035");
    /// ```
    pub fn most(
        &self,
        prompt_tokens: u64,
        completion_tokens: u64,
        when: SystemTime,
        service_tier: Option<&str>,
    ) -> Option<Usd> {
        let price = self.price(prompt_tokens, when, service_tier)?;
        let mut details = UsageDetails::default();
        let of = |details: &_| cost::of(price, prompt_tokens, completion_tokens, details);
        let plain = of(&details)?;
        details.cache_write_tokens = Some(prompt_tokens);
        let written = of(&details).unwrap_or(plain);
        details.cache_write_hour_tokens = Some(prompt_tokens);
        Some(plain.max(written).max(of(&details).unwrap_or(plain)))
    }
}
