//! Any request at all, to every provider that speaks OpenAI's chat: what is asked is sent, or a warning says why not.

use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, ContentPart, Effort, Protocol, Provider, ToolCallPart,
    inspect,
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

/// Some parameters, as JSON, so that what was asked can be compared with what is sent.
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

pub(crate) fn has_null(value: &Value, path: &str) -> Option<String> {
    match value {
        // A turn that only calls tools has no content.
        Value::Null if path.ends_with(".content") => None,
        Value::Null => Some(path.to_owned()),
        Value::Array(items) => items.iter().find_map(|item| has_null(item, path)),
        Value::Object(fields) => {
            fields.iter().find_map(|(name, value)| has_null(value, &format!("{path}.{name}")))
        }
        _ => None,
    }
}

fn providers() -> Vec<String> {
    let rows = Provider::all();
    let own = rows.iter().filter(|provider| provider.protocol == Protocol::OpenAiChat);
    own.map(|provider| provider.name.to_string()).collect()
}

fn client() -> AgentLoop {
    AgentLoop::builder().env("AZURE_RESOURCE_NAME", "r").build().unwrap()
}

proptest! {
    #[test]
    fn nothing_is_dropped_without_a_warning(
        params in params(),
        messages in vec(message(), 1..6),
        provider in select(providers()),
        stream in any::<bool>(),
    ) {
        let mut json = params.clone();
        json["model"] = json!(format!("{provider}/some-model"));
        json["messages"] = json!(messages);
        let request: ChatRequest = serde_json::from_value(json).unwrap();
        let encoded = inspect::encode(&client(), &request, stream).unwrap();
        let again = inspect::encode(&client(), &request, stream).unwrap();
        prop_assert_eq!(encoded.body.get(), again.body.get());
        let body: Value = serde_json::from_str(encoded.body.get()).unwrap();
        prop_assert_eq!(has_null(&body, ""), None);
        prop_assert_eq!(body.get("stream_options").is_some() && !stream, false);
        for name in params.as_object().unwrap().keys() {
            let warned = encoded.warnings.iter().any(|w| w.subject.as_deref() == Some(name.as_str()));
            let sent = body.get(name).is_some()
                || (name == "max_tokens" && body.get("max_completion_tokens").is_some())
                || (name == "reasoning_effort" && (body.get("reasoning").is_some() || body.get("thinking").is_some()
                    || body.get("chat_template_kwargs").is_some()))
                || (name == "top_logprobs" && body.get("logprobs").is_some())
                || (name == "logprobs" && params["logprobs"] == false);
            prop_assert!(sent || warned, "{} vanished: {}", name, body);
        }
    }

    /// A conversation that grows only adds to the end of what was sent before.
    #[test]
    fn appending_a_turn_only_appends(
        params in params(),
        messages in vec(message(), 2..7),
        provider in select(providers()),
    ) {
        let encode = |messages: &[ChatMessage]| {
            let mut json = params.clone();
            json["model"] = json!(format!("{provider}/some-model"));
            json["messages"] = json!(messages);
            let request: ChatRequest = serde_json::from_value(json).unwrap();
            inspect::encode(&client(), &request, true).unwrap().body.get().to_owned()
        };
        let all = encode(&messages);
        let before = encode(&messages[..messages.len() - 1]);
        let open = before.strip_suffix("]}").unwrap();
        prop_assert!(all.starts_with(open), "{}\n{}", open, all);
    }
}
