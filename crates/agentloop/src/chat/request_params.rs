//! The setters of a chat request's parameters.

use serde_json::Value;

use super::{
    AudioOutput, CacheMode, ChatRequest, Effort, ImageOutput, MediaOptions, OutputStrategy,
    Protocol, ResponseFormat, Stop, Thinking, ToolChoice, ToolDefinition,
};
use crate::timeouts::Timeouts;

impl ChatRequest {
    /// Adds a tool that the model may call.
    #[must_use]
    pub fn tool(mut self, tool: ToolDefinition) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds tools that the model may call.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = ToolDefinition>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Sets whether the model may, must or must not call a tool.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = Some(choice);
        self
    }

    /// Sets whether the model may call several tools in one response.
    #[must_use]
    pub fn parallel_tool_calls(mut self, parallel: bool) -> Self {
        self.parallel_tool_calls = Some(parallel);
        self
    }

    /// Scales the randomness of the choice of tokens; 0 is the least random.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Samples only from the likeliest tokens whose probabilities add up to this share.
    #[must_use]
    pub fn top_p(mut self, top_p: f64) -> Self {
        self.top_p = Some(top_p);
        self
    }

    /// Samples only from this many of the likeliest tokens.
    #[must_use]
    pub fn top_k(mut self, top_k: u32) -> Self {
        self.top_k = Some(top_k);
        self
    }

    /// Limits the length of the response, in tokens. Thinking counts too.
    #[must_use]
    pub fn max_tokens(mut self, max_tokens: u64) -> Self {
        self.max_tokens = Some(max_tokens);
        self
    }

    /// Sets the texts that end the response. They are not part of it.
    #[must_use]
    pub fn stop(mut self, stop: impl Into<Stop>) -> Self {
        self.stop = Some(stop.into());
        self
    }

    /// Makes responses repeatable, as far as the provider can.
    #[must_use]
    pub fn seed(mut self, seed: i64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the number of choices in the response.
    #[must_use]
    pub fn n(mut self, n: u32) -> Self {
        self.n = Some(n);
        self
    }

    /// Penalizes tokens in proportion to how often they have already appeared.
    #[must_use]
    pub fn frequency_penalty(mut self, penalty: f64) -> Self {
        self.frequency_penalty = Some(penalty);
        self
    }

    /// Penalizes tokens that have already appeared, however often.
    #[must_use]
    pub fn presence_penalty(mut self, penalty: f64) -> Self {
        self.presence_penalty = Some(penalty);
        self
    }

    /// Sets the form of the response's text: plain text, JSON, or JSON of a schema.
    #[must_use]
    pub fn response_format(mut self, format: ResponseFormat) -> Self {
        self.response_format = Some(format);
        self
    }

    /// Sets the kinds of output: `text`, `audio`, `image`.
    #[must_use]
    pub fn modalities(mut self, modalities: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.modalities = modalities.into_iter().map(Into::into).collect();
        self
    }

    /// Requests spoken output beside text.
    #[must_use]
    pub fn audio(mut self, audio: AudioOutput) -> Self {
        self.modalities = vec!["text".to_owned(), "audio".to_owned()];
        self.audio = Some(audio);
        self
    }

    /// Requests images beside text.
    #[must_use]
    pub fn image(mut self, image: ImageOutput) -> Self {
        self.modalities = vec!["text".to_owned(), "image".to_owned()];
        self.image = Some(image);
        self
    }

    /// Sets how detailed the response is: `low`, `medium` or `high`.
    #[must_use]
    pub fn verbosity(mut self, verbosity: impl Into<String>) -> Self {
        self.verbosity = Some(verbosity.into());
        self
    }

    /// Sets how much effort the model spends on thinking (`reasoning_effort`).
    #[must_use]
    pub fn effort(mut self, effort: Effort) -> Self {
        self.reasoning_effort = Some(effort);
        self
    }

    /// Sets whether to think, for how many tokens, and whether the thoughts are part of the response.
    #[must_use]
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.thinking = Some(thinking);
        self
    }

    /// Sets whether the response has the log probabilities of its tokens.
    #[must_use]
    pub fn logprobs(mut self, logprobs: bool) -> Self {
        self.logprobs = Some(logprobs);
        self
    }

    /// Requests log probabilities, with this many likely alternatives for each token.
    #[must_use]
    pub fn top_logprobs(mut self, alternatives: u32) -> Self {
        self.logprobs = Some(true);
        self.top_logprobs = Some(alternatives);
        self
    }

    /// Changes the likelihood of one token, by the provider's token id: from -100 (never) to 100 (always).
    #[must_use]
    pub fn logit_bias(mut self, token: impl Into<String>, bias: f64) -> Self {
        self.logit_bias.get_or_insert_default().insert(token.into(), bias);
        self
    }

    /// Sets the provider's service tier.
    #[must_use]
    pub fn service_tier(mut self, tier: impl Into<String>) -> Self {
        self.service_tier = Some(tier.into());
        self
    }

    /// Groups requests that share a prompt, for the provider's prompt cache.
    #[must_use]
    pub fn prompt_cache_key(mut self, key: impl Into<String>) -> Self {
        self.prompt_cache_key = Some(key.into());
        self
    }

    /// Identifies your end user to the provider. In JSON it is `user`.
    ///
    /// ```
    /// use agentloop::ChatRequest;
    ///
    /// let request = ChatRequest::new("openai/gpt-5").user("Hello").user_id("customer-42");
    /// assert_eq!(serde_json::to_value(&request)?["user"], "customer-42");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn user_id(mut self, id: impl Into<String>) -> Self {
        self.user_id = Some(id.into());
        self
    }

    /// Adds a label that the provider stores with the call.
    #[must_use]
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.get_or_insert_default().insert(name.into(), value.into());
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

    /// Adds a header. It never replaces a header that authenticates.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.extra_headers.insert(name.into(), value.into());
        self
    }

    /// Adds a label that [`Costs`](crate::middleware::Costs) counts the call under. It is not sent.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// Leaves out, with a warning, the parts of messages that the provider does not accept, instead of failing.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// Fails where the request would otherwise be changed with a warning: see [`strict`](Self#structfield.strict).
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Sets how a schema of `response_format` is requested.
    #[must_use]
    pub fn output_strategy(mut self, strategy: OutputStrategy) -> Self {
        self.output_strategy = Some(strategy);
        self
    }

    /// Sets the protocol, if the provider speaks several.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = Some(protocol);
        self
    }

    /// Sets the models to use when this one fails, for the [`Fallback`](crate::middleware::Fallback) middleware.
    #[must_use]
    pub fn fallbacks<T: Into<String>>(mut self, models: impl IntoIterator<Item = T>) -> Self {
        self.fallbacks = models.into_iter().map(Into::into).collect();
        self
    }

    /// Sets how a [cache](crate::middleware::Cache) treats this request, if the client has one.
    #[must_use]
    pub fn cache(mut self, mode: CacheMode) -> Self {
        self.cache = Some(mode);
        self
    }

    /// Requests the response as the provider sent it, beside the unified one: see [`include_raw`](Self#structfield.include_raw).
    #[must_use]
    pub fn include_raw(mut self) -> Self {
        self.include_raw = true;
        self
    }

    /// Sets how long to wait, in place of the client's setting.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = Some(timeouts);
        self
    }

    /// Sets whether and how remote media are fetched, in place of the client's setting.
    #[must_use]
    pub fn media(mut self, media: MediaOptions) -> Self {
        self.media = Some(media);
        self
    }
}
