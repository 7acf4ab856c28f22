//! The messages of a conversation.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ContentPart, MessageContent};
use crate::chat::CacheControl;

/// The author of a message.
///
/// ```
/// use agentloop::{ChatMessage, Role};
///
/// assert_eq!(ChatMessage::user("Hello").role, Role::User);
/// assert_eq!(Role::Assistant.as_str(), "assistant");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Role {
    /// Instructions. Providers that call them `developer` get that name.
    #[serde(alias = "developer")]
    System,
    /// The user.
    #[default]
    User,
    /// The model.
    Assistant,
    /// A tool, with the result of a call.
    Tool,
}

impl Role {
    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// One message of a conversation.
///
/// A message of the assistant can have every part of a response, so [`ChatResponse::into_message`] loses nothing. Tool
/// calls are among the parts, or, as OpenAI writes them, in `tool_calls` (after the content). Both are read.
///
/// A message as OpenAI and compatible providers return it can also be read: `refusal`, `annotations`, `audio`,
/// `function_call`, `reasoning_content`, `reasoning`, `reasoning_details` and `images` become parts.
///
/// [`ChatResponse::into_message`]: crate::ChatResponse::into_message
///
/// ```
/// use agentloop::ChatMessage;
///
/// let conversation = [
///     ChatMessage::system("You are brief."),
///     ChatMessage::user("The capital of Norway?"),
///     ChatMessage::assistant("Oslo"),
/// ];
/// assert_eq!(conversation[2].text(), "Oslo");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChatMessage {
    /// The author of the message.
    pub role: Role,
    /// The content.
    pub content: Option<MessageContent>,
    /// The name of the author. In a tool's message, the name of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Tool calls as OpenAI writes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// In a tool's message, the id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// In a tool's message, whether the tool failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Asks the provider to cache the prompt up to and including this message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
    /// The model that wrote the message, if it was a response. Thinking is sent back only to the provider that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// The provider and the model that a message came from.
///
/// ```
/// use agentloop::Origin;
///
/// let value: Origin = serde_json::from_str(r#"{"provider":"openai","model":"gpt-4.1"}"#)?;
/// assert_eq!(value.provider, "openai");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Origin {
    /// The provider.
    pub provider: String,
    /// The model, as the provider names it.
    pub model: String,
}

impl ChatMessage {
    /// Creates a message of `role`.
    pub fn new(role: Role, content: impl Into<MessageContent>) -> Self {
        Self { role, content: Some(content.into()), ..Self::default() }
    }

    /// Creates a message with instructions.
    pub fn system(content: impl Into<MessageContent>) -> Self {
        Self::new(Role::System, content)
    }

    /// Creates a message of the user.
    pub fn user(content: impl Into<MessageContent>) -> Self {
        Self::new(Role::User, content)
    }

    /// Creates a message of the model.
    pub fn assistant(content: impl Into<MessageContent>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// Creates a message with the result of a tool call.
    pub fn tool(call_id: impl Into<String>, content: impl Into<MessageContent>) -> Self {
        Self { tool_call_id: Some(call_id.into()), ..Self::new(Role::Tool, content) }
    }

    /// Creates a message with the error of a tool call that failed.
    pub fn tool_error(call_id: impl Into<String>, content: impl Into<MessageContent>) -> Self {
        Self { is_error: true, ..Self::tool(call_id, content) }
    }

    setters! {
        /// Sets the name of the author or of the tool.
        with_name(name: impl Into<String>);

        /// Asks the provider to cache the prompt up to and including this message.
        with_cache(self, cache: CacheControl) => self.cache_control = Some(cache);

        /// Sets the model that the message came from.
        with_origin(origin: Origin);

        /// Adds a tool call as OpenAI writes it, after the content.
        with_tool_call(self, call: ToolCall) => self.tool_calls.push(call);
    }

    /// Returns all text, joined.
    pub fn text(&self) -> String {
        self.content.as_ref().map(MessageContent::text).unwrap_or_default()
    }

    /// Returns the parts, if the content is given in parts.
    pub fn parts(&self) -> &[ContentPart] {
        match &self.content {
            Some(MessageContent::Parts(parts)) => parts,
            _ => &[],
        }
    }
}

/// A tool call as OpenAI writes it.
///
/// ```
/// use agentloop::{ChatMessage, ToolCall};
///
/// let call = ToolCall::new("call_1", "get_weather", r#"{"city": "Oslo"}"#);
/// let message = ChatMessage::assistant("").with_tool_call(call);
/// assert_eq!(message.tool_calls[0].function.name, "get_weather");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The call's id.
    pub id: String,
    /// `function`, or `custom` for a tool that takes free text, which is then in `function.arguments`.
    pub kind: String,
    /// The function and its arguments.
    pub function: FunctionCall,
    /// State that a provider attached to the call, under the provider's name.
    pub extra_content: Option<Value>,
}

impl ToolCall {
    /// Creates a call of `name` with `arguments` (JSON text).
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            kind: "function".to_owned(),
            function: FunctionCall::new(name, arguments),
            extra_content: None,
        }
    }
}

/// The function and the arguments of a tool call.
///
/// ```
/// use agentloop::FunctionCall;
///
/// let value: FunctionCall = serde_json::from_str(r#"{"name":"get_weather","arguments":"{}"}"#)?;
/// assert_eq!(value.arguments, "{}");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FunctionCall {
    /// The tool's name.
    pub name: String,
    /// The arguments, as JSON text.
    pub arguments: String,
}
