//! The complete response.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    AudioPart, ChatMessage, ChatStreamEvent, Citation, ContentPart, Cost, FinishReason, Fold,
    ImagePart, Logprobs, Origin, OutputStrategy, RawResponse, ResponsePart, ToolCallPart, Usage,
    Warning, finish, unfold,
};

/// The answer of a model, in one shape for every provider.
///
/// It is the [fold](crate::Fold) of the events of its stream, so `chat` and `stream` cannot disagree. For tests and mocks,
/// [`from_parts`](Self::from_parts) folds the events of given parts.
///
/// ```
/// use agentloop::{ChatResponse, FinishReason};
///
/// let response = ChatResponse::from_parts("openai/gpt-4.1", ["Hello"]);
/// assert_eq!(response.text(), "Hello");
/// assert_eq!(response.finish_reason(), Some(&FinishReason::Stop));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ChatResponse {
    /// The provider's id of the answer.
    pub id: String,
    /// The provider that answered.
    pub provider: String,
    /// The model that answered, as the provider names it.
    pub model: String,
    /// The answers: one, unless the request asked for more with `n`.
    pub choices: Vec<Choice>,
    /// The tokens used.
    pub usage: Usage,
    /// What it cost; absent when that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// When the provider made the answer (Unix seconds).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<i64>,
    /// The id by which the provider's support knows the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// How the answer's shape was asked for; absent when no schema was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_strategy: Option<OutputStrategy>,
    /// Whether it comes from a [cache](crate::middleware::Cache). Then nobody was asked: the cost is zero, and all the
    /// rest, the usage and the ids too, is that of the call that was stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// Every parameter that was dropped, renamed or clamped, every oddity of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Further fields of the response, under the provider's names. Fields of a choice are in
    /// [`Choice::provider_metadata`].
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub provider_metadata: Map<String, Value>,
    /// The response as the provider sent it, if the request set [`include_raw`](crate::ChatRequest::include_raw). A response
    /// from a cache has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Box<RawResponse>>,
}

/// One of the answers.
///
/// ```
/// use agentloop::Choice;
///
/// let value: Choice = serde_json::from_str(r#"{"index":0,"content":[{"type":"text","text":"Hi"}],"finishReason":"stop"}"#)?;
/// assert_eq!(value.text(), "Hi");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Choice {
    /// Its place among the answers.
    pub index: u32,
    /// Its parts, in the order in which they were made.
    pub content: Vec<ResponsePart>,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Why it ended, in the provider's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_finish_reason: Option<String>,
    /// How sure the model was of each token, if that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<Logprobs>,
    /// Further fields of the choice, under the provider's names.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub provider_metadata: Map<String, Value>,
}

impl Choice {
    /// All text, joined. Thinking is not part of it.
    pub fn text(&self) -> String {
        let texts = || {
            self.content.iter().filter_map(|part| match part {
                ResponsePart::Text(text) => Some(text.text.as_str()),
                _ => None,
            })
        };
        texts().collect()
    }

    /// All thinking, joined; `None` when there is none.
    pub fn thinking(&self) -> Option<String> {
        let mut thoughts = self.content.iter().filter_map(|part| match part {
            ResponsePart::Thinking(thinking) => Some(thinking.thinking.as_str()),
            _ => None,
        });
        let first = thoughts.next()?.to_owned();
        Some(thoughts.fold(first, |joined, next| joined + next))
    }

    /// The calls of the caller's tools, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCallPart> {
        self.content.iter().filter_map(|part| match part {
            ResponsePart::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Whether the provider only paused, and goes on when the turn is sent back to it.
    pub fn is_paused(&self) -> bool {
        self.finish_reason == FinishReason::Stop
            && self.raw_finish_reason.as_deref().is_some_and(finish::is_pause)
    }

    /// The generated images, in order.
    pub fn images(&self) -> impl Iterator<Item = &ImagePart> {
        self.content.iter().filter_map(|part| match part {
            ResponsePart::Image(image) => Some(image),
            _ => None,
        })
    }

    /// The generated audio.
    pub fn audio(&self) -> Option<&AudioPart> {
        self.content.iter().find_map(|part| match part {
            ResponsePart::Audio(audio) => Some(audio),
            _ => None,
        })
    }

    /// All citations of all text parts, in order.
    pub fn citations(&self) -> impl Iterator<Item = &Citation> {
        self.content.iter().flat_map(|part| match part {
            ResponsePart::Text(text) => text.citations.as_slice(),
            _ => &[],
        })
    }

    /// The choice as an assistant's message, with every part in its place.
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
        let finish_reason =
            match content.iter().any(|part| matches!(part, ResponsePart::ToolCall(_))) {
                true => FinishReason::ToolCalls,
                false => FinishReason::Stop,
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

    /// The text of the first choice.
    pub fn text(&self) -> String {
        self.choices.first().map(Choice::text).unwrap_or_default()
    }

    /// The thinking of the first choice; `None` when there is none.
    pub fn thinking(&self) -> Option<String> {
        self.choices.first().and_then(Choice::thinking)
    }

    /// The tool calls of the first choice.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCallPart> {
        self.choices.first().into_iter().flat_map(Choice::tool_calls)
    }

    /// Why the first choice ended.
    pub fn finish_reason(&self) -> Option<&FinishReason> {
        self.choices.first().map(|choice| &choice.finish_reason)
    }

    /// The first choice as a message to append to the conversation. Nothing is lost on the way: all parts
    /// keep their order and their provider state, and the message remembers which model said it.
    pub fn into_message(self) -> ChatMessage {
        let origin = Origin { provider: self.provider, model: self.model };
        let message = self.choices.into_iter().next().unwrap_or_default().into_message();
        ChatMessage { origin: Some(origin), ..message }
    }

    /// The events that make up this response: folding them gives it back.
    pub fn unfold(&self) -> Vec<ChatStreamEvent> {
        unfold::unfold(self)
    }
}
