//! Laws over real traffic: recorded requests are read and sent on, and recorded responses are written and read again.

use std::path::PathBuf;

use agentloop::inspect::{self, DecodeOptions, HttpResponse};
use agentloop::protocol::serve::{StreamWriter, read_chat, write_body_for};
use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, ChatResponse, ChatStreamEvent, Choice, Protocol, Usage,
};
use serde_json::{Value, json};

use crate::recordings::corpus::{Recording, recordings};
use crate::specs::gemini;
use crate::specs::spec::Spec;
use crate::support::now;

const OWN: [(Protocol, &str, &str); 2] = [
    (Protocol::OpenAiChat, "openai-chat", "messages"),
    (Protocol::OpenAiResponses, "openai-responses", "input"),
];

/// The recorded requests of a wire that their provider took; `None` without the recordings.
fn requests(wire: &str) -> Option<Vec<(String, Value)>> {
    let found = recordings(wire)?;
    let mut requests = Vec::new();
    for recording in found.iter().filter(|recording| recording.is_answer()) {
        let path: PathBuf = recording.folder.join("request.json");
        let Ok(bytes) = std::fs::read(path) else { continue };
        requests.push((recording.id.clone(), serde_json::from_slice(&bytes).unwrap()));
    }
    Some(requests)
}

/// Requests that cannot be read, with the reason.
const REFUSED: [(&str, &str); 2] = [
    ("previous_response_id", "only the provider has the conversation"),
    ("item_reference", "only the provider has the item"),
];

fn is_refused(body: &Value) -> bool {
    let text = body.to_string();
    let has = |name: &str| text.contains(&format!("\"{name}\""));
    REFUSED.iter().any(|(name, _)| has(name)) && !body["previous_response_id"].is_null()
        || has("item_reference")
}

#[test]
fn every_recorded_request_is_read() {
    for (protocol, wire, _) in OWN {
        let Some(requests) = requests(wire) else {
            println!("skipped: there is no folder of recordings beside the checkout");
            return;
        };
        assert!(requests.len() > 50, "{wire}: {}", requests.len());
        let mut failures = Vec::new();
        for (id, body) in &requests {
            let read = read_chat(protocol, "/v1", body.to_string().as_bytes());
            match (read, is_refused(body)) {
                (Ok(_), false) | (Err(_), true) => {}
                (Ok(_), true) => failures.push(format!("{id}: is read")),
                (Err(error), false) => failures.push(format!("{id}: {error}")),
            }
        }
        println!("{} requests of {wire}", requests.len());
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}

/// Appending to a conversation only appends to the messages that are read.
#[test]
fn a_longer_conversation_begins_with_the_shorter_one() {
    for (protocol, wire, list) in OWN {
        let Some(requests) = requests(wire) else { return };
        for (id, mut body) in requests.into_iter().filter(|(_, body)| !is_refused(body)) {
            let Some(all) = body[list].as_array().cloned() else { continue };
            let mut read = |many: usize| -> Vec<ChatMessage> {
                body[list] = json!(all[..many]);
                read_chat(protocol, "/v1", body.to_string().as_bytes()).unwrap().request.messages
            };
            let whole = read(all.len());
            for many in 0..all.len() {
                let part = read(many);
                let (last, before) = match part.split_last() {
                    Some(split) => split,
                    None => continue,
                };
                assert_eq!(before, &whole[..before.len()], "{id} up to {many}");
                let same = &whole[before.len()];
                // A message of the assistant may still grow by parts.
                let grows = same.parts().starts_with(last.parts()) && same.role == last.role;
                assert!(same == last || (grows && !last.parts().is_empty()), "{id} up to {many}");
            }
        }
    }
}

/// What a request becomes for a provider of each protocol matches the description of that provider's API.
#[test]
fn every_recorded_request_can_be_sent_to_a_provider_of_every_protocol() {
    const TARGETS: [(&str, Protocol, &str, &str); 3] = [
        ("openai/gpt-4.1", Protocol::OpenAiChat, "openai.json", "CreateChatCompletionRequest"),
        ("openai/gpt-4.1", Protocol::OpenAiResponses, "openai.json", "CreateResponse"),
        (
            "anthropic/claude-sonnet-4-5",
            Protocol::Anthropic,
            "anthropic.yaml",
            "CreateMessageParams",
        ),
    ];
    let ai = AgentLoop::from_env();
    let mut failures = Vec::new();
    for (model, target, file, schema) in TARGETS {
        let Some(spec) = Spec::load(file, schema) else {
            println!("skipped: there is no folder of API descriptions beside the checkout");
            return;
        };
        for (protocol, wire, _) in OWN {
            let Some(requests) = requests(wire) else { return };
            for (id, body) in requests.into_iter().filter(|(_, body)| !is_refused(body)) {
                let served = read_chat(protocol, "/v1", body.to_string().as_bytes()).unwrap();
                let mut request: ChatRequest = served.request;
                request.model = model.to_owned();
                // A gateway turns these into warnings.
                request.extra_body.clear();
                request.protocol = Some(target);
                request.lenient = true;
                // Audio in Responses and some formats of it are newer than the descriptions.
                if request.messages.is_empty() || body.to_string().contains("input_audio") {
                    continue;
                }
                match inspect::encode(&ai, &request, served.stream) {
                    // Anthropic takes instructions only beside messages.
                    Err(error) if error.message().contains("has no messages") => {}
                    Err(error) => failures.push(format!("{id} to {target:?}: {error}")),
                    Ok(encoded) => {
                        let mut body: Value = serde_json::from_str(encoded.body.get()).unwrap();
                        // Both are newer than the description.
                        body.as_object_mut().unwrap().remove("output_config");
                        if target == Protocol::Anthropic {
                            let tools = body.get_mut("tools").and_then(Value::as_array_mut);
                            let tools = tools.into_iter().flatten();
                            tools.for_each(|tool| {
                                drop(tool.as_object_mut().unwrap().remove("strict"));
                            });
                        }
                        // This tool of the provider is newer too.
                        let is_known = |error: &String| !error.contains("code_execution_2025");
                        for error in spec.errors(&body).into_iter().filter(is_known) {
                            failures.push(format!("{id} to {target:?}: {error}"));
                        }
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_recorded_request_can_be_sent_to_gemini() {
    let Some(spec) = Spec::load("gemini.json", "GenerateContentRequest") else {
        println!("skipped: there is no folder of API descriptions beside the checkout");
        return;
    };
    let ai = AgentLoop::from_env();
    let mut failures = Vec::new();
    for (protocol, wire, _) in OWN {
        let Some(requests) = requests(wire) else { return };
        for (id, body) in requests.into_iter().filter(|(_, body)| !is_refused(body)) {
            let served = read_chat(protocol, "/v1", body.to_string().as_bytes()).unwrap();
            let mut request: ChatRequest = served.request;
            request.model = "google/gemini-2.5-flash".to_owned();
            request.extra_body.clear();
            request.lenient = true;
            match inspect::encode(&ai, &request, served.stream) {
                // A conversation needs more than instructions.
                Err(error) if error.message().contains("the request has ") => {}
                Err(error) => failures.push(format!("{id}: {error}")),
                Ok(encoded) => {
                    let mut body: Value = serde_json::from_str(encoded.body.get()).unwrap();
                    gemini::as_described(&mut body);
                    failures
                        .extend(spec.errors(&body).iter().map(|error| format!("{id}: {error}")));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
}

/// Reads what a server wrote.
fn reread(protocol: Protocol, stream: bool, bytes: Vec<u8>) -> ChatResponse {
    let mut options = DecodeOptions::new("openai");
    (options.stream, options.protocol) = (stream, Some(protocol));
    let mut events =
        inspect::decode(crate::recordings::corpus::client(), &options, HttpResponse::new(bytes))
            .unwrap();
    let mut last = None;
    while let Some(event) = now(events.next()) {
        last = Some(event.unwrap());
    }
    match last {
        Some(ChatStreamEvent::MessageDone { response }) => *response,
        other => panic!("ends with {other:?}"),
    }
}

/// What a response says, as far as the protocol can say it.
#[derive(Debug, PartialEq)]
struct Said {
    text: String,
    thinking: String,
    calls: Vec<(String, String, String)>,
    finish: String,
    urls: Vec<String>,
    tokens: [Option<u64>; 4],
}

fn said(response: &ChatResponse, protocol: Protocol) -> Said {
    let nothing = Choice::default();
    let choice = response.choices.first().unwrap_or(&nothing);
    let Usage { prompt_tokens, completion_tokens, details, .. } = &response.usage;
    let counts =
        [*prompt_tokens, *completion_tokens, details.cached_tokens, details.reasoning_tokens];
    Said {
        text: choice.text(),
        // Both protocols have one text of thinking, whose sections they join in their own way.
        thinking: choice.thinking().unwrap_or_default().split_whitespace().collect(),
        calls: choice
            .tool_calls()
            .map(|call| {
                // An empty object stands for no arguments.
                let arguments =
                    if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
                (call.id.clone(), call.name.clone(), arguments.to_owned())
            })
            .collect(),
        finish: finish(choice, protocol).to_owned(),
        urls: choice
            .citations()
            .filter_map(|citation| match citation {
                agentloop::Citation::Url(url) => Some(url.url.clone()),
                _ => None,
            })
            .collect(),
        // A number that was not reported is zero where the protocol requires it.
        tokens: counts.map(|count| count.filter(|count| *count > 0)),
    }
}

/// The finish reason that a client of the protocol sees.
fn finish(choice: &Choice, protocol: Protocol) -> &str {
    use agentloop::FinishReason::{Error, Other, Stop, ToolCalls};
    let has_calls = choice.tool_calls().next().is_some();
    match (&choice.finish_reason, protocol) {
        // The protocol has no word for it, and the decoder completes it.
        (Other(_) | Stop | ToolCalls, _) => {
            if has_calls {
                "tool_calls"
            } else {
                "stop"
            }
        }
        (Error, Protocol::OpenAiChat) => "length",
        (other, _) => other.as_str(),
    }
}

/// What is not read as it was written:
///
/// - Responses reports a failed response as an error,
/// - thinking in tags, which one provider wrote as text, is thinking for another.
fn is_exception(protocol: Protocol, response: &ChatResponse) -> bool {
    let Some(choice) = response.choices.first() else { return true };
    let is_failed = choice.finish_reason == agentloop::FinishReason::Error;
    (protocol == Protocol::OpenAiResponses && is_failed) || choice.text().contains("<think>")
}

fn every_answer(check: impl Fn(&Recording, &ChatResponse) -> Result<(), String>) {
    let mut failures = Vec::new();
    let mut count = 0;
    for wire in crate::recordings::corpus::CHAT_WIRES {
        let Some(found) = recordings(wire) else {
            println!("skipped: there is no folder of recordings beside the checkout");
            return;
        };
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

/// Writes what a server would send to the folder that `AGENTLOOP_SERVED` names, for other programs to check.
fn keep(protocol: Protocol, recording: &Recording, body: &[u8], stream: &[u8]) {
    let Some(folder) = std::env::var_os("AGENTLOOP_SERVED").map(PathBuf::from) else { return };
    let name = if protocol == Protocol::OpenAiChat { "chat" } else { "resp" };
    for (form, bytes) in [("body", body), ("stream", stream)] {
        std::fs::write(folder.join(format!("{name}{form}-{}", recording.id)), bytes).unwrap();
    }
}

fn reply(protocol: Protocol) -> agentloop::protocol::serve::Reply {
    let body = json!({"model": "m", "messages": [], "input": []});
    read_chat(protocol, "/v1", body.to_string().as_bytes()).unwrap().reply
}

#[test]
fn every_recorded_response_is_read_again_as_it_was_written() {
    for (protocol, ..) in OWN {
        let reply = reply(protocol);
        every_answer(|recording, response| {
            if is_exception(protocol, response) {
                return Ok(());
            }
            let body = write_body_for(protocol, response, &reply);
            let mut writer = StreamWriter::for_reply(protocol, true, &reply);
            let stream: Vec<u8> =
                response.unfold().iter().flat_map(|event| writer.write(event)).collect();
            keep(protocol, recording, &body, &stream);
            let expected = said(response, protocol);
            for (stream, bytes) in [(false, body.to_vec()), (true, stream)] {
                let read = reread(protocol, stream, bytes);
                let found = said(&read, protocol);
                if found != expected {
                    return Err(format!("stream {stream}:\n  {found:?}\n  {expected:?}"));
                }
            }
            Ok(())
        });
    }
}

/// The events of a real stream say the same as its complete response.
#[test]
fn a_stream_and_a_complete_response_are_read_as_the_same() {
    for (protocol, ..) in OWN {
        let reply = reply(protocol);
        every_answer(|recording, response| {
            if is_exception(protocol, response) {
                return Ok(());
            }
            let body = write_body_for(protocol, response, &reply).to_vec();
            let mut writer = StreamWriter::for_reply(protocol, true, &reply);
            let events = recording.decode().events;
            let stream: Vec<u8> = events.iter().flat_map(|event| writer.write(event)).collect();
            let (whole, streamed) = (reread(protocol, false, body), reread(protocol, true, stream));
            let (mut whole, mut streamed) = (said(&whole, protocol), said(&streamed, protocol));
            // A source that arrives after its text was closed is only in the complete response at the end.
            let is_late =
                |event: &ChatStreamEvent| matches!(event, ChatStreamEvent::ContentCitation { .. });
            if protocol == Protocol::OpenAiResponses && events.iter().any(is_late) {
                (whole.urls, streamed.urls) = (Vec::new(), Vec::new());
            }
            if whole == streamed { Ok(()) } else { Err(format!("\n  {whole:?}\n  {streamed:?}")) }
        });
    }
}
