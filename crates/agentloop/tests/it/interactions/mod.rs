//! Gemini's Interactions API: which requests are sent to it, and in which form.

mod hostile;
mod streams;

use agentloop::inspect::{self, EncodedRequest};
use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, ContentPart, Effort, ErrorKind, OpaquePart, Origin,
    Protocol, Provider, ProviderState, ResponseFormat, ServerToolCallPart, Thinking, ThinkingPart,
    ToolCallPart, ToolChoice, ToolDefinition,
};
use serde_json::{Value, json};

use crate::support::{Wire, decode};

const OWN: &str = "https://generativelanguage.googleapis.com/v1beta/interactions";

fn client() -> AgentLoop {
    AgentLoop::builder().key("google", "k").build().unwrap()
}

fn encode(request: &ChatRequest) -> EncodedRequest {
    inspect::encode(&client(), request, false).unwrap()
}

fn body(encoded: &EncodedRequest) -> Value {
    serde_json::from_str(encoded.body.get()).unwrap()
}

fn ask() -> ChatRequest {
    ChatRequest::new("google/gemini-3.5-flash").user("Hello")
}

/// A request in the protocol.
fn own() -> ChatRequest {
    ask().protocol(Protocol::GeminiInteractions)
}

/// The bytes of a response in the protocol.
fn wire(stream: bool) -> Wire {
    Wire { protocol: Some(Protocol::GeminiInteractions), stream, ..Wire::of("google") }
}

/// A message as a response in the protocol left it in the history.
fn said(parts: Vec<ContentPart>) -> ChatMessage {
    ChatMessage::assistant(parts).with_origin(Origin::new("google", "gemini-3.5-flash"))
}

#[test]
fn a_request_with_a_field_of_the_interactions_api_is_sent_there() {
    let generate =
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-3.5-flash:generateContent";
    for (request, url) in [
        (ask(), generate),
        (ask().temperature(0.5).effort(Effort::High), generate),
        (ask().extra("safetySettings", json!([])), generate),
        (ask().provider_option("openai", "background", true), generate),
        (own(), OWN),
        (ask().extra("previous_interaction_id", "v1_a"), OWN),
        (ask().extra("background", true), OWN),
        (ask().extra("agent", "deep-research-preview-04-2026"), OWN),
        (ask().provider_option("google", "previous_interaction_id", "v1_a"), OWN),
        // The request decides.
        (ask().extra("background", true).protocol(Protocol::Gemini), generate),
    ] {
        assert_eq!(encode(&request).url, url, "{request:?}");
    }
}

#[test]
fn nothing_is_stored_unless_the_request_needs_it() {
    let store = |request: ChatRequest| body(&encode(&request)).get("store").cloned();
    assert_eq!(store(own()), Some(json!(false)));
    assert_eq!(store(own().extra("store", true)), Some(json!(true)));
    // Refused together, or of no use: the provider's default applies.
    for (name, value) in [
        ("previous_interaction_id", json!("v1_a")),
        ("background", json!(true)),
        ("agent", json!("a")),
    ] {
        assert_eq!(store(own().extra(name, value.clone())), None, "{name}");
        let kept = own().extra(name, value).extra("store", false);
        assert_eq!(store(kept), Some(json!(false)), "{name}: the caller decides");
    }
    let row = Provider::google().default_field("store", true);
    let ai = AgentLoop::builder().provider(row).key("google", "k").build().unwrap();
    assert_eq!(body(&inspect::encode(&ai, &own(), false).unwrap())["store"], true);
}

#[test]
fn an_agent_takes_the_place_of_the_model_and_its_settings() {
    let request = own().extra("agent", "deep-research-preview-04-2026").temperature(0.5);
    let encoded = encode(&request.effort(Effort::High));
    let sent = body(&encoded);
    assert_eq!(sent["agent"], "deep-research-preview-04-2026");
    assert!(sent.get("model").is_none() && sent.get("generation_config").is_none(), "{sent}");
    let subjects: Vec<_> = encoded.warnings.iter().filter_map(|w| w.subject.as_deref()).collect();
    assert_eq!(subjects, ["temperature", "reasoning_effort"]);
}

#[test]
fn every_parameter_has_its_place() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let request = own()
        .system("Be brief.")
        .temperature(0.5)
        .top_p(0.9)
        .max_tokens(100)
        .seed(7)
        .stop("END")
        .effort(Effort::Low)
        .service_tier("flex")
        .response_format(ResponseFormat::json_schema("a", schema.clone()))
        .tool(ToolDefinition::function("look", schema.clone()))
        .tool_choice(ToolChoice::Function("look".to_owned()));
    let sent = body(&encode(&request));
    assert_eq!(
        sent["generation_config"],
        json!({ "temperature": 0.5, "top_p": 0.9, "max_output_tokens": 100, "seed": 7,
                "stop_sequences": ["END"], "thinking_level": "low", "thinking_summaries": "auto",
                "tool_choice": { "allowed_tools": { "mode": "any", "tools": ["look"] } } })
    );
    assert_eq!(
        (&sent["model"], &sent["service_tier"]),
        (&json!("gemini-3.5-flash"), &json!("flex"))
    );
    assert_eq!(sent["system_instruction"], "Be brief.");
    assert_eq!(
        sent["response_format"],
        json!({ "type": "text", "mime_type": "application/json", "schema": schema })
    );
    assert_eq!(
        sent["tools"],
        json!([{ "type": "function", "name": "look", "parameters": schema }])
    );
    assert_eq!(
        sent["input"],
        json!([{ "type": "user_input", "content": [{ "type": "text", "text": "Hello" }] }])
    );
    assert!(sent.get("stream").is_none());
    let streamed = inspect::encode(&client(), &own(), true).unwrap();
    assert_eq!((streamed.url.as_str(), &body(&streamed)["stream"]), (OWN, &json!(true)));
}

#[test]
fn what_the_api_does_not_have_is_a_warning() {
    let encoded = encode(&own().top_k(4).n(2).frequency_penalty(0.5).logprobs(true));
    let mut subjects: Vec<_> =
        encoded.warnings.iter().filter_map(|warning| warning.subject.as_deref()).collect();
    subjects.sort_unstable();
    assert_eq!(subjects, ["frequency_penalty", "logprobs", "n", "top_k"]);
    let forced = own()
        .tool(ToolDefinition::Provider(
            json!({ "type": "google_search" }).as_object().unwrap().clone(),
        ))
        .tool_choice(ToolChoice::Required);
    let encoded = encode(&forced);
    assert!(body(&encoded).get("generation_config").is_none(), "no functions: no choice");
    assert_eq!(encoded.warnings[0].subject.as_deref(), Some("tool_choice"));
}

#[test]
fn thinking_is_a_level() {
    let config = |request: ChatRequest| body(&encode(&request))["generation_config"].clone();
    let mut hidden = Thinking::enabled();
    hidden.include = Some(false);
    assert_eq!(config(own().thinking(hidden)), json!({ "thinking_summaries": "none" }));
    let mut budget = Thinking::enabled();
    budget.budget_tokens = Some(9_000);
    assert_eq!(
        config(own().thinking(budget)),
        json!({ "thinking_level": "high", "thinking_summaries": "auto" })
    );
    assert_eq!(
        config(own().thinking(Thinking::disabled())),
        json!({ "thinking_level": "minimal", "thinking_summaries": "none" })
    );
    assert_eq!(config(own()), Value::Null);
}

#[test]
fn a_response_returns_as_the_steps_that_it_was() {
    let steps = json!([
        { "type": "thought", "signature": "c2ln", "mood": "calm",
          "summary": [{ "type": "text", "text": "Hm." }, { "type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo=" }] },
        { "type": "google_search_call", "id": "s1", "arguments": { "queries": ["a"] }, "search_type": "web_search" },
        { "type": "google_search_result", "call_id": "s1", "result": [{ "search_suggestions": "<a>" }], "signature": "czI=" },
        { "type": "code_execution_call", "id": "c1", "arguments": { "timeout": 3, "code": "1", "language": "bash" } },
        { "type": "code_execution_result", "call_id": "c1", "result": "no", "is_error": true },
        { "type": "mcp_server_tool_call", "id": "m1", "name": "f", "server_name": "docs", "arguments": { "a": 1 } },
        { "type": "mcp_server_tool_result", "call_id": "m1", "name": "f", "server_name": "docs", "result": "r" },
        { "type": "model_output", "flavour": "sweet", "content": [
            { "type": "text", "text": "Look:" },
            { "type": "image", "mime_type": "image/jpeg", "resolution": "high", "data": "/9j/" },
            { "type": "audio", "mime_type": "audio/l16", "sample_rate": 24000, "data": "AAAA" },
            { "type": "video", "mime_type": "video/mp4", "uri": "https://v.example/a.mp4" }] },
        { "type": "dream_step", "depth": 3 },
        { "type": "function_call", "id": "q1", "name": "look", "arguments": { "a": "ä" }, "signature": "czM=" },
        { "type": "function_call", "id": "q2", "name": "look", "arguments": {} }
    ]);
    let response = json!({ "object": "interaction", "id": "v1_a", "status": "requires_action", "steps": steps });
    let response = decode(&wire(false), response.to_string().as_bytes()).response().unwrap();
    let next = own()
        .tool(ToolDefinition::function("look", json!({ "type": "object" })))
        .message(response.into_message())
        .message(ChatMessage::tool("q1", "found"))
        .message(ChatMessage::tool_error("q2", "lost"));
    let encoded = encode(&next);
    assert!(encoded.warnings.is_empty(), "{:?}", encoded.warnings);
    let sent = body(&encoded);
    let input = sent["input"].as_array().unwrap();
    let returned = &input[1..input.len() - 2];
    assert_eq!(returned, steps.as_array().unwrap().as_slice());
    assert_eq!(
        input[input.len() - 2..],
        [
            json!({ "type": "function_result", "call_id": "q1", "name": "look", "result": "found" }),
            json!({ "type": "function_result", "call_id": "q2", "name": "look", "result": "lost", "is_error": true }),
        ]
    );
    // The provider's other protocol gets none of it, and is still valid.
    let other = encode(&next.protocol(Protocol::Gemini));
    let text = other.body.get();
    for state in ["c2ln", "czI=", "czM=", "dream_step", "sweet", "web_search"] {
        assert!(!text.contains(state), "{state} in {text}");
    }
    assert!(text.contains("Look:") && text.contains(r#""functionCall":{"#), "{text}");
}

#[test]
fn state_of_generate_content_is_not_sent_to_the_interactions_api() {
    let state = |data: Value| Some(Box::new(ProviderState::new("google", data)));
    let mut thought = ThinkingPart::new("Hm.");
    thought.signature = Some("c2ln".to_owned());
    thought.provider_state = state(json!({ "thoughtSignature": "c2ln" }));
    let mut call = ToolCallPart::new("call_1", "look", "{}");
    call.provider_state = state(json!({ "thoughtSignature": "czI=", "id": "f1" }));
    let mut search = ServerToolCallPart::default();
    search.provider_state = state(json!({ "toolType": "GOOGLE_SEARCH_WEB" }));
    let opaque =
        json!({ "provider": "google", "kind": "newPart", "data": { "newPart": { "a": 1 } } });
    let opaque: OpaquePart = serde_json::from_value(opaque).unwrap();
    let message = said(vec![
        ContentPart::Thinking(thought),
        ContentPart::ServerToolCall(search),
        ContentPart::Opaque(opaque),
        ContentPart::ToolCall(call),
    ]);
    let encoded = encode(&own().message(message).message(ChatMessage::tool("call_1", "r")));
    let sent = body(&encoded);
    assert_eq!(
        sent["input"][1],
        json!({ "type": "function_call", "id": "call_1", "name": "look", "arguments": {} })
    );
    assert_eq!(sent["input"].as_array().unwrap().len(), 3, "{sent}");
    assert_eq!(encoded.warnings.len(), 3, "{:?}", encoded.warnings);
}

#[test]
fn media_are_contents_of_their_kind() {
    let request = own().user([
        ContentPart::image_url("data:image/png;base64,iVBORw0KGgo="),
        ContentPart::image_url("https://a.example/b.jpg"),
        ContentPart::file("a.pdf", "data:application/pdf;base64,JVBERi0="),
    ]);
    assert_eq!(
        body(&encode(&request))["input"][1]["content"],
        json!([
            { "type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo=" },
            { "type": "image", "mime_type": "image/jpeg", "uri": "https://a.example/b.jpg" },
            { "type": "document", "mime_type": "application/pdf", "data": "JVBERi0=" },
        ])
    );
    let shown = own()
        .tool(ToolDefinition::function("look", json!({ "type": "object" })))
        .message(ChatMessage::assistant(vec![ContentPart::ToolCall(ToolCallPart::new(
            "c", "look", "{}",
        ))]))
        .message(ChatMessage::tool(
            "c",
            vec![
                ContentPart::text("a"),
                ContentPart::image_url("data:image/png;base64,iVBORw0KGgo="),
            ],
        ));
    let result = &body(&encode(&shown))["input"][2]["result"];
    assert_eq!(result[0], json!({ "type": "text", "text": "a" }));
    assert_eq!(result[1]["type"], "image");
}

#[test]
fn a_request_of_instructions_alone_is_refused() {
    let request = ChatRequest::new("google/gemini-3.5-flash").system("Be brief.");
    let request = request.protocol(Protocol::GeminiInteractions);
    let error = inspect::encode(&client(), &request, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
}
