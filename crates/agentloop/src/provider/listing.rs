//! How public lists of models name a provider and its models.

use std::borrow::Cow;

use super::Provider;
use crate::models::pattern;

/// How public lists of models name a provider and its models. `tools/model-data` reads the lists with it.
///
/// A model list names providers and models in its own way, and has mistakes of its own. A row states what it is known to
/// mean for its provider.
///
/// ```
/// use agentloop::Provider;
///
/// assert_eq!(Provider::together().listing.models_dev.as_deref(), Some("togetherai"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// The name of the provider's folder in models.dev; absent means that it has none.
    pub models_dev: Option<Cow<'static, str>>,
    /// The provider's names in litellm's list, each with the text before the names of its models.
    pub litellm: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    /// Patterns of names in litellm's list that do not name a model of the provider, for example with a region.
    pub litellm_skip: Vec<Cow<'static, str>>,
    /// Whether litellm's list contains models that are no longer served. It then completes the models that models.dev
    /// has, and adds none.
    pub litellm_is_stale: bool,
    /// Patterns of the models that the provider's URL serves; empty means all.
    pub only: Vec<Cow<'static, str>>,
    /// Whether *no* for an ability often means that the field was not filled in: the provider serves models of others.
    pub lacks_abilities: bool,
    /// Whether models that litellm lists under the mode `responses` are models of the provider's chat.
    pub responses_are_chat: bool,
    /// Whether each request costs by how much it searches, so that the price of tokens is not the price of a call.
    pub is_priced_by_search: bool,
    /// Whether litellm's price of a search is the price of one `web_search` call.
    pub has_search_price: bool,
    /// The end of names of models that cost nothing. A price of zero of other models means that it is not known.
    pub free_suffix: Option<Cow<'static, str>>,
    /// Whether a word after a colon chooses how a model is served, not which one. It may cost something else.
    pub has_variants: bool,
    /// Whether models are also called through inference profiles, with a geography before the name (`eu.`), and what they cost depends on the
    /// geography or on the region.
    pub has_profiles: bool,
}

impl Listing {
    /// Sets the names of the provider in litellm's list, each with the text before the names of its models.
    pub(super) fn set_litellm<const N: usize>(&mut self, names: [(&'static str, &'static str); N]) {
        self.litellm =
            names.into_iter().map(|(name, prefix)| (name.into(), prefix.into())).collect();
    }

    /// Returns whether a name in litellm's list is not the name of a model of the provider.
    pub fn is_skipped_in_litellm(&self, model: &str) -> bool {
        self.litellm_skip.iter().any(|skipped| pattern::matches(skipped, model))
    }

    /// Returns whether the provider's URL serves the model.
    pub fn is_served(&self, model: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|served| pattern::matches(served, model))
    }
}

impl Provider {
    /// Changes how public lists of models name the provider.
    #[must_use]
    pub fn listing(mut self, change: impl FnOnce(&mut Listing)) -> Self {
        change(&mut self.listing);
        self
    }
}
