//! How a provider takes messages, their parts and media.

use serde::{Deserialize, Serialize};

quirk! {
    /// The form of the ids of tool calls.
    ToolCallIds {
        /// Any text.
        #[default]
        Any,
        /// Exactly nine letters or digits. Other ids are mapped to such ids, always in the same way. Mistral (ai-sdk mistral
        /// 4.0).
        NineAlphanumeric,
    }
}

quirk! {
    /// Whether a message with a tool's result must name the tool.
    ToolResultName {
        /// The id of the call is enough.
        #[default]
        Omitted,
        /// The name is required. Mistral (SDK 3.7).
        Required,
    }
}

quirk! {
    /// Whether messages may have the speaker's name.
    SpeakerName {
        /// They may.
        #[default]
        Accepted,
        /// They may not. Mistral responds with 422 (langchainjs#5144).
        Refused,
    }
}

quirk! {
    /// The accepted references to images.
    ImageInput {
        /// URLs and data URLs.
        #[default]
        Any,
        /// Data URLs only. Ollama (`openai/openai.go`, 2026-08-21: other URLs get 400).
        DataOnly,
    }
}

quirk! {
    /// Whether a tool's result may contain images.
    ToolResultImages {
        /// Text only.
        #[default]
        Refused,
        /// Text and images. DeepSeek (api-docs.deepseek.com, 2026-11-15), and OpenAI and Azure in the Responses protocol (openai
        /// SDK 3.49).
        Accepted,
    }
}

quirk! {
    /// How audio is sent.
    AudioInputForm {
        /// `input_audio: {data, format}`.
        #[default]
        Object,
        /// `input_audio: "…"`, base64 or a URL. Mistral (recording `mistral-json-audio-in-text-d868d7ea`).
        Text,
        /// It is not sent. Groq, DeepSeek, Fireworks, Perplexity, Cohere, xAI and Cerebras.
        Refused,
    }
}

quirk! {
    /// How files are sent.
    FileInputForm {
        /// `file: {file_data, filename}` or `file: {file_id}`.
        #[default]
        Object,
        /// `document_url: "…"`, a URL or a data URL, and `file_id` for an uploaded file. Mistral (SDK 3.7).
        DocumentUrl,
        /// They are not sent. Groq, Together, Fireworks, Perplexity, Ollama, Cohere and Cerebras.
        Refused,
    }
}

quirk! {
    /// Whether files that the provider parsed, and returned as annotations, are sent back to it.
    ParsedFiles {
        /// They are not.
        #[default]
        Kept,
        /// As `annotations` of the assistant's message, so the provider does not parse them again. OpenRouter (SDK 1.3).
        Returned,
    }
}

quirk! {
    /// How videos are sent.
    VideoInput {
        /// They are not sent.
        #[default]
        Refused,
        /// `video_url: {url}`. Together (SDK 3.0), Fireworks (SDK 1.2), OpenRouter (SDK 1.3) and vLLM.
        VideoUrl,
    }
}

quirk! {
    /// How settings of generated images are sent.
    ImageOutputForm {
        /// They are not sent.
        #[default]
        Refused,
        /// `image_config: {aspect_ratio, image_size}`. OpenRouter (SDK 1.3).
        ImageConfig,
    }
}

quirk! {
    /// Whether prompt-cache markers are accepted on parts.
    CacheMarkers {
        /// They are left out, with a warning.
        #[default]
        Refused,
        /// `cache_control` on parts of the content. OpenRouter (SDK 1.3).
        OnParts,
    }
}
