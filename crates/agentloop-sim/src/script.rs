//! Answers from a file.

use agentloop::{Error, ErrorKind, FinishReason, ResponsePart, Result, TextPart, Usage};
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, serde_list};

/// What a model shall answer, turn by turn.
///
/// - A scene whose `when` stands in the last thing that the user said answers from its own `turns`: the
///   first after the user spoke, the next after the results of the tools that the first called, and so on.
///   The first such scene counts.
/// - When there is none, the script's `turns` answer, one after the other: a conversation with two turns of
///   the assistant gets the third.
/// - A script that has no turn left refuses the request, with an error that says so.
///
/// Only the conversation decides, so that the same request always gets the same answer. What arrives is what the
/// protocol can say: a whole body of the OpenAI chat protocol has thinking, text, tool calls, sound and images in
/// that order, each once, whatever their order here.
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
    /// The answers of a conversation, in order.
    pub turns: Vec<Turn>,
    /// Answers to certain questions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scenes: Vec<Scene>,
}

/// Answers to a certain question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Scene {
    /// What must stand in the last thing that the user said.
    pub when: String,
    /// The answers since then, in order.
    pub turns: Vec<Turn>,
}

/// One answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Turn {
    /// Its parts, in the form that they have in a response.
    pub parts: Vec<ResponsePart>,
    /// Why it ends. Without this: `tool_calls` when there are some, else `stop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// The usage. Without this it is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// How many characters a step of the stream brings. Without this: a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta_size: Option<usize>,
    /// What goes wrong, in the form of [`Fault`].
    #[serde(with = "serde_list", skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

impl Turn {
    /// An answer of these parts.
    pub fn new(parts: impl IntoIterator<Item = ResponsePart>) -> Self {
        Self { parts: parts.into_iter().collect(), ..Self::default() }
    }

    /// An answer of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new([ResponsePart::Text(TextPart::new(text))])
    }

    /// The same, with a finish reason.
    #[must_use]
    pub fn with_finish_reason(mut self, reason: FinishReason) -> Self {
        self.finish_reason = Some(reason);
        self
    }

    /// The same, with something that goes wrong.
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// Why it ends.
    pub(crate) fn reason(&self) -> FinishReason {
        let calls = self.parts.iter().any(|part| matches!(part, ResponsePart::ToolCall(_)));
        match &self.finish_reason {
            Some(reason) => reason.clone(),
            None if calls => FinishReason::ToolCalls,
            None => FinishReason::Stop,
        }
    }
}

impl Script {
    /// A script of these turns.
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self { turns: turns.into_iter().collect(), scenes: Vec::new() }
    }

    /// The same, with answers to questions that contain `when`.
    #[must_use]
    pub fn with_scene(
        mut self,
        when: impl Into<String>,
        turns: impl IntoIterator<Item = Turn>,
    ) -> Self {
        self.scenes.push(Scene { when: when.into(), turns: turns.into_iter().collect() });
        self
    }

    /// Reads a script.
    ///
    /// # Errors
    ///
    /// When it is no JSON of this form; the error says where.
    pub fn from_json(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|error| {
            Error::new(ErrorKind::Config, format!("the script cannot be read: {error}"))
                .with_hint(
                    "a script is {\"turns\": [{\"parts\": [{\"type\": \"text\", \"text\": …}]}]}",
                )
                .with_source(error)
        })
    }

    /// Reads a script file.
    ///
    /// # Errors
    ///
    /// When there is no such file, or it is no script.
    pub fn from_file(path: impl AsRef<std::path::Path>) -> Result<Self> {
        let path = path.as_ref();
        let json = std::fs::read_to_string(path).map_err(|error| {
            let message = format!("the script {} cannot be read: {error}", path.display());
            Error::new(ErrorKind::Config, message).with_source(error)
        })?;
        Self::from_json(&json)
    }
}
