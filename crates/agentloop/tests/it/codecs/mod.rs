//! Requests as providers receive them, and responses as users get them, from tables of what is given and what is expected.
//!
//! A table has tests, each with a `name`, how it is `run`, and its cases: what is `given` and `expected`, as JSON. In both, the table's
//! `words` stand for longer JSON.
//!
//! - `encode [--stream] [--protocol NAME]`: a request is given, to say "Hello" if it has no messages. `body` is compared as a whole, `headers`
//!   name by name, `text` is the body as it is sent, `subjects` and `kinds` are those of the warnings.
//! - `decode PROVIDER [OPTION]…`: the bytes of a response are given; `sse` lists its events instead, and `deltas REASON` those of a complete
//!   choice. The options are those of `agentloop decode`. Every stream is decoded in whole and cut into pieces, with the same result.
//!   `parts` are those of the only choice, in short: `text:…`, `thinking:…`, `call:ID:NAME:ARGUMENTS`.
//!
//! Only the fields of `expected` are compared; `body/tools/0` is a field inside others. `null` is absent, and a text that begins with `…` is
//! a part of the actual one.

mod laws;

use std::collections::BTreeMap;

use agentloop::inspect::{self, DecodeOptions, HttpResponse};
use agentloop::{AgentLoop, ChatRequest, ChatStreamEvent, Error, Protocol};
use serde::Deserialize;
use serde_json::{Map, Value, json};

const TABLES: [(&str, &str); 12] = [
    ("framing", include_str!("framing.toml")),
    ("chat_requests", include_str!("chat_requests.toml")),
    ("chat_responses", include_str!("chat_responses.toml")),
    ("anthropic_requests", include_str!("anthropic_requests.toml")),
    ("anthropic_parameters", include_str!("anthropic_parameters.toml")),
    ("anthropic_responses", include_str!("anthropic_responses.toml")),
    ("gemini_requests", include_str!("gemini_requests.toml")),
    ("gemini_responses", include_str!("gemini_responses.toml")),
    ("interactions", include_str!("interactions.toml")),
    ("responses", include_str!("responses.toml")),
    ("cohere", include_str!("cohere.toml")),
    ("ollama", include_str!("ollama.toml")),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    words: BTreeMap<String, String>,
    test: Vec<Test>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Test {
    name: String,
    run: String,
    #[serde(default)]
    cases: Vec<(String, String)>,
    given: Option<String>,
    expected: Option<String>,
}

#[tokio::test]
async fn every_case_is_encoded_or_decoded_as_expected() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (table, text) in TABLES {
        let Table { words, test } = toml::from_str(text).unwrap_or_else(|e| panic!("{table}: {e}"));
        let spelled_out = |text: &str| {
            words.iter().fold(text.to_owned(), |text, (word, json)| text.replace(word, json))
        };
        for test in test {
            let single = test.given.into_iter().zip(test.expected);
            for (number, (given, expected)) in test.cases.into_iter().chain(single).enumerate() {
                let place = format!("{table}: {}, case {}: {}", test.name, number + 1, test.run);
                let expected: Value = serde_json::from_str(&spelled_out(&expected))
                    .unwrap_or_else(|error| panic!("{place}: {error}"));
                for actual in run(&test.run, &spelled_out(&given)).await {
                    for (name, expected) in expected.as_object().unwrap() {
                        let field = actual.pointer(&format!("/{name}")).unwrap_or(&Value::Null);
                        if !is_as_expected(name, field, expected) {
                            wrong.push(format!("{place}\n  given {given}\n  expected {name}: {expected}\n  but got: {actual}"));
                        }
                    }
                }
                count += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 560, "cases were lost: there are {count}");
}

fn is_as_expected(name: &str, actual: &Value, expected: &Value) -> bool {
    match expected {
        Value::Object(headers) if name == "headers" => {
            headers.iter().all(|(name, value)| actual[name] == *value)
        }
        Value::String(text) if text.starts_with('…') => {
            actual.as_str().is_some_and(|actual| actual.contains(&text['…'.len_utf8()..]))
        }
        _ => actual == expected,
    }
}

/// Returns what becomes of a request or a response. A response that is cut into pieces must become the same.
async fn run(run: &str, given: &str) -> Vec<Value> {
    let mut words = run.split_whitespace().peekable();
    match words.next().unwrap() {
        "encode" => vec![encode(words, given)],
        "decode" => {
            let case = Case::read(words, given);
            let mut all = vec![case.decode(None).await];
            for size in [1, 2, 3, 5, 7] {
                all.push(case.decode(Some(size).filter(|_| !case.embed)).await);
            }
            all
        }
        other => panic!("{other} is neither encode nor decode"),
    }
}

fn encode<'a>(mut words: impl Iterator<Item = &'a str>, given: &str) -> Value {
    let mut request: Value = serde_json::from_str(given).unwrap_or_else(|e| panic!("{e}: {given}"));
    if request.get("messages").is_none() {
        request["messages"] = json!([{"role": "user", "content": "Hello"}]);
    }
    let mut request: ChatRequest = serde_json::from_str(&request.to_string()).unwrap();
    let mut stream = false;
    while let Some(word) = words.next() {
        match word {
            "--stream" => stream = true,
            "--protocol" => request.protocol = Protocol::from_name(words.next().unwrap()),
            other => panic!("{other}"),
        }
    }
    match inspect::encode(&AgentLoop::from_env(), &request, stream) {
        Ok(encoded) => {
            let body: Value = serde_json::from_str(encoded.body.get()).unwrap();
            // Arguments keep their white space.
            let letters = |text: &str| text.replace(' ', "");
            let sent = letters(encoded.body.get());
            assert_eq!(letters(&body.to_string()), sent, "a field is there twice");
            let subjects: Vec<_> = encoded.warnings.iter().map(|w| w.subject.clone()).collect();
            let kinds: Vec<_> = encoded.warnings.iter().map(|warning| warning.kind).collect();
            json!({"url": encoded.url, "headers": encoded.headers, "body": body, "text": encoded.body.get(), "subjects": subjects, "kinds": kinds})
        }
        Err(error) => shown_error(&error),
    }
}

/// A response to decode.
struct Case {
    options: DecodeOptions,
    response: HttpResponse,
    events: bool,
    embed: bool,
}

impl Case {
    fn read<'a>(mut words: impl Iterator<Item = &'a str>, given: &str) -> Self {
        let options = DecodeOptions::new(words.next().unwrap());
        let response = HttpResponse::new(given.to_owned());
        let mut case = Self { options, response, events: false, embed: false };
        while let Some(word) = words.next() {
            match word {
                "--stream" => case.options.stream = true,
                "--events" => case.events = true,
                "--embed" => case.embed = true,
                "--model" => case.options.model = words.next().map(str::to_owned),
                "--protocol" => case.options.protocol = words.next().and_then(Protocol::from_name),
                "--status" => case.response.status = words.next().unwrap().parse().unwrap(),
                "--event-stream" => {
                    let kind = "text/event-stream; charset=utf-8".parse().unwrap();
                    case.response.headers.insert("content-type", kind);
                }
                "sse" => case.stream(&sse(&list(given))),
                "deltas" => case.stream(&sse(&choice(&list(given), words.next().unwrap()))),
                other => panic!("{other}"),
            }
        }
        case
    }

    fn stream(&mut self, body: &str) {
        self.options.stream = true;
        self.response.pieces = HttpResponse::new(body.to_owned()).pieces;
    }

    async fn decode(&self, cut: Option<usize>) -> Value {
        let client = AgentLoop::from_env();
        let mut response = self.response.clone();
        if let Some(size) = cut {
            response = response.cut(size);
        }
        if self.embed {
            let decoded = inspect::decode_embed(&client, &self.options, &response);
            return decoded.map_or_else(|e| shown_error(&e), |response| json!(response));
        }
        let mut stream = match inspect::decode(&client, &self.options, response) {
            Ok(stream) => stream,
            Err(error) => return shown_error(&error),
        };
        if !self.events {
            return stream
                .response()
                .await
                .map_or_else(|error| shown_error(&error), |response| shown(json!(response)));
        }
        let (mut kinds, mut starts, mut end) = (Vec::new(), Vec::new(), json!({}));
        while let Some(event) = stream.next().await {
            let event = event.unwrap_or_else(|error| {
                end = shown_error(&error);
                ChatStreamEvent::from(&error)
            });
            let event = json!(event);
            starts.extend(event.get("part").filter(|_| event["type"] == "content.start").cloned());
            kinds.push(event["type"].clone());
        }
        end["events"] = json!(kinds);
        end["starts"] = json!(starts);
        end
    }
}

/// Returns the events of a list.
fn list(given: &str) -> Vec<Value> {
    serde_json::from_str(given).unwrap_or_else(|error| panic!("{error}: {given}"))
}

/// Returns the chunks of a choice with these deltas.
fn choice(deltas: &[Value], reason: &str) -> Vec<Value> {
    let chunk = |choice: Value| json!({"id": "c1", "model": "m", "choices": [choice]});
    let deltas = deltas.iter().map(|delta| chunk(json!({"index": 0, "delta": delta})));
    let end = chunk(json!({"index": 0, "delta": {}, "finish_reason": reason}));
    deltas.chain([end, json!("[DONE]")]).collect()
}

/// Formats events. One with a type has it as its name.
fn sse(events: &[Value]) -> String {
    let event = |event: &Value| match (event["type"].as_str(), event.as_str()) {
        (Some(name), _) => format!("event: {name}\ndata: {event}\n\n"),
        (None, Some(text)) => format!("data: {text}\n\n"),
        (None, None) => format!("data: {event}\n\n"),
    };
    events.iter().map(event).collect()
}

/// Shortens a response.
fn shown(mut response: Value) -> Value {
    let mut choices: Vec<Value> =
        response["choices"].as_array().into_iter().flatten().map(shown_choice).collect();
    let mut out = match choices.as_mut_slice() {
        [only] => only.take(),
        _ => json!({"choices": choices}),
    };
    let kinds = response["warnings"].as_array().into_iter().flatten().map(|w| w["kind"].clone());
    out["warnings"] = kinds.collect();
    for name in ["id", "usage", "cost"] {
        out[name] = response[name].take();
    }
    out["metadata"] = response["providerMetadata"].take();
    out
}

fn shown_choice(choice: &Value) -> Value {
    let mut out = Map::new();
    out.insert("parts".to_owned(), shown_parts(choice));
    out.insert("finish".to_owned(), choice["finishReason"].clone());
    out.extend(choice.get("logprobs").map(|it| ("logprobs".to_owned(), it.clone())));
    let raw = choice.get("rawFinishReason").filter(|raw| **raw != choice["finishReason"]);
    out.extend(raw.map(|raw| ("raw".to_owned(), raw.clone())));
    Value::Object(out)
}

fn shown_parts(choice: &Value) -> Value {
    let shown = |part: &Value| {
        let fields = part.as_object().map_or(0, Map::len);
        let text = |name: &str| part[name].as_str().unwrap_or_default();
        match (text("type"), fields) {
            ("text", 2) => json!(format!("text:{}", text("text"))),
            ("thinking", 2) => json!(format!("thinking:{}", text("thinking"))),
            ("tool_call", 4) => {
                json!(format!("call:{}:{}:{}", text("id"), text("name"), text("arguments")))
            }
            _ => part.clone(),
        }
    };
    choice["content"].as_array().into_iter().flatten().map(shown).collect()
}

fn shown_error(error: &Error) -> Value {
    let mut out = json!(error);
    out["error"] = out["kind"].take();
    let choices = out["partial"]["choices"].as_array().cloned().unwrap_or_default();
    let mut partial: Vec<Value> = choices.iter().map(shown_parts).collect();
    out["partial"] = if partial.len() == 1 { partial.remove(0) } else { json!(partial) };
    out
}
