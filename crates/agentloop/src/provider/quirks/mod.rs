//! How a host bends a protocol: named after what differs, never after who.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::chat::Effort;

/// How a host bends OpenAI's protocols. The default is what most hosts do.
///
/// Only what is *sent* needs quirks: answers are read tolerantly, every known spelling is accepted from
/// everyone. In `agentloop.toml` the same names are the keys of a custom provider's `quirks` table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "snake_case")]
#[non_exhaustive]
pub struct Quirks {
    /// The name of the token cap.
    pub token_cap: TokenCap,
    /// How a stream comes to report its usage.
    pub stream_usage: StreamUsage,
    /// How thinking of earlier turns goes back.
    pub reasoning_echo: ReasoningEcho,
    /// What ids of tool calls must look like.
    pub tool_call_ids: ToolCallIds,
    /// Whether a tool's turn must name the tool.
    pub tool_result_name: ToolResultName,
    /// Whether turns may carry the speaker's name.
    pub speaker_name: SpeakerName,
    /// How log probabilities are asked for.
    pub logprobs: LogprobsForm,
    /// What the host makes of a JSON schema for the answer.
    pub json_schema: JsonSchemaSupport,
    /// What kinds of image references the host takes.
    pub images: ImageInput,
    /// Whether a tool's turn may hold images.
    pub tool_result_images: ToolResultImages,
    /// How recorded sound is sent.
    pub audio: AudioInputForm,
    /// How files are sent.
    pub files: FileInputForm,
    /// Whether files that the provider parsed go back to it.
    pub parsed_files: ParsedFiles,
    /// How videos are sent.
    pub video: VideoInput,
    /// How settings of generated images are sent.
    pub image_output: ImageOutputForm,
    /// The levels of effort that the host knows; absent means all. A level between goes to the nearest.
    pub efforts: Option<Cow<'static, [Effort]>>,
    /// How thinking is switched and bounded.
    pub thinking: ThinkingForm,
    /// Whether prompt-cache markers are taken on parts.
    pub cache_markers: CacheMarkers,
    /// The most stop sequences.
    pub max_stops: Option<usize>,
    /// Where reasoning tokens are counted.
    pub reasoning_tokens: ReasoningTokens,
    /// Whether `system_fingerprint` says anything.
    pub fingerprint: Fingerprint,
    /// How vectors are asked for and come back.
    pub embeddings: EmbeddingQuirks,
    /// Whether a host of responses is told not to keep them.
    pub store: StoreForm,
    /// What a host of responses can be asked to include in them.
    pub include: IncludeForm,
    /// The kinds of items that a host of responses takes back.
    pub items: ItemForm,
    /// Where a host of responses looks for the form of the text.
    pub text_format: TextFormat,
    /// Under which name a host of responses takes the user.
    pub user_label: UserLabel,
    /// Whether tokens can be counted before a call.
    pub token_count: TokenCount,
    /// How the tools are taken that the provider runs itself.
    pub server_tools: ServerToolQuirks,
    /// How tools are declared that the provider defines and the caller runs.
    pub client_tools: ClientTools,
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

mod responses;
mod server_tools;

pub use responses::{IncludeForm, ItemForm, StoreForm, TextFormat, TokenCount, UserLabel};
pub use server_tools::{
    CodeExecutionForm, FileSearchForm, ServerToolQuirks, WebFetchForm, WebSearchForm,
};

quirk! {
    /// How tools are declared that the provider defines and the caller runs.
    ClientTools {
        /// As functions: the provider defines none.
        #[default]
        Functions,
        /// By types that name a version, as `bash_20250124`. Calls name the tool.
        Versioned,
        /// By types without options, as `shell`. Calls and results are items of their own.
        Items,
    }
}

quirk! {
    /// The name of the token cap.
    TokenCap {
        /// `max_tokens`.
        #[default]
        MaxTokens,
        /// `max_completion_tokens`.
        MaxCompletionTokens,
    }
}

quirk! {
    /// How a stream comes to report its usage.
    StreamUsage {
        /// It is asked with `stream_options.include_usage`.
        #[default]
        Asked,
        /// It reports unasked, and must not be asked.
        Unasked,
    }
}

quirk! {
    /// How thinking of earlier turns goes back to the host.
    ReasoningEcho {
        /// Not at all.
        #[default]
        Never,
        /// In `reasoning_content`.
        ReasoningContent,
        /// In `reasoning_content`, which must be there on every turn of the assistant, empty if need be.
        ReasoningContentRequired,
        /// In `reasoning`.
        Reasoning,
        /// As a `thinking` piece of the content.
        ThinkingChunk,
        /// As the list `reasoning_details`, exactly as it came; else in `reasoning`.
        ReasoningDetails,
    }
}

quirk! {
    /// What ids of tool calls must look like.
    ToolCallIds {
        /// Anything.
        #[default]
        Any,
        /// Exactly nine letters or digits. Others are mapped to such, the same way every time.
        NineAlphanumeric,
    }
}

quirk! {
    /// Whether a tool's turn must name the tool.
    ToolResultName {
        /// The id of the call is enough.
        #[default]
        Omitted,
        /// It must.
        Required,
    }
}

quirk! {
    /// Whether turns may carry the speaker's name.
    SpeakerName {
        /// They may.
        #[default]
        Accepted,
        /// They may not.
        Refused,
    }
}

quirk! {
    /// How log probabilities are asked for.
    LogprobsForm {
        /// `logprobs: true` and `top_logprobs: N`.
        #[default]
        Flag,
        /// `logprobs: N`.
        Count,
    }
}

quirk! {
    /// What a host makes of a JSON schema for the answer.
    JsonSchemaSupport {
        /// It keeps to it.
        #[default]
        Native,
        /// It does, but not together with tools.
        NotWithTools,
        /// It knows JSON mode only: the schema goes into the instructions.
        InInstructions,
        /// It knows schemas only, and no JSON mode without one.
        SchemaOnly,
    }
}

quirk! {
    /// What kinds of image references a host takes.
    ImageInput {
        /// Addresses and data URLs.
        #[default]
        Any,
        /// Data URLs only.
        DataOnly,
        /// None.
        Refused,
    }
}

quirk! {
    /// Whether a tool's turn may hold images.
    ToolResultImages {
        /// Text only.
        #[default]
        Refused,
        /// It may.
        Accepted,
    }
}

quirk! {
    /// How recorded sound is sent.
    AudioInputForm {
        /// `input_audio: {data, format}`.
        #[default]
        Object,
        /// `input_audio: "…"`, base64 or an address.
        Text,
        /// Not at all.
        Refused,
    }
}

quirk! {
    /// How files are sent.
    FileInputForm {
        /// `file: {file_data, filename}` or `file: {file_id}`.
        #[default]
        Object,
        /// `document_url: "…"`, by address or data URL; what was uploaded by its bare `file_id`.
        DocumentUrl,
        /// Not at all.
        Refused,
    }
}

quirk! {
    /// Whether files that the provider parsed, and returned as annotations, go back to it.
    ParsedFiles {
        /// They do not.
        #[default]
        Kept,
        /// As `annotations` of the assistant's message, which spares it parsing them again.
        Returned,
    }
}

quirk! {
    /// How videos are sent.
    VideoInput {
        /// Not at all.
        #[default]
        Refused,
        /// `video_url: {url}`.
        VideoUrl,
    }
}

quirk! {
    /// How settings of generated images are sent.
    ImageOutputForm {
        /// Not at all.
        #[default]
        Refused,
        /// `image_config: {aspect_ratio, image_size}`.
        ImageConfig,
    }
}

quirk! {
    /// How thinking is switched and bounded, beside `reasoning_effort`.
    ThinkingForm {
        /// By effort alone.
        #[default]
        EffortOnly,
        /// `thinking: {type: enabled | disabled}`.
        TypeSwitch,
        /// `thinking: {type, budget_tokens}`.
        TypeSwitchWithBudget,
        /// `reasoning: {enabled}`.
        ReasoningEnabled,
        /// `reasoning: {effort, max_tokens, exclude, enabled}` in place of `reasoning_effort`.
        ReasoningObject,
        /// `chat_template_kwargs: {enable_thinking}`.
        TemplateArgument,
        /// `reasoning_format: parsed | hidden`.
        ReasoningFormat,
    }
}

quirk! {
    /// Whether prompt-cache markers are taken on parts.
    CacheMarkers {
        /// They are left out, with a warning.
        #[default]
        Refused,
        /// `cache_control` on parts of the content.
        OnParts,
    }
}

quirk! {
    /// Where reasoning tokens are counted.
    ReasoningTokens {
        /// Within the completion tokens.
        #[default]
        Within,
        /// Beside them: they are added.
        Beside,
    }
}

quirk! {
    /// Whether `system_fingerprint` says anything.
    Fingerprint {
        /// It is kept in the provider's metadata.
        #[default]
        Kept,
        /// It is the same for every answer, and left out.
        Constant,
    }
}

/// How vectors are asked for and come back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "snake_case")]
#[non_exhaustive]
pub struct EmbeddingQuirks {
    /// How the texts are sent. Vectors are read in every known form, whatever this says.
    pub form: EmbeddingForm,
    /// What follows the provider's address; each leading `../` goes one step up from it. Absent means the form's own.
    pub path: Option<Cow<'static, str>>,
    /// The most texts in one call: more are split into several calls. Absent means
    /// [`EMBED_BATCH`](crate::limits::EMBED_BATCH).
    pub batch: Option<usize>,
    /// The most bytes of text in one call, by which also a host's limit of tokens is kept: no token is shorter than a
    /// byte. A longer text goes by itself. Absent means [`EMBED_BATCH_BYTES`](crate::limits::EMBED_BATCH_BYTES).
    pub batch_bytes: Option<usize>,
    /// The name of the parameter that sets the vectors' length.
    pub dimensions: DimensionsName,
    /// How the vectors are written.
    pub encoding: EmbeddingEncoding,
    /// The words for what the vectors are for.
    pub input_type: InputTypeWords,
}

quirk! {
    /// How the texts are sent.
    EmbeddingForm {
        /// As `input`, to `/embeddings`.
        #[default]
        Input,
        /// As `texts`, to `/embed`, with the kinds of number that are wanted.
        TextsByType,
        /// As `input`, to `/embed`, without what the first form has beside model and length.
        BareInput,
    }
}

quirk! {
    /// The name of the parameter that sets the vectors' length.
    DimensionsName {
        /// `dimensions`.
        #[default]
        Dimensions,
        /// `output_dimension`.
        OutputDimension,
        /// It cannot be set.
        Refused,
    }
}

quirk! {
    /// How the vectors are written.
    EmbeddingEncoding {
        /// As the host likes: numbers, or base64 of 32-bit floats.
        #[default]
        Unasked,
        /// Base64 of 32-bit floats, asked for with `base64`: exact, and fewer bytes than digits.
        Base64,
        /// Base64 of signed bytes, asked for with `base64_int8`. Each byte is read as one number, packed bits too.
        Int8,
    }
}

quirk! {
    /// The words for what the vectors are for.
    InputTypeWords {
        /// The host does not tell.
        #[default]
        Refused,
        /// `search_query`, `search_document`, `classification`, `clustering`; one is required, and it is
        /// `search_document` unless the request says another.
        Search,
        /// `query`, `passage`; one is required, and it is `passage` unless the request says another.
        Passage,
    }
}
