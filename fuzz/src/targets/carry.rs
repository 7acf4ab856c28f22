//! State of providers that clients send back: damaged, and forged.

use agentloop::carry::{Carrier, MAX_RESTORED_BYTES, restore};
use agentloop::inspect::{DecodeOptions, HttpResponse};
use agentloop::{ChatRequest, ChatResponse, ChatStreamEvent, Protocol, Role};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::encode::{encodes, targets};
use super::laws::{client, decode, speakers};
use crate::seeds::{fixtures, input, parts};

/// The responses of the fixtures of each protocol.
fn responses() -> Vec<(Protocol, ChatResponse)> {
    let mut responses = Vec::new();
    for protocol in Protocol::ALL {
        let mut options = DecodeOptions::new(speakers(*protocol)[0]);
        options.protocol = Some(*protocol);
        for (_, body) in fixtures(*protocol).into_iter().filter(|(stream, _)| !stream) {
            if let Some(ChatStreamEvent::MessageDone { response }) =
                decode(&options, HttpResponse::new(body)).events.last()
            {
                responses.push((*protocol, (**response).clone()));
            }
        }
    }
    responses
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (upstream, response) in responses().into_iter().step_by(2) {
        let at = seeds.len();
        let client = Protocol::ALL[at % Protocol::ALL.len()];
        let at = u8::try_from(at % 251).unwrap_or_default();
        let carried = Carrier::new(client, upstream).response(response.clone());
        let request = ChatRequest::new("m").user("Hello").message(carried.into_message());
        seeds.push(input(at, 0, json!(request).to_string()));
        let content: Vec<Value> = match response.clone().into_message().content {
            Some(content) => json!(content).as_array().cloned().unwrap_or_default(),
            None => Vec::new(),
        };
        let entries = content.iter().enumerate();
        let entries =
            entries.map(|(n, part)| json!({"n": n, "c": n / 2, "s": n % 2 == 1, "p": part}));
        seeds.push(input(at, 1, Value::Array(entries.collect()).to_string()));
        seeds.push(input(at, 2, json!(response).to_string()));
    }
    seeds
}

pub(super) fn check(bytes: &[u8]) {
    let Some((at, how, json)) = parts(bytes) else { return };
    match how % 3 {
        0 => {
            if let Ok(request) = serde_json::from_slice::<ChatRequest>(json) {
                restores(at, &request);
            }
        }
        1 => {
            let capsule = forge(json);
            for message in holders(&capsule) {
                let request = json!({"model": "m", "messages": [
                    {"role": "user", "content": "Hello"},
                    message,
                    {"role": "tool", "tool_call_id": format!("call_1-{capsule}"), "content": "done"},
                ]});
                let request: ChatRequest = serde_json::from_value(request).unwrap();
                restores(at, &request);
            }
        }
        _ => {
            let Ok(response) = serde_json::from_slice::<ChatResponse>(json) else { return };
            let protocol = |at: u8| Protocol::ALL[usize::from(at) % Protocol::ALL.len()];
            let carrier = Carrier::new(protocol(at), protocol(at / 4));
            let carried = carrier.response(response.clone());
            assert_eq!(carried.choices.len(), response.choices.len());
            if !carried.choices.is_empty() {
                let request = ChatRequest::new("m").user("Hello").message(carried.into_message());
                restores(at, &request);
            }
        }
    }
}

/// What is restored is the same each time, belongs to messages of the assistant, and can be sent.
fn restores(at: u8, request: &ChatRequest) {
    let mut restored = request.clone();
    let warnings = restore(&mut restored);
    assert!(warnings.iter().all(|warning| !warning.message.is_empty()));
    let mut again = request.clone();
    assert_eq!(restore(&mut again), warnings);
    assert_eq!(again, restored);
    assert_eq!(restored.messages.len(), request.messages.len());
    for (before, after) in request.messages.iter().zip(&restored.messages) {
        assert_eq!(before.role, after.role);
        match before.role {
            Role::Assistant => {}
            Role::Tool => assert_eq!(before.content, after.content),
            _ => assert_eq!(before, after),
        }
    }
    let mut rest = restored.clone();
    rest.messages.clone_from(&request.messages);
    assert_eq!(&rest, request, "only messages are restored");
    let size = |request: &ChatRequest| serde_json::to_string(request).unwrap().len();
    assert!(size(&restored) <= 4 * (size(request) + MAX_RESTORED_BYTES));
    let targets = targets();
    let (provider, protocol) = &targets[usize::from(at) % targets.len()];
    restored.model = format!("{provider}/some-model");
    restored.protocol = Some(*protocol);
    encodes(client(), &restored, true);
}

/// Returns messages that have a capsule in each of the places where clients send one back.
fn holders(capsule: &str) -> [Value; 4] {
    let message = |part: Value| {
        let call = json!({"type": "tool_call", "id": "call_1", "name": "f", "arguments": "{}"});
        json!({"role": "assistant", "content": [part, {"type": "text", "text": "Hi"}, call]})
    };
    let state = json!({"provider": "google", "data": {"thoughtSignature": capsule}});
    [
        message(json!({"type": "thinking", "thinking": "", "signature": capsule})),
        message(json!({"type": "redacted_thinking", "data": capsule})),
        message(json!({"type": "text", "text": "", "providerState": state})),
        message(
            json!({"type": "tool_call", "id": format!("call_0-{capsule}"), "name": "f", "arguments": "{}"}),
        ),
    ]
}

/// Returns a capsule with this content, as anyone can make one: its checksum is not a signature.
fn forge(json: &[u8]) -> String {
    let hash = json.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut packed = URL_SAFE_NO_PAD.decode("agentlp1").unwrap();
    packed.extend_from_slice(&hash.to_le_bytes()[..6]);
    // Blocks that are not compressed.
    let mut chunks = json.chunks(0xffff).peekable();
    while let Some(chunk) = chunks.next() {
        let length = u16::try_from(chunk.len()).unwrap_or(u16::MAX);
        packed.push(u8::from(chunks.peek().is_none()));
        packed.extend_from_slice(&length.to_le_bytes());
        packed.extend_from_slice(&(!length).to_le_bytes());
        packed.extend_from_slice(chunk);
    }
    URL_SAFE_NO_PAD.encode(packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forged_capsule_is_opened() {
        let entries = br#"[{"p":{"type":"thinking","thinking":"Hm.","signature":"forged"}}]"#;
        for message in holders(&forge(entries)) {
            let request = json!({"model": "m", "messages": [message]});
            let mut request: ChatRequest = serde_json::from_value(request).unwrap();
            assert_eq!(restore(&mut request), []);
            assert!(json!(request).to_string().contains("forged"), "{request:?}");
        }
    }
}
