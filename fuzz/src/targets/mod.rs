//! What is fuzzed. One more is one more line.

pub(crate) mod aws;
mod carry;
mod chat;
pub(crate) mod config;
mod decode;
pub(crate) mod embed;
pub(crate) mod encode;
mod framing;
pub(crate) mod gateway;
mod headers;
pub(crate) mod laws;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod readers;
mod serve;
pub(crate) mod structured;
pub(crate) mod suspended;
pub(crate) mod tasks;

use agentloop::Protocol;

/// Something that reads bytes, and what must hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    check: fn(&[u8]),
    seeds: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// The target of that name.
    pub fn of(name: &str) -> Option<Self> {
        TARGETS.iter().copied().find(|target| target.name == name)
    }

    /// Reads an input.
    ///
    /// # Panics
    ///
    /// When a law does not hold.
    pub fn check(&self, input: &[u8]) {
        (self.check)(input);
    }

    /// Inputs to begin with, made of the library's own fixtures; always the same, in the same order.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        (self.seeds)()
    }
}

const fn target(name: &'static str, check: fn(&[u8]), seeds: fn() -> Vec<Vec<u8>>) -> Target {
    Target { name, check, seeds }
}

/// All of them.
pub const TARGETS: &[Target] = &[
    target(
        "decode_openai_chat",
        |input| decode::check(Protocol::OpenAiChat, input),
        || decode::seeds(Protocol::OpenAiChat),
    ),
    target(
        "decode_openai_responses",
        |input| decode::check(Protocol::OpenAiResponses, input),
        || decode::seeds(Protocol::OpenAiResponses),
    ),
    target(
        "decode_anthropic",
        |input| decode::check(Protocol::Anthropic, input),
        || decode::seeds(Protocol::Anthropic),
    ),
    target(
        "decode_gemini",
        |input| decode::check(Protocol::Gemini, input),
        || decode::seeds(Protocol::Gemini),
    ),
    target(
        "decode_ollama",
        |input| decode::check(Protocol::Ollama, input),
        || decode::seeds(Protocol::Ollama),
    ),
    target(
        "decode_cohere",
        |input| decode::check(Protocol::Cohere, input),
        || decode::seeds(Protocol::Cohere),
    ),
    target(
        "decode_bedrock",
        |input| decode::check(Protocol::Bedrock, input),
        || decode::seeds(Protocol::Bedrock),
    ),
    target(
        "decode_gemini_interactions",
        |input| decode::check(Protocol::GeminiInteractions, input),
        || decode::seeds(Protocol::GeminiInteractions),
    ),
    target("framing", framing::check, framing::seeds),
    target("headers", headers::check, headers::seeds),
    target("encode", encode::check, encode::seeds),
    target("embed", embed::check, embed::seeds),
    target("serve", serve::check, serve::seeds),
    target(
        "read_openai_chat",
        |input| readers::check(Protocol::OpenAiChat, input),
        || readers::seeds(Protocol::OpenAiChat),
    ),
    target(
        "read_openai_responses",
        |input| readers::check(Protocol::OpenAiResponses, input),
        || readers::seeds(Protocol::OpenAiResponses),
    ),
    target(
        "read_anthropic",
        |input| readers::check(Protocol::Anthropic, input),
        || readers::seeds(Protocol::Anthropic),
    ),
    target(
        "read_gemini",
        |input| readers::check(Protocol::Gemini, input),
        || readers::seeds(Protocol::Gemini),
    ),
    target(
        "read_ollama",
        |input| readers::check(Protocol::Ollama, input),
        || readers::seeds(Protocol::Ollama),
    ),
    target(
        "read_cohere",
        |input| readers::check(Protocol::Cohere, input),
        || readers::seeds(Protocol::Cohere),
    ),
    target(
        "read_bedrock",
        |input| readers::check(Protocol::Bedrock, input),
        || readers::seeds(Protocol::Bedrock),
    ),
    target(
        "read_gemini_interactions",
        |input| readers::check(Protocol::GeminiInteractions, input),
        || readers::seeds(Protocol::GeminiInteractions),
    ),
    target("read_embed", readers::check_embed, readers::embed_seeds),
    target("tasks", tasks::check, tasks::seeds),
    target("read_tasks", tasks::check_request, tasks::request_seeds),
    target("carry", carry::check, carry::seeds),
    target("chat", chat::check, chat::seeds),
    target("structured", structured::check, structured::seeds),
    target("config", config::check, config::seeds),
    target("models", models::check, models::seeds),
    target("suspended", suspended::check, suspended::seeds),
    target("mcp", mcp::check, mcp::seeds),
    target("aws", aws::check, aws::seeds),
    target("gateway", gateway::check, gateway::seeds),
    target("gateway_relay", gateway::check_relay, gateway::relay_seeds),
    target("gateway_operator", gateway::check_operator, gateway::operator_seeds),
    target("gateway_config", gateway::check_config, gateway::config_seeds),
    target("gateway_stored", gateway::check_stored, gateway::stored_seeds),
];
