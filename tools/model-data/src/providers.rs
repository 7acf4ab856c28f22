//! Finds the provider that a source means.

use std::sync::LazyLock;

use agentloop::Provider;

use crate::listing::{LISTINGS, Listing};

static ROWS: LazyLock<Vec<Provider>> = LazyLock::new(Provider::all);

/// Returns the row of a provider.
pub(crate) fn find(name: &str) -> Option<&'static Provider> {
    ROWS.iter().find(|row| row.name == name)
}

/// Returns the folders of models.dev, each with its provider.
pub(crate) fn models_dev() -> impl Iterator<Item = (&'static str, &'static Provider)> {
    LISTINGS.iter().filter_map(|(name, listing)| Some((listing.models_dev?, find(name)?)))
}

/// Returns the provider and the name of the model that a key of litellm's list means.
pub(crate) fn litellm<'k>(theirs: &str, key: &'k str) -> Option<(&'static Provider, &'k str)> {
    let named = LISTINGS.iter().flat_map(|row| row.1.litellm.iter().map(move |name| (row, name)));
    let mut meant = named.filter(|(_, (name, _))| *name == theirs);
    let ((name, listing), model) =
        meant.find_map(|(row, (_, prefix))| Some((row, key.strip_prefix(prefix)?)))?;
    (!listing.is_skipped_in_litellm(model)).then_some((find(name)?, model))
}

/// Returns the names of the providers whose listing has a property.
fn with(property: fn(&Listing) -> bool) -> Vec<String> {
    let found = LISTINGS.iter().filter(|(_, listing)| property(listing));
    found.map(|(name, _)| (*name).to_owned()).collect()
}

/// Returns the names of the providers whose models have variants behind a colon.
pub(crate) fn with_variants() -> Vec<String> {
    with(|listing| listing.has_variants)
}

/// Returns the names of the providers whose models are called through inference profiles.
pub(crate) fn with_profiles() -> Vec<String> {
    with(|listing| listing.has_profiles)
}

/// Words in the names of models that other services than chat and embeddings serve.
const OTHER_SERVICES: &[&str] = &[
    "gpt-image",
    "chatgpt-image",
    "whisper",
    "lyria",
    "deep-research-max",
    "deep-research-pre",
    "realtime",
    "rerank",
    "esm2",
    "esmfold",
    "bevformer",
    "sparsedrive",
    "streampetr",
    "studiovoice",
    "video-detector",
    "speaker-detection",
    "voicechat",
    "usdvalidate",
    "gliner",
    "prompt-guard",
];

/// Returns whether the name is that of a model that thinks.
pub(crate) fn is_named_thinking(model: &str) -> bool {
    let model = model.to_ascii_lowercase().replace("non-reasoning", "");
    model.contains("think") || model.contains("reason")
}

/// Returns whether the name is that of a model that makes vectors.
pub(crate) fn is_embedding(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    model.contains("embed") || model.contains("bge-")
}

/// Returns whether calls of the row can reach the model.
pub(crate) fn is_reached(row: &Provider, model: &str) -> bool {
    // Both sources list models for images, music and speech among those that respond with text.
    !OTHER_SERVICES.iter().any(|word| model.contains(word))
        && Listing::of(&row.name).is_served(model)
}
