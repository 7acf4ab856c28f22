//! How a provider differs from OpenAI's Responses protocol.

use serde::{Deserialize, Serialize};

quirk! {
    /// Whether requests tell the provider not to store responses.
    StoreForm {
        /// `store: false`, unless the request sets it.
        #[default]
        Sent,
        /// The field is not sent: the provider stores nothing, or does not know it. Groq (SDK 1.7) and llama.cpp (2026-08-22).
        Omitted,
    }
}

quirk! {
    /// The accepted values of `include`.
    IncludeForm {
        /// Encrypted reasoning, log probabilities, and results and output of the provider's tools.
        #[default]
        All,
        /// Encrypted reasoning only. xAI (recording `xai-json-redacted-thinking-citations-9d6c939a`).
        Reasoning,
        /// None: the provider shows its reasoning openly, or not at all. Groq, DeepSeek, Fireworks, Perplexity, Hugging Face,
        /// Ollama, LM Studio, vLLM and llama.cpp.
        Refused,
    }
}

quirk! {
    /// The kinds of items that are accepted in the input.
    ItemForm {
        /// Every kind, unchanged.
        #[default]
        Any,
        /// Messages, function calls and their results. Perplexity (SDK 0.46).
        Plain,
    }
}

quirk! {
    /// The field of the response format.
    TextFormat {
        /// `text: {format}`.
        #[default]
        Text,
        /// `response_format`, as in the Chat protocol. Perplexity (SDK 0.46).
        ResponseFormat,
    }
}

quirk! {
    /// The field of the end user's id.
    UserLabel {
        /// `user`.
        #[default]
        User,
        /// `safety_identifier`. OpenAI (SDK 3.49: it replaces `user`) and Azure.
        SafetyIdentifier,
    }
}

quirk! {
    /// Whether tokens can be counted before a call.
    TokenCount {
        /// They cannot.
        #[default]
        Refused,
        /// At `/responses/input_tokens`. OpenAI (SDK 3.49).
        InputTokens,
    }
}
