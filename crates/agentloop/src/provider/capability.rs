//! What a provider can do, as data: worked out from its row, for people and for programs that choose.

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
        /// Something that some providers can do and some cannot.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum Feature { $($(#[$doc])* $variant,)* }

        impl Feature {
            /// Every feature, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name for people.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

features! {
    /// It calls the caller's tools.
    Tools = "tools",
    /// It keeps to a JSON schema by itself.
    JsonSchema = "JSON schema",
    /// It shows what it thinks.
    Thinking = "thinking",
    /// It names its sources.
    Citations = "citations",
    /// It looks at images.
    ImageInput = "images in",
    /// It listens.
    AudioInput = "audio in",
    /// It reads files, PDFs for example.
    FileInput = "files in",
    /// It watches videos.
    VideoInput = "video in",
    /// It draws.
    ImageOutput = "images out",
    /// It speaks.
    AudioOutput = "audio out",
    /// It runs code on its side.
    CodeExecution = "code",
    /// It has tools of its own, a web search for example.
    ServerTools = "server tools",
    /// It takes prompt-cache markers.
    CacheMarkers = "cache markers",
    /// It turns texts into vectors.
    Embeddings = "embeddings",
    /// It lists its models.
    ModelList = "model list",
    /// It counts tokens.
    TokenCount = "token count",
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Provider {
    /// Whether the row sends it (or reads it). Where no rule or quirk speaks against an input it is sent, and the host
    /// decides: for a host of which little is known, `true` is the default of a compatible endpoint. Single models may
    /// do less.
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

    /// What a host that speaks one of OpenAI's protocols takes, by its quirks.
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

    /// Says what the provider makes beside text and tool calls.
    #[must_use]
    pub fn makes(mut self, features: impl IntoIterator<Item = Feature>) -> Self {
        self.makes.extend(features);
        self
    }
}
