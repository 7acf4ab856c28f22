//! Which host of a source is which of ours.

use agentloop::Provider;

/// models.dev's name of a host, and ours.
const MODELS_DEV: &[(&str, &str)] = &[
    ("openai", "openai"),
    ("anthropic", "anthropic"),
    ("google", "google"),
    ("google-vertex", "vertex"),
    ("groq", "groq"),
    ("togetherai", "together"),
    ("mistral", "mistral"),
    ("deepseek", "deepseek"),
    ("fireworks-ai", "fireworks"),
    ("perplexity", "perplexity"),
    ("cohere", "cohere"),
    ("xai", "xai"),
    ("openrouter", "openrouter"),
    ("cerebras", "cerebras"),
    ("azure", "azure"),
    ("huggingface", "huggingface"),
    ("nvidia", "nvidia"),
    ("moonshotai", "moonshot"),
    ("deepinfra", "deepinfra"),
    ("github-models", "github"),
];

/// litellm's name of a host, what stands before its models' names, and ours.
const LITELLM: &[(&str, &str, &str)] = &[
    ("openai", "", "openai"),
    ("anthropic", "", "anthropic"),
    ("gemini", "gemini/", "google"),
    ("vertex_ai-language-models", "", "vertex"),
    ("vertex_ai-embedding-models", "", "vertex"),
    ("groq", "groq/", "groq"),
    ("together_ai", "together_ai/", "together"),
    ("mistral", "mistral/", "mistral"),
    ("deepseek", "deepseek/", "deepseek"),
    ("fireworks_ai", "fireworks_ai/", "fireworks"),
    ("fireworks_ai-embedding-models", "fireworks_ai/", "fireworks"),
    ("perplexity", "perplexity/", "perplexity"),
    ("cohere", "", "cohere"),
    ("cohere_chat", "", "cohere"),
    ("xai", "xai/", "xai"),
    ("cerebras", "cerebras/", "cerebras"),
    ("azure", "azure/", "azure"),
    ("azure_ai", "azure_ai/", "azure"),
    ("nvidia_nim", "nvidia_nim/", "nvidia"),
    ("moonshot", "moonshot/", "moonshot"),
    ("deepinfra", "deepinfra/", "deepinfra"),
    ("sambanova", "sambanova/", "sambanova"),
];

/// Hosts whose lists in litellm keep what is long gone: there litellm completes the models that
/// models.dev has, and adds none.
const ONLY_COMPLETED: &[&str] = &["fireworks", "deepinfra", "together", "perplexity"];

/// The hosts that models.dev has a folder of.
pub(crate) fn models_dev() -> impl Iterator<Item = (&'static str, &'static str)> {
    MODELS_DEV.iter().copied().filter(|(_, ours)| row(ours).is_some())
}

/// Our name of a host and of its model, from litellm's.
pub(crate) fn litellm<'a>(host: &str, key: &'a str) -> Option<(&'static str, &'a str)> {
    let (_, prefix, ours) = LITELLM.iter().find(|(theirs, ..)| *theirs == host)?;
    let model = key.strip_prefix(prefix)?;
    let is_region =
        || ["eu/", "us/", "global/", "global-standard/"].iter().any(|r| model.starts_with(r));
    let odd = match *ours {
        // The parts of a name choose a size of an image, or an owner.
        "openai" | "anthropic" | "cohere" => model.contains(['/', ':']),
        "azure" => is_region(),
        _ => false,
    };
    (!odd && row(ours).is_some()).then_some((*ours, model))
}

/// Whether a model that only litellm has is one.
pub(crate) fn may_add(ours: &str, models_dev_is_there: bool) -> bool {
    !models_dev_is_there || !ONLY_COMPLETED.contains(&ours)
}

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

/// Hosts of other makers' models, where a *no* is often a field that nobody filled in.
const LISTED_BY_STRANGERS: &[&str] =
    &["nvidia", "huggingface", "together", "fireworks", "deepinfra"];

/// Whether a *no* of this host's models is to be believed.
pub(crate) fn is_sure_of_no(ours: &str) -> bool {
    !LISTED_BY_STRANGERS.contains(&ours)
}

/// Whether the name is that of a model that thinks.
pub(crate) fn says_it_thinks(model: &str) -> bool {
    let model = model.to_ascii_lowercase().replace("non-reasoning", "");
    model.contains("think") || model.contains("reason")
}

/// Whether the name is that of a model that makes vectors.
pub(crate) fn is_embedding(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    model.contains("embed") || model.contains("bge-")
}

/// Whether calls of our row can reach the model.
pub(crate) fn reaches(ours: &str, model: &str) -> bool {
    // Models for images, music and speech, which both sources list among those that answer with text.
    if OTHER_SERVICES.iter().any(|word| model.contains(word)) {
        return false;
    }
    match ours {
        // The address of the row is that of Google's own models.
        "vertex" => ["gemini", "gemma", "text-", "embedding"].iter().any(|p| model.starts_with(p)),
        _ => true,
    }
}

/// The row.
pub(crate) fn row(ours: &str) -> Option<Provider> {
    Provider::builtin(ours)
}
