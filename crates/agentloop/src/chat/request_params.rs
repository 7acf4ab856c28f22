//! The setters of a chat request's parameters.

use serde_json::Value;

use super::setters::call_setters;
use super::{
    AudioOutput, CacheMode, ChatRequest, Effort, ImageOutput, MediaOptions, OutputStrategy,
    Protocol, ResponseFormat, Stop, Thinking, ToolChoice, ToolDefinition,
};
use crate::timeouts::Timeouts;

impl ChatRequest {
    setters! {
        /// Adds a tool that the model may call.
        tool(self, tool: ToolDefinition) => self.tools.push(tool);

        /// Adds tools that the model may call.
        tools(self, tools: impl IntoIterator<Item = ToolDefinition>) => self.tools.extend(tools);
    }

    setters! {
        /// Sets whether the model may, must or must not call a tool.
        tool_choice(tool_choice: ToolChoice);
        /// Sets whether the model may call several tools in one response.
        parallel_tool_calls(parallel_tool_calls: bool);
        /// Scales the randomness of the choice of tokens; 0 is the least random.
        temperature(temperature: f64);
        /// Samples only from the likeliest tokens whose probabilities add up to this share.
        top_p(top_p: f64);
        /// Samples only from this many of the likeliest tokens.
        top_k(top_k: u32);
        /// Limits the length of the response, in tokens. Thinking counts too.
        max_tokens(max_tokens: u64);
        /// Sets the texts that end the response. They are not part of it.
        stop(stop: impl Into<Stop>);
        /// Makes responses repeatable, as far as the provider can.
        seed(seed: i64);
        /// Sets the number of choices in the response.
        n(n: u32);
        /// Penalizes tokens in proportion to how often they have already appeared.
        frequency_penalty(frequency_penalty: f64);
        /// Penalizes tokens that have already appeared, however often.
        presence_penalty(presence_penalty: f64);
        /// Sets the form of the response's text: plain text, JSON, or JSON of a schema.
        response_format(response_format: ResponseFormat);
    }

    setters! {
        /// Sets the kinds of output: `text`, `audio`, `image`.
        modalities(self, modalities: impl IntoIterator<Item = impl Into<String>>) =>
            self.modalities = modalities.into_iter().map(Into::into).collect();
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

    setters! {
        /// Sets how detailed the response is: `low`, `medium` or `high`.
        verbosity(verbosity: impl Into<String>);
        /// Sets how much effort the model spends on thinking (`reasoning_effort`).
        effort(reasoning_effort: Effort);
        /// Sets whether to think, for how many tokens, and whether the thoughts are part of the response.
        thinking(thinking: Thinking);
        /// Sets whether the response has the log probabilities of its tokens.
        logprobs(logprobs: bool);
    }

    /// Requests log probabilities, with this many likely alternatives for each token.
    #[must_use]
    pub fn top_logprobs(mut self, alternatives: u32) -> Self {
        self.logprobs = Some(true);
        self.top_logprobs = Some(alternatives);
        self
    }

    setters! {
        /// Changes the likelihood of one token, by the provider's token id: from -100 (never) to 100 (always).
        logit_bias(self, token: impl Into<String>, bias: f64) =>
            self.logit_bias.get_or_insert_default().insert(token.into(), bias);
    }

    setters! {
        /// Sets the provider's service tier.
        service_tier(service_tier: impl Into<String>);
        /// Groups requests that share a prompt, for the provider's prompt cache.
        prompt_cache_key(prompt_cache_key: impl Into<String>);
        /// Identifies your end user to the provider. In JSON it is `user`.
        ///
        /// ```
        /// use agentloop::ChatRequest;
        ///
        /// let request = ChatRequest::new("openai/gpt-5").user("Hello").user_id("customer-42");
        /// assert_eq!(serde_json::to_value(&request)?["user"], "customer-42");
        /// # Ok::<(), serde_json::Error>(())
        /// ```
        user_id(user_id: impl Into<String>);
    }

    setters! {
        /// Adds a label that the provider stores with the call.
        metadata(self, name: impl Into<String>, value: impl Into<Value>) =>
            self.metadata.get_or_insert_default().insert(name.into(), value.into());
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

    setters! {
        /// Leaves out, with a warning, the parts of messages that the provider does not accept, instead of failing.
        lenient(self) => self.lenient = true;

        /// Fails where the request would otherwise be changed with a warning: see [`strict`](Self#structfield.strict).
        strict(self) => self.strict = true;
    }

    setters! {
        /// Sets how a schema of `response_format` is requested.
        output_strategy(output_strategy: OutputStrategy);
        /// Sets the protocol, if the provider speaks several.
        protocol(protocol: Protocol);
        /// Sets whether and how remote media are fetched, in place of the client's setting.
        media(media: MediaOptions);
    }

    call_setters!();
}
