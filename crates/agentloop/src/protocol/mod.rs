//! The protocols: how requests are written and responses are read, without I/O.
//!
//! Each protocol is one folder that implements `Codec`. The folders use the same file names for the same job. No code
//! here branches on the name of a provider: the differences between the providers of a protocol are
//! [quirks](crate::provider::quirks) in their data.
//!
//! Each protocol is a feature of the crate. One that is not compiled in is an error that names its feature.

#[cfg(feature = "anthropic")]
mod anthropic;
mod base64_join;
pub(crate) mod batches;
#[cfg(feature = "bedrock")]
mod bedrock;
#[cfg(any(feature = "anthropic", feature = "bedrock"))]
mod blocks;
mod classify;
mod client_tools;
mod codec;
#[cfg(feature = "cohere")]
mod cohere;
mod conversation;
mod cost;
mod count;
mod effort;
mod embed;
mod emit;
mod error_body;
mod exceptions;
mod fields;
pub(crate) mod files;
mod fill;
mod free_text;
mod function_tool;
#[cfg(feature = "gemini")]
mod gemini;
#[cfg(feature = "gemini-interactions")]
mod gemini_interactions;
#[cfg(any(feature = "gemini", feature = "gemini-interactions"))]
mod google;
mod headers;
mod image;
mod json;
mod lenient;
mod logprobs;
mod messages;
mod missing;
mod moderate;
mod multipart;
#[cfg(feature = "ollama")]
mod ollama;
#[cfg(any(feature = "openai-chat", feature = "openai-responses"))]
mod openai;
#[cfg(feature = "openai-chat")]
mod openai_chat;
#[cfg(feature = "openai-responses")]
mod openai_responses;
pub(crate) mod output;
pub(crate) mod params;
mod recognize;
mod repeat;
mod rerank;
mod rest;
pub(crate) mod restrict;
mod retry_after;
mod room;
#[cfg(feature = "serve")]
pub mod serve;
mod speech;
pub(crate) mod task;
mod think_tags;
mod tool_calls;
mod transcribe;

use http::{HeaderMap, HeaderName};

pub(crate) use codec::{
    Call, ChatDecoder, Codec, Decode, DecodeContext, Encoded, Flow, Frame, ModelPage,
};
pub(crate) use conversation::{
    Forms, IdPattern, NamePattern, Order, Prepared, Rules, Shown, StateForm, ToolNames, is_item,
    is_step,
};
pub(crate) use cost::ReportedCost;
pub(crate) use embed::{Embedded, check_lengths};
pub(crate) use emit::Emitter;
pub(crate) use output::OutputForm;
pub(crate) use recognize::protocol_of;

pub use crate::chat::Protocol;

/// Returns the codec of a protocol.
pub(crate) fn codec(protocol: Protocol) -> &'static dyn Codec {
    match protocol {
        #[cfg(feature = "openai-chat")]
        Protocol::OpenAiChat => &openai_chat::OpenAiChat,
        #[cfg(feature = "openai-responses")]
        Protocol::OpenAiResponses => &openai_responses::OpenAiResponses,
        #[cfg(feature = "anthropic")]
        Protocol::Anthropic => &anthropic::Anthropic,
        #[cfg(feature = "gemini")]
        Protocol::Gemini => &gemini::Gemini,
        #[cfg(feature = "ollama")]
        Protocol::Ollama => &ollama::Ollama,
        #[cfg(feature = "cohere")]
        Protocol::Cohere => &cohere::Cohere,
        #[cfg(feature = "bedrock")]
        Protocol::Bedrock => &bedrock::Bedrock,
        #[cfg(feature = "gemini-interactions")]
        Protocol::GeminiInteractions => &gemini_interactions::GeminiInteractions,
        #[allow(unreachable_patterns, reason = "unless a protocol is not compiled in")]
        other => missing::Missing::of(other),
    }
}

/// Returns the id by which the provider's support knows a call.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    // Not a constant, which would be created at every call.
    static NAMES: [HeaderName; 5] = [
        HeaderName::from_static("x-request-id"),
        HeaderName::from_static("request-id"),
        HeaderName::from_static("apim-request-id"),
        HeaderName::from_static("x-amzn-requestid"),
        HeaderName::from_static("cf-ray"),
    ];
    NAMES
        .iter()
        .filter_map(|name| headers.get(name)?.to_str().ok())
        .find(|id| !id.is_empty())
        .map(str::to_owned)
}
