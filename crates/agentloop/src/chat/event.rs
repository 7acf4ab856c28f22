//! The events of a stream.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::chat::{
    ChatResponse, Citation, Cost, ErrorRecord, FinishReason, Logprobs, OutputStrategy,
    ProviderState, RawResponse, ResponsePart, Usage, Warning,
};

/// An event: one step of a response.
///
/// The stream of every provider follows this grammar:
///
/// ```text
/// message.start  (warning | metadata | content.* | logprobs | message.delta)*  usage?  raw?  message.done
/// ```
///
/// - `message.start` is the first event and `message.done` the last.
/// - Each part is opened once by `content.start`, extended by `content.delta`, and closed once by `content.done`, which
///   has the complete part. Parts are numbered in the order in which they are opened. Several tool calls may be open at
///   the same time. Thinking and text are closed before the next part is opened; in the Responses protocol they are
///   closed when the provider ends their item.
/// - Sources of a text that arrive after it was closed are `content.citation` events. They belong to the part as if
///   they were in its `content.done`.
/// - A stream that fails ends with an error instead of `message.done`. In Rust that is the `Err` of an item of
///   [`ChatStream`](crate::ChatStream), in JSON an `error` event.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum ChatStreamEvent {
    /// The response starts.
    #[serde(rename = "message.start", rename_all = "camelCase")]
    MessageStart {
        /// The provider's id of the response.
        id: String,
        /// The model that responds.
        model: String,
        /// The provider that responds.
        provider: String,
        /// When the provider started to respond (Unix seconds).
        created: Option<i64>,
        /// The request id, which the provider's support asks for.
        request_id: Option<String>,
        /// How the schema was requested, if there is one.
        output_strategy: Option<OutputStrategy>,
        /// Whether the response comes from a cache.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cached: bool,
    },
    /// A part is opened.
    #[serde(rename = "content.start", rename_all = "camelCase")]
    ContentStart {
        /// The index of the choice.
        choice_index: u32,
        /// The index of the part.
        part_index: u32,
        /// The kind of the part.
        part: PartStart,
    },
    /// A part is extended.
    #[serde(rename = "content.delta", rename_all = "camelCase")]
    ContentDelta {
        /// The index of the choice.
        choice_index: u32,
        /// The index of the part.
        part_index: u32,
        /// The content that is added.
        delta: PartDelta,
    },
    /// A part is closed.
    #[serde(rename = "content.done", rename_all = "camelCase")]
    ContentDone {
        /// The index of the choice.
        choice_index: u32,
        /// The index of the part.
        part_index: u32,
        /// The complete part.
        part: ResponsePart,
    },
    /// A closed text part has one more source, which the provider reported later.
    #[serde(rename = "content.citation", rename_all = "camelCase")]
    ContentCitation {
        /// The index of the choice.
        choice_index: u32,
        /// The index of the part.
        part_index: u32,
        /// The source, with its position in the text of the part.
        citation: Citation,
    },
    /// More log probabilities.
    #[serde(rename = "logprobs", rename_all = "camelCase")]
    Logprobs {
        /// The index of the choice.
        choice_index: u32,
        /// The log probabilities of the tokens since the last such event.
        logprobs: Logprobs,
    },
    /// The finish reason of a choice is known.
    #[serde(rename = "message.delta", rename_all = "camelCase")]
    MessageDelta {
        /// The index of the choice.
        choice_index: u32,
        /// The finish reason.
        finish_reason: FinishReason,
        /// The provider's own name for it.
        raw_finish_reason: Option<String>,
    },
    /// A warning: a parameter was changed or left out, or the response is unusual.
    #[serde(rename = "warning")]
    Warning {
        /// The warning.
        warning: Warning,
    },
    /// Further fields of the provider, under its own names. A later value replaces an earlier one of the same name.
    #[serde(rename = "metadata", rename_all = "camelCase")]
    Metadata {
        /// The choice that the fields belong to. `None` for fields of the whole response.
        choice_index: Option<u32>,
        /// The fields by name.
        provider_metadata: Map<String, Value>,
    },
    /// The tokens used. A later event replaces an earlier one.
    #[serde(rename = "usage")]
    Usage {
        /// The tokens.
        usage: Usage,
        /// The cost, if it is known.
        cost: Option<Cost>,
    },
    /// The response as the provider sent it, if the request set [`include_raw`](crate::ChatRequest::include_raw).
    #[serde(rename = "raw")]
    Raw {
        /// The status, the headers and the body.
        raw: Box<RawResponse>,
    },
    /// The response is complete.
    #[serde(rename = "message.done")]
    MessageDone {
        /// The complete response: the fold of all earlier events.
        response: Box<ChatResponse>,
    },
    /// The stream failed. No further event follows.
    #[serde(rename = "error")]
    Error {
        /// The error, with the part of the response that arrived.
        error: Box<ErrorRecord>,
    },
}

impl ChatStreamEvent {
    /// Returns whether the event has content of the response. A stream is not retried after such an event.
    pub fn is_content(&self) -> bool {
        matches!(
            self,
            Self::ContentStart { .. }
                | Self::ContentDelta { .. }
                | Self::ContentDone { .. }
                | Self::ContentCitation { .. }
        )
    }

    /// Returns the text that the event adds to the first choice.
    ///
    /// All of these together are [`ChatResponse::text`]. Thinking is not included.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// # use agentloop::{AgentLoop, ChatRequest};
    /// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    /// let mut stream = ai.stream(ChatRequest::new("sim/think").user("Hello")).await?;
    /// while let Some(event) = stream.next().await {
    ///     print!("{}", event?.text().unwrap_or_default());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::ContentDelta { choice_index: 0, delta: PartDelta::Text { text }, .. } => {
                Some(text)
            }
            _ => None,
        }
    }
}

/// The kind of a part that is opened.
///
/// ```
/// use agentloop::PartStart;
///
/// let start: PartStart = serde_json::from_str(r#"{"type":"tool_call","id":"call_1","name":"get_weather"}"#)?;
/// assert!(matches!(start, PartStart::ToolCall { name, .. } if name == "get_weather"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum PartStart {
    /// Text.
    Text {},
    /// A call of one of the caller's tools.
    ToolCall {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// Thinking.
    Thinking {},
    /// Encrypted thinking. It has no deltas.
    RedactedThinking {},
    /// An image.
    #[serde(rename_all = "camelCase")]
    Image {
        /// The media type.
        mime_type: String,
    },
    /// Audio.
    #[serde(rename_all = "camelCase")]
    Audio {
        /// The media type.
        mime_type: String,
    },
    /// Another file. It has no deltas.
    #[serde(rename = "generated_file", rename_all = "camelCase")]
    File {
        /// The media type.
        mime_type: String,
    },
    /// Code that the provider runs.
    CodeExecution {
        /// The id that the result refers to.
        id: Option<String>,
        /// The language of the code.
        language: String,
    },
    /// The output of that code. It has no deltas.
    CodeResult {
        /// The id of the code run.
        id: Option<String>,
    },
    /// A call of one of the provider's tools.
    ServerToolCall {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// The result of such a call. It has no deltas.
    #[serde(rename_all = "camelCase")]
    ServerToolResult {
        /// The id of the call.
        tool_call_id: String,
    },
    /// A part without a unified kind. It has no deltas.
    Opaque {
        /// The provider that sent it.
        provider: String,
        /// The provider's name for its kind.
        kind: String,
    },
}

/// Content that is added to a part.
///
/// ```
/// use agentloop::PartDelta;
///
/// let delta: PartDelta = serde_json::from_str(r#"{"type":"text","text":"Hel"}"#)?;
/// assert!(matches!(delta, PartDelta::Text { text } if text == "Hel"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum PartDelta {
    /// Text.
    #[serde(rename = "text")]
    Text {
        /// The next piece of text.
        text: String,
    },
    /// Arguments of a call of the caller's tool.
    #[serde(rename = "tool_call.arguments")]
    ToolCallArguments {
        /// The next piece of JSON text.
        arguments: String,
    },
    /// Thinking.
    #[serde(rename = "thinking")]
    Thinking {
        /// The next piece of text.
        thinking: String,
    },
    /// The signature of the thinking.
    #[serde(rename = "thinking.signature")]
    ThinkingSignature {
        /// The next piece of the signature.
        signature: String,
    },
    /// The bytes of an image.
    #[serde(rename = "image")]
    Image {
        /// The next piece of base64.
        data: String,
    },
    /// The bytes of audio.
    #[serde(rename = "audio")]
    Audio {
        /// The next piece of base64.
        data: String,
    },
    /// The transcript of audio.
    #[serde(rename = "audio.transcript")]
    AudioTranscript {
        /// The next piece of text.
        transcript: String,
    },
    /// A source of the text.
    #[serde(rename = "citation")]
    Citation {
        /// The source.
        citation: Citation,
    },
    /// Code that the provider runs.
    #[serde(rename = "code_execution.code")]
    Code {
        /// The next piece of code.
        code: String,
    },
    /// Arguments of a call of the provider's tool.
    #[serde(rename = "server_tool_call.arguments")]
    ServerToolCallArguments {
        /// The next piece of JSON text.
        arguments: String,
    },
    /// State of the part that must be sent back to its provider. A later one replaces an earlier one.
    #[serde(rename = "provider_state", rename_all = "camelCase")]
    ProviderState {
        /// The state.
        provider_state: ProviderState,
    },
}

impl PartStart {
    /// Returns the start event of a part that is already complete.
    pub fn of(part: &ResponsePart) -> Self {
        match part {
            ResponsePart::Text(_) => Self::Text {},
            ResponsePart::ToolCall(call) => {
                Self::ToolCall { id: call.id.clone(), name: call.name.clone() }
            }
            ResponsePart::Thinking(_) => Self::Thinking {},
            ResponsePart::RedactedThinking(_) => Self::RedactedThinking {},
            ResponsePart::Image(image) => Self::Image { mime_type: image.mime_type.clone() },
            ResponsePart::Audio(audio) => Self::Audio { mime_type: audio.mime_type.clone() },
            ResponsePart::File(file) => Self::File { mime_type: file.mime_type.clone() },
            ResponsePart::CodeExecution(code) => {
                Self::CodeExecution { id: code.id.clone(), language: code.language.clone() }
            }
            ResponsePart::CodeResult(result) => Self::CodeResult { id: result.id.clone() },
            ResponsePart::ServerToolCall(call) => {
                Self::ServerToolCall { id: call.id.clone(), name: call.name.clone() }
            }
            ResponsePart::ServerToolResult(result) => {
                Self::ServerToolResult { tool_call_id: result.tool_call_id.clone() }
            }
            ResponsePart::Opaque(opaque) => {
                Self::Opaque { provider: opaque.provider.clone(), kind: opaque.kind.clone() }
            }
        }
    }
}
