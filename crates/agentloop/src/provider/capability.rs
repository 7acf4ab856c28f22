//! What a provider supports, derived from its row.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::quirks::{
    AudioInputForm, CacheMarkers, FileInputForm, ImageInput, JsonSchemaSupport, TokenCount,
    VideoInput,
};
use super::{Param, Provider};
use crate::chat::Protocol;

macro_rules! features {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Something that some providers support and others do not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum Feature { $($(#[$doc])* $variant,)* }

        impl Feature {
            /// All features, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns its name in the documentation.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

features! {
    /// Calls of the caller's tools.
    Tools = "tools",
    /// Native support for a JSON schema.
    JsonSchema = "JSON schema",
    /// Thinking in responses.
    Thinking = "thinking",
    /// Sources in responses.
    Citations = "citations",
    /// Images in requests.
    ImageInput = "images in",
    /// Audio in requests.
    AudioInput = "audio in",
    /// Files in requests, for example PDFs.
    FileInput = "files in",
    /// Videos in requests.
    VideoInput = "video in",
    /// Images in responses.
    ImageOutput = "images out",
    /// Audio in responses.
    AudioOutput = "audio out",
    /// Execution of code by the provider.
    CodeExecution = "code",
    /// Tools that the provider runs, for example a web search.
    ServerTools = "server tools",
    /// Prompt-cache markers in requests.
    CacheMarkers = "cache markers",
    /// Embeddings.
    Embeddings = "embeddings",
    /// A list of its models.
    ModelList = "model list",
    /// Counting the tokens of a request.
    TokenCount = "token count",
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Provider {
    /// Returns whether the provider supports a feature in its default protocol.
    ///
    /// Input that no rule or quirk excludes is sent, and the provider decides: for a provider of which little is known, `true`
    /// is the default of a compatible endpoint. Single models may support less.
    ///
    /// ```
    /// use agentloop::Provider;
    /// use agentloop::provider::Feature;
    ///
    /// assert!(Provider::openai().supports(Feature::Embeddings));
    /// assert!(!Provider::anthropic().supports(Feature::Embeddings));
    /// ```
    pub fn supports(&self, feature: Feature) -> bool {
        match feature {
            Feature::Tools => self.takes(Param::Tools),
            Feature::JsonSchema if !self.takes(Param::ResponseFormat) => false,
            Feature::Embeddings => self.serves.embeddings,
            Feature::ModelList => self.serves.models,
            Feature::Thinking
            | Feature::Citations
            | Feature::ImageOutput
            | Feature::AudioOutput
            | Feature::CodeExecution
            | Feature::ServerTools => self.makes.contains(&feature),
            other => match self.protocol {
                Protocol::OpenAiChat | Protocol::OpenAiResponses => self.chat_takes(other),
                Protocol::Anthropic => !matches!(other, Feature::AudioInput | Feature::VideoInput),
                Protocol::Gemini => other != Feature::CacheMarkers,
            },
        }
    }

    /// Returns whether a provider that speaks one of OpenAI's protocols supports a feature, by its quirks.
    fn chat_takes(&self, feature: Feature) -> bool {
        let quirks = &self.quirks;
        match feature {
            Feature::JsonSchema => quirks.json_schema != JsonSchemaSupport::InInstructions,
            Feature::ImageInput => quirks.images != ImageInput::Refused,
            Feature::AudioInput => quirks.audio != AudioInputForm::Refused,
            Feature::FileInput => quirks.files != FileInputForm::Refused,
            Feature::VideoInput => {
                quirks.video != VideoInput::Refused && self.protocol == Protocol::OpenAiChat
            }
            Feature::CacheMarkers => {
                quirks.cache_markers == CacheMarkers::OnParts
                    && self.protocol == Protocol::OpenAiChat
            }
            Feature::TokenCount => quirks.token_count == TokenCount::InputTokens,
            _ => false,
        }
    }

    /// Adds what the provider produces in addition to text and tool calls.
    #[must_use]
    pub fn makes(mut self, features: impl IntoIterator<Item = Feature>) -> Self {
        self.makes.extend(features);
        self
    }
}
