//! Laws over real traffic for Anthropic's and Gemini's API: recorded requests are read and sent on, and recorded responses of
//! every API are written and read again.

use agentloop::inspect::{self, DecodeOptions, HttpResponse};
use agentloop::protocol::serve::{StreamWriter, read_chat, write_body};
use agentloop::{
    AgentLoop, ChatMessage, ChatResponse, ChatStreamEvent, Choice, Citation, ErrorKind,
    FinishReason, Protocol, ResponsePart, Usage,
};
use serde_json::{Value, json};

use crate::recordings::corpus::{CHAT_WIRES, Recording, client, recordings};
use crate::specs::gemini;
use crate::specs::spec::Spec;
use crate::support::now;

/// The protocols, their recordings, and the list of messages in their requests.
const OWN: [(Protocol, &str, &str); 2] = [
    (Protocol::Anthropic, "anthropic-messages", "messages"),
    (Protocol::Gemini, "gemini", "contents"),
];

/// The recorded requests of a wire that their provider took: name, path, body. `None` without the recordings.
fn requests(wire: &str) -> Option<Vec<(String, String, Value)>> {
    let mut requests = Vec::new();
    for recording in recordings(wire)?.iter().filter(|recording| recording.is_answer()) {
        let Ok(bytes) = std::fs::read(recording.folder.join("request.json")) else { continue };
        let meta = std::fs::read(recording.folder.join("meta.json")).unwrap();
        let meta: Value = serde_json::from_slice(&meta).unwrap();
        let path = meta["endpoint"].as_str().unwrap_or("/v1beta/models/m:generateContent");
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        requests.push((recording.id.clone(), path.to_owned(), body));
    }
    Some(requests)
}

fn skipped(what: &str) {
    println!("skipped: there is no folder of {what} beside the checkout");
}

#[test]
fn every_recorded_request_is_read() {
    for (protocol, wire, list) in OWN {
        let Some(requests) = requests(wire) else { return skipped("recordings") };
        assert!(requests.len() > 50, "{wire}: {}", requests.len());
        let mut failures = Vec::new();
        for (id, path, body) in &requests {
            match read_chat(protocol, path, body.to_string().as_bytes()) {
                Ok(served) => {
                    let sent = body[list].as_array().map_or(1, Vec::len);
                    if served.request.messages.len() < sent {
                        failures.push(format!("{id}: {} messages", served.request.messages.len()));
                    }
                }
                Err(error) => failures.push(format!("{id}: {error}")),
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
        let Some(requests) = requests(wire) else { return skipped("recordings") };
        for (id, path, mut body) in requests {
            let Some(all) = body[list].as_array().cloned() else { continue };
            let mut read = |many: usize| -> Vec<ChatMessage> {
                body[list] = json!(all[..many]);
                read_chat(protocol, &path, body.to_string().as_bytes()).unwrap().request.messages
            };
            let whole = read(all.len());
            for many in 0..all.len() {
                let part = read(many);
                let Some((last, before)) = part.split_last() else { continue };
                assert!(whole.starts_with(before), "{id} up to {many}");
                // A message of the assistant may still grow by parts.
                let same = &whole[before.len()];
                let grows = same.role == last.role && same.parts().starts_with(last.parts());
                assert!(same == last || grows, "{id} up to {many}");
            }
        }
    }
}

/// Places in which a description is behind its API.
const NEWER: [(Protocol, &str, &str); 3] = [
    (Protocol::Anthropic, r#""type":"file","file_id""#, "files are newer; in recorded traffic"),
    (Protocol::Anthropic, r#""strict":true"#, "newer; in recorded traffic"),
    (Protocol::Anthropic, r#""type":"mcp_toolset""#, "newer; in recorded traffic"),
];

fn is_newer(target: Protocol, error: &str) -> bool {
    let listed = NEWER.iter().any(|(of, text, _)| *of == target && error.contains(text));
    // Tools of Anthropic have the date of their version, and most are newer than the description.
    let dated = error.starts_with("/tools/") && error.contains("_202");
    listed || (target == Protocol::Anthropic && dated)
}

/// What a request becomes for a provider of each protocol matches the description of that provider's API.
#[test]
fn every_recorded_request_can_be_sent_to_a_provider_of_every_protocol() {
    const TARGETS: [(&str, Protocol, &str, &str); 4] = [
        ("openai/gpt-4.1", Protocol::OpenAiChat, "openai.json", "CreateChatCompletionRequest"),
        ("openai/gpt-4.1", Protocol::OpenAiResponses, "openai.json", "CreateResponse"),
        (
            "anthropic/claude-sonnet-4-5",
            Protocol::Anthropic,
            "anthropic.yaml",
            "CreateMessageParams",
        ),
        ("google/gemini-2.5-flash", Protocol::Gemini, "gemini.json", "GenerateContentRequest"),
    ];
    let ai = AgentLoop::from_env();
    let mut failures = Vec::new();
    for (model, target, file, schema) in TARGETS {
        let Some(spec) = Spec::load(file, schema) else { return skipped("API descriptions") };
        for (protocol, wire, _) in OWN {
            let Some(requests) = requests(wire) else { return skipped("recordings") };
            for (id, path, body) in requests {
                let served = read_chat(protocol, &path, body.to_string().as_bytes()).unwrap();
                let mut request = served.request;
                request.model = model.to_owned();
                // A gateway turns these into warnings.
                request.extra_body.clear();
                request.protocol = Some(target);
                request.lenient = true;
                match inspect::encode(&ai, &request, served.stream) {
                    // One request has a text of nothing, which no other API takes.
                    Err(error) if request.messages.iter().all(|it| it.text().is_empty()) => {
                        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{id}");
                    }
                    Err(error) => failures.push(format!("{id} to {target:?}: {error}")),
                    Ok(encoded) => {
                        let mut body: Value = serde_json::from_str(encoded.body.get()).unwrap();
                        match target {
                            Protocol::Gemini => gemini::as_described(&mut body),
                            _ => drop(body.as_object_mut().unwrap().remove("output_config")),
                        }
                        for error in spec.errors(&body) {
                            if !is_newer(target, &error) {
                                failures.push(format!("{id} to {target:?}: {error}"));
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
}

/// Reads what a server wrote.
fn reread(protocol: Protocol, stream: bool, bytes: Vec<u8>) -> Result<ChatResponse, String> {
    let provider = if protocol == Protocol::Gemini { "google" } else { "anthropic" };
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

/// What a response says, as far as the protocol can say it.
#[derive(Debug, PartialEq)]
struct Said {
    text: String,
    thinking: Vec<(String, Option<String>)>,
    redacted: Vec<String>,
    calls: Vec<(String, String, Value)>,
    finish: String,
    citations: Vec<(String, Option<String>)>,
    tokens: [u64; 4],
}

fn said(response: &ChatResponse, protocol: Protocol) -> Said {
    let nothing = Choice::default();
    let choice = response.choices.first().unwrap_or(&nothing);
    let is_anthropic = protocol == Protocol::Anthropic;
    let (mut thinking, mut redacted, mut text) = (Vec::new(), Vec::new(), String::new());
    for part in &choice.content {
        match part {
            ResponsePart::Text(part) => text.push_str(&part.text),
            ResponsePart::Thinking(part) => {
                // Gemini has its signatures in the state of parts.
                let signature = part.signature.clone().filter(|_| is_anthropic);
                thinking.push((part.thinking.clone(), signature));
            }
            ResponsePart::RedactedThinking(part) if is_anthropic => {
                redacted.push(part.data.clone());
            }
            // The wire has no audio, but text.
            ResponsePart::Audio(part) if is_anthropic => {
                text.push_str(part.transcript.as_deref().unwrap_or_default());
            }
            _ => {}
        }
    }
    if !is_anthropic {
        // In a stream, thoughts without anything between them are one, and empty ones are nothing.
        let all: String = thinking.into_iter().map(|(text, _)| text).collect();
        thinking = if all.is_empty() { Vec::new() } else { vec![(all, None)] };
    }
    let Usage { prompt_tokens, completion_tokens, details, .. } = &response.usage;
    let counts =
        [*prompt_tokens, *completion_tokens, details.cached_tokens, details.reasoning_tokens];
    Said {
        text,
        thinking,
        redacted,
        calls: choice
            .tool_calls()
            .map(|call| {
                let arguments = match call.parse::<Value>() {
                    Ok(Value::Object(arguments)) => Value::Object(arguments),
                    // The wire has only objects, and names what is none.
                    Ok(other) => json!({ if is_anthropic { "_raw" } else { "arguments" }: other }),
                    Err(_) => {
                        json!({ if is_anthropic { "_raw" } else { "arguments" }: call.arguments })
                    }
                };
                (call.id.clone(), call.name.clone(), arguments)
            })
            .collect(),
        finish: finish(choice).to_owned(),
        citations: choice.citations().filter_map(cited).collect(),
        // A number that was not reported is zero where the protocol requires it.
        tokens: counts.map(Option::unwrap_or_default),
    }
}

fn cited(citation: &Citation) -> Option<(String, Option<String>)> {
    match citation {
        Citation::Url(url) => {
            Some((url.url.clone(), url.title.clone().filter(|it| !it.is_empty())))
        }
        _ => None,
    }
}

/// The finish reason that a client sees: the protocols have no words for the others.
fn finish(choice: &Choice) -> &str {
    let has_calls = choice.tool_calls().next().is_some();
    match &choice.finish_reason {
        FinishReason::Other(_) | FinishReason::Stop | FinishReason::ToolCalls if has_calls => {
            "tool_calls"
        }
        FinishReason::Other(_) | FinishReason::Stop | FinishReason::ToolCalls => "stop",
        other => other.as_str(),
    }
}

fn every_answer(check: impl Fn(&Recording, &ChatResponse) -> Result<(), String>) {
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

fn written(protocol: Protocol, events: &[ChatStreamEvent]) -> Vec<u8> {
    let mut writer = StreamWriter::new(protocol, true);
    events.iter().flat_map(|event| writer.write(event)).collect()
}

fn is_failed(response: &ChatResponse) -> bool {
    let failed = |choice: &Choice| choice.finish_reason == FinishReason::Error;
    response.choices.first().is_none_or(failed)
}

#[test]
fn every_recorded_response_is_read_again_as_it_was_written() {
    for (protocol, ..) in OWN {
        every_answer(|_, response| {
            let expected = said(response, protocol);
            let body = write_body(protocol, response).to_vec();
            let stream = written(protocol, &response.unfold());
            for (stream, bytes) in [(false, body), (true, stream)] {
                let read = match reread(protocol, stream, bytes) {
                    Ok(read) => read,
                    // A stream of Anthropic's reports a failed response as an error.
                    Err(_) if is_failed(response) => continue,
                    Err(error) => return Err(error),
                };
                let found = said(&read, protocol);
                if found != expected {
                    return Err(format!(
                        "{protocol:?}, stream {stream}:\n  {found:?}\n  {expected:?}"
                    ));
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
        every_answer(|recording, response| {
            if is_failed(response) {
                return Ok(());
            }
            let whole = reread(protocol, false, write_body(protocol, response).to_vec())?;
            let events = recording.decode().events;
            let streamed = reread(protocol, true, written(protocol, &events))?;
            let (whole, mut streamed) = (said(&whole, protocol), said(&streamed, protocol));
            // Sources that arrive after their block was closed are written into the next text, if there is one.
            let is_late =
                |event: &ChatStreamEvent| matches!(event, ChatStreamEvent::ContentCitation { .. });
            if protocol == Protocol::Anthropic && events.iter().any(is_late) {
                streamed.citations.clone_from(&whole.citations);
            }
            if whole == streamed {
                Ok(())
            } else {
                Err(format!("{protocol:?}\n  {whole:?}\n  {streamed:?}"))
            }
        });
    }
}
