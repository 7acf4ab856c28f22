//! How a provider takes the calls of other modalities.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// How images, speech, transcripts, rankings and moderations are requested. Responses are read in every known form, whatever this says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "snake_case")]
#[non_exhaustive]
pub struct TaskQuirks {
    /// The form of a request for images.
    pub image: ImageForm,
    /// The form of a request for speech.
    pub speech: SpeechForm,
    /// The form of a request for a transcript.
    pub transcription: TranscriptionForm,
    /// The field for the URL of audio.
    pub audio_url: AudioUrlField,
    /// The path of a rerank call behind the provider's URL; each leading `../` removes one segment of it. Absent means `/rerank`.
    pub rerank_path: Option<Cow<'static, str>>,
    /// What can be moderated.
    pub moderation: ModerationForm,
}

quirk! {
    /// The form of a request for images.
    ImageForm {
        /// `/images/generations`, and `/images/edits` with the images as a form. OpenAI (its API description).
        #[default]
        Sized,
        /// `/images/generations` with `width` and `height` in place of `size`, and images as URLs. Together (SDK 3.1:
        /// `image_generate_params.py`).
        WidthAndHeight,
        /// `/images/generations`, and `/images/edits` with the images as URLs in JSON; `aspect_ratio` in place of `size`.
        /// xAI (ai-sdk xai 3.0.138: `xai-image-model.ts`).
        AspectRatio,
        /// `:generateContent` with `responseModalities`; models whose name begins with `imagen` are called by `:predict`.
        /// Google (its API description; ai-sdk google 3.0.141: `google-generative-ai-image-model.ts`).
        GenerateContent,
    }
}

quirk! {
    /// The form of a request for speech.
    SpeechForm {
        /// `/audio/speech` with `instructions` and `speed`. OpenAI (its API description).
        #[default]
        Instructed,
        /// `/audio/speech` with `speed`, without `instructions`. Groq (SDK 1.7: `speech_create_params.py`).
        Paced,
        /// `/audio/speech` with the voice and the format only. Together (SDK 3.1: `speech_create_params.py`).
        Plain,
        /// `/audio/speech` with `voice_id` and the format; the audio is base64 in JSON or in events. Mistral (SDK 3.7:
        /// `speech.py`).
        VoiceId,
        /// `:generateContent` with `responseModalities`. Google (its API description).
        GenerateContent,
    }
}

quirk! {
    /// The form of a request for a transcript.
    TranscriptionForm {
        /// `/audio/transcriptions` and `/audio/translations` as a form; times with `verbose_json`. It streams. OpenAI (its API
        /// description).
        #[default]
        Streamed,
        /// The same form without streams. Groq (SDK 1.7), Together (SDK 3.1).
        Complete,
        /// `/audio/transcriptions` as a form with times of segments only, without `prompt` and `response_format`. It streams.
        /// Mistral (its API description).
        Segments,
    }
}

quirk! {
    /// The field for the URL of audio.
    AudioUrlField {
        /// URLs are refused.
        #[default]
        Refused,
        /// `url`. Groq (SDK 1.7).
        Url,
        /// `file`. Together (SDK 3.1).
        File,
        /// `file_url`. Mistral (its API description).
        FileUrl,
    }
}

quirk! {
    /// What can be moderated.
    ModerationForm {
        /// Texts, or parts with images. OpenAI (its API description).
        #[default]
        Parts,
        /// Texts, and conversations at `/chat/moderations`. Mistral (its API description; mistralai 3.7.0: `classifiers.py`).
        TextsAndConversations,
    }
}
