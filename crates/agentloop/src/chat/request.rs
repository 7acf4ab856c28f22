//! The chat request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::headers::ExtraHeaders;
use super::read::nullable;
use super::{
    AudioOutput, CacheMode, ChatMessage, Effort, ImageOutput, MediaOptions, MessageContent,
    OutputStrategy, ResponseFormat, Thinking, ToolChoice, ToolDefinition,
};
use crate::chat::Protocol;
use crate::timeouts::Timeouts;

/// A question to a model, in one shape for every provider.
///
/// Everything but `model` and `messages` is optional. What a provider or a model cannot take is left out
/// or changed with a [warning](crate::ChatResponse::warnings) on the response, or refused with a typed
/// error before anything is sent; never silently.
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatRequest {
    /// `"provider/model"`, an alias, or a model of the default provider.
    pub model: String,
    /// The conversation so far.
    pub messages: Vec<ChatMessage>,

    /// How freely to choose words; 0 is the least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Choose among the likeliest words that make up this share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Choose among so many of the likeliest words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// The longest answer, in tokens, thinking included.
    #[serde(default, alias = "max_completion_tokens", skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Where to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Makes answers repeatable, as far as the provider can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// How many answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u32>,
    /// Against words that were used often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// Against words that were used at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,

    /// The tools that the model may call.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// Whether it may, must or must not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Whether it may call several at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,

    /// The form of the answer's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat>,
    /// What kinds of output are wanted: `text`, `audio`, `image`.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub modalities: Vec<String>,
    /// How spoken output shall sound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<AudioOutput>,
    /// What generated images shall be like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageOutput>,
    /// How wordy the answer shall be: `low`, `medium`, `high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<String>,

    /// How hard to think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Effort>,
    /// How many tokens to think for, and whether to show the thoughts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,

    /// Whether to say how sure the model was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<bool>,
    /// Of how many alternatives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_logprobs: Option<u32>,
    /// Likelier and less likely tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logit_bias: Option<BTreeMap<String, f64>>,

    /// Whether to stream. The method that is called decides (`chat` or `stream`), not this field; it is here
    /// so that a request in OpenAI's form can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Options of the stream. Usage is always asked for, wherever the host can be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_options: Option<StreamOptions>,

    /// Which of the provider's service tiers to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// Groups requests that share a prompt, for the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_cache_key: Option<String>,
    /// Tells the provider which of your users is asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Labels that the provider stores with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,

    /// More fields for the request's body, under the provider's own names. They are sent untouched and win
    /// over everything that the library writes.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Map::is_empty")]
    pub extra_body: Map<String, Value>,
    /// More fields for the body, by the name of the provider that they are for: only that provider gets them, over
    /// those of `extra_body`.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub provider_options: BTreeMap<String, Map<String, Value>>,
    /// More headers. They never replace the ones that authenticate.
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "ExtraHeaders::is_empty"
    )]
    pub extra_headers: ExtraHeaders,

    /// What the call is counted under, by [`Costs`](crate::middleware::Costs) for example. They are not sent.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Leave out, with a warning, the parts of messages that the host cannot take, instead of refusing them.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "std::ops::Not::not")]
    pub lenient: bool,
    /// Refuses what would otherwise be changed with a warning: a conversation that has holes (a tool call without a
    /// result, a result without a call), a parameter that the provider or the model does not take, and what the table of
    /// [restrictions](crate::provider::Restriction) would change with a loss.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// How a schema of `response_format` is asked for, if it shall not be the best way that the model has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_strategy: Option<OutputStrategy>,
    /// The protocol to speak, if the provider speaks several and it shall not be the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// The models to ask when this one cannot answer, in place of those of the [`Fallback`](crate::middleware::Fallback)
    /// middleware, which does it: without it this is a warning. It is not sent.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
    /// What a [cache](crate::middleware::Cache) does with this request, if the client has one. It is never sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheMode>,
    /// Whether the [response](crate::ChatResponse::raw) also has the status, the headers (rate limits, processing time) and the
    /// body as the provider sent them. It is never sent, and without it nothing of them is kept.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "std::ops::Not::not")]
    pub include_raw: bool,
    /// How long to wait, where it differs from the client's setting.
    #[serde(skip)]
    pub timeouts: Option<Timeouts>,
    /// Whether and how remote media are fetched, where it differs from the client's setting.
    #[serde(skip)]
    pub media: Option<MediaOptions>,
}

impl ChatRequest {
    /// A request to `model`, with nothing said yet.
    pub fn new(model: impl Into<String>) -> Self {
        Self { model: model.into(), ..Self::default() }
    }

    /// Adds instructions.
    #[must_use]
    pub fn system(self, content: impl Into<MessageContent>) -> Self {
        self.message(ChatMessage::system(content))
    }

    /// Adds what the user says.
    #[must_use]
    pub fn user(self, content: impl Into<MessageContent>) -> Self {
        self.message(ChatMessage::user(content))
    }

    /// Adds what the assistant said earlier.
    #[must_use]
    pub fn assistant(self, content: impl Into<MessageContent>) -> Self {
        self.message(ChatMessage::assistant(content))
    }

    /// Adds a message.
    #[must_use]
    pub fn message(mut self, message: ChatMessage) -> Self {
        self.messages.push(message);
        self
    }

    /// Adds messages.
    #[must_use]
    pub fn messages(mut self, messages: impl IntoIterator<Item = ChatMessage>) -> Self {
        self.messages.extend(messages);
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: ToolDefinition) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = ToolDefinition>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Sets `tool_choice`.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = Some(choice);
        self
    }

    /// Sets `parallel_tool_calls`.
    #[must_use]
    pub fn parallel_tool_calls(mut self, parallel: bool) -> Self {
        self.parallel_tool_calls = Some(parallel);
        self
    }

    /// Sets `temperature`.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets `top_p`.
    #[must_use]
    pub fn top_p(mut self, top_p: f64) -> Self {
        self.top_p = Some(top_p);
        self
    }

    /// Sets `max_tokens`.
    #[must_use]
    pub fn max_tokens(mut self, max_tokens: u64) -> Self {
        self.max_tokens = Some(max_tokens);
        self
    }

    /// Sets `stop`.
    #[must_use]
    pub fn stop(mut self, stop: impl Into<Stop>) -> Self {
        self.stop = Some(stop.into());
        self
    }

    /// Sets `seed`.
    #[must_use]
    pub fn seed(mut self, seed: i64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets `n`.
    #[must_use]
    pub fn n(mut self, n: u32) -> Self {
        self.n = Some(n);
        self
    }

    /// Sets `response_format`.
    #[must_use]
    pub fn response_format(mut self, format: ResponseFormat) -> Self {
        self.response_format = Some(format);
        self
    }

    /// Sets `reasoning_effort`.
    #[must_use]
    pub fn effort(mut self, effort: Effort) -> Self {
        self.reasoning_effort = Some(effort);
        self
    }

    /// Sets `thinking`.
    #[must_use]
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.thinking = Some(thinking);
        self
    }

    /// Asks for spoken output beside text.
    #[must_use]
    pub fn audio(mut self, audio: AudioOutput) -> Self {
        self.modalities = vec!["text".to_owned(), "audio".to_owned()];
        self.audio = Some(audio);
        self
    }

    /// Asks for images beside text.
    #[must_use]
    pub fn image(mut self, image: ImageOutput) -> Self {
        self.modalities = vec!["text".to_owned(), "image".to_owned()];
        self.image = Some(image);
        self
    }

    /// Adds a field to the request's body, under the provider's own name.
    #[must_use]
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra_body.insert(name.into(), value.into());
        self
    }

    /// Adds a field to the request's body, under the provider's own name, for that provider only.
    ///
    /// ```
    /// use agentloop::ChatRequest;
    ///
    /// let request = ChatRequest::new("openrouter/openai/gpt-5")
    ///     .user("Hi")
    ///     .provider_option("openrouter", "transforms", serde_json::json!(["middle-out"]));
    /// ```
    #[must_use]
    pub fn provider_option(
        mut self,
        provider: impl Into<String>,
        name: impl Into<String>,
        value: impl Into<Value>,
    ) -> Self {
        let options = self.provider_options.entry(provider.into()).or_default();
        options.insert(name.into(), value.into());
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.extra_headers.insert(name.into(), value.into());
        self
    }

    /// Refuses what would otherwise be changed with a warning: see [`strict`](Self::strict).
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Speaks this protocol.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = Some(protocol);
        self
    }

    /// Sets `fallbacks`.
    #[must_use]
    pub fn fallbacks<T: Into<String>>(mut self, models: impl IntoIterator<Item = T>) -> Self {
        self.fallbacks = models.into_iter().map(Into::into).collect();
        self
    }

    /// Sets `cache`.
    #[must_use]
    pub fn cache(mut self, mode: CacheMode) -> Self {
        self.cache = Some(mode);
        self
    }

    /// Asks for the response as the provider sent it, beside the unified one: see [`include_raw`](Self#structfield.include_raw).
    #[must_use]
    pub fn include_raw(mut self) -> Self {
        self.include_raw = true;
        self
    }

    /// Leaves out what the host cannot take, with a warning.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }
}

/// One stop sequence, or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Stop {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl Stop {
    /// The sequences.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamOptions {
    /// Whether to end with the usage.
    #[serde(default, deserialize_with = "nullable")]
    pub include_usage: bool,
}
