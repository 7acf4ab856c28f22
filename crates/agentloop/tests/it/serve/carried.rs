//! The state of every recorded response returns through a client of every other API.

use agentloop::carry::{Carrier, restore};
use agentloop::protocol::serve::{StreamWriter, read_chat, write_body};
use agentloop::{ChatResponse, ChatStreamEvent, ContentPart, Protocol, ProviderState};
use serde_json::{Value, json};

use crate::recordings::corpus::{CHAT_WIRES, Recording, recordings};

/// Returns the next request of a client that keeps what it received: the response is the assistant's message.
fn next_request(protocol: Protocol, body: &Value) -> (&'static str, Value) {
    let user = json!({ "role": "user", "content": "Hi" });
    match protocol {
        Protocol::OpenAiChat => {
            let message = &body["choices"][0]["message"];
            ("/v1/chat/completions", json!({ "model": "m", "messages": [user, message] }))
        }
        Protocol::OpenAiResponses => {
            let mut input = vec![user];
            input.extend(body["output"].as_array().cloned().unwrap_or_default());
            ("/v1/responses", json!({ "model": "m", "input": input }))
        }
        Protocol::Anthropic => {
            let message = json!({ "role": "assistant", "content": body["content"] });
            let messages = [user, message];
            ("/v1/messages", json!({ "model": "m", "max_tokens": 9, "messages": messages }))
        }
        Protocol::Ollama => {
            ("/api/chat", json!({ "model": "m", "messages": [user, body["message"]] }))
        }
        Protocol::Bedrock => {
            let question = json!({ "role": "user", "content": [{ "text": "Hi" }] });
            let messages = [question, body["output"]["message"].clone()];
            ("/model/m/converse", json!({ "messages": messages }))
        }
        Protocol::GeminiInteractions => {
            let mut input = vec![
                json!({ "type": "user_input", "content": [{ "type": "text", "text": "Hi" }] }),
            ];
            input.extend(body["steps"].as_array().cloned().unwrap_or_default());
            ("/v1beta/interactions", json!({ "model": "m", "input": input }))
        }
        Protocol::Cohere => {
            ("/v2/chat", json!({ "model": "m", "messages": [user, body["message"]] }))
        }
        _ => {
            let question = json!({ "role": "user", "parts": [{ "text": "Hi" }] });
            let contents = [question, body["candidates"][0]["content"].clone()];
            ("/v1beta/models/m:generateContent", json!({ "contents": contents }))
        }
    }
}

/// Returns the parts whose state must return. Chat completions, Ollama, Cohere and interactions have no place after the last call.
fn stateful(client: Protocol, response: &ChatResponse) -> Vec<ContentPart> {
    let Some(choice) = response.choices.first() else { return Vec::new() };
    let mut parts: Vec<ContentPart> = choice.content.iter().cloned().map(Into::into).collect();
    if matches!(
        client,
        Protocol::OpenAiChat | Protocol::Ollama | Protocol::Cohere | Protocol::GeminiInteractions
    ) {
        let last = parts.iter().rposition(|part| matches!(part, ContentPart::ToolCall(_)));
        parts.truncate(last.map_or(0, |last| last + 1));
    }
    let has_data = |state: &Option<Box<ProviderState>>| {
        state.as_ref().is_some_and(|state| !state.data.is_null())
    };
    parts.retain(|part| match part {
        ContentPart::Thinking(_)
        | ContentPart::RedactedThinking(_)
        | ContentPart::ServerToolCall(_)
        | ContentPart::ServerToolResult(_)
        | ContentPart::CodeExecution(_)
        | ContentPart::CodeResult(_)
        | ContentPart::Opaque(_) => true,
        ContentPart::ToolCall(call) => has_data(&call.provider_state),
        _ => false,
    });
    parts
}

/// The name of the model is part of restored state, whether or not it was part of the response's.
fn without_model(part: &ContentPart) -> Value {
    let mut value = serde_json::to_value(part).unwrap();
    if let Some(state) = value.get_mut("providerState").and_then(Value::as_object_mut) {
        state.remove("model");
    }
    value
}

fn check(
    client: Protocol,
    recording: &Recording,
    response: &ChatResponse,
    shown: &ChatResponse,
    how: &str,
) {
    let written = write_body(client, shown);
    let body: Value = serde_json::from_slice(&written).unwrap();
    let (path, request) = next_request(client, &body);
    let mut served = read_chat(client, path, request.to_string().as_bytes())
        .unwrap_or_else(|error| panic!("{client:?} {how} {}: {error}", recording.id));
    assert_eq!(restore(&mut served.request), [], "{client:?} {how} {}", recording.id);
    let parts: Vec<Value> = served
        .request
        .messages
        .iter()
        .flat_map(|message| message.parts().to_vec())
        .map(|part| without_model(&part))
        .collect();
    let mut from = 0;
    for expected in stateful(client, response) {
        let expected = without_model(&expected);
        let at = parts[from..].iter().position(|part| *part == expected);
        let at = at.unwrap_or_else(|| {
            panic!("{client:?} {how} {}: {expected} is not in {parts:?}", recording.id)
        });
        from += at + 1;
    }
}

#[test]
fn the_state_of_every_recording_returns_in_order() {
    let mut carried = 0;
    for wire in CHAT_WIRES {
        let Some(recordings) = recordings(wire) else {
            println!("skipped: there is no folder of recordings beside the checkout");
            return;
        };
        for recording in recordings.iter().filter(|recording| recording.is_answer()) {
            let decoded = recording.decode();
            let Ok(response) = decoded.response() else { continue };
            // One choice is what clients continue with.
            let mut response = response.clone();
            response.choices.truncate(1);
            for client in
                Protocol::ALL.iter().copied().filter(|client| *client != recording.protocol)
            {
                let shown = Carrier::new(client, recording.protocol).response(response.clone());
                check(client, recording, &response, &shown, "complete");
                let mut carrier = Carrier::new(client, recording.protocol);
                let mut events = Vec::new();
                response.unfold().into_iter().for_each(|event| carrier.push(event, &mut events));
                // Every event can be written.
                let mut writer = StreamWriter::new(client, true);
                events.iter().for_each(|event| drop(writer.write(event)));
                let Some(ChatStreamEvent::MessageDone { response: shown }) = events.last() else {
                    panic!("{}: no end", recording.id)
                };
                check(client, recording, &response, shown, "streamed");
                carried += stateful(client, &response).len();
            }
        }
    }
    println!("{carried} parts with state returned");
    assert!(carried > 500, "{carried}");
}
