//! Any request at all, to every provider: every parameter is sent, or there is a warning.

use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, ContentPart, Effort, Protocol, Provider, Role,
    ToolCallPart, inspect,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

pub(crate) fn message() -> impl Strategy<Value = ChatMessage> {
    let text = "\\PC{0,10}";
    prop_oneof![
        text.prop_map(ChatMessage::system),
        text.prop_map(ChatMessage::user),
        text.prop_map(ChatMessage::assistant),
        (text, text)
            .prop_map(|(a, b)| ChatMessage::user([ContentPart::text(a), ContentPart::text(b)])),
        (text, "[a-z|.]{1,8}", "\\PC{0,6}").prop_map(|(text, id, arguments)| {
            ChatMessage::assistant(vec![
                ContentPart::Thinking(agentloop::ThinkingPart::new("hm")),
                ContentPart::text(text),
                ContentPart::ToolCall(ToolCallPart::new(id, "f", arguments)),
            ])
        }),
        ("[a-z|.]{1,8}", text).prop_map(|(id, text)| ChatMessage::tool(id, text)),
    ]
}

/// Some parameters, as JSON, so the request can be compared with what is sent.
pub(crate) fn params() -> impl Strategy<Value = Value> {
    (
        (option::of(0.0f64..3.0), option::of(0.0f64..1.0), option::of(1u32..9), option::of(1u64..999)),
        (option::of(vec("[a-z]{1,3}", 1..20)), option::of(any::<i32>()), option::of(1u32..4)),
        (option::of(-2.0f64..2.0), option::of(any::<bool>()), option::of(0u32..9)),
        (option::of(select(&Effort::ALL[..])), any::<bool>(), option::of("[a-z]{1,5}"), any::<bool>()),
    )
        .prop_map(|(a, b, c, d)| {
            let mut params = json!({
                "temperature": a.0, "top_p": a.1, "top_k": a.2, "max_tokens": a.3,
                "stop": b.0, "seed": b.1, "n": b.2,
                "frequency_penalty": c.0, "presence_penalty": c.0, "logprobs": c.1, "top_logprobs": c.2,
                "reasoning_effort": d.0, "user": d.2, "prompt_cache_key": d.2, "service_tier": d.2,
                "verbosity": d.2,
                "metadata": d.2.as_ref().map(|word| json!({"k": word})),
                "logit_bias": d.1.then(|| json!({"1": 1.0})),
                "parallel_tool_calls": c.1,
                "tool_choice": d.1.then_some("auto"),
                "tools": d.3.then(|| json!([{"type": "function", "function": {"name": "f"}}])),
                "response_format": d.3.then(|| json!({"type": "json_object"})),
            });
            params.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            params
        })
}

/// A user message and more: a lone result would leave nothing to send.
fn conversation(more: std::ops::Range<usize>) -> impl Strategy<Value = Vec<ChatMessage>> {
    vec(message(), more).prop_map(|mut turns| {
        turns.insert(0, ChatMessage::user("Hello"));
        turns
    })
}

/// The names that a parameter has in some body.
fn names_of(name: &str) -> Vec<&str> {
    let others: &[&str] = match name {
        "max_tokens" => &[
            "max_completion_tokens",
            "max_output_tokens",
            "maxOutputTokens",
            "maxTokens",
            "num_predict",
        ],
        "top_p" => &["topP", "p"],
        "top_k" => &["topK", "k"],
        "stop" => &["stop_sequences", "stopSequences"],
        "n" => &["candidateCount"],
        "frequency_penalty" => &["frequencyPenalty"],
        "presence_penalty" => &["presencePenalty"],
        "logprobs" => &["responseLogprobs", "message.output_text.logprobs"],
        "top_logprobs" => &["logprobs"],
        "user" => &["user_id", "safety_identifier"],
        "response_format" => &["responseMimeType", "output_config", "format"],
        "tool_choice" => &["toolConfig"],
        "metadata" => &["requestMetadata"],
        "max_completion_tokens" => &["maxTokens"],
        "service_tier" => &["serviceTier"],
        "parallel_tool_calls" => &["disable_parallel_tool_use"],
        "reasoning_effort" => &[
            "reasoning",
            "thinking",
            "chat_template_kwargs",
            "output_config",
            "outputConfig",
            "thinkingConfig",
            "thinking_level",
            "think",
        ],
        _ => &[],
    };
    std::iter::once(name).chain(others.iter().copied()).collect()
}

/// Whether the body has a field of that name outside of the conversation.
fn holds(body: &Value, name: &str) -> bool {
    match body {
        Value::Object(fields) => fields.iter().any(|(field, value)| {
            let turns = ["messages", "contents", "input"].contains(&field.as_str());
            !turns && (field == name || holds(value, name))
        }),
        Value::Array(items) => items.iter().any(|item| item == name),
        _ => false,
    }
}

pub(crate) fn has_null(value: &Value, path: &str) -> Option<String> {
    match value {
        // A message that only calls tools has no content.
        Value::Null if path.ends_with(".content") => None,
        Value::Null => Some(path.to_owned()),
        Value::Array(items) => items.iter().find_map(|item| has_null(item, path)),
        Value::Object(fields) => {
            fields.iter().find_map(|(name, value)| has_null(value, &format!("{path}.{name}")))
        }
        _ => None,
    }
}

/// The pieces of all messages, each with its role, and the fields beside the messages.
fn blocks(body: &str) -> (Vec<(Value, Value)>, Value) {
    let mut body: Value = serde_json::from_str(body).unwrap();
    let fields = body.as_object_mut().unwrap();
    let mut turns =
        ["messages", "contents", "input"].iter().filter_map(|name| fields.remove(*name));
    let turns = turns.next().unwrap();
    let mut blocks = Vec::new();
    for turn in turns.as_array().unwrap() {
        let pieces = match turn.get("content").or_else(|| turn.get("parts")) {
            Some(Value::Array(pieces)) => pieces.clone(),
            Some(text) => vec![json!({"type": "text", "text": text})],
            // An item that is not a message.
            None => vec![turn.clone()],
        };
        blocks.extend(pieces.into_iter().map(|piece| (turn["role"].clone(), piece)));
    }
    (blocks, body)
}

/// Every provider, in every protocol that it supports.
fn targets() -> Vec<(String, Protocol)> {
    let spoken = |row: &Provider| -> Vec<(String, Protocol)> {
        row.protocols().map(|protocol| (row.name.to_string(), protocol)).collect()
    };
    Provider::all().iter().flat_map(spoken).collect()
}

fn client() -> AgentLoop {
    AgentLoop::builder()
        .env("AZURE_RESOURCE_NAME", "r")
        .env("AWS_REGION", "us-east-1")
        .env("VERTEX_LOCATION", "l")
        .env("VERTEX_PROJECT", "p")
        .build()
        .unwrap()
}

proptest! {
    #[test]
    fn nothing_is_dropped_without_a_warning(
        params in params(),
        messages in conversation(0..5),
        (provider, protocol) in select(targets()),
        stream in any::<bool>(),
    ) {
        let mut json = params.clone();
        json["model"] = json!(format!("{provider}/some-model"));
            json["protocol"] = json!(protocol);
        json["messages"] = json!(messages);
        let request: ChatRequest = serde_json::from_value(json).unwrap();
        let encoded = inspect::encode(&client(), &request, stream).unwrap();
        let again = inspect::encode(&client(), &request, stream).unwrap();
        prop_assert_eq!(encoded.body.get(), again.body.get());
        let body: Value = serde_json::from_str(encoded.body.get()).unwrap();
        prop_assert_eq!(has_null(&body, ""), None);
        prop_assert_eq!(body.get("stream_options").is_some() && !stream, false);
        for name in params.as_object().unwrap().keys() {
            // Effort may become thinking, and is then warned about under that name.
            let about = |subject: &str| {
                subject == name || (name == "reasoning_effort" && subject.starts_with("thinking"))
            };
            let warned = encoded.warnings.iter().any(|w| w.subject.as_deref().is_some_and(about));
            // A request without log probabilities needs no warning.
            let sent = (name == "logprobs" && params["logprobs"] == false)
                // One choice is the default of every provider.
                || (name == "n" && params["n"] == 1)
                // Parallel tool calls are the default of the provider.
                || (name == "parallel_tool_calls" && params["parallel_tool_calls"] == true)
                // `auto` is the default of the provider.
                || (name == "tool_choice" && params["tool_choice"] == "auto" && params.get("tools").is_some())
                // Without tools there are no calls.
                || (name == "tool_choice" && params["tool_choice"] == "none" && body.get("tools").is_none())
                || names_of(name).iter().any(|known| holds(&body, known));
            prop_assert!(sent || warned, "{} vanished: {}", name, body);
        }
    }

    /// A conversation that grows only adds to the end of what was sent before; but for a result that arrives after its
    /// call was sent as interrupted.
    #[test]
    fn appending_a_message_only_appends(
        params in params(),
        messages in conversation(1..6),
        (provider, protocol) in select(targets()),
    ) {
        // Instructions have no place in the middle everywhere.
        if messages.last().is_some_and(|last| matches!(last.role, Role::System | Role::Tool)) {
            return Ok(());
        }
        // The last message of the assistant may not end in white space there, so it still changes.
        let bare = |turn: &ChatMessage| {
            turn.role == Role::Assistant && turn.text().ends_with(char::is_whitespace)
        };
        if matches!(protocol, Protocol::Anthropic | Protocol::Bedrock)
            && messages.iter().rev().nth(1).is_some_and(bare) {
            return Ok(());
        }
        let encode = |messages: &[ChatMessage]| {
            let mut json = params.clone();
            json["model"] = json!(format!("{provider}/some-model"));
            json["protocol"] = json!(protocol);
            json["messages"] = json!(messages);
            let request: ChatRequest = serde_json::from_value(json).unwrap();
            inspect::encode(&client(), &request, true).unwrap().body.get().to_owned()
        };
        let all = encode(&messages);
        let before = encode(&messages[..messages.len() - 1]);
        if let Some(open) = before.strip_suffix("]}")
            && all.starts_with(open)
        {
            return Ok(());
        }
        // If messages are joined, one text may become the first of several.
        let (blocks_before, rest_before) = blocks(&before);
        let (blocks, mut rest) = blocks(&all);
        // The first call of a tool brings a placeholder for tools, which is sent after the messages.
        if protocol == Protocol::Bedrock && rest_before.get("toolConfig").is_none() {
            rest.as_object_mut().unwrap().remove("toolConfig");
        }
        let is_separate = matches!(
            protocol,
            Protocol::OpenAiChat
                | Protocol::OpenAiResponses
                | Protocol::Ollama
                | Protocol::Cohere
                | Protocol::GeminiInteractions
        );
        prop_assert!(!is_separate, "{}\n{}", before, all);
        prop_assert!(rest == rest_before && blocks.starts_with(&blocks_before), "{}\n{}", before, all);
    }
}
