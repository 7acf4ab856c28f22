//! The parts of a response.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CacheControl, Citation};
use crate::limits::MAX_REPEATED_BYTES;

/// A part of a response, in the same form for every provider.
///
/// A response is a list of parts, in the order in which the model produced them. Every kind can also be in a message
/// (see [`ContentPart`](crate::ContentPart)), so a response can be appended to a conversation without losing anything.
///
/// ```
/// use agentloop::{ResponsePart, TextPart};
///
/// let part: ResponsePart = serde_json::from_str(r#"{"type":"text","text":"Hello"}"#)?;
/// assert_eq!(part, ResponsePart::Text(TextPart::new("Hello")));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResponsePart {
    /// Text, with the citations that support it.
    Text(TextPart),
    /// A call of a tool that the caller declared and runs.
    ToolCall(ToolCallPart),
    /// The thinking that precedes the response.
    Thinking(ThinkingPart),
    /// Thinking that the provider shows only in encrypted form.
    RedactedThinking(RedactedThinkingPart),
    /// A generated image.
    Image(ImagePart),
    /// Generated speech or other audio.
    Audio(AudioPart),
    /// Another generated file (video, PDF, a table from a code run).
    #[serde(rename = "generated_file")]
    File(FilePart),
    /// Code that the provider runs.
    CodeExecution(CodeExecutionPart),
    /// The output of that code.
    CodeResult(CodeResultPart),
    /// A call of a tool that the provider runs (for example web search).
    ServerToolCall(ServerToolCallPart),
    /// The result of such a call.
    ServerToolResult(ServerToolResultPart),
    /// A part that has no unified kind. It is sent back to its provider unchanged.
    Opaque(OpaquePart),
}

/// The provider that made a part, and the state of that provider that belongs to the part.
///
/// Both are sent back to that provider and to no other: signatures of thinking, encrypted reasoning and item ids. Treat
/// `data` as opaque. In a response, thinking and the provider's own tool calls always have it, without `data` if the
/// provider sent no state, so a stored part names its provider.
///
/// ```
/// use agentloop::ProviderState;
///
/// let state = ProviderState::new("openai", serde_json::json!({"id": "rs_1"}));
/// assert_eq!((state.provider.as_str(), state.model), ("openai", None));
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ProviderState {
    /// The name of the provider that made the state.
    pub provider: String,
    /// The model that made it, if that is known.
    pub model: Option<String>,
    /// The state as the provider sent it. Null if there is none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

impl ProviderState {
    /// Creates state `data` of `provider`.
    pub fn new(provider: impl Into<String>, data: Value) -> Self {
        Self { provider: provider.into(), model: None, data }
    }
}

/// Text. In a response it may have citations, in a request a cache marker.
///
/// ```
/// use agentloop::TextPart;
///
/// let part = TextPart::new("Hello");
/// assert_eq!(serde_json::to_value(&part)?, serde_json::json!({"text": "Hello"}));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TextPart {
    /// The text.
    pub text: String,
    /// The sources of the text, in the order in which they were cited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Citation>,
    /// Asks the provider to cache the prompt up to and including this part.
    #[serde(rename = "cache_control")]
    pub cache_control: Option<CacheControl>,
    /// State of the provider that wrote the text.
    pub provider_state: Option<Box<ProviderState>>,
}

impl TextPart {
    /// Creates text without citations.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// A call of a tool that the caller runs.
///
/// ```
/// use agentloop::ToolCallPart;
/// use serde_json::Value;
///
/// let call = ToolCallPart::new("call_1", "get_weather", r#"{"city": "Oslo"}"#);
/// let arguments: Value = call.parse()?;
/// assert_eq!(arguments["city"], "Oslo");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolCallPart {
    /// The id that connects the result to the call. Never empty in a response.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments as the model wrote them. They should be JSON, but a model can get that wrong. The input of a tool
    /// that takes free text is a JSON string.
    pub arguments: String,
    /// State of the provider that made the call.
    pub provider_state: Option<Box<ProviderState>>,
}

impl ToolCallPart {
    /// Creates a call of `name` with `arguments` (JSON text).
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into(), provider_state: None }
    }

    /// Parses the arguments. Empty arguments are an empty object.
    ///
    /// # Errors
    ///
    /// Fails if the arguments are not JSON, or do not have the form of `T`.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        let text = self.arguments.trim();
        serde_json::from_str(if text.is_empty() { "{}" } else { text })
    }
}

/// The thinking of the model.
///
/// ```
/// use agentloop::{ResponsePart, ThinkingPart};
///
/// let part: ResponsePart = serde_json::from_str(r#"{"type":"thinking","thinking":"Two and two is four."}"#)?;
/// assert_eq!(part, ResponsePart::Thinking(ThinkingPart::new("Two and two is four.")));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ThinkingPart {
    /// The thoughts, or a summary of them. Empty if the provider does not show them.
    pub thinking: String,
    /// The provider's signature of the thoughts.
    pub signature: Option<String>,
    /// State of the provider that made it.
    pub provider_state: Option<Box<ProviderState>>,
}

impl ThinkingPart {
    /// Creates thinking without a signature.
    pub fn new(thinking: impl Into<String>) -> Self {
        Self { thinking: thinking.into(), ..Self::default() }
    }
}

/// Thinking in encrypted form.
///
/// ```
/// use agentloop::RedactedThinkingPart;
///
/// let value: RedactedThinkingPart = serde_json::from_str(r#"{"data":"EmwKAh"}"#)?;
/// assert_eq!(value.data, "EmwKAh");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RedactedThinkingPart {
    /// The encrypted thoughts.
    pub data: String,
    /// State of the provider that made it.
    pub provider_state: Option<Box<ProviderState>>,
}

/// A generated image: its bytes, or its URL.
///
/// ```
/// use agentloop::ImagePart;
///
/// let value: ImagePart = serde_json::from_str(r#"{"mimeType":"image/png","data":"iVBORw0KGgo="}"#)?;
/// assert_eq!(value.extension(), Some("png"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImagePart {
    /// The media type, for example `image/png`.
    pub mime_type: String,
    /// The image in base64. Empty if there is only a `url`.
    #[serde(default)]
    pub data: String,
    /// The URL of the image, if the provider sent no bytes.
    pub url: Option<String>,
    /// State of the provider that made it.
    pub provider_state: Option<Box<ProviderState>>,
}

/// Generated speech or other audio.
///
/// ```
/// use agentloop::AudioPart;
///
/// let value: AudioPart = serde_json::from_str(r#"{"mimeType":"audio/wav","data":"UklGRg==","transcript":"Hi"}"#)?;
/// assert_eq!(value.transcript.as_deref(), Some("Hi"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AudioPart {
    /// The media type, for example `audio/wav` or `audio/L16;rate=24000`.
    pub mime_type: String,
    /// The audio in base64.
    pub data: String,
    /// The transcript.
    pub transcript: Option<String>,
    /// When the provider forgets the audio's id (Unix seconds).
    pub expires_at: Option<i64>,
    /// State of the provider that made it.
    pub provider_state: Option<Box<ProviderState>>,
}

/// A generated file of another kind.
///
/// ```
/// use agentloop::FilePart;
///
/// let value: FilePart = serde_json::from_str(r#"{"mimeType":"text/csv","data":"YSxi","name":"table.csv"}"#)?;
/// assert_eq!(value.name.as_deref(), Some("table.csv"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FilePart {
    /// The file's media type.
    pub mime_type: String,
    /// The file in base64. Empty if there is only a `url`.
    #[serde(default)]
    pub data: String,
    /// The URL of the file.
    pub url: Option<String>,
    /// The file's name.
    pub name: Option<String>,
    /// State of the provider that made it.
    pub provider_state: Option<Box<ProviderState>>,
}

/// Code that the provider runs.
///
/// ```
/// use agentloop::CodeExecutionPart;
///
/// let value: CodeExecutionPart = serde_json::from_str(r#"{"language":"python","code":"print(2 + 2)"}"#)?;
/// assert_eq!(value.language, "python");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CodeExecutionPart {
    /// The id that the result refers to, if the provider has one.
    pub id: Option<String>,
    /// The language, for example `python` or `bash`.
    pub language: String,
    /// The code.
    pub code: String,
    /// State of the provider that runs it.
    pub provider_state: Option<Box<ProviderState>>,
}

/// How a code run ended.
///
/// ```
/// use agentloop::CodeOutcome;
///
/// assert_eq!(serde_json::to_value(CodeOutcome::Timeout)?, "timeout");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CodeOutcome {
    /// It ran to its end.
    Ok,
    /// It failed.
    Error,
    /// It took too long.
    Timeout,
    /// The provider did not report it.
    #[default]
    Unknown,
}

/// The output of a code run.
///
/// ```
/// use agentloop::{CodeOutcome, CodeResultPart};
///
/// let result: CodeResultPart = serde_json::from_str(r#"{"outcome":"ok","output":"4\n"}"#)?;
/// assert_eq!((result.outcome, result.output.as_str()), (CodeOutcome::Ok, "4\n"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CodeResultPart {
    /// The id of the [`CodeExecutionPart`] that this is the result of.
    pub id: Option<String>,
    /// How it ended.
    pub outcome: CodeOutcome,
    /// The output: standard output, or standard error if the run failed.
    pub output: String,
    /// Standard error, if the provider reports it separately.
    pub stderr: Option<String>,
    /// The exit code.
    pub exit_code: Option<i64>,
    /// Files that the run created, by the provider's ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// State of the provider that ran it.
    pub provider_state: Option<Box<ProviderState>>,
}

/// A call of a tool that the provider runs itself.
///
/// ```
/// use agentloop::ServerToolCallPart;
///
/// let value: ServerToolCallPart = serde_json::from_str(r#"{"id":"ws_1","name":"web_search","arguments":{"query":"Oslo"}}"#)?;
/// assert_eq!(value.arguments["query"], "Oslo");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerToolCallPart {
    /// The id that the result refers to.
    pub id: String,
    /// The name of the tool, for example `web_search`.
    pub name: String,
    /// The arguments: an object, or a string if the provider sent something that is not JSON.
    #[serde(default)]
    pub arguments: Value,
    /// State of the provider that runs it.
    pub provider_state: Option<Box<ProviderState>>,
}

/// The result of a tool that the provider runs.
///
/// ```
/// use agentloop::ServerToolResultPart;
///
/// let value: ServerToolResultPart = serde_json::from_str(r#"{"toolCallId":"ws_1","content":[{"url":"https://example.com"}]}"#)?;
/// assert!(!value.is_error);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerToolResultPart {
    /// The id of the [`ServerToolCallPart`] that this is the result of.
    pub tool_call_id: String,
    /// The result, as the provider sent it.
    #[serde(default)]
    pub content: Value,
    /// Whether the tool failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// State of the provider that ran it.
    pub provider_state: Option<Box<ProviderState>>,
}

/// A part that has no unified kind. It is kept, and sent back to its provider unchanged.
///
/// ```
/// use agentloop::OpaquePart;
///
/// let value: OpaquePart = serde_json::from_str(r#"{"provider":"anthropic","kind":"compaction","data":{"type":"compaction"}}"#)?;
/// assert_eq!(value.kind, "compaction");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OpaquePart {
    /// The provider that sent it.
    pub provider: String,
    /// The provider's own name for its kind.
    pub kind: String,
    /// The part as the provider sent it. JSON deeper than [`MAX_KEPT_DEPTH`](crate::limits::MAX_KEPT_DEPTH) is kept as
    /// text.
    #[serde(default)]
    pub data: Value,
}

/// Calls `$body` with `$part` bound to the contents of the part, for the kinds that carry state.
macro_rules! each_part_with_state {
    ($self:expr, $part:ident => $body:expr, $opaque:expr) => {
        match $self {
            ResponsePart::Text($part) => $body,
            ResponsePart::ToolCall($part) => $body,
            ResponsePart::Thinking($part) => $body,
            ResponsePart::RedactedThinking($part) => $body,
            ResponsePart::Image($part) => $body,
            ResponsePart::Audio($part) => $body,
            ResponsePart::File($part) => $body,
            ResponsePart::CodeExecution($part) => $body,
            ResponsePart::CodeResult($part) => $body,
            ResponsePart::ServerToolCall($part) => $body,
            ResponsePart::ServerToolResult($part) => $body,
            ResponsePart::Opaque(_) => $opaque,
        }
    };
}

impl ResponsePart {
    /// Returns the `type` of the part in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::ToolCall(_) => "tool_call",
            Self::Thinking(_) => "thinking",
            Self::RedactedThinking(_) => "redacted_thinking",
            Self::Image(_) => "image",
            Self::Audio(_) => "audio",
            Self::File(_) => "generated_file",
            Self::CodeExecution(_) => "code_execution",
            Self::CodeResult(_) => "code_result",
            Self::ServerToolCall(_) => "server_tool_call",
            Self::ServerToolResult(_) => "server_tool_result",
            Self::Opaque(_) => "opaque",
        }
    }

    /// Returns the provider state of the part. An opaque part is state as a whole and has none.
    pub fn provider_state(&self) -> Option<&ProviderState> {
        each_part_with_state!(self, part => part.provider_state.as_deref(), None)
    }

    pub(crate) fn set_provider_state(&mut self, state: ProviderState) {
        each_part_with_state!(self, part => part.provider_state = Some(Box::new(state)), ());
    }

    /// Records the provider on the part, for the kinds that mean something only to their provider. A provider that the
    /// decoder recorded stays.
    pub(crate) fn tag(&mut self, provider: &str, model: &str) {
        let is_thinking = matches!(self, Self::Thinking(_) | Self::RedactedThinking(_));
        let state = match self {
            Self::Thinking(part) => &mut part.provider_state,
            Self::RedactedThinking(part) => &mut part.provider_state,
            Self::CodeExecution(part) => &mut part.provider_state,
            Self::CodeResult(part) => &mut part.provider_state,
            Self::ServerToolCall(part) => &mut part.provider_state,
            Self::ServerToolResult(part) => &mut part.provider_state,
            Self::Text(part) if part.citations.iter().any(Citation::is_bound) => {
                &mut part.provider_state
            }
            _ => return,
        };
        let state =
            state.get_or_insert_with(|| Box::new(ProviderState::new(provider, Value::Null)));
        // Some signatures are bound to the model, so thinking names it. The name is copied to every part; no real name
        // is longer.
        if is_thinking && (1..=MAX_REPEATED_BYTES).contains(&model.len()) {
            state.model.get_or_insert_with(|| model.to_owned());
        }
    }
}
