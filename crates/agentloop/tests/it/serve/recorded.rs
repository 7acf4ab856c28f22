//! What the laws over real traffic have in common: recorded requests are read and sent on, and recorded responses of every API are written
//! and read again.

use agentloop::inspect::{self, DecodeOptions, HttpResponse};
use agentloop::protocol::serve::{ServedChat, read_chat};
use agentloop::{AgentLoop, ChatRequest, ChatResponse, ChatStreamEvent, Error, Protocol, Result};
use serde_json::{Value, json};

use crate::recordings::corpus::{CHAT_WIRES, Recording, client, recordings};
use crate::specs::gemini;
use crate::specs::spec::Spec;
use crate::support::now;

/// A protocol, the wire of its recordings, and the list of messages in its requests.
pub(super) type Own = (Protocol, &'static str, &'static str);

/// A recorded request that its provider took.
pub(super) struct Recorded {
    pub(super) id: String,
    path: String,
    pub(super) body: Value,
}

impl Recorded {
    pub(super) fn read(&self, protocol: Protocol) -> Result<ServedChat> {
        read_chat(protocol, &self.path, self.body.to_string().as_bytes())
    }
}

pub(super) fn skipped(what: &str) {
    println!("skipped: there is no folder of {what} beside the checkout");
}

/// The recorded requests of a wire; `None` without the recordings.
pub(super) fn requests(wire: &str) -> Option<Vec<Recorded>> {
    let mut requests = Vec::new();
    for recording in recordings(wire)?.iter().filter(|recording| recording.is_answer()) {
        let Ok(bytes) = std::fs::read(recording.folder.join("request.json")) else { continue };
        let meta = std::fs::read(recording.folder.join("meta.json")).unwrap();
        let meta: Value = serde_json::from_slice(&meta).unwrap();
        let path = meta["endpoint"].as_str().unwrap_or("/v1beta/models/m:generateContent");
        let body = serde_json::from_slice(&bytes).unwrap();
        requests.push(Recorded { id: recording.id.clone(), path: path.to_owned(), body });
    }
    Some(requests)
}

/// Checks every recorded request of these protocols, and reports all that fail.
pub(super) fn every_request(
    own: &[Own],
    least: usize,
    check: impl Fn(&Own, &Recorded) -> Result<(), String>,
) {
    for protocol in own {
        let Some(requests) = requests(protocol.1) else { return skipped("recordings") };
        assert!(requests.len() >= least, "{}: {}", protocol.1, requests.len());
        let mut failures = Vec::new();
        for request in &requests {
            let what = check(protocol, request).err();
            failures.extend(what.map(|what| format!("{}: {what}", request.id)));
        }
        println!("{} requests of {}", requests.len(), protocol.1);
        assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
    }
}

/// Appending to a conversation only appends to the messages that are read. A message of the assistant may still grow by parts, where the
/// protocol has them.
pub(super) fn begins_with_the_shorter_one(own: &Own, request: &Recorded) -> Result<(), String> {
    let (protocol, _, list) = *own;
    let all = request.body[list].as_array().cloned().unwrap_or_default();
    let read = |many: usize| {
        let mut body = request.body.clone();
        body[list] = json!(all[..many]);
        read_chat(protocol, &request.path, body.to_string().as_bytes()).unwrap().request.messages
    };
    let has_parts = !matches!(protocol, Protocol::Ollama | Protocol::Cohere);
    let whole = read(all.len());
    for many in 0..all.len() {
        let part = read(many);
        let Some((last, before)) = part.split_last() else { continue };
        let same = &whole[before.len()];
        let begun = has_parts && same.role == last.role && !last.parts().is_empty();
        let grows = begun && same.parts().starts_with(last.parts());
        if !whole.starts_with(before) || (same != last && !grows) {
            return Err(format!("up to {many}"));
        }
    }
    Ok(())
}

/// A provider's model, its protocol, and the description of its API.
pub(super) type Target = (&'static str, Protocol, &'static str, &'static str);

pub(super) const TARGETS: [Target; 4] = [
    ("openai/gpt-4.1", Protocol::OpenAiChat, "openai.json", "CreateChatCompletionRequest"),
    ("openai/gpt-4.1", Protocol::OpenAiResponses, "openai.json", "CreateResponse"),
    ("anthropic/claude-sonnet-4-5", Protocol::Anthropic, "anthropic.yaml", "CreateMessageParams"),
    ("google/gemini-2.5-flash", Protocol::Gemini, "gemini.json", "GenerateContentRequest"),
];

/// Checks that what the requests become for a provider of each protocol matches the description of that provider's API. `may_fail` and
/// `is_newer` are the exceptions: requests that cannot be sent there, and differences from a description that is behind its API.
pub(super) fn can_be_sent_everywhere(
    own: &[Own],
    is_sent: impl Fn(&Recorded, Protocol) -> bool,
    may_fail: impl Fn(&ChatRequest, &Error, Protocol) -> bool,
    is_newer: impl Fn(Protocol, &str) -> bool,
) {
    let ai = AgentLoop::from_env();
    for (model, target, file, schema) in TARGETS {
        let Some(spec) = Spec::load(file, schema) else { return skipped("API descriptions") };
        every_request(own, 1, |own, recorded| {
            if !is_sent(recorded, target) {
                return Ok(());
            }
            let served = recorded.read(own.0).unwrap();
            let mut request = served.request;
            request.model = model.to_owned();
            // A gateway turns these into warnings.
            request.extra_body.clear();
            request.protocol = Some(target);
            request.lenient = true;
            let encoded = match inspect::encode(&ai, &request, served.stream) {
                Err(error) if may_fail(&request, &error, target) => return Ok(()),
                encoded => encoded.map_err(|error| format!("to {target:?}: {error}"))?,
            };
            let mut body: Value = serde_json::from_str(encoded.body.get()).unwrap();
            match target {
                Protocol::Gemini => gemini::as_described(&mut body),
                // It is newer than the descriptions.
                _ => drop(body.as_object_mut().unwrap().remove("output_config")),
            }
            if target == Protocol::Anthropic {
                let tools = body.get_mut("tools").and_then(Value::as_array_mut);
                for tool in tools.into_iter().flatten() {
                    tool.as_object_mut().unwrap().remove("strict");
                }
            }
            let errors = spec.errors(&body).into_iter().filter(|error| !is_newer(target, error));
            let errors: Vec<String> = errors.collect();
            if errors.is_empty() { Ok(()) } else { Err(format!("to {target:?}: {errors:?}")) }
        });
    }
}

/// Checks every recorded response, and reports all that fail.
pub(super) fn every_answer(check: impl Fn(&Recording, &ChatResponse) -> Result<(), String>) {
    let mut failures = Vec::new();
    let mut count = 0;
    for wire in CHAT_WIRES {
        let Some(found) = recordings(wire) else { return skipped("recordings") };
        for recording in found.iter().filter(|recording| recording.is_answer()) {
            let decoded = recording.decode();
            let Ok(response) = decoded.response() else { continue };
            count += 1;
            if let Err(what) = check(recording, response) {
                failures.push(format!("{wire} {}: {what}", recording.id));
            }
        }
    }
    println!("{count} responses");
    assert!(failures.is_empty(), "{} of {count} fail:\n{}", failures.len(), failures.join("\n"));
}

/// Reads what a server wrote.
pub(super) fn reread(
    protocol: Protocol,
    stream: bool,
    bytes: Vec<u8>,
) -> Result<ChatResponse, String> {
    let provider = match protocol {
        Protocol::Gemini => "google",
        Protocol::Anthropic => "anthropic",
        _ => "openai",
    };
    let mut options = DecodeOptions::new(provider);
    (options.stream, options.protocol) = (stream, Some(protocol));
    let answer = HttpResponse::new(bytes);
    let mut events = inspect::decode(client(), &options, answer).map_err(|it| it.to_string())?;
    let mut last = None;
    while let Some(event) = now(events.next()) {
        last = Some(event.map_err(|error| error.to_string())?);
    }
    match last {
        Some(ChatStreamEvent::MessageDone { response }) => Ok(*response),
        other => Err(format!("ends with {other:?}")),
    }
}
