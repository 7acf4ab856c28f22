//! The rules of a provider about parameters, in every protocol.

mod config;
mod hostile;
mod order;
mod table;

use agentloop::inspect::{self, EncodedRequest};
use agentloop::provider::Param;
use agentloop::{AgentLoop, ChatRequest, Protocol, Provider, Result, WarningKind};
use serde_json::{Value, json};

/// A provider of which nothing else is known.
fn lab(protocol: Protocol) -> Provider {
    Provider::compatible(protocol, "lab", "http://lab.invalid/v1")
}

/// A value of a parameter that has an effect.
fn value(param: Param) -> Value {
    let function = json!({ "name": "f", "parameters": { "type": "object", "properties": {} } });
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    match param {
        Param::Temperature | Param::TopP | Param::FrequencyPenalty | Param::PresencePenalty => {
            json!(0.5)
        }
        Param::TopK => json!(40),
        Param::MaxTokens => json!(5000),
        Param::Stop => json!(["END"]),
        Param::Seed => json!(70),
        Param::N => json!(3),
        Param::Tools => json!([{ "type": "function", "function": function }]),
        Param::ToolChoice => json!("required"),
        Param::ParallelToolCalls => json!(false),
        Param::ResponseFormat => json!({
            "type": "json_schema", "json_schema": { "name": "s", "schema": schema },
        }),
        Param::Modalities => json!(["text", "audio"]),
        Param::Audio => json!({ "voice": "v", "format": "pcm16" }),
        Param::Image => json!({ "aspect_ratio": "1:1" }),
        Param::Verbosity => json!("low"),
        Param::ReasoningEffort => json!("high"),
        Param::Thinking => json!({ "enabled": false }),
        Param::Logprobs => json!(true),
        Param::TopLogprobs => json!(4),
        Param::LogitBias => json!({ "1": 2.0 }),
        Param::ServiceTier => json!("auto"),
        Param::PromptCacheKey => json!("key"),
        Param::User => json!("someone"),
        Param::Metadata => json!({ "user_id": "someone" }),
        other => panic!("{other} has no value here"),
    }
}

/// A request without the parameter, and with what the parameter is about.
fn plain(param: Param) -> ChatRequest {
    let mut fields = json!({ "model": "lab/m", "messages": [{ "role": "user", "content": "Hi" }] });
    if matches!(param, Param::ToolChoice | Param::ParallelToolCalls) {
        fields["tools"] = value(Param::Tools);
    }
    serde_json::from_value(fields).unwrap()
}

/// The request with the parameter.
fn asked(param: Param) -> ChatRequest {
    let mut fields = serde_json::to_value(plain(param)).unwrap();
    fields[param.name()] = value(param);
    serde_json::from_value(fields).unwrap()
}

fn encode(provider: Provider, request: &ChatRequest) -> Result<EncodedRequest> {
    let ai = AgentLoop::builder().provider(provider).build()?;
    inspect::encode(&ai, request, false)
}

fn body(encoded: &EncodedRequest) -> Value {
    serde_json::from_str(encoded.body.get()).unwrap()
}

/// The kinds of the warnings about a parameter, or about a part of it.
fn warned(encoded: &EncodedRequest, param: Param) -> Vec<WarningKind> {
    let is_about = |subject: &str| {
        subject
            .strip_prefix(param.name())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let about = encoded.warnings.iter();
    about.filter(|w| w.subject.as_deref().is_some_and(is_about)).map(|w| w.kind).collect()
}

/// Every parameter in every protocol.
fn cells() -> impl Iterator<Item = (Protocol, Param)> {
    Protocol::ALL
        .iter()
        .flat_map(|protocol| Param::ALL.iter().map(move |param| (*protocol, *param)))
}
