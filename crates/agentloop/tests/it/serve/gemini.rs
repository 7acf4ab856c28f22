//! What clients of Gemini's API send, as a server reads it.

use agentloop::protocol::serve::{
    self, Operation, ServedChat, StreamFraming, read_chat, read_embed,
};
use agentloop::{
    ChatMessage, ContentPart, Effort, EmbedInputType, Protocol, ResponseFormat, Role, ToolChoice,
    ToolDefinition,
};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};

const PATH: &str = "/v1beta/models/m:generateContent";

pub(super) fn try_read(body: &Value) -> agentloop::Result<ServedChat> {
    read_chat(Protocol::Gemini, PATH, body.to_string().as_bytes())
}

fn read(body: &Value) -> ServedChat {
    try_read(body).unwrap_or_else(|error| panic!("{error}"))
}

fn messages(contents: Value) -> Vec<ChatMessage> {
    read(&json!({ "contents": contents })).request.messages
}

fn ask(more: Value) -> Value {
    let mut body = json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn json_of(part: &ContentPart) -> Value {
    serde_json::to_value(part).unwrap()
}

fn signature(part: &ContentPart) -> Value {
    json_of(part)["providerState"]["data"]["thoughtSignature"].clone()
}

#[test]
fn the_model_is_the_rest_of_the_path() {
    let body = ask(json!({})).to_string();
    for (path, model) in [
        ("/v1beta/models/gemini-3-pro:generateContent", "gemini-3-pro"),
        ("/v1/models/openai/gpt-5:generateContent?key=k", "openai/gpt-5"),
        ("/models/openai%2Fgpt-5:generateContent", "openai/gpt-5"),
        ("/v1beta/models/models/m:generateContent", "m"),
        ("/v1beta/m:generateContent", "m"),
        ("/v1beta/lab/m:generateContent", "lab/m"),
        ("/gemini/v1beta/lab/m:generateContent", "lab/m"),
        ("/lab/some/m:generateContent", "lab/some/m"),
        ("/gemini/v1beta/models/m:generateContent", "m"),
        ("/v1beta/models/ollama/llama3:8b:generateContent", "ollama/llama3:8b"),
        (
            "/v1beta/models/fireworks/accounts/fireworks/models/x:generateContent",
            "fireworks/accounts/fireworks/models/x",
        ),
        ("/v1beta1/projects/p/locations/l/publishers/google/models/m:generateContent", "m"),
    ] {
        let served = read_chat(Protocol::Gemini, path, body.as_bytes()).unwrap();
        assert_eq!((served.request.model.as_str(), served.stream), (model, false), "{path}");
    }
    for (query, framing) in [
        ("?alt=sse", StreamFraming::Events),
        ("?key=k&alt=sse", StreamFraming::Events),
        ("", StreamFraming::Array),
    ] {
        let path = format!("/v1beta/models/m:streamGenerateContent{query}");
        let served = read_chat(Protocol::Gemini, &path, body.as_bytes()).unwrap();
        assert!(served.stream);
        assert_eq!(served.framing, framing, "{query}");
    }
}

#[test]
fn paths_name_the_operation() {
    let none = HeaderMap::new();
    let route = |method, path: &str| serve::route(Protocol::Gemini, &method, path, &none);
    for (end, operation) in [
        (":generateContent", Operation::Chat),
        (":streamGenerateContent?alt=sse", Operation::Chat),
        (":countTokens", Operation::Count),
        (":embedContent", Operation::Embed),
        (":batchEmbedContents", Operation::Embed),
    ] {
        for path in ["/v1beta/models/a/b", "/v1/models/a%2Fb", "/models/a/b"] {
            assert_eq!(route(Method::POST, &format!("{path}{end}")), Some(operation));
        }
    }
    assert_eq!(route(Method::GET, "/v1beta/models?pageSize=5"), Some(Operation::Models));
    assert_eq!(route(Method::GET, "/v1beta/models/a/b"), Some(Operation::Model));
    assert_eq!(route(Method::GET, "/v1/models?key=k"), Some(Operation::Models));
    assert_eq!(route(Method::GET, "/v1/models"), None);
    assert_eq!(route(Method::POST, "/v1/chat/completions"), None);
    let mut keyed = HeaderMap::new();
    keyed.insert("x-goog-api-key", HeaderValue::from_static("k"));
    let models = serve::route(Protocol::Gemini, &Method::GET, "/v1/models", &keyed);
    assert_eq!(models, Some(Operation::Models));
}

/// LiteLLM 1.106 sends all names in snake case.
#[test]
fn both_spellings_of_names_are_read_at_every_level() {
    let camel = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "AA=="}},
                                        {"fileData": {"mimeType": "video/mp4", "fileUri": "https://x.test/v"}}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"snake_case": 1}}, "thoughtSignature": "c2ln"}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "ok"}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object", "properties": {"snake_case": {"type": "number"}}}}]},
                  {"googleSearch": {}}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {"maxOutputTokens": 5, "topP": 0.5, "stopSequences": ["a"], "responseMimeType": "application/json",
            "responseSchema": {"type": "OBJECT", "properties": {"a_b": {"type": "STRING", "minLength": "1"}}},
            "thinkingConfig": {"includeThoughts": true, "thinkingBudget": -1}},
    });
    let snake = json!({
        "system_instruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": "AA=="}},
                                        {"file_data": {"mime_type": "video/mp4", "file_uri": "https://x.test/v"}}]},
            {"role": "model", "parts": [{"function_call": {"name": "f", "args": {"snake_case": 1}}, "thought_signature": "c2ln"}]},
            {"role": "user", "parts": [{"function_response": {"name": "f", "response": {"output": "ok"}}}]},
        ],
        "tools": [{"function_declarations": [{"name": "f", "parameters_json_schema": {"type": "object", "properties": {"snake_case": {"type": "number"}}}}]},
                  {"google_search": {}}],
        "tool_config": {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["f"]}},
        "generation_config": {"max_output_tokens": 5, "top_p": 0.5, "stop_sequences": ["a"], "response_mime_type": "application/json",
            "response_schema": {"type": "OBJECT", "properties": {"a_b": {"type": "STRING", "min_length": "1"}}},
            "thinking_config": {"include_thoughts": true, "thinking_budget": -1}},
    });
    let (one, two) = (read(&camel), read(&snake));
    assert_eq!(one.request, two.request);
    let request = one.request;
    assert_eq!(request.messages[0], ChatMessage::system("Be brief."));
    assert_eq!(request.tool_choice, Some(ToolChoice::function("f")));
    let Some(ResponseFormat::JsonSchema { json_schema }) = &request.response_format else {
        panic!()
    };
    let schema =
        json!({"type": "object", "properties": {"a_b": {"type": "string", "minLength": 1}}});
    assert_eq!(json_schema.schema, schema);
    let thinking = request.thinking.unwrap();
    assert_eq!((thinking.enabled, thinking.include), (Some(true), Some(true)));
    assert!(request.extra_body.is_empty() && one.warnings.is_empty());
}

#[test]
fn parallel_calls_without_ids_get_ids_by_their_number() {
    let call = |city: &str| json!({"functionCall": {"name": "weather", "args": {"city": city}}});
    let result =
        |text: &str| json!({"functionResponse": {"name": "weather", "response": {"output": text}}});
    let contents = json!([
        {"role": "user", "parts": [{"text": "?"}]},
        {"role": "model", "parts": [call("Oslo"), call("Rome")]},
        {"role": "function", "parts": [result("cold"), result("warm")]},
        {"role": "model", "parts": [call("Bern")]},
        {"parts": [result("mild"), {"text": "And?"}]},
    ]);
    let read = messages(contents);
    let ids: Vec<Option<&str>> = read.iter().map(|it| it.tool_call_id.as_deref()).collect();
    assert_eq!(ids, [None, None, Some("call_0"), Some("call_1"), None, Some("call_2"), None]);
    let ContentPart::ToolCall(second) = &read[1].parts()[1] else { panic!() };
    assert_eq!((second.id.as_str(), second.arguments.as_str()), ("call_1", r#"{"city":"Rome"}"#));
    assert_eq!(read[6].text(), "And?");
}

#[test]
fn results_belong_to_the_call_that_they_name() {
    let call = |id: &str| json!({"functionCall": {"name": "f", "id": id}});
    let result = |id: &str, text: &str| json!({"functionResponse": {"name": "f", "id": id, "response": {"result": text}}});
    let read = messages(json!([
        {"role": "model", "parts": [call("a"), call("b"), call("a")]},
        {"role": "user", "parts": [result("b", "2"), result("a", "1"), result("a", "3"), result("z", "4")]},
    ]));
    let found: Vec<(&str, String)> =
        read[1..].iter().map(|it| (it.tool_call_id.as_deref().unwrap(), it.text())).collect();
    let wanted = [("b", "2"), ("a", "1"), ("a_2", "3"), ("z", "4")];
    assert_eq!(found, wanted.map(|(id, text)| (id, text.to_owned())));
}

#[test]
fn results_have_the_text_and_the_media_of_their_tool() {
    let result = |more: Value| {
        let mut fields = json!({"name": "f", "id": "a"});
        for (name, value) in more.as_object().unwrap() {
            fields[name] = value.clone();
        }
        messages(json!([{"role": "user", "parts": [{"functionResponse": fields}]}])).remove(0)
    };
    for (response, text, is_error) in [
        (json!({"output": "ok"}), "ok", false),
        (json!({"result": {"a": 1}}), r#"{"a":1}"#, false),
        (json!({"error": "bad"}), "bad", true),
        (json!({"error": null, "output": "ok"}), "ok", false),
        (json!({"error": "bad", "code": 1}), r#"{"error":"bad","code":1}"#, true),
        (json!({"a": 1}), r#"{"a":1}"#, false),
        (json!({}), "{}", false),
        (json!("plain"), "plain", false),
    ] {
        let message = result(json!({ "response": response }));
        assert_eq!((message.text().as_str(), message.is_error), (text, is_error), "{response}");
    }
    let message = result(json!({
        "response": {"output": "see"},
        "parts": [{"inlineData": {"mimeType": "image/png", "data": "AA==", "displayName": "a.png"}}],
        "willContinue": false, "scheduling": "WHEN_IDLE",
    }));
    let kinds: Vec<&str> = message.parts().iter().map(ContentPart::kind).collect();
    assert_eq!((message.role, kinds), (Role::Tool, vec!["text", "image_url"]));
}

#[test]
fn signatures_are_kept_exactly_on_every_part_and_placeholders_are_none() {
    let read = messages(json!([{"role": "model", "parts": [
        {"text": "Hm.", "thought": true, "thoughtSignature": "dGhvdWdodA=="},
        {"text": "Hi", "thoughtSignature": "dGV4dA"},
        {"functionCall": {"name": "f", "args": {}, "id": "a"}, "thoughtSignature": "a-_b"},
        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "skip_thought_signature_validator"},
        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="},
        {"text": "x", "thoughtSignature": "context_engineering_is_the_way_to_go"},
        {"functionCall": {"name": "f"}, "thoughtSignature": "skip/thought/signature/validator"},
        {"thoughtSignature": "bGFzdA=="},
        {"text": "", "thoughtSignature": "ZW1wdHk="},
        {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "Y29kZQ=="},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"inlineData": {"mimeType": "image/png", "data": "AA=="}, "thoughtSignature": "aW1n"},
    ]}]));
    let parts = read[0].parts();
    let signatures: Vec<Value> = parts.iter().map(signature).collect();
    let none = Value::Null;
    let wanted = json!([
        "dGhvdWdodA==",
        "dGV4dA",
        "a-_b",
        none,
        none,
        none,
        none,
        "bGFzdA==",
        "ZW1wdHk=",
        "Y29kZQ==",
        none,
        "aW1n"
    ]);
    assert_eq!(json!(signatures), wanted);
    let kinds: Vec<&str> = parts.iter().map(ContentPart::kind).collect();
    assert_eq!(
        kinds,
        [
            "thinking",
            "text",
            "tool_call",
            "tool_call",
            "tool_call",
            "text",
            "tool_call",
            "text",
            "text",
            "code_execution",
            "code_result",
            "image"
        ]
    );
}

#[test]
fn media_of_every_kind_are_read() {
    let read = messages(json!([{"role": "user", "parts": [
        {"inlineData": {"mimeType": "audio/mpeg", "data": "AA=="}},
        {"inlineData": {"mimeType": "application/pdf", "data": "AA==", "displayName": "a.pdf"}},
        {"inlineData": {"mimeType": "video/mp4", "data": "AA=="}},
        {"fileData": {"mimeType": "audio/wav", "fileUri": "https://x.test/files/a"}},
        {"fileData": {"mimeType": "application/pdf", "fileUri": "https://x.test/files/b"}},
        {"fileData": {"fileUri": "https://youtu.be/abc"}, "videoMetadata": {"fps": 1}},
        {"text": "Compare."},
    ]}]));
    let parts: Vec<Value> = read[0].parts().iter().map(json_of).collect();
    assert_eq!(parts[0]["input_audio"], json!({"data": "AA==", "format": "mp3"}));
    assert_eq!(
        parts[1]["file"],
        json!({"file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf"})
    );
    assert_eq!(parts[2]["video_url"]["url"], "data:video/mp4;base64,AA==");
    assert_eq!(parts[3]["input_audio"]["url"], "https://x.test/files/a");
    assert_eq!(
        parts[4]["file"],
        json!({"file_url": "https://x.test/files/b", "mime_type": "application/pdf"})
    );
    assert_eq!(parts[5]["video_url"]["url"], "https://youtu.be/abc");
}

/// google-genai 3.1 for Python keeps every chunk of a stream as a content of its own.
#[test]
fn the_chunks_of_a_stream_are_one_message_again() {
    let model = |parts: Value| json!({"role": "model", "parts": parts});
    let read = messages(json!([
        {"role": "user", "parts": [{"text": "?"}]},
        model(json!([{"text": "H", "thought": true}])),
        model(json!([{"text": "m.", "thought": true}])),
        model(json!([{"text": "He"}, {"text": "l"}])),
        model(json!([{"text": "lo"}])),
        model(json!([{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}])),
        model(json!([{"text": "", "thoughtSignature": "bGFzdA=="}])),
        model(json!([{"text": ""}])),
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
        model(json!([{"text": "Done."}])),
    ]));
    let roles: Vec<Role> = read.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Assistant]);
    let parts: Vec<Value> = read[1].parts().iter().map(json_of).collect();
    assert_eq!(parts.len(), 4);
    assert_eq!((&parts[0]["thinking"], &parts[1]["text"]), (&json!("Hm."), &json!("Hello")));
    assert_eq!(signature(&read[1].parts()[3]), "bGFzdA==");
}

#[test]
fn data_in_the_other_alphabet_of_base64_is_standard_base64() {
    for (sent, standard) in
        [("-_8=", "+/8="), ("-_8", "+/8="), ("AA", "AA=="), ("AA==", "AA=="), ("", ""), ("A", "A")]
    {
        let part = json!({"inlineData": {"data": sent, "mime_type": "image/png"}});
        let read = messages(json!([{"role": "user", "parts": [part]}]));
        let url = json_of(&read[0].parts()[0])["image_url"]["url"].clone();
        assert_eq!(url, format!("data:image/png;base64,{standard}"));
    }
}

#[test]
fn contents_are_read_in_every_form_that_the_api_takes() {
    let wanted = [ChatMessage::user("Hi")];
    assert_eq!(messages(json!("Hi")), wanted);
    assert_eq!(messages(json!(["Hi"])), wanted);
    for contents in [
        json!({"parts": {"text": "Hi"}}),
        json!([{"parts": [{"text": "Hi"}]}]),
        json!([{"role": "user", "parts": ["Hi"]}]),
    ] {
        let read = messages(contents);
        assert_eq!((read[0].role, read[0].text().as_str()), (Role::User, "Hi"));
    }
    for system in [
        json!("Be brief."),
        json!({"parts": {"text": "Be brief."}}),
        json!({"role": "system", "parts": [{"text": "Be brief."}]}),
        json!({"text": "Be brief."}),
    ] {
        let served = read(&ask(json!({ "systemInstruction": system })));
        assert_eq!(served.request.messages[0], ChatMessage::system("Be brief."));
    }
    let counted = json!({"generateContentRequest": {"model": "models/m", "contents": "Hi"}});
    assert_eq!(read(&counted).request.messages, wanted);
}

#[test]
fn settings_of_every_kind_are_read_and_idle_ones_are_no_noise() {
    let served = read(&ask(json!({
        "generationConfig": {
            "temperature": 1, "topK": 40.0, "seed": -3, "candidateCount": 1, "presencePenalty": 0.5,
            "responseLogprobs": true, "logprobs": 3, "responseModalities": ["TEXT"], "mediaResolution": "MEDIA_RESOLUTION_UNSPECIFIED",
            "thinkingConfig": {"thinkingLevel": "LOW"}, "responseMimeType": "text/plain",
            "imageConfig": {"aspectRatio": "1:1", "imageSize": "2K"}, "audioTimestamp": false,
        },
        "safetySettings": [], "labels": {}, "cachedContent": "",
    })));
    let request = served.request;
    assert_eq!((request.top_k, request.seed, request.n), (Some(40), Some(-3), None));
    assert_eq!((request.logprobs, request.top_logprobs), (Some(true), Some(3)));
    assert_eq!((request.reasoning_effort, request.thinking), (Some(Effort::Low), None));
    assert!(request.modalities.is_empty() && request.response_format.is_none());
    assert_eq!(request.image.unwrap().size.as_deref(), Some("2K"));
    assert!(request.extra_body.is_empty(), "{:?}", request.extra_body);
    let kept = json!({
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        "cachedContent": "cachedContents/c", "labels": {"a": "b"},
        "generationConfig": {"mediaResolution": "MEDIA_RESOLUTION_LOW"},
    });
    assert_eq!(Value::Object(read(&ask(kept.clone())).request.extra_body), kept);
}

/// Gemini CLI 0.61 writes the types of a JSON Schema in capitals.
#[test]
fn schemas_in_capitals_are_json_schemas() {
    let schema =
        json!({"type": "OBJECT", "properties": {"next": {"type": "STRING", "enum": ["USER"]}}});
    let small =
        json!({"type": "object", "properties": {"next": {"type": "string", "enum": ["USER"]}}});
    for name in ["responseJsonSchema", "responseSchema", "_responseJsonSchema"] {
        let served = read(&ask(json!({"generationConfig": {name: schema}})));
        let Some(ResponseFormat::JsonSchema { json_schema }) = served.request.response_format
        else {
            panic!("{name}")
        };
        assert_eq!(json_schema.schema, small, "{name}");
    }
    for name in ["parameters", "parametersJsonSchema"] {
        let tools = json!([{"functionDeclarations": [{"name": "f", name: schema}]}]);
        let served = read(&ask(json!({ "tools": tools })));
        let tool = serde_json::to_value(&served.request.tools[0]).unwrap();
        assert_eq!(tool["function"]["parameters"], small, "{name}");
    }
}

#[test]
fn tools_and_their_choice_are_read() {
    let tools = json!([
        {"functionDeclarations": [{"name": "a", "behavior": "BLOCKING", "response": {"type": "STRING"}}, {"name": "b"}, {"name": "c"}],
         "googleSearch": null, "codeExecution": {}},
        {"urlContext": {}}, {"of_tomorrow": {}}, {},
    ]);
    let with = |config: Value| {
        read(&ask(json!({"tools": tools, "toolConfig": {"functionCallingConfig": config}})))
    };
    let served = with(json!({"mode": "AUTO"}));
    let kinds: Vec<Value> = served
        .request
        .tools
        .iter()
        .map(|tool| match tool {
            ToolDefinition::Provider(fields) => fields["type"].clone(),
            other => json!(other.name()),
        })
        .collect();
    assert_eq!(json!(kinds), json!(["a", "b", "c", "codeExecution", "urlContext"]));
    assert_eq!(served.warnings.len(), 1, "{:?}", served.warnings);
    for (config, choice, many) in [
        (json!({"mode": "AUTO"}), Some(ToolChoice::Auto), 5),
        (json!({"mode": "NONE"}), Some(ToolChoice::None), 5),
        (json!({"mode": "ANY"}), Some(ToolChoice::Required), 5),
        (json!({"mode": "any", "allowedFunctionNames": ["b"]}), Some(ToolChoice::function("b")), 5),
        (json!({"mode": "ANY", "allowedFunctionNames": ["a", "b"]}), Some(ToolChoice::Required), 4),
        (json!({"mode": "VALIDATED"}), Some(ToolChoice::Auto), 5),
        (json!({"mode": "VALIDATED", "allowedFunctionNames": ["a"]}), Some(ToolChoice::Auto), 3),
        (json!({}), None, 5),
    ] {
        let served = with(config.clone());
        assert_eq!(served.request.tool_choice, choice, "{config}");
        assert_eq!(served.request.tools.len(), many, "{config}");
    }
}

#[test]
fn embeddings_requests_are_read_single_and_batched() {
    let one = json!({"content": {"parts": [{"text": "a"}, {"text": "b"}]}, "task_type": "RETRIEVAL_QUERY",
                     "output_dimensionality": 8});
    let served = read_embed(
        Protocol::Gemini,
        "/v1beta/models/lab/e:embedContent",
        one.to_string().as_bytes(),
    )
    .unwrap();
    assert_eq!(served.request.model, "lab/e");
    assert_eq!(served.request.input.as_slice(), ["ab"]);
    assert_eq!(served.request.dimensions, Some(8));
    assert_eq!(served.request.input_type, Some(EmbedInputType::Query));
    let many = json!({"requests": [{"model": "models/e", "content": "a"}, {"content": {"parts": {"text": "b"}}}]});
    let path = "/v1beta/models/e:batchEmbedContents";
    let served = read_embed(Protocol::Gemini, path, many.to_string().as_bytes()).unwrap();
    assert_eq!(served.request.input.as_slice(), ["a", "b"]);
    for wrong in [json!({}), json!({"requests": 1}), json!({"requests": [{"content": 1}]})] {
        let error = read_embed(Protocol::Gemini, path, wrong.to_string().as_bytes()).unwrap_err();
        assert_eq!(error.status(), Some(400), "{wrong}");
    }
}
