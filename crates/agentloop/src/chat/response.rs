//! The complete response.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    AudioPart, ChatMessage, ChatStreamEvent, Citation, ContentPart, Cost, FinishReason, Fold,
    ImagePart, Logprobs, Origin, OutputStrategy, RawResponse, ResponsePart, ToolCallPart, Usage,
    Warning, finish, unfold,
};

/// The response of a model, in the same form for every provider.
///
/// It is the [fold](crate::Fold) of the events of its stream, so `chat` and `stream` always agree. For tests and mocks,
/// [`from_parts`](Self::from_parts) folds the events of given parts.
///
/// ```
/// use agentloop::{ChatResponse, FinishReason};
///
/// let response = ChatResponse::from_parts("openai/gpt-4.1", ["Hello"]);
/// assert_eq!(response.text(), "Hello");
/// assert_eq!(response.finish_reason(), Some(&FinishReason::Stop));
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ChatResponse {
    /// The provider's id of the response.
    pub id: String,
    /// The provider that responded.
    pub provider: String,
    /// The model that responded, as the provider names it.
    pub model: String,
    /// The choices: one, unless the request sets `n`.
    pub choices: Vec<Choice>,
    /// The tokens used.
    pub usage: Usage,
    /// The cost. `None` if it is not known.
    pub cost: Option<Cost>,
    /// When the provider created the response (Unix seconds).
    pub created: Option<i64>,
    /// The request id, which the provider's support asks for.
    pub request_id: Option<String>,
    /// How the schema was requested. `None` if there was none.
    pub output_strategy: Option<OutputStrategy>,
    /// Whether the response comes from a [cache](crate::middleware::Cache). The cost is then zero, and everything else,
    /// including usage and ids, is that of the stored call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// Parameters that were dropped, renamed or clamped, and anything unusual in the response.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Further fields of the response, under the provider's names. Fields of a choice are in
    /// [`Choice::provider_metadata`].
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub provider_metadata: Map<String, Value>,
    /// The response as the provider sent it, if the request set [`include_raw`](crate::ChatRequest::include_raw). A response
    /// from a cache has none.
    pub raw: Option<Box<RawResponse>>,
}

/// One of the choices of a response.
///
/// ```
/// use agentloop::Choice;
///
/// let value: Choice = serde_json::from_str(r#"{"index":0,"content":[{"type":"text","text":"Hi"}],"finishReason":"stop"}"#)?;
/// assert_eq!(value.text(), "Hi");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Choice {
    /// The index of the choice.
    pub index: u32,
    /// The parts, in the order in which they were produced.
    pub content: Vec<ResponsePart>,
    /// The finish reason.
    pub finish_reason: FinishReason,
    /// The provider's own name for the finish reason.
    pub raw_finish_reason: Option<String>,
    /// The log probabilities of the tokens, if they were requested.
    pub logprobs: Option<Logprobs>,
    /// Further fields of the choice, under the provider's names.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub provider_metadata: Map<String, Value>,
}

impl Choice {
    /// Returns all text, joined. Thinking is not included.
    pub fn text(&self) -> String {
        let texts = || {
            self.content.iter().filter_map(|part| match part {
                ResponsePart::Text(text) => Some(text.text.as_str()),
                _ => None,
            })
        };
        texts().collect()
    }

    /// Returns all thinking, joined, or `None` if there is none.
    pub fn thinking(&self) -> Option<String> {
        let mut thoughts = self.content.iter().filter_map(|part| match part {
            ResponsePart::Thinking(thinking) => Some(thinking.thinking.as_str()),
            _ => None,
        });
        let first = thoughts.next()?.to_owned();
        Some(thoughts.fold(first, |joined, next| joined + next))
    }

    /// Returns the calls of the caller's tools, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCallPart> {
        self.content.iter().filter_map(|part| match part {
            ResponsePart::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Returns whether the provider only paused, and continues when the message is sent back to it.
    pub fn is_paused(&self) -> bool {
        self.finish_reason == FinishReason::Stop
            && self.raw_finish_reason.as_deref().is_some_and(finish::is_pause)
    }

    /// Returns the generated images, in order.
    pub fn images(&self) -> impl Iterator<Item = &ImagePart> {
        self.content.iter().filter_map(|part| match part {
            ResponsePart::Image(image) => Some(image),
            _ => None,
        })
    }

    /// Returns the generated audio.
    pub fn audio(&self) -> Option<&AudioPart> {
        self.content.iter().find_map(|part| match part {
            ResponsePart::Audio(audio) => Some(audio),
            _ => None,
        })
    }

    /// Returns the citations of all text parts, in order.
    pub fn citations(&self) -> impl Iterator<Item = &Citation> {
        self.content.iter().flat_map(|part| match part {
            ResponsePart::Text(text) => text.citations.as_slice(),
            _ => &[],
        })
    }

    /// Returns the choice as a message of the assistant, with all its parts.
    pub fn into_message(self) -> ChatMessage {
        ChatMessage::assistant(
            self.content.into_iter().map(Into::into).collect::<Vec<ContentPart>>(),
        )
    }
}

impl ChatResponse {
    /// Creates a response from its parts, for tests and mocks.
    ///
    /// `model` is `"provider/model"`; without a slash the provider is empty. The response is the fold of the events that
    /// such a response has in a stream. Its finish reason is `tool_calls` if a part is a tool call, else `stop`. All fields
    /// can be changed afterwards.
    ///
    /// ```
    /// use agentloop::{ChatResponse, ResponsePart, ThinkingPart, ToolCallPart};
    ///
    /// let hello = ChatResponse::from_parts("openai/gpt-5", ["Hello"]);
    /// assert_eq!((hello.provider.as_str(), hello.text().as_str()), ("openai", "Hello"));
    ///
    /// let parts: [ResponsePart; 2] =
    ///     [ThinkingPart::new("Hm.").into(), ToolCallPart::new("call_1", "weather", "{}").into()];
    /// let call = ChatResponse::from_parts("openai/gpt-5", parts);
    /// assert_eq!(call.tool_calls().count(), 1);
    /// ```
    pub fn from_parts<P: Into<ResponsePart>>(
        model: &str,
        parts: impl IntoIterator<Item = P>,
    ) -> Self {
        let (provider, model) = model.split_once('/').unwrap_or(("", model));
        let mut content: Vec<ResponsePart> = parts.into_iter().map(Into::into).collect();
        content.iter_mut().for_each(|part| part.tag(provider, model));
        let finish_reason = if content.iter().any(|part| matches!(part, ResponsePart::ToolCall(_)))
        {
            FinishReason::ToolCalls
        } else {
            FinishReason::Stop
        };
        let choice = Choice { content, finish_reason, ..Choice::default() };
        let outline = Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            choices: vec![choice],
            ..Self::default()
        };
        let mut fold = Fold::new();
        let pushed = outline.unfold().iter().try_for_each(|event| fold.push(event));
        pushed.and_then(|()| fold.finish()).unwrap_or(outline)
    }

    /// Returns the text of the first choice.
    pub fn text(&self) -> String {
        self.choices.first().map(Choice::text).unwrap_or_default()
    }

    /// Returns the thinking of the first choice, or `None` if there is none.
    pub fn thinking(&self) -> Option<String> {
        self.choices.first().and_then(Choice::thinking)
    }

    /// Returns the tool calls of the first choice.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCallPart> {
        self.choices.first().into_iter().flat_map(Choice::tool_calls)
    }

    /// Returns the finish reason of the first choice.
    pub fn finish_reason(&self) -> Option<&FinishReason> {
        self.choices.first().map(|choice| &choice.finish_reason)
    }

    /// Returns the first choice as a message for the conversation. Nothing is lost: all parts keep their order and
    /// their provider state, and the message records the model that wrote it.
    pub fn into_message(self) -> ChatMessage {
        let origin = Origin { provider: self.provider, model: self.model };
        let message = self.choices.into_iter().next().unwrap_or_default().into_message();
        ChatMessage { origin: Some(origin), ..message }
    }

    /// Returns the events of this response. Folding them returns an equal response.
    pub fn unfold(&self) -> Vec<ChatStreamEvent> {
        unfold::unfold(self)
    }
}
