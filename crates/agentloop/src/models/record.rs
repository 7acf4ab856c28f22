//! What is known of one model.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{Abilities, Date, Price, cost};
use crate::chat::{Cost, Effort, Usage};
use crate::provider::ModelRestrictions;

/// What is known of one model. Absent is unknown, never no and never zero.
///
/// Its JSON is the form of a user's own records too, so that what `agentloop models provider/model` prints can be
/// changed and put into `agentloop.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ModelData {
    /// `provider/model`, as the catalog writes it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// What it is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ModelKind>,
    /// How many tokens it can look at, its own answer included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// The most tokens of a prompt, where that is less than the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_input_tokens: Option<u64>,
    /// The most tokens of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// What it can do.
    #[serde(skip_serializing_if = "Abilities::is_empty")]
    pub abilities: Abilities,
    /// The levels of effort that it knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efforts: Option<Vec<Effort>>,
    /// The length of its vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<u64>,
    /// Until when its knowledge goes: a year, a month or a day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knowledge_cutoff: Option<String>,
    /// From when on it is no longer served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecation_date: Option<Date>,
    /// What it costs; empty is unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<Price>,
    /// What is known better than the table of [restrictions](crate::provider::Restriction).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restrictions: Option<ModelRestrictions>,
}

/// What a model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelKind {
    /// Answers.
    Chat,
    /// Vectors.
    Embedding,
}

impl ModelData {
    /// What is said here, and elsewhere what `other` says. Prices are one field: lists are never mixed.
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

    /// The price that holds for a prompt of that many tokens, at that moment, in that tier of service.
    ///
    /// Without a tier, and for the words that hosts have for the usual one (`default`, `standard`, `standard_only`,
    /// `on_demand`), it is the usual price. For a tier that is not listed there is none, nor for a prompt of a size that
    /// costs more in the usual tier and is not listed in this one.
    pub fn price(
        &self,
        prompt_tokens: u64,
        when: SystemTime,
        service_tier: Option<&str>,
    ) -> Option<&Price> {
        super::price::choose(&self.prices, prompt_tokens, when, service_tier)
    }

    /// What `usage` costs, exactly, if every price that is needed for it is known. Never a part of it.
    ///
    /// - Prompt tokens that a cache gave or took have their own prices, those that are kept for an hour another one.
    /// - Sound and made images have their own prices. Sound that may have come from a cache has none.
    /// - Thoughts cost what the answer costs, unless they have a price.
    /// - Calls of the provider's own tools cost what the price says under the provider's name for their count.
    /// - A share that `usage` does not name is taken to be none; a prompt or an answer that it does not count makes the
    ///   cost unknown.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use agentloop::{Usage, models::ModelCatalog};
    ///
    /// let model = ModelCatalog::embedded().lookup("openai", "gpt-4o").expect("it is well known");
    /// let usage = Usage { prompt_tokens: Some(1_000), completion_tokens: Some(100), ..Usage::default() };
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
}
