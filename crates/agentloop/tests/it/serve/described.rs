//! What a server writes for its clients matches the published descriptions of their APIs, for every recorded response of every API.

use std::collections::{BTreeMap, BTreeSet};

use agentloop::protocol::serve::{StreamWriter, read_chat, write_body_for};
use agentloop::{ChatResponse, Protocol};
use serde_json::{Value, json};

use crate::recordings::corpus::{CHAT_WIRES, recordings};
use crate::specs::spec::Spec;

/// A protocol, the file of its description, and the names of a complete response and of an event there.
const APIS: [(Protocol, &str, &str, &str); 5] = [
    (
        Protocol::OpenAiChat,
        "openai.json",
        "CreateChatCompletionResponse",
        "CreateChatCompletionStreamResponse",
    ),
    (Protocol::OpenAiResponses, "openai.json", "Response", "ResponseStreamEvent"),
    (Protocol::Anthropic, "anthropic.yaml", "Message", "MessageStreamEvent"),
    (Protocol::Gemini, "gemini.json", "GenerateContentResponse", "GenerateContentResponse"),
    (Protocol::Ollama, "ollama.json", "ChatResponse", "ChatStreamEvent"),
];

/// What differs from a description, and why: a protocol, and a text of the failure.
const EXCEPTIONS: [(Protocol, &str, &str); 6] = [
    (
        Protocol::Anthropic,
        r#""error" is not valid"#,
        "a response that failed has no stop reason there",
    ),
    (Protocol::Anthropic, r#"{"type":"error""#, "the description has no event of an error"),
    (Protocol::Gemini, r#""MALFORMED_RESPONSE""#, "newer than the description"),
    (Protocol::Anthropic, r#""input":"{"#, "arguments that were cut off are not an object"),
    (Protocol::Anthropic, r#""id":"functions."#, "an id of another provider returns unchanged"),
    (
        Protocol::OpenAiResponses,
        "xai-json-code-execution-server-tool-900fa98b",
        "an item of the provider's own, as it is",
    ),
];

/// Blocks of Anthropic's API that its description does not have: tools of the provider are newer than it or, from another provider,
/// have ids of their own; images are in requests only, and nothing else is nearer.
fn is_newer(block: Option<&Value>) -> bool {
    let kind = block.and_then(|block| block["type"].as_str()).unwrap_or_default();
    kind.ends_with("_tool_result") || ["server_tool_use", "mcp_tool_use", "image"].contains(&kind)
}

/// Brings a response into the form that the description knows: the API writes null for a usage that is not known yet, and the
/// description has no null there.
fn as_described(value: &mut Value) {
    if value["object"] == "response" && value["usage"].is_null() {
        value.as_object_mut().unwrap().remove("usage");
    }
    if let Some(response) = value.get_mut("response") {
        as_described(response);
    }
}

fn reply(protocol: Protocol) -> agentloop::protocol::serve::Reply {
    let body = json!({"model": "m", "messages": [], "input": [], "contents": []});
    read_chat(protocol, "/v1beta/models/m:generateContent", body.to_string().as_bytes())
        .unwrap()
        .reply
}

/// The recorded responses of all APIs; `None` without the recordings.
fn responses() -> Option<Vec<(String, ChatResponse)>> {
    let mut responses = Vec::new();
    for wire in CHAT_WIRES {
        for recording in recordings(wire)?.iter().filter(|recording| recording.is_answer()) {
            if let Ok(response) = recording.decode().response() {
                responses.push((format!("{wire} {}", recording.id), response.clone()));
            }
        }
    }
    Some(responses)
}

/// The data of server-sent events, or of lines.
fn events(stream: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(stream).unwrap();
    let data = text.lines().filter_map(|line| {
        line.strip_prefix("data: ").or_else(|| line.starts_with('{').then_some(line))
    });
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// The names and kinds of the values, and the words that choose a variant. Of many values with the same shape one is checked.
fn shape(value: &Value, name: &str, out: &mut String) {
    match value {
        Value::Object(fields) => {
            out.push('{');
            for (name, value) in fields {
                out.push_str(name);
                out.push(':');
                shape(value, name, out);
            }
            out.push('}');
        }
        Value::Array(list) => {
            let shapes: BTreeSet<String> = list
                .iter()
                .map(|value| {
                    let mut inner = String::new();
                    shape(value, "", &mut inner);
                    inner
                })
                .collect();
            shapes.iter().for_each(|inner| out.push_str(inner));
            out.push(']');
        }
        Value::String(text) => match name {
            "type" | "role" | "status" | "object" | "finish_reason" | "finishReason"
            | "stop_reason" | "language" => out.push_str(text),
            _ => out.push_str(if text.is_empty() { "''" } else { "'" }),
        },
        Value::Number(number) => out.push_str(if number.is_f64() { "." } else { "0" }),
        other => out.push_str(&other.to_string()),
    }
}

/// Checks all written values of one protocol, and returns what is wrong.
fn check(
    protocol: Protocol,
    spec: &Spec,
    values: &BTreeMap<String, (String, Value)>,
) -> Vec<String> {
    let mut failures = Vec::new();
    for (id, value) in values.values() {
        for error in spec.errors(value) {
            let failure = format!("{protocol:?} {id}: {error}");
            let place = error.split(':').next().unwrap_or_default();
            let block = value.get("content_block").or_else(|| value.pointer(place));
            let is_known = (protocol == Protocol::Anthropic && is_newer(block))
                || EXCEPTIONS.iter().any(|(of, text, _)| *of == protocol && failure.contains(text));
            if !is_known {
                failures.push(failure);
            }
        }
    }
    failures
}

/// One failure of each kind, with how many there are.
fn summary(failures: &[String]) -> String {
    let mut kinds: BTreeMap<String, (usize, &str)> = BTreeMap::new();
    for failure in failures {
        let place = failure.split_once(": ").map_or("", |(_, rest)| rest);
        let kind = place.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter });
        let api = failure.split(' ').next().unwrap_or_default();
        let kind: String = api.chars().chain(kind.take(60)).collect();
        kinds.entry(kind).or_insert((0, failure)).0 += 1;
    }
    let lines = kinds.values().map(|(count, failure)| format!("{count} × {failure}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_recorded_response_matches_the_description_of_every_api_that_it_is_written_for() {
    let Some(responses) = responses() else {
        println!("skipped: there is no folder of recordings beside the checkout");
        return;
    };
    let mut failures = Vec::new();
    for (protocol, file, whole, event) in APIS {
        let (Some(whole), Some(event)) =
            (Spec::load_response(file, whole), Spec::load_response(file, event))
        else {
            println!("skipped: there is no folder of API descriptions beside the checkout");
            return;
        };
        let reply = reply(protocol);
        let (mut bodies, mut streamed) = (BTreeMap::new(), BTreeMap::new());
        let add = |map: &mut BTreeMap<String, (String, Value)>, id: &str, mut value: Value| {
            as_described(&mut value);
            let mut key = String::new();
            shape(&value, "", &mut key);
            map.entry(key).or_insert_with(|| (id.to_owned(), value));
        };
        for (id, response) in &responses {
            let body = write_body_for(protocol, response, &reply);
            add(&mut bodies, id, serde_json::from_slice(&body).unwrap());
            let mut writer = StreamWriter::for_reply(protocol, true, &reply);
            let stream: Vec<u8> =
                response.unfold().iter().flat_map(|event| writer.write(event)).collect();
            for value in events(&stream) {
                add(&mut streamed, id, value);
            }
        }
        println!("{protocol:?}: {} kinds of bodies, {} of events", bodies.len(), streamed.len());
        failures.extend(check(protocol, &whole, &bodies));
        failures.extend(check(protocol, &event, &streamed));
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), summary(&failures));
}

/// Without this, the test above could pass by checking nothing.
#[test]
fn the_descriptions_refuse_responses_that_lack_something() {
    for (file, schema, good, required) in [
        (
            "anthropic.yaml",
            "Message",
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
                   "stop_reason": "end_turn", "stop_sequence": null,
                   "usage": {"input_tokens": 1, "output_tokens": 1, "cache_creation": null,
                             "cache_creation_input_tokens": null, "cache_read_input_tokens": null,
                             "server_tool_use": null, "service_tier": null}}),
            "usage",
        ),
        (
            "openai.json",
            "CreateChatCompletionResponse",
            json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": []}),
            "choices",
        ),
    ] {
        let Some(spec) = Spec::load_response(file, schema) else {
            println!("skipped: there is no folder of API descriptions beside the checkout");
            return;
        };
        assert_eq!(spec.errors(&good), Vec::<String>::new(), "{file}");
        let mut bad = good;
        bad.as_object_mut().unwrap().remove(required);
        assert!(!spec.errors(&bad).is_empty(), "{file} does without {required}");
    }
}
