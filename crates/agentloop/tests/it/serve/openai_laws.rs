//! Laws over real traffic: recorded requests are read and sent on, and recorded responses are written and read again.

use std::path::PathBuf;

use agentloop::protocol::serve::{StreamWriter, read_chat, write_body_for};
use agentloop::{ChatResponse, ChatStreamEvent, Choice, Protocol, Usage};
use serde_json::{Value, json};

use super::recorded::{
    Own, begins_with_the_shorter_one, can_be_sent_everywhere, every_answer, every_request, reread,
};
use crate::recordings::corpus::Recording;

const OWN: [Own; 2] = [
    (Protocol::OpenAiChat, "openai-chat", "messages"),
    (Protocol::OpenAiResponses, "openai-responses", "input"),
];

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
    every_request(&OWN, 51, |(protocol, ..), request| {
        match (request.read(*protocol), is_refused(&request.body)) {
            (Ok(_), false) | (Err(_), true) => Ok(()),
            (Ok(_), true) => Err("is read".to_owned()),
            (Err(error), false) => Err(error.to_string()),
        }
    });
}

#[test]
fn a_longer_conversation_begins_with_the_shorter_one() {
    every_request(&OWN, 51, |own, request| {
        let is_refused = is_refused(&request.body);
        if is_refused { Ok(()) } else { begins_with_the_shorter_one(own, request) }
    });
}

#[test]
fn every_recorded_request_can_be_sent_to_a_provider_of_every_protocol() {
    can_be_sent_everywhere(
        &OWN,
        |request, target| {
            // Audio in Responses and some formats of it are newer than the descriptions.
            let is_audio = request.body.to_string().contains("input_audio");
            !is_refused(&request.body) && (target == Protocol::Gemini || !is_audio)
        },
        |request, error, target| {
            // Anthropic takes instructions only beside messages, and Gemini more than instructions.
            let is_gemini = target == Protocol::Gemini;
            let what = if is_gemini { "the request has " } else { "has no messages" };
            error.message().contains(what) || (!is_gemini && request.messages.is_empty())
        },
        // This tool of the provider is newer than the description.
        |_, error| error.contains("code_execution_2025"),
    );
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
                let read = reread(protocol, stream, bytes)?;
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
            let whole = reread(protocol, false, body)?;
            let streamed = reread(protocol, true, stream)?;
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
