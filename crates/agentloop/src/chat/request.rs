//! The chat request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::headers::ExtraHeaders;
use super::protocol::Protocol;
use super::read::nullable;
use super::{
    Access, AudioOutput, CacheMode, ChatMessage, Effort, ImageOutput, MediaOptions, MessageContent,
    OutputStrategy, ResponseFormat, Thinking, ToolChoice, ToolDefinition,
};
use crate::timeouts::Timeouts;

/// A chat request, in one shape for every provider.
///
/// Only `model` and `messages` are required. What a provider or a model does not accept is left out or changed with a
/// [warning](crate::ChatResponse::warnings) on the response, or fails with a typed error before anything is sent.
///
/// ```
/// use agentloop::ChatRequest;
///
/// let request = ChatRequest::new("groq/openai/gpt-oss-120b")
///     .system("Answer in one word.")
///     .user("What is the capital of France?")
///     .temperature(0.2)
///     .max_tokens(50);
/// assert_eq!(request.messages.len(), 2);
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ChatRequest {
    /// `"provider/model"`, an alias, or a model of the default provider.
    pub model: String,
    /// The conversation so far.
    pub messages: Vec<ChatMessage>,

    /// Scales the randomness of the choice of tokens; 0 is the least random.
    pub temperature: Option<f64>,
    /// Samples only from the likeliest tokens whose probabilities add up to this share.
    pub top_p: Option<f64>,
    /// Samples only from this many of the likeliest tokens.
    pub top_k: Option<u32>,
    /// Limits the length of the response, in tokens. Thinking counts too.
    #[serde(alias = "max_completion_tokens")]
    pub max_tokens: Option<u64>,
    /// The texts that end the response. They are not part of it.
    pub stop: Option<Stop>,
    /// Makes responses repeatable, as far as the provider can.
    pub seed: Option<i64>,
    /// The number of choices in the response.
    pub n: Option<u32>,
    /// Penalizes tokens in proportion to how often they have already appeared.
    pub frequency_penalty: Option<f64>,
    /// Penalizes tokens that have already appeared, however often.
    pub presence_penalty: Option<f64>,

    /// The tools that the model may call.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// Whether the model may, must or must not call a tool.
    pub tool_choice: Option<ToolChoice>,
    /// Whether the model may call several tools in one response.
    pub parallel_tool_calls: Option<bool>,

    /// The form of the response's text: plain text, JSON, or JSON of a schema.
    pub response_format: Option<ResponseFormat>,
    /// The kinds of output: `text`, `audio`, `image`.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub modalities: Vec<String>,
    /// The voice and the format of spoken output.
    pub audio: Option<AudioOutput>,
    /// The shape and the size of generated images.
    pub image: Option<ImageOutput>,
    /// How detailed the response is: `low`, `medium` or `high`.
    pub verbosity: Option<String>,

    /// How much effort the model spends on thinking.
    pub reasoning_effort: Option<Effort>,
    /// Whether to think, for how many tokens, and whether the thoughts are part of the response.
    pub thinking: Option<Thinking>,

    /// Whether the response has the log probabilities of its tokens.
    pub logprobs: Option<bool>,
    /// The number of likely alternatives to report for each token.
    pub top_logprobs: Option<u32>,
    /// Changes the likelihood of single tokens, by the provider's token id: from -100 (never) to 100 (always).
    pub logit_bias: Option<BTreeMap<String, f64>>,

    /// Whether to stream. The method that is called decides (`chat` or `stream`), not this field. Requests in OpenAI's
    /// form have it, so it can be read.
    pub stream: Option<bool>,
    /// Options of the stream. The usage is always requested where the provider supports it.
    pub stream_options: Option<StreamOptions>,

    /// The provider's service tier.
    pub service_tier: Option<String>,
    /// Groups requests that share a prompt, for the provider's prompt cache.
    pub prompt_cache_key: Option<String>,
    /// Identifies your end user to the provider, which uses it to detect abuse. In JSON it is `user`.
    #[serde(rename = "user")]
    pub user_id: Option<String>,
    /// Labels that the provider stores with the call.
    pub metadata: Option<Map<String, Value>>,

    /// More fields for the request's body, under the provider's own names. They are sent unchanged and replace fields
    /// of the same name.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Map::is_empty")]
    pub extra_body: Map<String, Value>,
    /// More fields for the body, by the name of the provider that they are for. Only that provider gets them; they replace
    /// fields of `extra_body`.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub provider_options: BTreeMap<String, Map<String, Value>>,
    /// More headers. They never replace the headers that authenticate.
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "ExtraHeaders::is_empty"
    )]
    pub extra_headers: ExtraHeaders,

    /// Labels that [`Costs`](crate::middleware::Costs) counts the call under. They are not sent.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Leaves out, with a warning, the parts of messages that the provider does not accept, instead of failing.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "std::ops::Not::not")]
    pub lenient: bool,
    /// Fails where the request would otherwise be changed with a warning: a tool call without a result, a result without a
    /// call, a parameter that the provider or the model does not accept, and what the table of
    /// [restrictions](crate::provider::Restriction) would change with a loss.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// How a schema of `response_format` is requested. The default is the best way that the model supports.
    pub output_strategy: Option<OutputStrategy>,
    /// The protocol, if the provider supports several and the default is not wanted.
    pub protocol: Option<Protocol>,
    /// The models to use when this one fails, in place of those of the [`Fallback`](crate::middleware::Fallback)
    /// middleware. Without that middleware this is a warning. They are not sent.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
    /// How a [cache](crate::middleware::Cache) treats this request, if the client has one. It is not sent.
    pub cache: Option<CacheMode>,
    /// Whether the [response](crate::ChatResponse::raw) also has the status, the headers (rate limits, processing time) and the
    /// body as the provider sent them. It is not sent.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "std::ops::Not::not")]
    pub include_raw: bool,
    /// The timeouts, in place of the client's.
    #[serde(skip)]
    pub timeouts: Option<Timeouts>,
    /// Whether and how remote media are downloaded, in place of the client's setting.
    #[serde(skip)]
    pub media: Option<MediaOptions>,
    /// The keys and base URLs that [`key`](Self::key) and [`base_url`](Self::base_url) set.
    #[serde(skip)]
    pub(crate) access: Option<Box<Access>>,
}

impl ChatRequest {
    /// Creates a request to `model` without messages.
    pub fn new(model: impl Into<String>) -> Self {
        Self { model: model.into(), ..Self::default() }
    }

    /// Adds instructions as a system message.
    #[must_use]
    pub fn system(self, content: impl Into<MessageContent>) -> Self {
        self.message(ChatMessage::system(content))
    }

    /// Adds a message of the user. For the id of the end user see [`user_id`](Self::user_id).
    #[must_use]
    pub fn user(self, content: impl Into<MessageContent>) -> Self {
        self.message(ChatMessage::user(content))
    }

    /// Adds an earlier message of the assistant.
    #[must_use]
    pub fn assistant(self, content: impl Into<MessageContent>) -> Self {
        self.message(ChatMessage::assistant(content))
    }

    setters! {
        /// Adds a message.
        message(self, message: ChatMessage) => self.messages.push(message);

        /// Adds messages.
        messages(self, messages: impl IntoIterator<Item = ChatMessage>) =>
            self.messages.extend(messages);
    }
}

/// One stop sequence, or several.
///
/// ```
/// use agentloop::ChatRequest;
///
/// let request = ChatRequest::new("openai/gpt-4.1").user("Count.").stop("10");
/// assert_eq!(request.stop.as_ref().map(|stop| stop.as_slice().len()), Some(1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Stop {
    /// One sequence.
    One(String),
    /// Several sequences.
    Many(Vec<String>),
}

impl Stop {
    /// Returns the sequences.
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

impl From<&str> for Stop {
    fn from(one: &str) -> Self {
        Self::One(one.to_owned())
    }
}

impl From<String> for Stop {
    fn from(one: String) -> Self {
        Self::One(one)
    }
}

impl<T: Into<String>> From<Vec<T>> for Stop {
    fn from(many: Vec<T>) -> Self {
        Self::Many(many.into_iter().map(Into::into).collect())
    }
}

/// Options of a stream.
///
/// ```
/// use agentloop::StreamOptions;
///
/// let value: StreamOptions = serde_json::from_str(r#"{"include_usage":true}"#)?;
/// assert!(value.include_usage);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct StreamOptions {
    /// Whether the stream ends with the usage.
    #[serde(default, deserialize_with = "nullable")]
    pub include_usage: bool,
}
