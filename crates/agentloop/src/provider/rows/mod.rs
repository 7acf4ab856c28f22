//! The built-in providers, one file each, in the order of the documentation.
//!
//! A file contains everything that is known about its provider: the URL, the key, the quirks, the parameter rules, the
//! other protocols, the server tools, the restrictions of its models, and its names in public lists of models. It states
//! where this is known from: recorded traffic, the provider's SDK, its documentation, or reports of others. What several
//! providers have in common because they serve the same models is in [`families`].
//!
//! CONTRIBUTING.md describes how to add a provider.

mod anthropic;
mod azure;
mod bedrock;
mod cerebras;
mod cohere;
mod common;
mod deepinfra;
mod deepseek;
pub(crate) mod families;
mod fireworks;
mod github;
mod google;
mod groq;
mod huggingface;
mod llamacpp;
mod lmstudio;
mod mistral;
mod moonshot;
mod nvidia;
mod ollama;
mod openai;
mod openrouter;
mod perplexity;
mod sambanova;
mod together;
mod vertex;
mod vllm;
mod xai;

use super::Provider;

/// The constructors of the built-in providers, in the order of the documentation.
pub(super) const ALL: &[fn() -> Provider] = &[
    Provider::openai,
    Provider::anthropic,
    Provider::google,
    Provider::groq,
    Provider::together,
    Provider::mistral,
    Provider::deepseek,
    Provider::fireworks,
    Provider::perplexity,
    Provider::ollama,
    Provider::cohere,
    Provider::xai,
    Provider::openrouter,
    Provider::cerebras,
    Provider::azure,
    Provider::vertex,
    Provider::bedrock,
    Provider::huggingface,
    Provider::nvidia,
    Provider::moonshot,
    Provider::deepinfra,
    Provider::sambanova,
    Provider::github,
    Provider::vllm,
    Provider::llamacpp,
    Provider::lmstudio,
];

#[cfg(test)]
mod tests;
