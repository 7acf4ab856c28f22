//! The default model of each provider.

use agentloop::AgentLoop;

use super::servers::list_first;
use crate::failure::Failure;

/// The model that is used if only the provider is named: of good quality and moderate price, and in the built-in model data.
const DEFAULTS: [(&str, &str); 19] = [
    ("anthropic", "claude-sonnet-5"),
    ("cerebras", "gpt-oss-120b"),
    ("cohere", "command-a-03-2025"),
    ("deepinfra", "openai/gpt-oss-120b"),
    ("deepseek", "deepseek-v4-flash"),
    ("fireworks", "accounts/fireworks/models/deepseek-v4-flash"),
    ("github", "openai/gpt-4.1"),
    ("google", "gemini-flash-latest"),
    ("groq", "openai/gpt-oss-120b"),
    ("huggingface", "openai/gpt-oss-120b"),
    ("mistral", "mistral-medium-latest"),
    ("moonshot", "kimi-k2.6"),
    ("nvidia", "openai/gpt-oss-120b"),
    ("openai", "gpt-5.5"),
    ("perplexity", "sonar"),
    ("sambanova", "gpt-oss-120b"),
    ("together", "openai/gpt-oss-120b"),
    ("vertex", "gemini-flash-latest"),
    ("xai", "grok-4.5"),
];

/// Returns the known default model of a provider, without its provider.
pub(crate) fn known(provider: &str) -> Option<&'static str> {
    DEFAULTS.iter().find(|(name, _)| *name == provider).map(|(_, model)| *model)
}

/// Returns the default model of a provider, as `provider/model`. Without a known one, returns the first model that the provider
/// lists.
pub(super) async fn of_provider(provider: &str, client: &AgentLoop) -> Result<String, Failure> {
    if let Some(model) = known(provider) {
        return Ok(format!("{provider}/{model}"));
    }
    let hint = format!(
        "name a model, for example -m {provider}/MODEL; `agentloop models {provider}` lists them"
    );
    match list_first(provider, client).await {
        Ok(Some(model)) => Ok(format!("{provider}/{model}")),
        Ok(None) => Err(Failure::input_with_hint(
            format!("{provider} lists no models, and no default model of it is known"),
            hint,
        )),
        Err(error) => Err(Failure::input_with_hint(
            format!(
                "no default model of {provider} is known, and its models cannot be listed: {error}"
            ),
            hint,
        )),
    }
}

#[cfg(test)]
mod tests {
    use agentloop::{ModelCatalog, Provider};

    use super::*;

    #[test]
    fn every_default_model_is_a_known_chat_model() {
        let catalog = ModelCatalog::embedded();
        for (provider, model) in DEFAULTS {
            assert!(Provider::builtin(provider).is_some(), "{provider}");
            let known = catalog.lookup(provider, model);
            assert!(known.is_some_and(|known| known.dimensions.is_none()), "{provider}/{model}");
        }
    }
}
