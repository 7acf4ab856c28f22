//! The names of the modalities.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a provider may serve beside chats and embeddings.
///
/// ```
/// use agentloop::{Modality, Provider};
///
/// assert!(Provider::cohere().serves.has(Modality::Rerank));
/// assert_eq!(Modality::Rerank.to_string(), "rerank");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Modality {
    /// Generating and editing images.
    Image,
    /// Turning text into speech.
    Speech,
    /// Turning speech into text.
    Transcription,
    /// Sorting documents by how well they match a query.
    Rerank,
    /// Classifying content as harmful or not.
    Moderation,
}

impl Modality {
    /// All modalities, in the order of the documentation.
    pub const ALL: &'static [Self] =
        &[Self::Image, Self::Speech, Self::Transcription, Self::Rerank, Self::Moderation];

    /// Returns the name that the JSON has for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Speech => "speech",
            Self::Transcription => "transcription",
            Self::Rerank => "rerank",
            Self::Moderation => "moderation",
        }
    }
}

impl fmt::Display for Modality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
