//! Scripted responses.

use agentloop::internal::files::read_regular_text;
use agentloop::limits::MAX_CONFIG_FILE_BYTES;
use agentloop::{
    Error, ErrorKind, FinishReason, ResponsePart, Result, TextPart, ToolCallPart, Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fault::{Fault, serde_list};

/// The responses of a model, chosen by the conversation.
///
/// - If the last user message contains the `when` of a scene, the scene responds: its first turn to the user message, its second
///   turn after the results of the tools that the first one called, and so on. The first scene that matches is used.
/// - Otherwise the `turns` of the script respond in order: a conversation with two assistant messages gets the third turn.
/// - If no turn is left, the request fails with the code `script_exhausted`.
///
/// Only the conversation decides, so the same request always gets the same response. To respond in the order of the requests
/// instead, use [`Simulator::with_responses`](crate::Simulator::with_responses).
///
/// The client receives what the protocol can express. For example, a complete response of the OpenAI chat protocol has
/// thinking, text, tool calls, audio and images in that order, each once, whatever their order in the turn.
///
/// ```
/// use agentloop::ChatRequest;
/// use agentloop_sim::{Model, Script};
///
/// let script = Script::from_json(r#"{
///     "turns": [
///         { "parts": [{ "type": "text", "text": "Hello." }] },
///         { "parts": [{ "type": "text", "text": "Bye." }], "faults": "cut-events=2" }
///     ],
///     "scenes": [{
///         "when": "weather",
///         "turns": [
///             { "parts": [{ "type": "tool_call", "id": "c1", "name": "weather", "arguments": "{}" }] },
///             { "parts": [{ "type": "text", "text": "It rains." }], "finish_reason": "length" }
///         ]
///     }]
/// }"#)?;
/// let model = Model::from_script(script);
/// let response = model.response(&ChatRequest::new("any").user("Hi"))?;
/// assert_eq!(response.text(), "Hello.");
/// let response = model.response(&ChatRequest::new("any").user("How is the weather?"))?;
/// assert_eq!(response.tool_calls().count(), 1);
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Script {
    /// The responses of a conversation, in order.
    pub turns: Vec<Turn>,
    /// The responses to certain user messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scenes: Vec<Scene>,
}

/// The responses to certain user messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Scene {
    /// The text that the last user message must contain.
    pub when: String,
    /// The responses since that message, in order.
    pub turns: Vec<Turn>,
}

/// One scripted response.
///
/// ```
/// use agentloop_sim::{Fault, Turn};
/// use serde_json::json;
///
/// let text = Turn::text("It rains.");
/// let call = Turn::tool_call("call_1", "get_weather", &json!({ "city": "Paris" }));
/// let truncated = Turn::text("It rains in Paris.").with_fault("cut-events=3".parse()?);
/// let failed = Turn::fault(Fault::status(503));
/// assert_eq!(text, Turn::from("It rains."));
/// # Ok::<(), agentloop::Error>(())
/// ```
#[agentloop_macros::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Turn {
    /// The parts of the response, in the JSON form that they have in a `ChatResponse`.
    pub parts: Vec<ResponsePart>,
    /// The finish reason. Default: `tool_calls` if the response has tool calls, else `stop`.
    pub finish_reason: Option<FinishReason>,
    /// The usage. Default: the words of the conversation and the steps of the stream.
    pub usage: Option<Usage>,
    /// How many characters each event of a stream contains. Default: one word.
    pub delta_size: Option<usize>,
    /// The faults of the response, written as in [`Fault`].
    #[serde(with = "serde_list", skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

impl Turn {
    /// Creates a response with these parts.
    pub fn new(parts: impl IntoIterator<Item = ResponsePart>) -> Self {
        Self { parts: parts.into_iter().collect(), ..Self::default() }
    }

    /// Creates a response with one text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new([ResponsePart::Text(TextPart::new(text))])
    }

    /// Creates a response with one tool call. Use [`with_part`](Self::with_part) to add more.
    pub fn tool_call(id: impl Into<String>, name: impl Into<String>, arguments: &Value) -> Self {
        let call = ToolCallPart::new(id, name, arguments.to_string());
        Self::new([ResponsePart::ToolCall(call)])
    }

    /// Creates a response that fails, for example with an HTTP error.
    pub fn fault(fault: Fault) -> Self {
        Self::default().with_fault(fault)
    }

    agentloop::setters! {
        /// Adds a part.
        with_part(self, part: ResponsePart) => self.parts.push(part);

        /// Sets the finish reason.
        with_finish_reason(self, reason: FinishReason) => self.finish_reason = Some(reason);

        /// Sets the usage.
        with_usage(usage: Usage);

        /// Sets how many characters each event of a stream contains.
        with_delta_size(self, characters: usize) => self.delta_size = Some(characters);

        /// Adds a fault.
        with_fault(self, fault: Fault) => self.faults.push(fault);
    }

    /// Returns the finish reason, or the default for these parts.
    pub(crate) fn reason(&self) -> FinishReason {
        let has_calls = self.parts.iter().any(|part| matches!(part, ResponsePart::ToolCall(_)));
        match &self.finish_reason {
            Some(reason) => reason.clone(),
            None if has_calls => FinishReason::ToolCalls,
            None => FinishReason::Stop,
        }
    }
}

impl From<&str> for Turn {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Turn {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<ResponsePart> for Turn {
    fn from(part: ResponsePart) -> Self {
        Self::new([part])
    }
}

impl From<Vec<ResponsePart>> for Turn {
    fn from(parts: Vec<ResponsePart>) -> Self {
        Self::new(parts)
    }
}

impl Script {
    /// Creates a script with these responses, in the order of the conversation.
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self { turns: turns.into_iter().collect(), scenes: Vec::new() }
    }

    /// Adds responses to user messages that contain `when`.
    ///
    /// ```
    /// use agentloop_sim::{Script, Turn};
    ///
    /// let script = Script::new([Turn::text("Hello.")])
    ///     .with_scene("weather", [Turn::text("It rains.")]);
    /// assert_eq!(script.scenes[0].when, "weather");
    /// ```
    #[must_use]
    pub fn with_scene(
        mut self,
        when: impl Into<String>,
        turns: impl IntoIterator<Item = Turn>,
    ) -> Self {
        self.scenes.push(Scene { when: when.into(), turns: turns.into_iter().collect() });
        self
    }

    /// Reads a script from JSON.
    ///
    /// # Errors
    ///
    /// Returns an error of the kind [`ErrorKind::Config`] with the line and column if the JSON is not a script.
    pub fn from_json(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|error| {
            Error::new(ErrorKind::Config, format!("the script is not valid: {error}"))
                .with_hint(
                    "an example of a script: {\"turns\": [{\"parts\": [{\"type\": \"text\", \"text\": \"Hello.\"}]}]}",
                )
                .with_source(error)
        })
    }

    /// Reads a script from a JSON file.
    ///
    /// # Errors
    ///
    /// Returns an error of the kind [`ErrorKind::Config`] if the file cannot be read or is not a script.
    pub fn from_file(path: impl AsRef<std::path::Path>) -> Result<Self> {
        let path = path.as_ref();
        let json = read_regular_text(path, MAX_CONFIG_FILE_BYTES).map_err(|error| {
            let message = format!("cannot read the script {}: {error}", path.display());
            Error::new(ErrorKind::Config, message).with_source(error)
        })?;
        Self::from_json(&json)
    }
}
