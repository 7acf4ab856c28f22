//! Cohere's own API: the form of requests, citations, and what is read from odd streams.

use agentloop::inspect::{self, EncodedRequest};
use agentloop::transport::{Body, BoxFuture, SendOptions, Transport};
use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, Citation, ContentPart, Effort, EmbedRequest, ErrorKind,
    FileInput, FinishReason, Protocol, ResponseFormat, ResponsePart, Thinking, ToolCallPart,
    ToolChoice, ToolDefinition, Usd, WarningKind,
};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::support::{Decoded, Wire, decode};

fn client() -> AgentLoop {
    AgentLoop::builder().build().unwrap()
}

fn encode(request: &ChatRequest) -> EncodedRequest {
    inspect::encode(&client(), request, false).unwrap()
}

fn body(encoded: &EncodedRequest) -> Value {
    serde_json::from_str(encoded.body.get()).unwrap()
}

fn ask() -> ChatRequest {
    ChatRequest::new("cohere/command-a-03-2025").user("Hello")
}

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition::function(name, json!({ "type": "object", "properties": {} }))
}

fn file(text: &str, citations: Option<bool>) -> ContentPart {
    let mut file = FileInput::default();
    file.file_data = Some(format!("data:text/plain,{text}"));
    file.title = Some("Sky".to_owned());
    file.citations = citations;
    ContentPart::File { file, cache_control: None }
}

#[test]
fn parameters_have_the_names_and_ranges_of_the_api() {
    let request = ask()
        .temperature(0.5)
        .top_p(1.0)
        .top_k(40)
        .max_tokens(100)
        .seed(3)
        .stop(vec!["a", "b"])
        .extra("safety_mode", "STRICT");
    let encoded = encode(&request);
    assert_eq!(encoded.url, "https://api.cohere.com/v2/chat");
    assert_eq!(
        body(&encoded),
        json!({ "model": "command-a-03-2025", "temperature": 0.5, "p": 0.99, "k": 40, "max_tokens": 100, "seed": 3,
                "stop_sequences": ["a", "b"], "safety_mode": "STRICT",
                "messages": [{ "role": "user", "content": "Hello" }] })
    );
    let kinds: Vec<WarningKind> = encoded.warnings.iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, [WarningKind::Clamped], "{:?}", encoded.warnings);
    assert_eq!(body(&inspect::encode(&client(), &ask(), true).unwrap())["stream"], true);
    let compatible = encode(&ask().protocol(Protocol::OpenAiChat));
    assert_eq!(compatible.url, "https://api.cohere.ai/compatibility/v1/chat/completions");
}

#[test]
fn text_files_to_cite_are_documents_and_others_are_text() {
    let request = ChatRequest::new("cohere/m").user([
        file("green", Some(true)),
        ContentPart::text("What color?"),
        file("blue", None),
        ContentPart::image_url("https://example.com/sky.png"),
    ]);
    let encoded = encode(&request);
    let sent = body(&encoded);
    let document = json!({ "id": "doc_0", "data": { "title": "Sky", "text": "green" } });
    assert_eq!(sent["documents"], json!([document]));
    assert_eq!(
        sent["messages"][0]["content"],
        json!([{ "type": "text", "text": "What color?" }, { "type": "text", "text": "Sky\n\nblue" },
               { "type": "image_url", "image_url": { "url": "https://example.com/sky.png" } }])
    );
    assert!(encoded.warnings.is_empty(), "{:?}", encoded.warnings);
    let pdf = ContentPart::file("a.pdf", "data:application/pdf;base64,JVBERi0=");
    let request = ChatRequest::new("cohere/m").user([pdf]);
    let error = inspect::encode(&client(), &request, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(encode(&request.lenient()).warnings.len(), 1);
}

#[test]
fn a_tool_that_must_be_called_is_sent_alone() {
    let request = || ask().tool(tool("f")).tool(tool("g"));
    for (choice, word, tools) in [
        (ToolChoice::Auto, Value::Null, 2),
        (ToolChoice::None, json!("NONE"), 2),
        (ToolChoice::Required, json!("REQUIRED"), 2),
        (ToolChoice::function("g"), json!("REQUIRED"), 1),
    ] {
        let encoded = encode(&request().tool_choice(choice.clone()));
        let sent = body(&encoded);
        assert_eq!(sent["tool_choice"], word, "{choice:?}");
        assert_eq!(sent["tools"].as_array().unwrap().len(), tools, "{choice:?}");
        assert_eq!(encoded.warnings.len(), usize::from(tools == 1), "{:?}", encoded.warnings);
    }
    let strict = |first: bool| {
        let tools = [tool("f").with_strict(first), tool("g").with_strict(true)];
        encode(&tools.into_iter().fold(ask(), ChatRequest::tool))
    };
    assert_eq!(body(&strict(true))["strict_tools"], true);
    assert_eq!(body(&strict(false)).get("strict_tools"), None);
    assert_eq!(strict(false).warnings.len(), 1);
}

#[test]
fn thinking_is_a_switch_with_a_budget() {
    let on = json!({ "type": "enabled" });
    let off = json!({ "type": "disabled" });
    for (request, sent, warnings) in [
        (ask(), Value::Null, 0),
        (ask().thinking(Thinking::enabled()), on.clone(), 0),
        (ask().thinking(Thinking::disabled()), off.clone(), 0),
        (ask().effort(Effort::None), off, 0),
        (ask().effort(Effort::High), on.clone(), 0),
        (ask().effort(Effort::Low), on, 1),
        (ask().thinking(Thinking::budget(9)), json!({ "type": "enabled", "token_budget": 9 }), 0),
    ] {
        let mut request = request;
        "cohere/some-model".clone_into(&mut request.model);
        let encoded = encode(&request);
        assert_eq!(body(&encoded)["thinking"], sent, "{request:?}");
        assert_eq!(encoded.warnings.len(), warnings, "{:?}", encoded.warnings);
    }
}

#[test]
fn a_schema_is_part_of_the_json_format_but_not_beside_tools() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let format = ResponseFormat::json_schema("s", schema.clone());
    let sent = body(&encode(&ask().response_format(format.clone())));
    let expected = json!({ "type": "json_object", "json_schema": schema });
    assert_eq!(sent["response_format"], expected);
    for format in [format, ResponseFormat::JsonObject {}] {
        let encoded = encode(&ask().response_format(format).tool(tool("f")));
        assert_eq!(body(&encoded).get("response_format"), None);
        let subjects = encoded.warnings.iter().map(|warning| warning.subject.as_deref());
        assert!(subjects.eq([Some("response_format")]), "{:?}", encoded.warnings);
    }
}

#[test]
fn embeddings_and_models_are_asked_for_in_the_protocol() {
    let texts: Vec<String> = (0..97).map(|number| number.to_string()).collect();
    let request = EmbedRequest::new("cohere/embed-v4.0", texts).dimensions(256);
    let calls = inspect::encode_embed(&client(), &request).unwrap();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1].url, "https://api.cohere.com/v2/embed");
    assert_eq!(
        body(&calls[1]),
        json!({ "model": "embed-v4.0", "input_type": "search_document", "embedding_types": ["float"],
                "output_dimension": 256, "texts": ["96"] })
    );
}

fn read(bytes: &[u8], stream: bool, size: usize) -> Decoded {
    decode(&Wire { stream, size, model: Some("command-a-03-2025"), ..Wire::of("cohere") }, bytes)
}

fn fixture(name: &str) -> Vec<u8> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/cohere");
    std::fs::read(folder.join(name)).unwrap()
}

#[test]
fn citations_have_their_sources_and_return_as_they_were_sent() {
    let response = read(&fixture("cited.body.json"), false, usize::MAX).response().unwrap();
    let ResponsePart::Text(text) = &response.choices[0].content[1] else { panic!("{response:?}") };
    let [Citation::File(document), Citation::Url(page), Citation::File(output)] = &*text.citations
    else {
        panic!("{text:?}")
    };
    assert_eq!(
        (document.file_id.as_deref(), document.filename.as_deref()),
        (Some("doc_0"), Some("Sky"))
    );
    assert_eq!((document.start_index, document.end_index), (Some(11), Some(16)));
    assert_eq!((page.url.as_str(), page.start_index), ("https://sky.example", Some(11)));
    assert_eq!(output.file_id.as_deref(), Some("search_1:1"));
    // The source of a thought is beside the response.
    assert_eq!(response.provider_metadata["citations"][0]["type"], "THINKING_CONTENT");
    let wire: Value = serde_json::from_slice(&fixture("cited.body.json")).unwrap();
    let request = ask().message(response.into_message()).user("And the sea?");
    let encoded = encode(&request);
    let sent = &body(&encoded)["messages"][1];
    assert_eq!(
        sent["citations"],
        json!([wire["message"]["citations"][0], wire["message"]["citations"][1]])
    );
    assert_eq!(sent["content"], wire["message"]["content"]);
    assert!(encoded.warnings.is_empty(), "{:?}", encoded.warnings);
    // Another provider gets neither.
    let mut other = request;
    "groq/m".clone_into(&mut other.model);
    assert!(!encode(&other).body.get().contains("sources"));
}

#[test]
fn a_plan_is_thinking_and_returns_as_a_plan() {
    let response = read(&fixture("plan_and_calls.stream.sse"), true, 3).response().unwrap();
    assert_eq!(response.thinking().as_deref(), Some("I will look up both."));
    assert_eq!(response.finish_reason(), Some(&FinishReason::ToolCalls));
    let request = ask()
        .message(response.into_message())
        .message(ChatMessage::tool("weather_1", "18 °C"))
        .message(ChatMessage::tool_error("now_2", "no clock"));
    let sent = body(&encode(&request))["messages"].clone();
    assert_eq!(sent[1]["tool_plan"], "I will look up both.");
    assert_eq!(sent[1].get("content"), None);
    assert_eq!(sent[1]["tool_calls"][1]["function"], json!({ "name": "now", "arguments": "{}" }));
    assert_eq!(sent[2], json!({ "role": "tool", "tool_call_id": "weather_1", "content": "18 °C" }));
    assert_eq!(sent[3]["content"], "Error: no clock");
    // Thinking of another model is a block.
    let foreign = ask().message(ChatMessage::assistant([
        ContentPart::Thinking(agentloop::ThinkingPart::new("Hm.")),
        ContentPart::ToolCall(ToolCallPart::new("c", "f", "")),
    ]));
    let sent = body(&encode(&foreign))["messages"][1].clone();
    assert_eq!(sent["content"], json!([{ "type": "thinking", "thinking": "Hm." }]));
}

#[test]
fn usage_is_what_the_model_read_and_what_is_billed_is_beside_it() {
    let response = read(&fixture("text.body.json"), false, usize::MAX).response().unwrap();
    let usage = &response.usage;
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(503), Some(14)));
    assert_eq!(usage.details.cached_tokens, Some(16));
    let billed = &response.provider_metadata["usage"]["billed_units"];
    assert_eq!(billed, &json!({ "input_tokens": 8, "output_tokens": 2 }));
}

/// Responds to every call with the same body.
#[derive(Debug)]
struct Fixed(Vec<u8>);

impl Transport for Fixed {
    fn send<'a>(
        &'a self,
        _: http::Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, agentloop::Result<http::Response<Body>>> {
        let body = Body::stream(futures_util::stream::iter([Ok(Bytes::from(self.0.clone()))]));
        Box::pin(async { Ok(http::Response::new(body)) })
    }
}

/// 8 and 2 of the 503 and 14 tokens are billed, at 2.5 and 10 dollars for a million.
#[tokio::test]
async fn the_cost_is_that_of_the_billed_tokens() {
    let provider =
        agentloop::Provider::cohere().key("k").transport(Fixed(fixture("text.body.json")));
    let ai = AgentLoop::builder().provider(provider).build().unwrap();
    let response = ai.chat(ask()).await.unwrap();
    assert_eq!(response.usage.prompt_tokens, Some(503));
    assert_eq!(response.cost.unwrap().usd, Usd::from_picos(40_000_000));
}

#[test]
fn an_error_is_one_wherever_it_is() {
    let start = "event: message-start\ndata: {\"id\":\"1\",\"type\":\"message-start\",\"delta\":{\"message\":{}}}\n\n";
    let text = "data: {\"type\":\"content-delta\",\"index\":0,\"delta\":{\"message\":{\"content\":{\"text\":\"Hé\"}}}}\n\n";
    let error = "data: {\"message\":\"out of luck\"}\n\n";
    for size in [1, 7, usize::MAX] {
        let decoded = read(format!("{start}{text}{error}").as_bytes(), true, size);
        let failed = decoded.error.unwrap();
        assert_eq!(failed.message(), "out of luck");
        assert_eq!(failed.partial().unwrap().text(), "Hé");
        // A failure without content fails the call.
        let end = "data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"ERROR\",\"error\":\"no\"}}\n\n";
        let failed = read(format!("{start}{end}").as_bytes(), true, size).response().unwrap_err();
        assert_eq!(failed.message(), "no");
        let failed = read(format!("{start}{text}{end}").as_bytes(), true, size).response().unwrap();
        assert_eq!(failed.finish_reason(), Some(&FinishReason::Error));
        assert_eq!(failed.warnings[0].kind, WarningKind::Provider);
        let cut = read(format!("{start}{text}").as_bytes(), true, size).response().unwrap_err();
        assert_eq!(cut.kind(), ErrorKind::IncompleteStream);
    }
    for (body, kind) in [
        (r#"{"message":"no"}"#, ErrorKind::Server),
        ("[1]", ErrorKind::Protocol),
        ("{}", ErrorKind::Protocol),
        ("", ErrorKind::IncompleteStream),
    ] {
        let error = read(body.as_bytes(), false, usize::MAX).response().unwrap_err();
        assert_eq!(error.kind(), kind, "{body}: {error:?}");
    }
}

#[test]
fn pieces_of_arguments_that_look_like_none_are_kept() {
    let call = |kind: &str, fields: &str| {
        format!(
            "data: {{\"type\":\"{kind}\",\"index\":0,\"delta\":{{\"message\":{{\"tool_calls\":{{{fields}}}}}}}}}\n\n"
        )
    };
    let start = call("tool-call-start", r#""id":"c","function":{"name":"f","arguments":""}"#);
    let piece = |text: &str| {
        call("tool-call-delta", &format!(r#""function":{{"arguments":{}}}"#, json!(text)))
    };
    let end = "data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"TOOL_CALL\"}}\n\n";
    for (pieces, expected) in
        [(vec![r#"{"a":"#, "null", "}"], r#"{"a":null}"#), (vec!["null"], "{}"), (vec![], "{}")]
    {
        let pieces: String = pieces.into_iter().map(piece).collect();
        let response =
            read(format!("{start}{pieces}{end}").as_bytes(), true, 5).response().unwrap();
        assert_eq!(response.tool_calls().next().unwrap().arguments, expected);
    }
}

// Each citation without a number looked at all blocks for the last text.
#[test]
fn work_does_not_grow_with_the_blocks_that_are_empty() {
    let count = 50_000;
    let mut stream = "data: {\"type\":\"message-start\",\"id\":\"a\"}\n\n".to_owned();
    let text =
        r#"data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"a"}}}}"#;
    let start = r#"data: {"type":"content-start","delta":{"message":{"content":{"type":"text","text":""}}}}"#;
    let cite = r#"data: {"type":"citation-start","delta":{"message":{"citations":{"start":0,"end":1,"text":"a"}}}}"#;
    for (event, times) in [(text, 1), (start, count), (cite, count)] {
        stream += &format!("{event}\n\n").repeat(times);
    }
    stream += "data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"COMPLETE\"}}\n\n";
    let wire = Wire { stream: true, ..Wire::of("cohere") };
    let response = decode(&wire, stream.as_bytes()).response().unwrap();
    let citations = response.choices[0].content.iter().map(|part| match part {
        ResponsePart::Text(text) => text.citations.len(),
        _ => 0,
    });
    assert_eq!(citations.sum::<usize>(), count);
}
