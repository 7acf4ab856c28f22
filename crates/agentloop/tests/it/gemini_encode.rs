//! Requests of generateContent, rule by rule.

use crate::support;

use agentloop::inspect::{self, EncodedRequest};
use agentloop::*;
use serde_json::{Value, json};

const OLD: &str = "google/gemini-2.5-flash";
const NEW: &str = "google/gemini-3-flash-preview";

fn encoded(request: &ChatRequest) -> EncodedRequest {
    inspect::encode(&AgentLoop::from_env(), request, false).unwrap()
}

fn body(request: &ChatRequest) -> Value {
    serde_json::from_str(encoded(request).body.get()).unwrap()
}

fn warned(request: &ChatRequest) -> Vec<String> {
    encoded(request).warnings.into_iter().filter_map(|warning| warning.subject).collect()
}

fn error(request: &ChatRequest) -> Error {
    inspect::encode(&AgentLoop::from_env(), request, false).unwrap_err()
}

fn ask(model: &str) -> ChatRequest {
    ChatRequest::new(model).user("Hello")
}

fn of_us(data: Value) -> Option<Box<ProviderState>> {
    Some(Box::new(ProviderState::new("google", data)))
}

fn call(id: &str, name: &str, state: Option<Value>) -> ContentPart {
    let mut part = ToolCallPart::new(id, name, r#"{ "z": 1, "a": "x y" }"#);
    part.provider_state = state.and_then(of_us);
    ContentPart::ToolCall(part)
}

#[test]
fn the_path_names_the_model_once() {
    let url = |model: &str, stream| {
        inspect::encode(&AgentLoop::from_env(), &ask(model), stream).unwrap().url
    };
    let base = "https://generativelanguage.googleapis.com/v1beta";
    assert_eq!(url("google/gemini-x", false), format!("{base}/models/gemini-x:generateContent"));
    assert_eq!(
        url("google/models/gemini-x", true),
        format!("{base}/models/gemini-x:streamGenerateContent?alt=sse")
    );
    assert_eq!(url("google/tunedModels/t", false), format!("{base}/tunedModels/t:generateContent"));
    assert_eq!(url("google/a b?c", false), format!("{base}/models/a%20b%3Fc:generateContent"));
}

#[test]
fn projects_and_publishers_are_in_the_url() {
    let base = "https://eu.test/v1/projects/p/locations/l/publishers/google";
    let vertex = Provider::builtin("vertex").unwrap().base_url(base).key("token");
    let ai = AgentLoop::builder().provider(vertex).build().unwrap();
    let encoded = inspect::encode(&ai, &ask("vertex/gemini-3-flash-preview"), true).unwrap();
    let path = "/models/gemini-3-flash-preview:streamGenerateContent?alt=sse";
    assert_eq!(encoded.url, format!("{base}{path}"));
    assert!(encoded.headers["authorization"].starts_with("Bearer "), "{:?}", encoded.headers);
}

#[test]
fn instructions_are_separate_and_messages_are_last() {
    let request = ChatRequest::new(OLD)
        .system("Be brief.")
        .user("Hi")
        .assistant("Hello!")
        .message(ChatMessage::system("In French."))
        .user("Bye");
    assert_eq!(
        encoded(&request).body.get(),
        r#"{"systemInstruction":{"parts":[{"text":"Be brief."},{"text":"In French."}]},"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"text":"Hello!"}]},{"role":"user","parts":[{"text":"Bye"}]}]}"#
    );
    let gemma = body(&ChatRequest::new("google/gemma-3-27b-it").system("Be brief.").user("Hi"));
    assert_eq!(
        gemma,
        json!({"contents": [{"role": "user", "parts": [{"text": "Be brief."}, {"text": "Hi"}]}]})
    );
    assert_eq!(error(&ChatRequest::new(OLD).system("x")).kind(), ErrorKind::InvalidRequest);
}

#[test]
fn a_conversation_that_grows_only_adds_bytes() {
    let short = ask(NEW).system("s").temperature(0.5).extra("safetySettings", json!([]));
    let long = short
        .clone()
        .message(ChatMessage::assistant([call("a", "f", None)]))
        .message(ChatMessage::tool("a", "1"))
        .user("go on");
    let (short, long) = (encoded(&short), encoded(&long));
    let prefix = short.body.get().strip_suffix("]}").unwrap();
    assert!(long.body.get().starts_with(prefix), "{} {}", short.body, long.body);
}

/// F.1: one message, in the order of the calls, objects only, names of the calls, ids if the provider sent them.
#[test]
fn the_results_of_a_round_are_one_message_in_the_order_of_the_calls() {
    let request = ask(OLD)
        .message(ChatMessage::assistant([
            call("c1", "first", Some(json!({"id": "c1"}))),
            call("made-up", "second", None),
            call("c3", "third", None),
        ]))
        .message(ChatMessage::tool_error("c3", "broke"))
        .message(ChatMessage::tool("made-up", "[1, 2]").with_name("ignored"))
        .message(ChatMessage::tool("c1", r#"{"z": 1, "a": 2}"#));
    assert_eq!(
        encoded(&request).body.get(),
        concat!(
            r#"{"contents":[{"role":"user","parts":[{"text":"Hello"}]},"#,
            r#"{"role":"model","parts":[{"functionCall":{"id":"c1","name":"first","args":{"z":1,"a":"x y"}}},"#,
            r#"{"functionCall":{"name":"second","args":{"z":1,"a":"x y"}}},"#,
            r#"{"functionCall":{"name":"third","args":{"z":1,"a":"x y"}}}]},"#,
            r#"{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"first","response":{"z":1,"a":2}}},"#,
            r#"{"functionResponse":{"name":"second","response":{"output":[1,2]}}},"#,
            r#"{"functionResponse":{"name":"third","response":{"error":"broke"}}}]}]}"#,
        )
    );
}

#[test]
fn results_and_arguments_are_always_objects() {
    for (result, sent) in [
        ("plain", json!({"output": "plain"})),
        ("", json!({"output": ""})),
        ("18", json!({"output": "18"})),
        ("{broken", json!({"output": "{broken"})),
        (r#"{"a":1}"#, json!({"a": 1})),
    ] {
        let request = ask(OLD)
            .message(ChatMessage::assistant([call("a", "f", None)]))
            .message(ChatMessage::tool("a", result));
        let response = &body(&request)["contents"][2]["parts"][0]["functionResponse"]["response"];
        assert_eq!(*response, sent, "{result}");
    }
    for (arguments, sent) in
        [("", json!({})), ("{}", json!({})), ("[1]", json!({"arguments": "[1]"}))]
    {
        let call = ContentPart::ToolCall(ToolCallPart::new("a", "f", arguments));
        let request =
            ask(OLD).message(ChatMessage::assistant([call])).message(ChatMessage::tool("a", "1"));
        assert_eq!(body(&request)["contents"][1]["parts"][0]["functionCall"]["args"], sent);
    }
}

#[test]
fn images_of_results_are_inside_or_beside_them() {
    let result =
        vec![ContentPart::text("seen"), ContentPart::image_url("data:image/png;base64,AAAA")];
    let request = |model| {
        ask(model)
            .message(ChatMessage::assistant([call("a", "f", None)]))
            .message(ChatMessage::tool("a", result.clone()))
    };
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}});
    let parts = body(&request(OLD))["contents"][2]["parts"].clone();
    assert_eq!(parts[0]["functionResponse"]["response"], json!({"output": "seen"}));
    assert_eq!(parts[1], image);
    let parts = body(&request(NEW))["contents"][2]["parts"].clone();
    assert_eq!(parts[0]["functionResponse"]["parts"], json!([image]));
    assert_eq!(parts.as_array().unwrap().len(), 1);
}

/// F.2: the signature is sent back on its own part.
#[test]
fn signatures_go_back_on_their_own_parts() {
    let text = |text: &str, signature: Option<&str>| {
        ContentPart::Text({
            let mut value = TextPart::new(text);
            value.provider_state = signature.and_then(|it| of_us(json!({"thoughtSignature": it})));
            value
        })
    };
    let mut thinking = ThinkingPart::new("hm");
    let unsigned = ContentPart::Thinking(thinking.clone());
    thinking.provider_state = of_us(json!({"thoughtSignature": "T"}));
    let image = ContentPart::Image({
        let mut value = ImagePart::new("image/png", "AAAA");
        value.provider_state = of_us(json!({"thoughtSignature": "I"}));
        value
    });
    let request = ask(NEW)
        .message(ChatMessage::assistant(vec![
            unsigned,
            ContentPart::Thinking(thinking),
            text("a", None),
            text("b", Some("B")),
            text("", Some("E")),
            text("", None),
            image,
            call("c", "f", Some(json!({"id": "c", "thoughtSignature": "C"}))),
            call("d", "g", None),
        ]))
        .message(ChatMessage::tool("c", "1"))
        .message(ChatMessage::tool("d", "2"));
    let args = json!({"z": 1, "a": "x y"});
    assert_eq!(
        body(&request)["contents"][1]["parts"],
        json!([
            {"text": "hm", "thought": true, "thoughtSignature": "T"},
            {"text": "a"},
            {"text": "b", "thoughtSignature": "B"},
            {"text": "", "thoughtSignature": "E"},
            {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thoughtSignature": "I"},
            {"functionCall": {"id": "c", "name": "f", "args": args}, "thoughtSignature": "C"},
            {"functionCall": {"name": "g", "args": args}},
        ])
    );
}

#[test]
fn calls_from_elsewhere_get_the_placeholder_where_signatures_are_demanded() {
    let mut turn = ChatMessage::assistant([call("a", "f", None), call("b", "g", None)]);
    turn.origin = Some(Origin::new("openai", "m"));
    let signatures = |model: &str| -> Vec<Value> {
        let request = ask(model)
            .message(turn.clone())
            .message(ChatMessage::tool("a", "1"))
            .message(ChatMessage::tool("b", "2"));
        let body = body(&request);
        let parts = body["contents"][1]["parts"].as_array().unwrap();
        parts.iter().map(|part| part["thoughtSignature"].clone()).collect()
    };
    let placeholder = [json!("skip_thought_signature_validator"), Value::Null];
    for model in [NEW, "google/gemini-4-argon", "google/gemini-3.1-pro-preview"] {
        assert_eq!(signatures(model), placeholder, "{model}");
    }
    assert_eq!(signatures(OLD), [Value::Null, Value::Null]);
}

/// State of another provider is not sent.
#[test]
fn state_of_others_is_not_sent() {
    let mut part = ToolCallPart::new("a", "f", "{}");
    let state = json!({"thoughtSignature": "theirs", "id": "theirs"});
    part.provider_state = Some(Box::new(ProviderState::new("vertex", state)));
    let request = ask(OLD)
        .message(ChatMessage::assistant([ContentPart::ToolCall(part)]))
        .message(ChatMessage::tool("a", "1"));
    assert!(!encoded(&request).body.get().contains("theirs"));
}

/// F.3: JSON Schema as it is; no schema where there are no parameters.
#[test]
fn tools_are_declared_with_json_schema() {
    let schema = json!({"type": "object", "properties": {"type": {"type": ["string", "null"]}}});
    let bare: ToolDefinition =
        serde_json::from_value(json!({"type": "function", "function": {"name": "now"}})).unwrap();
    let own = |fields: Value| serde_json::from_value::<ToolDefinition>(fields).unwrap();
    let request = ask(NEW)
        .tool(ToolDefinition::function("f", schema.clone()).with_description("d"))
        .tool(bare)
        .tool(ToolDefinition::function("e", json!({"type": "object", "properties": {}})))
        .tool(own(json!({"type": "googleSearch"})))
        .tool(own(json!({"type": "url_context"})))
        .tool(own(json!({"type": "fileSearch", "fileSearchStoreNames": ["s"]})))
        .tool(own(json!({"type": "codeExecution", "codeExecution": {}})));
    assert_eq!(
        body(&request)["tools"],
        json!([
            {"functionDeclarations": [
                {"name": "f", "description": "d", "parametersJsonSchema": schema},
                {"name": "now"},
                {"name": "e"},
            ]},
            {"googleSearch": {}},
            {"urlContext": {}},
            {"fileSearch": {"fileSearchStoreNames": ["s"]}},
            {"codeExecution": {}},
        ])
    );
}

#[test]
fn the_choice_of_tools_has_its_own_words() {
    let tool = ToolDefinition::function("f", json!({"properties": {"a": {}}}));
    let sent = |choice: ToolChoice| {
        body(&ask(OLD).tool(tool.clone()).tool_choice(choice))["toolConfig"]["functionCallingConfig"]
            .clone()
    };
    assert_eq!(sent(ToolChoice::Auto), json!({"mode": "AUTO"}));
    assert_eq!(sent(ToolChoice::Required), json!({"mode": "ANY"}));
    assert_eq!(sent(ToolChoice::None), json!({"mode": "NONE"}));
    let one = json!({"mode": "ANY", "allowedFunctionNames": ["f"]});
    assert_eq!(sent(ToolChoice::function("f")), one);
    let request = ask(OLD)
        .tool(tool.clone())
        .tool_choice(ToolChoice::Auto)
        .extra("toolConfig", json!({"includeServerSideToolInvocations": true}));
    assert_eq!(
        body(&request)["toolConfig"],
        json!({"functionCallingConfig": {"mode": "AUTO"}, "includeServerSideToolInvocations": true})
    );
    assert_eq!(warned(&ask(OLD).tool_choice(ToolChoice::Auto)), ["tool_choice"]);
}

/// F.4: a media type that is known, or an error.
#[test]
fn media_are_inline_or_by_url_with_a_known_type() {
    let sent = |part: ContentPart| {
        body(&ChatRequest::new(OLD).user([part]))["contents"][0]["parts"][0].clone()
    };
    let by_url = |mime: &str, url: &str| json!({"fileData": {"mimeType": mime, "fileUri": url}});
    assert_eq!(
        sent(ContentPart::image_url("data:image/webp;base64,AAAA")),
        json!({"inlineData": {"mimeType": "image/webp", "data": "AAAA"}})
    );
    assert_eq!(
        sent(ContentPart::image_url("data:text/plain,a%20b")),
        json!({"inlineData": {"mimeType": "text/plain", "data": "YSBi"}})
    );
    for (url, mime) in [
        ("https://x.test/a.png?size=2", "image/png"),
        ("https://x.test/a.JPG", "image/jpeg"),
        ("gs://bucket/clip.mp4", "video/mp4"),
        ("https://x.test/paper.pdf#page=2", "application/pdf"),
        ("https://www.youtube.com/watch?v=abc", "video/mp4"),
        ("https://youtu.be/abc", "video/mp4"),
    ] {
        assert_eq!(sent(ContentPart::image_url(url)), by_url(mime, url), "{url}");
    }
    assert_eq!(
        sent(ContentPart::audio("AAAA", "wav")),
        json!({"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}})
    );
    assert_eq!(
        sent(ContentPart::file("a.pdf", "data:application/pdf;base64,AAAA")),
        json!({"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}})
    );
    let file = |file| ContentPart::File { file, cache_control: None };
    let url = "https://x.test/download";
    let typed = FileInput::from_url(url).with_mime_type("text/csv");
    assert_eq!(sent(file(typed)), by_url("text/csv", url));
    let uploaded = FileInput::from_id("files/abc");
    assert_eq!(sent(file(uploaded)), json!({"fileData": {"fileUri": "files/abc"}}));
    for url in ["https://x.test/image", "https://x.test/a.xyz", "data:;base64,AAAA"] {
        let request = ChatRequest::new(OLD).user([ContentPart::image_url(url)]);
        assert_eq!(error(&request).kind(), ErrorKind::Unsupported, "{url}");
    }
}

#[test]
fn settings_are_in_the_generation_config() {
    // A model that takes penalties: those of 2.5 do not.
    let mut request = ask("google/gemini-2.0-flash")
        .temperature(0.7)
        .top_p(0.9)
        .max_tokens(100)
        .stop(vec!["A", "B"])
        .seed(42)
        .n(2)
        .audio(AudioOutput::new("Kore", "pcm16"))
        .response_format(ResponseFormat::json_schema("r", json!({"type": "object"})))
        .extra("generationConfig", json!({"mediaResolution": "MEDIA_RESOLUTION_LOW", "topP": 0.5}))
        .extra("safetySettings", json!([{"category": "c", "threshold": "OFF"}]));
    request.top_k = Some(40);
    request.frequency_penalty = Some(0.5);
    request.presence_penalty = Some(-0.5);
    request.logprobs = Some(true);
    request.top_logprobs = Some(3);
    assert_eq!(warned(&request), ["modalities"]);
    let body = body(&request);
    assert_eq!(
        body["generationConfig"],
        json!({
            "temperature": 0.7, "topP": 0.5, "topK": 40, "maxOutputTokens": 100,
            "stopSequences": ["A", "B"], "candidateCount": 2, "seed": 42,
            "frequencyPenalty": 0.5, "presencePenalty": -0.5,
            "responseLogprobs": true, "logprobs": 3,
            "responseModalities": ["AUDIO"],
            "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}},
            "responseMimeType": "application/json", "responseJsonSchema": {"type": "object"},
            "mediaResolution": "MEDIA_RESOLUTION_LOW",
        })
    );
    assert_eq!(body["safetySettings"], json!([{"category": "c", "threshold": "OFF"}]));
}

#[test]
fn what_has_no_place_is_left_out_with_a_warning() {
    let mut request = ask(OLD).parallel_tool_calls(false).extra("contents", json!([]));
    request.logit_bias = Some([("1".to_owned(), 1.0)].into());
    request.user_id = Some("u".to_owned());
    request.service_tier = Some("flex".to_owned());
    request.prompt_cache_key = Some("k".to_owned());
    request.metadata = Some(serde_json::Map::new());
    request.verbosity = Some("low".to_owned());
    request
        .messages
        .push(ChatMessage::user("x").with_name("ada").with_cache(CacheControl::default()));
    assert_eq!(
        warned(&request),
        [
            "parallel_tool_calls",
            "verbosity",
            "logit_bias",
            "service_tier",
            "prompt_cache_key",
            "user",
            "metadata",
            "extra_body.contents",
            "messages[1].name",
            "messages[1].cache_control",
        ]
    );
    let body = body(&request);
    assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["contents"]);
}

#[test]
fn thinking_is_a_budget_or_a_level() {
    let sent = |request: ChatRequest| {
        let kinds: Vec<WarningKind> = encoded(&request).warnings.iter().map(|w| w.kind).collect();
        (body(&request)["generationConfig"]["thinkingConfig"].clone(), kinds)
    };
    let model = |name: &str| ask(&format!("google/{name}"));
    let converted = vec![WarningKind::Converted];
    let clamped = vec![WarningKind::Clamped];
    for (request, config, warnings) in [
        (model("gemini-2.5-flash"), json!(null), vec![]),
        (
            model("gemini-2.5-flash").thinking(Thinking::budget(2000)),
            json!({"thinkingBudget": 2000, "includeThoughts": true}),
            vec![],
        ),
        (
            model("gemini-2.5-flash").thinking(Thinking::enabled()),
            json!({"thinkingBudget": -1, "includeThoughts": true}),
            vec![],
        ),
        (
            model("gemini-2.5-flash").thinking(Thinking::disabled()),
            json!({"thinkingBudget": 0}),
            vec![],
        ),
        (
            model("gemini-2.5-pro").thinking(Thinking::disabled()),
            json!({"thinkingBudget": 128}),
            clamped.clone(),
        ),
        (
            model("gemini-2.5-flash").thinking(Thinking::budget(50_000)),
            json!({"thinkingBudget": 24_576, "includeThoughts": true}),
            clamped.clone(),
        ),
        (
            model("gemini-2.5-flash").effort(Effort::Low),
            json!({"thinkingBudget": 1024, "includeThoughts": true}),
            converted.clone(),
        ),
        (
            model("gemini-3-flash-preview").effort(Effort::Minimal),
            json!({"thinkingLevel": "minimal", "includeThoughts": true}),
            vec![],
        ),
        (
            model("gemini-3-flash-preview").effort(Effort::Max),
            json!({"thinkingLevel": "high", "includeThoughts": true}),
            clamped.clone(),
        ),
        (
            model("gemini-3.1-pro-preview").effort(Effort::Minimal),
            json!({"thinkingLevel": "low", "includeThoughts": true}),
            clamped.clone(),
        ),
        (
            model("gemini-4-argon").thinking(Thinking::disabled()),
            json!({"thinkingLevel": "low"}),
            clamped,
        ),
        (
            model("gemini-4-argon").thinking(Thinking::budget(5000)),
            json!({"thinkingLevel": "medium", "includeThoughts": true}),
            converted,
        ),
        (
            model("gemini-4-argon")
                .thinking(Thinking::default().with_include(false))
                .effort(Effort::High),
            json!({"thinkingLevel": "high"}),
            vec![],
        ),
        (
            model("future-model").effort(Effort::High),
            json!({"thinkingLevel": "high", "includeThoughts": true}),
            vec![],
        ),
    ] {
        assert_eq!(sent(request), (config, warnings));
    }
}

/// A response is sent back unchanged, for every kind of part.
#[test]
fn a_response_is_sent_back_unchanged() {
    let parts = json!([
        {"text": "thought", "thought": true, "thoughtSignature": "s0"},
        {"executableCode": {"id": "x1", "language": "PYTHON", "code": "print(1)"}, "thoughtSignature": "s1"},
        {"codeExecutionResult": {"id": "x1", "outcome": "OUTCOME_NEW", "output": "1\n"}},
        {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}}, "thoughtSignature": "s2"},
        {"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"r": 1}}, "thoughtSignature": "s3"},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thoughtSignature": "s4"},
        {"inlineData": {"mimeType": "text/csv", "data": "AAAA"}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "https://x.test/v"}},
        {"mediaProcessing": {"future": true}, "thoughtSignature": "s5"},
        {"text": "said", "thoughtSignature": "s6"},
        {"functionCall": {"id": "f1", "name": "f", "args": {"b": 1, "a": [1, 2]}}, "thoughtSignature": "s7"},
        {"functionCall": {"name": "g", "args": {}}},
        {"text": "", "thoughtSignature": "s8"},
    ]);
    let answer = json!({
        "responseId": "r",
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
    });
    let ai = AgentLoop::from_env();
    let options = inspect::DecodeOptions::new("google");
    let raw = inspect::HttpResponse::new(answer.to_string());
    let mut stream = inspect::decode(&ai, &options, raw).unwrap();
    let mut last = None;
    while let Some(event) = support::now(stream.next()) {
        last = Some(event.unwrap());
    }
    let Some(ChatStreamEvent::MessageDone { response }) = last else {
        panic!("no end");
    };
    let calls: Vec<String> = response.tool_calls().map(|call| call.id.clone()).collect();
    assert_eq!(calls, ["f1", "call_r_0"]);
    let request = ask(NEW)
        .message(response.into_message())
        .message(ChatMessage::tool("f1", "1"))
        .message(ChatMessage::tool("call_r_0", "2"));
    let body = body(&request);
    assert_eq!(body["contents"][1]["parts"], parts);
    assert_eq!(body["contents"][2]["parts"][0]["functionResponse"]["id"], "f1");
    assert_eq!(body["contents"][2]["parts"][1]["functionResponse"].get("id"), None);
}
