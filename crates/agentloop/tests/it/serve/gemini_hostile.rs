//! Requests that are wrong, for the readers of Anthropic's and Gemini's API.

use agentloop::Protocol;
use agentloop::protocol::serve::read_chat;
use serde_json::{Value, json};

use super::{anthropic, gemini};

/// A request with every field that the reader of Anthropic's API knows.
fn of_anthropic() -> Value {
    json!({
        "model": "m", "max_tokens": 5, "stream": false, "temperature": 0.5, "top_p": 0.5, "top_k": 4,
        "stop_sequences": ["a"], "service_tier": "auto", "metadata": {"user_id": "u"},
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral", "ttl": "5m"}}],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "a", "citations": []},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
                {"type": "document", "source": {"type": "url", "url": "u"}, "title": "t", "context": "c", "citations": {"enabled": true}},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "t", "signature": "s"},
                {"type": "redacted_thinking", "data": "d"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            ]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "c", "is_error": false}]},
        ],
        "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}, "strict": true}],
        "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true},
        "thinking": {"type": "enabled", "budget_tokens": 5, "display": "summarized"},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {}}},
    })
}

/// A request with every field that the reader of Gemini's API knows.
fn of_gemini() -> Value {
    json!({
        "systemInstruction": {"parts": [{"text": "s"}]},
        "contents": [
            {"role": "user", "parts": [
                {"text": "a"},
                {"inlineData": {"mimeType": "image/png", "data": "AA==", "displayName": "d"}},
                {"fileData": {"mimeType": "image/png", "fileUri": "u"}},
            ]},
            {"role": "model", "parts": [
                {"text": "a", "thought": true, "thoughtSignature": "s"},
                {"functionCall": {"name": "f", "id": "a"}},
                {"executableCode": {"language": "PYTHON", "code": "1", "id": "i"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1", "id": "i"}},
            ]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "id": "a", "willContinue": false}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "f", "description": "d", "parameters": {"type": "OBJECT"}}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {
            "temperature": 0.5, "topP": 0.5, "topK": 4, "maxOutputTokens": 5, "stopSequences": ["a"], "candidateCount": 2,
            "seed": 1, "frequencyPenalty": 0.5, "presencePenalty": 0.5, "responseLogprobs": true, "logprobs": 2,
            "responseModalities": ["TEXT"], "responseMimeType": "application/json", "responseSchema": {"type": "OBJECT"},
            "thinkingConfig": {"includeThoughts": true, "thinkingBudget": 5, "thinkingLevel": "LOW"},
        },
    })
}

/// The places of all values in a request, as JSON pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                places(value, &format!("{at}/{name}"), found);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                places(value, &format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(at.to_owned());
}

fn everywhere(body: &Value, mut check: impl FnMut(&str, Value, &Value)) {
    let mut found = Vec::new();
    places(body, "", &mut found);
    let hostile = [
        json!(true),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(""),
        json!("\u{0}"),
        json!([]),
        json!([[]]),
        json!({}),
        json!({"a": {"b": [1]}}),
        json!([null]),
        Value::Null,
    ];
    for place in found.iter().filter(|place| !place.is_empty()) {
        for value in &hostile {
            let mut mutated = body.clone();
            *mutated.pointer_mut(place).unwrap() = value.clone();
            check(place, mutated, value);
        }
    }
}

#[test]
fn no_value_anywhere_is_more_than_a_refusal() {
    everywhere(&of_anthropic(), |place, body, value| {
        if let Err(error) = anthropic::try_read(&body) {
            assert_eq!(error.status(), Some(400), "{place} {value}: {error}");
            assert!(error.param().is_some(), "{place} {value}: {error}");
        }
    });
    everywhere(&of_gemini(), |place, body, value| {
        if let Err(error) = gemini::try_read(&body) {
            assert_eq!(error.status(), Some(400), "{place} {value}: {error}");
            assert!(error.param().is_some(), "{place} {value}: {error}");
        }
    });
}

/// Fields in which an object of any kind is read, with the reason.
const FREE: [(&str, &str); 7] = [
    ("/input", "arguments are the caller's"),
    ("/args", "arguments are the caller's"),
    ("/schema", "an empty schema allows everything"),
    ("/input_schema", "an empty schema allows everything"),
    ("/parameters", "an empty schema allows everything"),
    ("/responseSchema", "an empty schema allows everything"),
    ("/type", "the fields of a schema are not checked"),
];

/// An object where the API has a text or a number is a 400 that names the field.
#[test]
fn a_value_of_the_wrong_type_is_refused_by_name() {
    let check =
        |body: Value,
         read: fn(&Value) -> agentloop::Result<agentloop::protocol::serve::ServedChat>| {
            read(&body).unwrap();
            let mut found = Vec::new();
            places(&body, "", &mut found);
            let mut count = 0;
            for place in found {
                let free = FREE.iter().any(|(end, _)| place.ends_with(end));
                let is_leaf =
                    body.pointer(&place).is_some_and(|it| !it.is_object() && !it.is_array());
                if free || !is_leaf {
                    continue;
                }
                let mut mutated = body.clone();
                *mutated.pointer_mut(&place).unwrap() = json!({"no": "such"});
                let Err(error) = read(&mutated) else { panic!("{place} is read") };
                let name = place.rsplit('/').find(|step| step.parse::<usize>().is_err()).unwrap();
                assert!(
                    error.param().is_some_and(|param| param.contains(name)),
                    "{place}: {error}"
                );
                count += 1;
            }
            assert!(count > 20, "{count}");
        };
    check(of_anthropic(), anthropic::try_read);
    check(of_gemini(), gemini::try_read);
}

#[test]
fn what_is_not_a_request_is_refused() {
    for (protocol, path) in [
        (Protocol::Anthropic, "/v1/messages"),
        (Protocol::Gemini, "/v1beta/models/m:generateContent"),
    ] {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let nested = format!(r#"{{"messages":{deep},"contents":{deep}}}"#);
        for body in [
            "",
            "{",
            "[]",
            "null",
            "1",
            "{}",
            "\u{feff}{}",
            &nested,
            r#"{"messages":{},"contents":1}"#,
        ] {
            let error = read_chat(protocol, path, body.as_bytes()).unwrap_err();
            assert_eq!(error.status(), Some(400), "{protocol:?} {body:.20}");
        }
        assert!(read_chat(protocol, path, b"\xff\xfe").is_err());
    }
}

/// The time is linear in the number of calls and results, whether they match or not.
#[test]
fn many_calls_and_results_are_read_quickly() {
    let many = 20_000;
    let calls: Vec<Value> =
        (0..many).map(|_| json!({"functionCall": {"name": "f", "id": "same"}})).collect();
    let results: Vec<Value> = (0..many)
        .map(|at| json!({"functionResponse": {"name": if at % 2 == 0 { "f" } else { "g" }}}))
        .collect();
    let body = json!({"contents": [
        {"role": "model", "parts": calls}, {"role": "user", "parts": results},
    ]});
    let served = gemini::try_read(&body).unwrap();
    assert_eq!(served.request.messages.len(), many + 1);
    let ids: std::collections::HashSet<String> = served.request.messages[0]
        .parts()
        .iter()
        .filter_map(|part| match part {
            agentloop::ContentPart::ToolCall(call) => Some(call.id.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), many);
}

#[test]
fn warnings_are_bounded() {
    let blocks: Vec<Value> = (0..1000).map(|at| json!({"type": format!("kind_{at}")})).collect();
    let body = json!({"messages": [{"role": "user", "content": blocks}]});
    assert!(anthropic::try_read(&body).unwrap().warnings.len() <= 40);
    let parts: Vec<Value> = (0..1000)
        .map(|at| Value::Object([(format!("kind{at}"), json!({}))].into_iter().collect()))
        .collect();
    let body = json!({"contents": [{"parts": parts}]});
    assert!(gemini::try_read(&body).unwrap().warnings.len() <= 40);
}
