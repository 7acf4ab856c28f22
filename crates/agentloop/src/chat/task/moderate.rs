//! Moderation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{task_request, task_response};
use crate::chat::headers::ExtraHeaders;
use crate::chat::read::nullable;
use crate::chat::setters::call_setters;
use crate::chat::{Access, ChatMessage, Cost, MessageContent, RawResponse, Usage, Warning};
use crate::timeouts::Timeouts;

task_request! {
    /// A request to check content for harm.
    ///
    /// It checks inputs or a conversation, not both:
    ///
    /// - Each input gets a result. An input is a text, or parts (texts and images) that are judged together.
    /// - A conversation gets one result. A provider that moderates no conversations gets the texts of the messages as one text, with a
    ///   warning.
    ///
    /// ```
    /// use agentloop::{ChatMessage, ModerateRequest};
    ///
    /// let request = ModerateRequest::new("openai/omni-moderation-latest", ["a text", "another text"]);
    /// assert_eq!(request.input.len(), 2);
    /// let messages = [ChatMessage::user("How do I do it?"), ChatMessage::assistant("Like this: …")];
    /// let request = ModerateRequest::conversation("mistral/mistral-moderation-latest", messages);
    /// assert_eq!(request.messages.len(), 2);
    /// ```
    ModerateRequest {
        /// The inputs that are checked, each on its own.
        #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
        input: Vec<MessageContent>,
        /// The conversation that is checked as a whole.
        #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
        messages: Vec<ChatMessage>,
    }
}

impl ModerateRequest {
    /// Creates a request to check each of the inputs.
    pub fn new<T: Into<MessageContent>>(
        model: impl Into<String>,
        input: impl IntoIterator<Item = T>,
    ) -> Self {
        let input = input.into_iter().map(Into::into).collect();
        Self { model: model.into(), input, ..Self::default() }
    }

    /// Creates a request to check a conversation. A message is judged by those before it.
    pub fn conversation(
        model: impl Into<String>,
        messages: impl IntoIterator<Item = ChatMessage>,
    ) -> Self {
        let messages = messages.into_iter().collect();
        Self { model: model.into(), messages, ..Self::default() }
    }

    /// Returns the number of results that a response to it has.
    pub(crate) fn results(&self) -> usize {
        if self.messages.is_empty() { self.input.len() } else { 1 }
    }
}

task_response! {
    /// The response to a moderation request: a result for each input, in their order, or one for the conversation.
    ///
    /// ```
    /// use agentloop::ModerateResponse;
    ///
    /// let value: ModerateResponse =
    ///     serde_json::from_str(r#"{"model":"m","provider":"lab","results":[{"flagged":true,"categories":{"hate":true}}]}"#)?;
    /// assert!(value.is_flagged() && value.results[0].categories["hate"]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ModerateResponse {
        /// The results, in the order of the inputs; the only one of a conversation.
        results: Vec<Moderation>,
    }
}

impl ModerateResponse {
    /// Returns whether any of the inputs is flagged.
    pub fn is_flagged(&self) -> bool {
        self.results.iter().any(|result| result.flagged)
    }
}

/// The result for one input of a [`ModerateRequest`].
///
/// ```
/// let result = agentloop::Moderation::new([("hate", true, 0.9), ("violence", false, 0.1)]);
/// assert!(result.flagged && result.scores["violence"] < 0.5);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Moderation {
    /// Whether the content is considered harmful.
    pub flagged: bool,
    /// Whether each category applies, by the provider's names.
    #[serde(default, deserialize_with = "nullable")]
    pub categories: BTreeMap<String, bool>,
    /// How certain each category is, by the provider's names.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub scores: BTreeMap<String, f64>,
}

impl Moderation {
    /// Creates a result from categories: their names, whether they apply, and their scores. It is flagged if one applies.
    pub fn new<T: Into<String>>(categories: impl IntoIterator<Item = (T, bool, f64)>) -> Self {
        let mut result = Self::default();
        for (name, applies, score) in categories {
            let name = name.into();
            result.flagged |= applies;
            result.scores.insert(name.clone(), score);
            result.categories.insert(name, applies);
        }
        result
    }
}
