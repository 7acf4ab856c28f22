//! What a provider supports, derived from its row.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::quirks::{
    AudioInputForm, BatchApi, CacheMarkers, FileApi, FileInputForm, JsonSchemaSupport, ModelPlace,
    TokenCount, VideoInput,
};
use super::{Param, Provider};
use crate::chat::{Modality, Support};

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
    /// Generating images by a call of its own.
    Images = "images API",
    /// Speech from text.
    Speech = "speech",
    /// Text from speech.
    Transcription = "transcription",
    /// Sorting documents.
    Rerank = "rerank",
    /// Checking content for harm.
    Moderation = "moderation",
    /// A list of its models.
    ModelList = "model list",
    /// Counting the tokens of a request.
    TokenCount = "token count",
    /// Files that are uploaded once and used by their id.
    FileStorage = "file storage",
    /// Batches of requests that are processed later, for a lower price.
    Batches = "batches",
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
            Feature::Images => self.serves.has(Modality::Image),
            Feature::Speech => self.serves.has(Modality::Speech),
            Feature::Transcription => self.serves.has(Modality::Transcription),
            Feature::Rerank => self.serves.has(Modality::Rerank),
            Feature::Moderation => self.serves.has(Modality::Moderation),
            Feature::ModelList => self.serves.models,
            Feature::FileStorage => self.quirks.storage.files != FileApi::None,
            Feature::Batches => self.quirks.storage.batches != BatchApi::None,
            Feature::Thinking
            | Feature::Citations
            | Feature::ImageOutput
            | Feature::AudioOutput
            | Feature::CodeExecution
            | Feature::ServerTools => self.makes.contains(&feature),
            Feature::JsonSchema
            | Feature::ImageInput
            | Feature::AudioInput
            | Feature::FileInput
            | Feature::VideoInput
            | Feature::CacheMarkers
            | Feature::TokenCount => self.takes_feature(feature),
        }
    }

    /// Returns whether the protocol, or the quirk that decides in its place, has the feature.
    fn takes_feature(&self, feature: Feature) -> bool {
        let (facts, quirks) = (self.protocol.facts(), &self.quirks);
        let (support, by_quirk) = match feature {
            Feature::JsonSchema => {
                (facts.json_schema, quirks.json_schema != JsonSchemaSupport::InInstructions)
            }
            Feature::ImageInput => return facts.image_input != Support::Never,
            Feature::AudioInput => (facts.audio_input, quirks.audio != AudioInputForm::Refused),
            Feature::FileInput => (facts.file_input, quirks.files != FileInputForm::Refused),
            Feature::VideoInput => (facts.video_input, quirks.video != VideoInput::Refused),
            Feature::CacheMarkers => {
                (facts.cache_markers, quirks.cache_markers == CacheMarkers::OnParts)
            }
            // InvokeModel counts nothing (anthropic SDK 2.9: `lib/bedrock/_client.py`).
            Feature::TokenCount if quirks.model_place == ModelPlace::Invoke => return false,
            Feature::TokenCount => {
                (facts.token_count, quirks.token_count == TokenCount::InputTokens)
            }
            _ => return false,
        };
        match support {
            Support::Never => false,
            Support::ByQuirk => by_quirk,
            Support::Always => true,
        }
    }

    setters! {
        /// Adds what the provider produces in addition to text and tool calls.
        makes(self, features: impl IntoIterator<Item = Feature>) => self.makes.extend(features);
    }
}
