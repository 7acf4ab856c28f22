//! Speech.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::file::base64_bytes;
use super::{task_request, task_response};
use crate::chat::headers::ExtraHeaders;
use crate::chat::read::nullable;
use crate::chat::setters::call_setters;
use crate::chat::{Access, Cost, RawResponse, Usage, Warning};
use crate::timeouts::Timeouts;

task_request! {
    /// A request for a text to be spoken.
    ///
    /// ```
    /// use agentloop::SpeechRequest;
    ///
    /// let request = SpeechRequest::new("openai/gpt-4o-mini-tts", "Good morning!").voice("coral").format("wav");
    /// assert_eq!(serde_json::to_value(&request)?["voice"], "coral");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    SpeechRequest {
        /// The text.
        input: String,
        /// The voice. Most providers require one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        voice: Option<String>,
        /// How to speak: the mood, the pace, the accent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
        /// The format: `mp3`, `wav`, `opus`, `aac`, `flac` or `pcm`, as far as the provider has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<String>,
        /// The speed; 1 is normal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        speed: Option<f64>,
    }
}

impl SpeechRequest {
    /// Creates a request for `input` to be spoken.
    pub fn new(model: impl Into<String>, input: impl Into<String>) -> Self {
        Self { model: model.into(), input: input.into(), ..Self::default() }
    }

    setters! {
        /// Sets the voice.
        voice(voice: impl Into<String>);
        /// Sets how to speak.
        instructions(instructions: impl Into<String>);
        /// Sets the format.
        format(format: impl Into<String>);
        /// Sets the speed; 1 is normal.
        speed(speed: f64);
    }
}

task_response! {
    /// The response to a speech request. [`save`](Self::save) writes it to a file.
    ///
    /// ```
    /// use agentloop::SpeechResponse;
    ///
    /// let value: SpeechResponse =
    ///     serde_json::from_str(r#"{"model":"m","provider":"lab","mimeType":"audio/wav","audio":"UklGRg=="}"#)?;
    /// assert_eq!(value.audio, &b"RIFF"[..]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    SpeechResponse {
        /// The media type of the audio, for example `audio/mpeg`.
        mime_type: String,
        /// The audio. In JSON it is base64. In the last event of a stream it is empty.
        #[serde(default, with = "base64_bytes")]
        audio: Bytes,
    }
}
