//! The one vocabulary of streams.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::chat::{
    ChatResponse, Citation, Cost, ErrorRecord, FinishReason, Logprobs, OutputStrategy,
    ProviderState, RawResponse, ResponsePart, Usage, Warning,
};

/// A step of an answer.
///
/// Every stream of every provider has this grammar:
///
/// ```text
/// message.start  (warning | metadata | content.* | logprobs | message.delta)*  usage?  raw?  message.done
/// ```
///
/// - `message.start` comes once and first, `message.done` once and last.
/// - Each part opens once with `content.start`, grows by `content.delta`, and closes once with
///   `content.done`, which holds the finished part. Parts are numbered in the order in which they open.
///   Tool calls may grow side by side. Thinking and text close before the next part opens; in the Responses protocol
///   they close when the provider ends their item.
/// - Sources of a text that arrive after it has closed come as `content.citation`; they belong to the part, as if they
///   were in its `content.done`.
/// - A stream that fails ends with an error instead of `message.done`. In Rust that is the `Err` of
///   [`ChatStream`](crate::ChatStream)'s items; in JSON it is an `error` event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum ChatStreamEvent {
    /// The answer begins.
    #[serde(rename = "message.start", rename_all = "camelCase")]
    MessageStart {
        /// The provider's id of the answer.
        id: String,
        /// The model that answers.
        model: String,
        /// The provider that answers.
        provider: String,
        /// When the provider began (Unix seconds).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        created: Option<i64>,
        /// The id by which the provider's support knows the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        /// How the answer's shape was asked for, if a schema was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_strategy: Option<OutputStrategy>,
        /// Whether the answer comes from a cache.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cached: bool,
    },
    /// A part begins.
    #[serde(rename = "content.start", rename_all = "camelCase")]
    ContentStart {
        /// Which answer.
        choice_index: u32,
        /// Which part of it.
        part_index: u32,
        /// What kind of part.
        part: PartStart,
    },
    /// A part grows.
    #[serde(rename = "content.delta", rename_all = "camelCase")]
    ContentDelta {
        /// Which answer.
        choice_index: u32,
        /// Which part of it.
        part_index: u32,
        /// What is added.
        delta: PartDelta,
    },
    /// A part is finished.
    #[serde(rename = "content.done", rename_all = "camelCase")]
    ContentDone {
        /// Which answer.
        choice_index: u32,
        /// Which part of it.
        part_index: u32,
        /// The whole part.
        part: ResponsePart,
    },
    /// A part of text that is finished has one more source, which the provider named later.
    #[serde(rename = "content.citation", rename_all = "camelCase")]
    ContentCitation {
        /// Which answer.
        choice_index: u32,
        /// Which part of it.
        part_index: u32,
        /// The source, with the place in the part's text.
        citation: Citation,
    },
    /// More log probabilities.
    #[serde(rename = "logprobs", rename_all = "camelCase")]
    Logprobs {
        /// Which answer.
        choice_index: u32,
        /// Those of the tokens since the last such event.
        logprobs: Logprobs,
    },
    /// An answer knows why it ended.
    #[serde(rename = "message.delta", rename_all = "camelCase")]
    MessageDelta {
        /// Which answer.
        choice_index: u32,
        /// Why it ended.
        finish_reason: FinishReason,
        /// The provider's own word for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw_finish_reason: Option<String>,
    },
    /// Something that was asked and not given, or an oddity.
    #[serde(rename = "warning")]
    Warning {
        /// The warning.
        warning: Warning,
    },
    /// Further fields of the provider, under the provider's names. A later value replaces an earlier one of the
    /// same name.
    #[serde(rename = "metadata", rename_all = "camelCase")]
    Metadata {
        /// The choice that the fields belong to; absent for fields of the whole response.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        choice_index: Option<u32>,
        /// The fields by name.
        provider_metadata: Map<String, Value>,
    },
    /// The tokens used. A later event replaces an earlier one.
    #[serde(rename = "usage")]
    Usage {
        /// The tokens.
        usage: Usage,
        /// What they cost, when that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
    },
    /// The response as the provider sent it, if the request set [`include_raw`](crate::ChatRequest::include_raw).
    #[serde(rename = "raw")]
    Raw {
        /// The status, the headers and the body.
        raw: Box<RawResponse>,
    },
    /// The answer is complete.
    #[serde(rename = "message.done")]
    MessageDone {
        /// The whole answer: the fold of all events before.
        response: Box<ChatResponse>,
    },
    /// The stream failed. Nothing follows.
    #[serde(rename = "error")]
    Error {
        /// Why, with what had arrived by then.
        error: Box<ErrorRecord>,
    },
}

impl ChatStreamEvent {
    /// Whether the event brings the answer itself: from here on a stream is not silently repeated.
    pub fn is_content(&self) -> bool {
        matches!(
            self,
            Self::ContentStart { .. }
                | Self::ContentDelta { .. }
                | Self::ContentDone { .. }
                | Self::ContentCitation { .. }
        )
    }

    /// Returns the piece of text that the event adds to the first choice.
    ///
    /// All pieces together are [`ChatResponse::text`]. Thinking is not part of it.
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

/// What kind of part begins.
///
/// ```
/// use agentloop::PartStart;
///
/// let start: PartStart = serde_json::from_str(r#"{"type":"tool_call","id":"call_1","name":"get_weather"}"#)?;
/// assert!(matches!(start, PartStart::ToolCall { name, .. } if name == "get_weather"));
/// # Ok::<(), serde_json::Error>(())
/// ```
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
    /// Encrypted thinking; comes whole.
    RedactedThinking {},
    /// An image.
    #[serde(rename_all = "camelCase")]
    Image {
        /// Its media type.
        mime_type: String,
    },
    /// Audio.
    #[serde(rename_all = "camelCase")]
    Audio {
        /// Its media type.
        mime_type: String,
    },
    /// Another file; comes whole.
    #[serde(rename = "generated_file", rename_all = "camelCase")]
    File {
        /// Its media type.
        mime_type: String,
    },
    /// Code that the provider runs.
    CodeExecution {
        /// The id that the result refers to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The code's language.
        language: String,
    },
    /// What that code printed; comes whole.
    CodeResult {
        /// The id of the code run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// A call of one of the provider's tools.
    ServerToolCall {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// What such a tool gave back; comes whole.
    #[serde(rename_all = "camelCase")]
    ServerToolResult {
        /// The id of the call.
        tool_call_id: String,
    },
    /// A piece without a unified kind; comes whole.
    Opaque {
        /// The provider that sent it.
        provider: String,
        /// The provider's name for its kind.
        kind: String,
    },
}

/// What is added to a part.
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
        /// The next piece.
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
        /// The next piece.
        thinking: String,
    },
    /// The signature of the thinking.
    #[serde(rename = "thinking.signature")]
    ThinkingSignature {
        /// The next piece of it.
        signature: String,
    },
    /// An image's bytes.
    #[serde(rename = "image")]
    Image {
        /// The next piece of base64.
        data: String,
    },
    /// Audio bytes.
    #[serde(rename = "audio")]
    Audio {
        /// The next piece of base64.
        data: String,
    },
    /// What is said in the audio.
    #[serde(rename = "audio.transcript")]
    AudioTranscript {
        /// The next piece.
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
        /// The next piece.
        code: String,
    },
    /// Arguments of a call of the provider's tool.
    #[serde(rename = "server_tool_call.arguments")]
    ServerToolCallArguments {
        /// The next piece of JSON text.
        arguments: String,
    },
    /// State that rides on the part and goes back to its provider. A later one replaces an earlier one.
    #[serde(rename = "provider_state", rename_all = "camelCase")]
    ProviderState {
        /// The state.
        provider_state: ProviderState,
    },
}

impl PartStart {
    /// The start of a part that is already whole.
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
