use agentloop::ToolCall;

use super::*;

fn convert_all(request: &ChatRequest) -> Vec<(&'static str, String)> {
    let tools = tools(request).unwrap();
    let messages = messages(request, &tools).unwrap();
    messages.into_iter().map(|message| (message.role, message.text)).collect()
}

#[test]
fn messages_keep_their_roles_and_texts() {
    let request =
        ChatRequest::new("m").system("Be brief.").user("Hi").assistant("Hello").user("Bye");
    let expected =
        [("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello"), ("user", "Bye")];
    let expected = expected.map(|(role, text)| (role, text.to_owned()));
    assert_eq!(convert_all(&request), expected);
}

#[test]
fn tools_are_described_after_the_system_prompt() {
    let tool =
        ToolDefinition::function("look", json!({"type": "object"})).with_description("Looks.");
    let mut request = ChatRequest::new("m").system("Be brief.").user("Hi");
    request.tools.push(tool);
    let messages = convert_all(&request);
    assert_eq!(messages.len(), 2);
    assert!(messages[0].1.starts_with("Be brief.\n\n# Tools"), "{}", messages[0].1);
    assert!(messages[0].1.contains(r#""name":"look""#));
}

#[test]
fn calls_and_their_results_are_written_as_the_model_writes_them() {
    let call = |id: &str| ToolCall::new(id, "look", "{\"at\":1}");
    let request = ChatRequest::new("m")
        .user("Hi")
        .message(ChatMessage::assistant("").with_tool_call(call("a")).with_tool_call(call("b")))
        .message(ChatMessage::tool("a", "one"))
        .message(ChatMessage::tool("b", "two"));
    let messages = convert_all(&request);
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[1].1.matches(CALL_START).count(), 2);
    assert_eq!(messages[2].0, "user");
    assert_eq!(messages[2].1.matches("<tool_response>").count(), 2);
}

#[test]
fn images_and_nul_characters_are_refused() {
    let image: ContentPart = serde_json::from_value(
        json!({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}),
    )
    .unwrap();
    let request = ChatRequest::new("m").user(image);
    assert_eq!(messages(&request, &[]).unwrap_err().kind(), ErrorKind::Unsupported);
    let request = ChatRequest::new("m").user("a\0b");
    assert_eq!(messages(&request, &[]).unwrap_err().kind(), ErrorKind::InvalidRequest);
}

#[test]
fn a_request_that_is_too_large_is_refused() {
    let request = ChatRequest::new("m").user("x".repeat(MAX_PROMPT_BYTES + 1));
    assert_eq!(messages(&request, &[]).unwrap_err().kind(), ErrorKind::TooLarge);
}

#[test]
fn a_conversation_with_tools_has_a_form_for_templates() {
    let tool = ToolDefinition::function("look", json!({"type": "object"}));
    let call = |arguments: &str| ToolCall::new("a", "look", arguments);
    let mut request = ChatRequest::new("m")
        .system("Be brief.")
        .system("Be kind.")
        .user("Hi")
        .message(ChatMessage::assistant("So").with_tool_call(call("{\"at\":1}")))
        .message(ChatMessage::tool("a", "one"));
    let of = |request: &ChatRequest, tools: &[Tool]| {
        Conversation::of(request, tools).unwrap().structured
    };
    let structured = of(&request, &[]).unwrap();
    assert!(structured.tools.is_empty());
    let function = json!({"name": "look", "arguments": {"at": 1}});
    assert_eq!(
        json!(structured.messages),
        json!([
            {"role": "system", "content": "Be brief.\n\nBe kind."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "So", "tool_calls": [{"id": "a", "type": "function", "function": function}]},
            {"role": "tool", "name": "look", "tool_call_id": "a", "content": "one"},
        ])
    );
    request.tools.push(tool);
    let structured = of(&request, &tools(&request).unwrap()).unwrap();
    assert_eq!(structured.tools[0]["function"]["name"], "look");
    for (arguments, expected) in [("", json!({})), ("{\"at\":", json!("{\"at\":"))] {
        let request = ChatRequest::new("m")
            .message(ChatMessage::assistant("").with_tool_call(call(arguments)));
        let messages = of(&request, &[]).unwrap().messages;
        assert_eq!(messages[0]["tool_calls"][0]["function"]["arguments"], expected);
    }
    assert_eq!(of(&ChatRequest::new("m").user("Hi"), &[]), None);
}
