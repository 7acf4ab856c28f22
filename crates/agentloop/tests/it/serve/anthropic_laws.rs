//! Laws over real traffic for Anthropic's and Gemini's API: recorded requests are read and sent on, and recorded responses of
//! every API are written and read again.

use agentloop::protocol::serve::{StreamWriter, write_body};
use agentloop::{
    ChatResponse, ChatStreamEvent, Choice, Citation, ErrorKind, FinishReason, Protocol,
    ResponsePart, Usage,
};
use serde_json::{Value, json};

use super::recorded::{
    Own, begins_with_the_shorter_one, can_be_sent_everywhere, every_answer, every_request, reread,
};

const OWN: [Own; 2] = [
    (Protocol::Anthropic, "anthropic-messages", "messages"),
    (Protocol::Gemini, "gemini", "contents"),
];

#[test]
fn every_recorded_request_is_read() {
    every_request(&OWN, 51, |(protocol, _, list), request| {
        let served = request.read(*protocol).map_err(|error| error.to_string())?;
        let sent = request.body[list].as_array().map_or(1, Vec::len);
        let count = served.request.messages.len();
        if count < sent { Err(format!("{count} messages")) } else { Ok(()) }
    });
}

#[test]
fn a_longer_conversation_begins_with_the_shorter_one() {
    every_request(&OWN, 51, begins_with_the_shorter_one);
}

/// Places in which a description is behind its API.
const NEWER: [(Protocol, &str, &str); 2] = [
    (Protocol::Anthropic, r#""type":"file","file_id""#, "files are newer; in recorded traffic"),
    (Protocol::Anthropic, r#""type":"mcp_toolset""#, "newer; in recorded traffic"),
];

fn is_newer(target: Protocol, error: &str) -> bool {
    let listed = NEWER.iter().any(|(of, text, _)| *of == target && error.contains(text));
    // Tools of Anthropic have the date of their version, and most are newer than the description.
    let dated = error.starts_with("/tools/") && error.contains("_202");
    listed || (target == Protocol::Anthropic && dated)
}

#[test]
fn every_recorded_request_can_be_sent_to_a_provider_of_every_protocol() {
    can_be_sent_everywhere(
        &OWN,
        |_, _| true,
        |request, error, _| {
            // One request has a text of nothing, which no other API takes.
            let is_empty = request.messages.iter().all(|it| it.text().is_empty());
            is_empty && error.kind() == ErrorKind::InvalidRequest
        },
        is_newer,
    );
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
