//! Strict schemas, and conversations in strict mode.

use agentloop::inspect::{self, EncodedRequest};
use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, ContentPart, ErrorKind, MessageContent, Protocol,
    ResponseFormat, ToolDefinition, WarningKind,
};
use serde_json::{Value, json};

fn encode(request: &ChatRequest) -> (Value, EncodedRequest) {
    let ai = AgentLoop::builder().build().unwrap();
    let encoded = inspect::encode(&ai, request, false).unwrap();
    (serde_json::from_str(encoded.body.get()).unwrap(), encoded)
}

fn ask() -> ChatRequest {
    ChatRequest::new("openai/gpt-4.1").user("Hello")
}

fn warned(encoded: &EncodedRequest) -> Vec<(WarningKind, &str)> {
    let warnings = encoded.warnings.iter();
    warnings.map(|warning| (warning.kind, warning.subject.as_deref().unwrap())).collect()
}

#[test]
fn a_strict_schema_has_the_form_of_the_provider() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}});
    let tool = ToolDefinition::function("f", schema.clone()).with_strict(true);
    let loose = ToolDefinition::function("g", schema.clone());
    let format = ResponseFormat::json_schema("r", schema.clone());
    let (body, encoded) = encode(&ask().tool(tool).tool(loose).response_format(format));
    let strict = json!({
        "type": "object",
        "properties": {"a": {"type": ["string", "null"], "description": "maxLength: 3"}},
        "required": ["a"],
        "additionalProperties": false,
    });
    assert_eq!(body["tools"][0]["function"]["parameters"], strict);
    assert_eq!(body["tools"][1]["function"]["parameters"], schema, "not asked for");
    let sent = &body["response_format"]["json_schema"];
    assert_eq!((&sent["schema"], &sent["strict"]), (&strict, &json!(true)));
    let converted = WarningKind::Converted;
    let expected = [(converted, "tools.f.parameters"), (converted, "response_format")];
    assert_eq!(warned(&encoded), expected);
}

#[test]
fn an_open_map_is_requested_without_strict() {
    let schema = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let format = ResponseFormat::json_schema("r", schema.clone());
    let (body, encoded) = encode(&ask().response_format(format));
    let sent = &body["response_format"]["json_schema"];
    assert_eq!((&sent["schema"], &sent["strict"]), (&schema, &json!(false)));
    assert_eq!(warned(&encoded), [(WarningKind::Converted, "response_format")]);
}

#[test]
fn a_hole_is_mended_with_a_warning_or_refused() {
    let call = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let call: ChatMessage = serde_json::from_value(call).unwrap();
    let request = ask().message(call).user("Well?");
    let (body, encoded) = encode(&request);
    let result = &body["messages"][2];
    assert_eq!((&result["role"], &result["tool_call_id"]), (&json!("tool"), &json!("a")));
    assert!(result["content"].as_str().unwrap().contains("interrupted"), "{result}");
    assert_eq!(warned(&encoded), [(WarningKind::Repaired, "messages[1]")]);
    let ai = AgentLoop::builder().build().unwrap();
    let error = inspect::encode(&ai, &request.strict(), false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert_eq!(error.provider(), Some("openai"));
    assert!(error.to_string().contains("messages[1]"), "{error}");
}

#[test]
fn a_failed_tool_is_reported_in_every_protocol_whether_its_result_is_text_or_parts() {
    let call = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let call: ChatMessage = serde_json::from_value(call).unwrap();
    let text: MessageContent = "no such place".into();
    let parts: MessageContent =
        vec![ContentPart::text("no such"), ContentPart::text("place")].into();
    for (model, protocol, mark) in [
        ("openai/gpt-4.1", Protocol::OpenAiChat, "Error:"),
        ("openai/gpt-4.1", Protocol::OpenAiResponses, "Error:"),
        ("anthropic/claude-sonnet-4-5", Protocol::Anthropic, "\"is_error\":true"),
        ("google/gemini-2.5-flash", Protocol::Gemini, "\"error\":"),
    ] {
        for content in [&text, &parts] {
            let ask = ChatRequest::new(model).user("Where?").message(call.clone());
            let failed = ask.clone().message(ChatMessage::tool_error("a", content.clone()));
            let went_well = ask.message(ChatMessage::tool("a", content.clone()));
            let is_reported = |request: ChatRequest| {
                encode(&request.protocol(protocol)).1.body.get().contains(mark)
            };
            assert!(is_reported(failed), "{protocol:?}: {content:?}");
            assert!(!is_reported(went_well), "{protocol:?}: {content:?}");
        }
    }
}
