//! Requests as JSON, as on the command's standard input, to every provider in every protocol that it speaks.

use agentloop::inspect::{self, DecodeOptions, HttpResponse};
use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, ChatStreamEvent, ErrorKind, Protocol, Provider,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::laws::{client, decode, rows, speakers};
use crate::seeds::{fixtures, input, parts};

/// Every provider, in every protocol that it speaks.
pub(super) fn targets() -> Vec<(String, Protocol)> {
    let spoken = |row: &Provider| -> Vec<(String, Protocol)> {
        row.protocols().map(|protocol| (row.name.to_string(), protocol)).collect()
    };
    rows().iter().flat_map(spoken).collect()
}

/// A request that uses everything that there is.
pub(crate) fn everything() -> Value {
    serde_json::from_str(include_str!("everything.json")).unwrap()
}

/// A conversation in which the answer of each fixture was given.
pub(super) fn histories() -> Vec<Value> {
    let mut histories = Vec::new();
    for protocol in Protocol::ALL {
        let mut options = DecodeOptions::new(speakers(*protocol)[0]);
        options.protocol = Some(*protocol);
        for (stream, bytes) in fixtures(*protocol).into_iter().filter(|(stream, _)| !stream) {
            options.stream = stream;
            let decoded = decode(&options, HttpResponse::new(bytes));
            let Some(ChatStreamEvent::MessageDone { response }) = decoded.events.last() else {
                continue;
            };
            let mut request = ChatRequest::new("openai/some-model").user("Hello");
            request.messages.push(response.clone().into_message());
            for call in response.tool_calls() {
                request.messages.push(ChatMessage::tool(call.id.clone(), "done"));
            }
            request.messages.push(ChatMessage::user("Go on"));
            histories.push(json!(request));
        }
    }
    histories
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let plain = json!({"model": "m", "messages": [{"role": "user", "content": "Hello"}]});
    let mut requests = histories();
    requests.extend([plain, everything()]);
    let mut seeds = Vec::new();
    for (at, request) in requests.iter().enumerate() {
        let at = u8::try_from(at % 251).unwrap_or_default();
        seeds.push(input(at, at % 2, request.to_string()));
    }
    for at in 0..targets().len() {
        seeds.push(input(u8::try_from(at).unwrap_or_default(), 1, everything().to_string()));
    }
    seeds
}

pub(super) fn check(bytes: &[u8]) {
    let Some((at, how, json)) = parts(bytes) else { return };
    let Ok(mut request) = serde_json::from_slice::<ChatRequest>(json) else { return };
    let stored = serde_json::to_string(&request).unwrap();
    assert_eq!(serde_json::from_str::<ChatRequest>(&stored).unwrap(), request);
    let targets = targets();
    let (provider, protocol) = &targets[usize::from(at) % targets.len()];
    if how & 2 == 0 {
        let model = request.model.rsplit('/').next().unwrap_or_default().to_owned();
        request.model = format!("{provider}/{model}");
        request.protocol = Some(*protocol);
    }
    encodes(client(), &request, how & 1 == 1);
}

/// What is sent is JSON and the same each time; or an error says why nothing is.
pub(super) fn encodes(client: &AgentLoop, request: &ChatRequest, stream: bool) {
    let encoded = match inspect::encode(client, request, stream) {
        Ok(encoded) => encoded,
        Err(error) => {
            assert!(!error.message().is_empty());
            assert!(
                !matches!(error.kind(), ErrorKind::Protocol | ErrorKind::Connection),
                "{error}"
            );
            return;
        }
    };
    // As deep as it is: what nests deep goes back to its provider unchanged.
    serde_json::from_str::<&RawValue>(encoded.body.get()).unwrap();
    let again = inspect::encode(client, request, stream).unwrap();
    assert_eq!(encoded.body.get(), again.body.get());
    assert_eq!(encoded.url, again.url);
    assert!(encoded.warnings.iter().all(|warning| !warning.message.is_empty()));
}
