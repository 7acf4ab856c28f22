//! The types of a chat: requests, responses, and the events between them.
//!
//! The types here are plain data. They depend on no other part of the crate that knows a provider or a protocol, so every
//! module can use them. A response is the [fold](Fold) of its events; [`ChatResponse::unfold`] is the inverse.

mod access;
mod batch;
mod build;
mod cache_control;
mod cache_mode;
mod citation;
mod client_tool;
mod content;
mod cost;
mod draft;
mod embed;
mod error_kind;
mod error_record;
mod event;
pub(crate) mod file_citation;
mod finish;
mod fold;
mod headers;
mod logprobs;
mod media_options;
mod message;
mod open_parts;
mod output;
mod param;
mod part;
mod progress;
mod protocol;
mod raw;
mod read;
mod reasoning;
mod reconcile;
mod request;
mod request_params;
mod response;
mod server_tool;
mod setters;
mod task;
mod tool;
mod unfold;
mod usage;
mod warning;
mod weight;

pub(crate) use access::Access;
pub(crate) use batch::BatchEntry;
pub use batch::{Batch, BatchCounts, BatchState, BatchStatus};
pub use cache_control::CacheControl;
pub use cache_mode::CacheMode;
pub use citation::{
    BlockCitation, Citation, DocumentCitation, FileCitation, OpaqueCitation, PageCitation,
    SearchResultCitation, UrlCitation,
};
pub use client_tool::{ClientTool, ClientToolKind, Display};
pub use content::{
    AudioInput, ContentPart, FileInput, ImageDetail, ImageUrl, MediaUrl, MessageContent,
};
pub use cost::{Cost, CostSource, ParseUsdError, Usd};
pub(crate) use draft::Draft;
pub use embed::{EmbedInput, EmbedInputType, EmbedRequest, EmbedResponse, EmbedUsage};
pub use error_kind::ErrorKind;
pub use error_record::ErrorRecord;
pub use event::{ChatStreamEvent, PartDelta, PartStart};
pub use finish::FinishReason;
pub(crate) use fold::parse_arguments;
pub use fold::{Fold, FoldError};
pub use headers::ExtraHeaders;
pub use logprobs::{Logprobs, TokenLogprob};
pub use media_options::{Download, MediaOptions};
pub use message::{ChatMessage, FunctionCall, Origin, Role, ToolCall};
pub use output::{AudioOutput, ImageOutput, JsonSchemaFormat, OutputStrategy, ResponseFormat};
pub use param::Param;
pub(crate) use param::ParamSet;
pub use part::{
    AudioPart, CodeExecutionPart, CodeOutcome, CodeResultPart, FilePart, ImagePart, OpaquePart,
    ProviderState, RedactedThinkingPart, ResponsePart, ServerToolCallPart, ServerToolResultPart,
    TextPart, ThinkingPart, ToolCallPart,
};
pub use protocol::Protocol;
pub(crate) use protocol::{Support, ToolDialect, UrlSupport};
pub(crate) use raw::RawParts;
pub use raw::RawResponse;
pub(crate) use read::{StateForm, vendor_state};
pub(crate) use reasoning::Efforts;
pub use reasoning::{Effort, Thinking};
pub(crate) use reconcile::{Contradiction, Reported};
pub use request::{ChatRequest, Stop, StreamOptions};
pub use response::{ChatResponse, Choice};
pub use server_tool::{
    CodeExecutionTool, FileSearchTool, ServerTool, UserLocation, WebFetchTool, WebSearchTool,
};
pub use task::{
    GeneratedImage, ImageEvent, ImageRequest, ImageResponse, MediaFile, Modality, ModerateRequest,
    ModerateResponse, Moderation, RankedDocument, RerankRequest, RerankResponse, SpeechEvent,
    SpeechRequest, SpeechResponse, Task, TaskEvent, TaskResponse, Timestamps, TranscribeEvent,
    TranscribeRequest, TranscribeResponse, TranscriptSegment, TranscriptWord,
};
pub use tool::{FunctionDefinition, ToolChoice, ToolDefinition};
pub use usage::{Usage, UsageDetails};
pub use warning::{Warning, WarningKind};
pub(crate) use weight::Weight;
