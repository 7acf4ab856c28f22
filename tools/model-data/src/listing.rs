//! How public lists of models name a provider and its models.
//!
//! A list names providers and models in its own way, and has mistakes of its own. This table states what it is known to mean for each provider of
//! the library.

use crate::pattern;

/// How public lists name a provider.
pub(crate) struct Listing {
    /// The name of the provider's folder in models.dev; absent means that it has none.
    pub(crate) models_dev: Option<&'static str>,
    /// The provider's names in litellm's list, each with the text before the names of its models.
    pub(crate) litellm: &'static [(&'static str, &'static str)],
    /// Patterns of names in litellm's list that do not name a model of the provider, for example with a region.
    litellm_skip: &'static [&'static str],
    /// Whether litellm's list contains models that are no longer served. It then completes the models that models.dev
    /// has, and adds none.
    pub(crate) litellm_is_stale: bool,
    /// Patterns of the models that the provider's URL serves; empty means all.
    only: &'static [&'static str],
    /// Whether *no* for an ability often means that the field was not filled in: the provider serves models of others.
    pub(crate) lacks_abilities: bool,
    /// Whether models that litellm lists under the mode `responses` are models of the provider's chat.
    pub(crate) responses_are_chat: bool,
    /// Whether each request costs by how much it searches, so that the price of tokens is not the price of a call.
    pub(crate) is_priced_by_search: bool,
    /// Whether litellm's price of a search is the price of one `web_search` call.
    pub(crate) has_search_price: bool,
    /// The end of names of models that cost nothing. A price of zero of other models means that it is not known.
    pub(crate) free_suffix: Option<&'static str>,
    /// Whether a word after a colon chooses how a model is served, not which one. It may cost something else.
    pub(crate) has_variants: bool,
    /// Whether models are also called through inference profiles, with a geography before the name (`eu.`), and what they cost depends on the
    /// geography or on the region.
    pub(crate) has_profiles: bool,
}

impl Listing {
    /// Returns the listing of a provider. One that is not in the table has none.
    pub(crate) fn of(provider: &str) -> &'static Self {
        LISTINGS.iter().find(|(name, _)| *name == provider).map_or(&NONE, |(_, listing)| listing)
    }

    /// Returns whether a name in litellm's list is not the name of a model of the provider.
    pub(crate) fn is_skipped_in_litellm(&self, model: &str) -> bool {
        self.litellm_skip.iter().any(|skipped| pattern::matches(skipped, model))
    }

    /// Returns whether the provider's URL serves the model.
    pub(crate) fn is_served(&self, model: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|served| pattern::matches(served, model))
    }
}

const NONE: Listing = Listing {
    models_dev: None,
    litellm: &[],
    litellm_skip: &[],
    litellm_is_stale: false,
    only: &[],
    lacks_abilities: false,
    responses_are_chat: false,
    is_priced_by_search: false,
    has_search_price: false,
    free_suffix: None,
    has_variants: false,
    has_profiles: false,
};

/// The listings of the providers, in the order of the library.
pub(crate) const LISTINGS: &[(&str, Listing)] = &[
    (
        "openai",
        Listing {
            models_dev: Some("openai"),
            litellm: &[("openai", "")],
            // Such names choose the size of an image, or an owner.
            litellm_skip: &["*/*", "*:*"],
            responses_are_chat: true,
            ..NONE
        },
    ),
    (
        "anthropic",
        Listing {
            models_dev: Some("anthropic"),
            litellm: &[("anthropic", "")],
            // Such names choose a region or an owner.
            litellm_skip: &["*/*", "*:*"],
            has_search_price: true,
            ..NONE
        },
    ),
    ("google", Listing { models_dev: Some("google"), litellm: &[("gemini", "gemini/")], ..NONE }),
    ("groq", Listing { models_dev: Some("groq"), litellm: &[("groq", "groq/")], ..NONE }),
    (
        "together",
        Listing {
            models_dev: Some("togetherai"),
            litellm: &[("together_ai", "together_ai/")],
            litellm_is_stale: true,
            lacks_abilities: true,
            ..NONE
        },
    ),
    (
        "mistral",
        Listing { models_dev: Some("mistral"), litellm: &[("mistral", "mistral/")], ..NONE },
    ),
    (
        "deepseek",
        Listing { models_dev: Some("deepseek"), litellm: &[("deepseek", "deepseek/")], ..NONE },
    ),
    (
        "fireworks",
        Listing {
            models_dev: Some("fireworks-ai"),
            litellm: &[
                ("fireworks_ai", "fireworks_ai/"),
                ("fireworks_ai-embedding-models", "fireworks_ai/"),
            ],
            litellm_is_stale: true,
            lacks_abilities: true,
            ..NONE
        },
    ),
    (
        "perplexity",
        Listing {
            models_dev: Some("perplexity"),
            litellm: &[("perplexity", "perplexity/")],
            litellm_is_stale: true,
            is_priced_by_search: true,
            ..NONE
        },
    ),
    (
        "cohere",
        Listing {
            models_dev: Some("cohere"),
            litellm: &[("cohere", ""), ("cohere_chat", "")],
            // Such names choose an owner.
            litellm_skip: &["*/*", "*:*"],
            ..NONE
        },
    ),
    (
        "xai",
        Listing {
            models_dev: Some("xai"),
            litellm: &[("xai", "xai/")],
            responses_are_chat: true,
            ..NONE
        },
    ),
    (
        "openrouter",
        Listing {
            models_dev: Some("openrouter"),
            free_suffix: Some(":free"),
            has_variants: true,
            ..NONE
        },
    ),
    (
        "cerebras",
        Listing { models_dev: Some("cerebras"), litellm: &[("cerebras", "cerebras/")], ..NONE },
    ),
    (
        "azure",
        Listing {
            models_dev: Some("azure"),
            litellm: &[("azure", "azure/"), ("azure_ai", "azure_ai/")],
            litellm_skip: &["eu/*", "us/*", "global/*", "global-standard/*"],
            responses_are_chat: true,
            ..NONE
        },
    ),
    (
        "vertex",
        Listing {
            models_dev: Some("google-vertex"),
            litellm: &[("vertex_ai-language-models", ""), ("vertex_ai-embedding-models", "")],
            // Models of other publishers have another URL or another protocol.
            only: &["gemini*", "gemma*", "text-*", "embedding*"],
            ..NONE
        },
    ),
    (
        "bedrock",
        Listing {
            models_dev: Some("amazon-bedrock"),
            litellm: &[
                ("bedrock", "bedrock/"),
                ("bedrock", ""),
                ("bedrock_converse", "bedrock/"),
                ("bedrock_converse", ""),
            ],
            // Other services and contracts, and generations of models that have successors, to keep the data small.
            litellm_skip: &[
                "*/*/*",
                "*@*",
                "invoke/*",
                "claude_platform/*",
                "*twelvelabs.*",
                "*multimodal-embeddings*",
                "*sonic*",
                "*ai21.j*",
                "*amazon.titan-text*",
                "*anthropic.claude-v*",
                "*anthropic.claude-instant*",
                "*anthropic.claude-3-*",
                "*cohere.command*",
                "*meta.llama2*",
                "*meta.llama3-2*",
            ],
            // The maker of a model is part of its name.
            only: &["*.*"],
            has_profiles: true,
            lacks_abilities: true,
            ..NONE
        },
    ),
    (
        "huggingface",
        Listing {
            models_dev: Some("huggingface"),
            lacks_abilities: true,
            has_variants: true,
            ..NONE
        },
    ),
    (
        "nvidia",
        Listing {
            models_dev: Some("nvidia"),
            litellm: &[("nvidia_nim", "nvidia_nim/")],
            lacks_abilities: true,
            ..NONE
        },
    ),
    (
        "moonshot",
        Listing { models_dev: Some("moonshotai"), litellm: &[("moonshot", "moonshot/")], ..NONE },
    ),
    (
        "deepinfra",
        Listing {
            models_dev: Some("deepinfra"),
            litellm: &[("deepinfra", "deepinfra/")],
            litellm_is_stale: true,
            lacks_abilities: true,
            ..NONE
        },
    ),
    ("sambanova", Listing { litellm: &[("sambanova", "sambanova/")], ..NONE }),
    ("github", Listing { models_dev: Some("github-models"), ..NONE }),
];
