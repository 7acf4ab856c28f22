//! What each provider makes beside text and tool calls, in any of its protocols.

use crate::provider::{Feature, Provider};

/// The row, with what it makes.
pub(super) fn with_features(row: Provider) -> Provider {
    match MAKES.iter().find(|(name, _)| *name == row.name) {
        Some((_, features)) => row.makes(features.iter().copied()),
        None => row,
    }
}

const MAKES: &[(&str, &[Feature])] = &[
    (
        "openai",
        &[
            Feature::Thinking,
            Feature::Citations,
            Feature::ImageOutput,
            Feature::AudioOutput,
            Feature::CodeExecution,
            Feature::ServerTools,
        ],
    ),
    (
        "anthropic",
        &[Feature::Thinking, Feature::Citations, Feature::CodeExecution, Feature::ServerTools],
    ),
    (
        "google",
        &[
            Feature::Thinking,
            Feature::Citations,
            Feature::ImageOutput,
            Feature::AudioOutput,
            Feature::CodeExecution,
            Feature::ServerTools,
        ],
    ),
    (
        "vertex",
        &[
            Feature::Thinking,
            Feature::Citations,
            Feature::ImageOutput,
            Feature::AudioOutput,
            Feature::CodeExecution,
            Feature::ServerTools,
        ],
    ),
    ("groq", &[Feature::Thinking, Feature::CodeExecution, Feature::ServerTools]),
    ("together", &[Feature::Thinking]),
    ("mistral", &[Feature::Thinking]),
    ("deepseek", &[Feature::Thinking, Feature::ServerTools]),
    ("fireworks", &[Feature::Thinking]),
    (
        "perplexity",
        &[Feature::Thinking, Feature::Citations, Feature::CodeExecution, Feature::ServerTools],
    ),
    ("ollama", &[Feature::Thinking]),
    ("cohere", &[Feature::Thinking]),
    ("xai", &[Feature::Thinking, Feature::Citations, Feature::CodeExecution, Feature::ServerTools]),
    (
        "openrouter",
        &[Feature::Thinking, Feature::Citations, Feature::ImageOutput, Feature::ServerTools],
    ),
    ("cerebras", &[Feature::Thinking]),
    (
        "azure",
        &[
            Feature::Thinking,
            Feature::Citations,
            Feature::ImageOutput,
            Feature::AudioOutput,
            Feature::CodeExecution,
            Feature::ServerTools,
        ],
    ),
    ("huggingface", &[Feature::Thinking]),
    ("nvidia", &[Feature::Thinking]),
    ("moonshot", &[Feature::Thinking]),
    ("deepinfra", &[Feature::Thinking]),
    ("sambanova", &[Feature::Thinking]),
    ("vllm", &[Feature::Thinking]),
    ("llamacpp", &[Feature::Thinking]),
    ("lmstudio", &[Feature::Thinking]),
];
