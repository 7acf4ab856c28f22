//! How a provider differs from the protocol that it speaks.
//!
//! A quirk is named after what differs, never after a provider. Each variant other than the default names the providers that
//! need it and where this is known from; the rows in `provider/rows/` have the details.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::chat::Effort;

/// How a provider differs from OpenAI's protocols. The default is what most providers do.
///
/// Only what is *sent* needs quirks: responses are read tolerantly, and every known spelling is accepted from every provider.
/// In `agentloop.toml` the same names are the keys of a provider's `quirks` table.
///
/// ```
/// use agentloop::Provider;
/// use agentloop::provider::quirks::TokenCap;
///
/// let lab = Provider::openai_compatible("lab", "http://localhost:8000/v1")
///     .quirks(|quirks| quirks.token_cap = TokenCap::MaxCompletionTokens);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "snake_case")]
#[non_exhaustive]
pub struct Quirks {
    /// The field that limits the tokens of a response.
    pub token_cap: TokenCap,
    /// Whether a stream must be asked to report its usage.
    pub stream_usage: StreamUsage,
    /// How thinking of earlier messages is sent back.
    pub reasoning_echo: ReasoningEcho,
    /// The form of the ids of tool calls.
    pub tool_call_ids: ToolCallIds,
    /// Whether a message with a tool's result must name the tool.
    pub tool_result_name: ToolResultName,
    /// Whether messages may have the speaker's name.
    pub speaker_name: SpeakerName,
    /// How log probabilities are requested.
    pub logprobs: LogprobsForm,
    /// How a JSON schema for the response is supported.
    pub json_schema: JsonSchemaSupport,
    /// The accepted references to images.
    pub images: ImageInput,
    /// Whether a tool's result may contain images.
    pub tool_result_images: ToolResultImages,
    /// How audio is sent.
    pub audio: AudioInputForm,
    /// How files are sent.
    pub files: FileInputForm,
    /// Whether files that the provider parsed are sent back to it.
    pub parsed_files: ParsedFiles,
    /// How videos are sent.
    pub video: VideoInput,
    /// How settings of generated images are sent.
    pub image_output: ImageOutputForm,
    /// The levels of effort that the provider knows; absent means all. Another level is sent as the nearest one.
    pub efforts: Option<Cow<'static, [Effort]>>,
    /// How thinking is switched and limited.
    pub thinking: ThinkingForm,
    /// Whether prompt-cache markers are accepted on parts.
    pub cache_markers: CacheMarkers,
    /// The largest number of stop sequences; absent means that it is not known.
    pub max_stops: Option<usize>,
    /// Whether the completion tokens include the reasoning tokens.
    pub reasoning_tokens: ReasoningTokens,
    /// Whether `system_fingerprint` carries information.
    pub fingerprint: Fingerprint,
    /// How embeddings are requested.
    pub embeddings: EmbeddingQuirks,
    /// How images, speech, transcripts, rankings and moderations are requested.
    pub tasks: TaskQuirks,
    /// Responses protocol: whether `store: false` is sent.
    pub store: StoreForm,
    /// Responses protocol: the accepted values of `include`.
    pub include: IncludeForm,
    /// Responses protocol: the kinds of items that are accepted in the input.
    pub items: ItemForm,
    /// Responses protocol: the field of the response format.
    pub text_format: TextFormat,
    /// Responses protocol: the field of the end user's id.
    pub user_label: UserLabel,
    /// Anthropic's protocol: where a request names its model.
    pub model_place: ModelPlace,
    /// Whether tokens can be counted before a call.
    pub token_count: TokenCount,
    /// How the tools are declared that the provider runs itself.
    pub server_tools: ServerToolQuirks,
    /// How the tools are declared that the provider defines and the caller runs.
    pub client_tools: ClientTools,
    /// Which files and batches the provider stores.
    pub storage: StorageQuirks,
}

macro_rules! quirk {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }
    };
}

mod embeddings;
mod input;
mod responses;
mod server_tools;
mod storage;
mod tasks;

pub use embeddings::{
    DimensionsName, EmbeddingEncoding, EmbeddingForm, EmbeddingQuirks, InputTypeWords,
};
pub use input::{
    AudioInputForm, CacheMarkers, FileInputForm, ImageInput, ImageOutputForm, ParsedFiles,
    SpeakerName, ToolCallIds, ToolResultImages, ToolResultName, VideoInput,
};
pub use responses::{IncludeForm, ItemForm, StoreForm, TextFormat, TokenCount, UserLabel};
pub use server_tools::{
    ClientTools, CodeExecutionForm, FileSearchForm, ServerToolQuirks, WebFetchForm, WebSearchForm,
};
pub use storage::{BatchApi, FileApi, StorageQuirks};
pub use tasks::{
    AudioUrlField, ImageForm, ModerationForm, SpeechForm, TaskQuirks, TranscriptionForm,
};

quirk! {
    /// The field that limits the tokens of a response.
    TokenCap {
        /// `max_tokens`.
        #[default]
        MaxTokens,
        /// `max_completion_tokens`. OpenAI (SDK 3.49: `max_tokens` is deprecated), Azure, Groq (recording
        /// `groq-json-thinking-length-4a179788`), Cerebras (SDK 1.91) and xAI's Chat protocol.
        MaxCompletionTokens,
    }
}

quirk! {
    /// Whether a stream must be asked to report its usage.
    StreamUsage {
        /// It is requested with `stream_options.include_usage`.
        #[default]
        Asked,
        /// It always reports, and must not be asked. Mistral (`stream_options` is not in SDK 3.7) and Perplexity's Chat
        /// protocol (54 of 54 recorded streams).
        Unasked,
    }
}

quirk! {
    /// How thinking of earlier messages is sent back.
    ReasoningEcho {
        /// It is not sent back.
        #[default]
        Never,
        /// As `reasoning_content`. Together, Fireworks (recording `fireworks-json-thinking-text-53145417`), NVIDIA, Moonshot,
        /// DeepInfra and llama.cpp.
        ReasoningContent,
        /// As `reasoning_content`, which every message of the assistant must have, empty if need be. DeepSeek (recording
        /// `deepseek-json-thinking-multi-turn-tool-9840e6f0`, 2026).
        ReasoningContentRequired,
        /// As `reasoning`. Groq, Cerebras, Ollama (recording `ollama-json-parallel-tool-calls-thinking-01aac4da`) and vLLM
        /// since 0.16.
        Reasoning,
        /// As a `thinking` chunk of the content. Mistral (recording `mistral-json-thinking-text-f7af158a`).
        ThinkingChunk,
        /// As the list `reasoning_details`, unchanged, or as `reasoning` if there is no list. OpenRouter (recording
        /// `openrouter-stream-thinking-multi-turn-tool-4a86bf4c`).
        ReasoningDetails,
    }
}

quirk! {
    /// Where a request in Anthropic's protocol names its model.
    ModelPlace {
        /// In its body.
        #[default]
        Body,
        /// In its path, which is beside the last segment of the base URL: `…/anthropic/models/MODEL:rawPredict`. Vertex AI (anthropic
        /// SDK 2.9: `lib/vertex/_client.py`; ai-sdk google-vertex 5.0).
        RawPredict,
        /// In its path: `/model/MODEL/invoke`. The path also says whether the response is streamed, in binary frames, and the body has what the
        /// header `anthropic-beta` has elsewhere. Bedrock's InvokeModel (anthropic SDK 2.9: `lib/bedrock/_client.py`; recordings
        /// `bedrock-stream-thinking-text-a0770deb` and `bedrock-stream-parallel-tool-calls-tool-call-40f257bf`).
        Invoke,
    }
}

quirk! {
    /// How log probabilities are requested.
    LogprobsForm {
        /// `logprobs: true` and `top_logprobs: N`.
        #[default]
        Flag,
        /// `logprobs: N`. Together (recording `together-json-logprobs-thinking-a27c0120`).
        Count,
    }
}

quirk! {
    /// How a JSON schema for the response is supported.
    JsonSchemaSupport {
        /// Natively.
        #[default]
        Native,
        /// Natively, but not in a request with tools. Groq (ai-sdk groq 4.0) and Cerebras (litellm#31445).
        NotWithTools,
        /// Only JSON mode exists, and the schema is written into the instructions. DeepSeek (api-docs.deepseek.com,
        /// 2026-11-15).
        InInstructions,
        /// Only schemas exist, and no JSON mode without one. Perplexity (SDK 0.46) and LM Studio (its issue 189).
        SchemaOnly,
    }
}

quirk! {
    /// How thinking is switched and limited, in addition to `reasoning_effort`.
    ThinkingForm {
        /// By effort only.
        #[default]
        EffortOnly,
        /// `thinking: {type: enabled | disabled}`. DeepSeek (recording `deepseek-json-length-text-391c577a`).
        TypeSwitch,
        /// `thinking: {type, budget_tokens}`. Fireworks (SDK 1.2).
        TypeSwitchWithBudget,
        /// `reasoning: {enabled}`. Together (SDK 3.0).
        ReasoningEnabled,
        /// `reasoning: {effort, max_tokens, exclude, enabled}` instead of `reasoning_effort`. OpenRouter (recording
        /// `openrouter-stream-thinking-usage-reasoning-ed92ffbc`).
        ReasoningObject,
        /// `chat_template_kwargs: {enable_thinking}`. NVIDIA, vLLM (documentation, 2026-11-15) and llama.cpp (2026-08-22).
        TemplateArgument,
        /// `reasoning_format: parsed | hidden`. Groq (SDK 1.7).
        ReasoningFormat,
    }
}

quirk! {
    /// Whether the completion tokens include the reasoning tokens.
    ReasoningTokens {
        /// They do.
        #[default]
        Within,
        /// They do not, so the reasoning tokens are added. Perplexity's Chat protocol (until 2026-09-27).
        Beside,
    }
}

quirk! {
    /// Whether `system_fingerprint` carries information.
    Fingerprint {
        /// It is kept in the provider's metadata.
        #[default]
        Kept,
        /// It is the same in every response, and left out. Ollama (`fp_ollama` in every recording).
        Constant,
    }
}
