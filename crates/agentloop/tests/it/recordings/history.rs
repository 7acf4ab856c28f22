//! What providers returned, as the history of the next request: in their own form, and in ours without its origin.

use agentloop::inspect::{self, EncodedRequest};
use agentloop::{ChatMessage, ChatRequest};
use serde_json::Value;

use crate::recordings::corpus::{Recording, client};
use crate::recordings::over;

/// Providers of every protocol and of every way to take thinking back.
const TARGETS: [&str; 9] = [
    "openai",
    "anthropic",
    "google",
    "mistral",
    "deepseek",
    "groq",
    "openrouter",
    "xai",
    "together",
];

fn encode(
    model: &str,
    recording: &Recording,
    message: ChatMessage,
) -> Result<EncodedRequest, String> {
    let mut request = ChatRequest::new(model).user("Hi").message(message).user("Go on").lenient();
    if model.starts_with(&format!("{}/", recording.provider)) {
        request.protocol = Some(recording.protocol);
    }
    inspect::encode(client(), &request, false).map_err(|error| format!("{model}: {error:?}"))
}

/// Every message of a body in OpenAI's form is read, and what of it cannot be sent again is a warning.
fn is_history(recording: &Recording) -> Result<(), String> {
    if recording.streaming || !recording.is_answer() {
        return Ok(());
    }
    let Ok(body) = serde_json::from_slice::<Value>(&recording.body) else { return Ok(()) };
    for choice in body["choices"].as_array().into_iter().flatten() {
        let wire = &choice["message"];
        if !wire.is_object() {
            continue;
        }
        let message: ChatMessage =
            serde_json::from_value(wire.clone()).map_err(|error| error.to_string())?;
        let model = format!("{}/some-model", recording.provider);
        let encoded = encode(&model, recording, message)?;
        let sent = encoded.body.get();
        let warned = !encoded.warnings.is_empty();
        let mut texts = Vec::new();
        for name in ["content", "refusal", "reasoning", "reasoning_content"] {
            texts.extend(wire[name].as_str());
        }
        for call in wire["tool_calls"].as_array().into_iter().flatten() {
            texts.extend(call["function"]["name"].as_str());
            texts.extend(call["function"]["arguments"].as_str());
        }
        for text in texts.into_iter().filter(|text| !text.is_empty()) {
            let written = Value::from(text).to_string();
            let inner = &written[1..written.len() - 1];
            if !sent.contains(inner) && !warned {
                return Err(format!("lost without a warning: {text}"));
            }
        }
        for name in ["annotations", "audio", "images", "executed_tools", "reasoning_details"] {
            let there = match &wire[name] {
                Value::Array(list) => !list.is_empty(),
                other => !other.is_null(),
            };
            let id = wire[name]["id"].as_str().is_some_and(|id| sent.contains(id));
            let same = sent.contains(&format!("\"{name}\":{}", wire[name]));
            if there && !id && !same && !warned {
                return Err(format!("`{name}` is lost without a warning"));
            }
        }
    }
    Ok(())
}

#[test]
fn every_recorded_chat_message_is_a_history() {
    over("openai-chat", is_history);
}

/// The texts that only their maker understands.
fn opaque<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    const NAMES: [&str; 6] = [
        "signature",
        "thoughtSignature",
        "thought_signature",
        "encrypted_content",
        "encrypted_index",
        "encryptedContent",
    ];
    match value {
        Value::Array(list) => list.iter().for_each(|value| opaque(value, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                let redacted =
                    name == "data" && fields.get("type") == Some(&"redacted_thinking".into());
                if NAMES.contains(&name.as_str()) || redacted {
                    found.extend(value.as_str().filter(|text| text.len() >= 8));
                }
                opaque(value, found);
            }
        }
        _ => {}
    }
}

/// Without an origin the parts say whose they are: their maker gets them back as with it, and no other provider does.
fn is_tagged(recording: &Recording) -> Result<(), String> {
    if !recording.is_answer() {
        return Ok(());
    }
    let decoded = recording.decode();
    let Ok(response) = decoded.response() else { return Ok(()) };
    let whole = response.clone().into_message();
    let mut stored = serde_json::to_value(&whole).map_err(|error| error.to_string())?;
    stored.as_object_mut().unwrap().remove("origin");
    let bare: ChatMessage =
        serde_json::from_value(stored.clone()).map_err(|error| error.to_string())?;
    // Some responses do not name their model.
    let model = if response.model.is_empty() { "some-model" } else { &response.model };
    let own = format!("{}/{model}", recording.provider);
    let (with, without) = (encode(&own, recording, whole)?, encode(&own, recording, bare.clone())?);
    if with.body.get() != without.body.get() {
        return Err(format!("differs without its origin:\n{}\n{}", with.body, without.body));
    }
    let mut secrets = Vec::new();
    opaque(&stored, &mut secrets);
    for target in TARGETS.into_iter().filter(|name| *name != recording.provider) {
        let sent = encode(&format!("{target}/some-model"), recording, bare.clone())?;
        if let Some(secret) = secrets.iter().find(|secret| sent.body.get().contains(**secret)) {
            return Err(format!("{target} gets what is not its own: {secret}"));
        }
    }
    Ok(())
}

#[test]
fn a_message_without_origin_is_sent_back_complete_only_to_its_own_provider() {
    for wire in crate::recordings::corpus::CHAT_WIRES {
        over(wire, is_tagged);
    }
}
