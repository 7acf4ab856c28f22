//! Transcription.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{MediaFile, task_request, task_response};
use crate::chat::headers::ExtraHeaders;
use crate::chat::read::nullable;
use crate::chat::setters::call_setters;
use crate::chat::{Access, Cost, RawResponse, Usage, Warning};
use crate::timeouts::Timeouts;

task_request! {
    /// A request for audio to be written down.
    ///
    /// ```
    /// use agentloop::{MediaFile, Timestamps, TranscribeRequest};
    ///
    /// let request = TranscribeRequest::new("groq/whisper-large-v3", MediaFile::new("a.wav", &b"RIFF"[..]))
    ///     .language("en")
    ///     .timestamps([Timestamps::Word]);
    /// assert_eq!(serde_json::to_value(&request)?["timestamps"][0], "word");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    TranscribeRequest {
        /// The audio.
        audio: MediaFile,
        /// The language that is spoken, for example `en`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        language: Option<String>,
        /// Text that guides the model: names, or the sentences before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// How random the result is, from 0 to 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        temperature: Option<f64>,
        /// The pieces of the text that are returned with their times.
        #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
        timestamps: Vec<Timestamps>,
        /// Whether the text is to be in English, whatever language is spoken.
        #[serde(default, deserialize_with = "nullable", skip_serializing_if = "std::ops::Not::not")]
        translate: bool,
    }
}

impl TranscribeRequest {
    /// Creates a request for the text of `audio`.
    pub fn new(model: impl Into<String>, audio: MediaFile) -> Self {
        Self { model: model.into(), audio, ..Self::default() }
    }

    setters! {
        /// Sets the pieces of the text that are returned with their times.
        timestamps(self, timestamps: impl IntoIterator<Item = Timestamps>) =>
            self.timestamps = timestamps.into_iter().collect();

        /// Requests the text in English, whatever language is spoken.
        translate(self) => self.translate = true;
    }

    setters! {
        /// Sets the language that is spoken.
        language(language: impl Into<String>);
        /// Sets text that guides the model.
        prompt(prompt: impl Into<String>);
        /// Sets how random the result is.
        temperature(temperature: f64);
    }
}

/// The pieces of a transcript that can have times.
///
/// ```
/// assert_eq!(serde_json::to_string(&agentloop::Timestamps::Segment)?, r#""segment""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Timestamps {
    /// Words.
    Word,
    /// Segments, which are about as long as sentences.
    Segment,
}

impl Timestamps {
    /// Returns the name that the JSON has for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Word => "word",
            Self::Segment => "segment",
        }
    }
}

task_response! {
    /// The response to a transcription request.
    ///
    /// ```
    /// use agentloop::TranscribeResponse;
    ///
    /// let value: TranscribeResponse =
    ///     serde_json::from_str(r#"{"model":"m","provider":"lab","text":"Hello","words":[{"word":"Hello","start":0.1,"end":0.5}]}"#)?;
    /// assert_eq!(value.words[0].start, 0.1);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    TranscribeResponse {
        /// The text.
        text: String,
        /// The language that was spoken, as the provider names it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        language: Option<String>,
        /// The length of the audio in seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration: Option<f64>,
        /// The segments with their times, if they were requested.
        #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
        segments: Vec<TranscriptSegment>,
        /// The words with their times, if they were requested.
        #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
        words: Vec<TranscriptWord>,
    }
}

/// A segment of a transcript.
///
/// ```
/// use agentloop::TranscriptSegment;
///
/// assert_eq!(TranscriptSegment::new("Hello", 0.0, 1.5).end, 1.5);
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TranscriptSegment {
    /// The text.
    pub text: String,
    /// When it begins, in seconds.
    pub start: f64,
    /// When it ends, in seconds.
    pub end: f64,
    /// Who speaks, for providers that distinguish speakers.
    pub speaker: Option<String>,
}

impl TranscriptSegment {
    /// Creates a segment.
    pub fn new(text: impl Into<String>, start: f64, end: f64) -> Self {
        Self { text: text.into(), start, end, speaker: None }
    }
}

/// A word of a transcript.
///
/// ```
/// use agentloop::TranscriptWord;
///
/// assert_eq!(TranscriptWord::new("Hello", 0.0, 0.5).word, "Hello");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TranscriptWord {
    /// The word.
    pub word: String,
    /// When it begins, in seconds.
    pub start: f64,
    /// When it ends, in seconds.
    pub end: f64,
}

impl TranscriptWord {
    /// Creates a word.
    pub fn new(word: impl Into<String>, start: f64, end: f64) -> Self {
        Self { word: word.into(), start, end }
    }
}
