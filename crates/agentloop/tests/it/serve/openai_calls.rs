//! Tools of Codex: their declarations are read as functions, and their calls are written as they were declared.

use agentloop::{
    ChatResponse, ContentPart, RedactedThinkingPart, ResponsePart, Role, TextPart, ThinkingPart,
    ToolCallPart, ToolDefinition, WarningKind,
};
use serde_json::{Value, json};

use super::openai_responses::{body, read, stream};

fn tools() -> Value {
    json!([
        {"type": "function", "name": "update_plan", "strict": false, "parameters": {"type": "object", "properties": {
            "note": {"type": "string", "encrypted": true}, "encrypted": {"type": "boolean"}}}},
        {"type": "custom", "name": "apply_patch", "description": "Edits files.",
         "format": {"type": "grammar", "syntax": "lark", "definition": "start: begin_patch"}},
        {"type": "namespace", "name": "mcp__docs", "description": "Docs.", "tools": [
            {"type": "function", "name": "search", "parameters": {"type": "object"}},
            {"type": "custom", "name": "exec"}]},
        {"type": "tool_search", "execution": "client", "description": "Finds tools.", "parameters": {"type": "object"}},
        {"type": "local_shell"},
        {"type": "web_search", "external_web_access": false},
        {"type": "image_generation", "output_format": "png"},
    ])
}

fn call(name: &str, arguments: &str) -> ResponsePart {
    ResponsePart::from(ToolCallPart::new(format!("id_{name}"), name, arguments))
}

#[test]
fn tools_of_every_kind_become_functions_or_warnings() {
    let served = read(&json!({"model": "m", "input": "Hi", "tools": tools()}));
    let names: Vec<Option<&str>> = served.request.tools.iter().map(ToolDefinition::name).collect();
    assert_eq!(
        names,
        [
            Some("update_plan"),
            Some("apply_patch"),
            Some("mcp__docs__search"),
            Some("mcp__docs__exec"),
            Some("tool_search"),
            Some("local_shell"),
            None,
        ]
    );
    let ToolDefinition::Function { function, .. } = &served.request.tools[0] else { panic!() };
    let properties = &function.parameters.as_ref().unwrap()["properties"];
    assert_eq!(*properties, json!({"note": {"type": "string"}, "encrypted": {"type": "boolean"}}));
    let warned: Vec<(WarningKind, &str)> =
        served.warnings.iter().map(|one| (one.kind, one.subject.as_deref().unwrap())).collect();
    assert_eq!(
        warned,
        [
            (WarningKind::Dropped, "tools[0].parameters"),
            (WarningKind::Converted, "tools[1]"),
            (WarningKind::Dropped, "tools[6]"),
        ]
    );
}

#[test]
fn tools_in_the_first_item_are_declared_too() {
    let item = json!({"type": "additional_tools", "role": "developer", "tools": tools()});
    let inside = read(&json!({"model": "m", "input": [item, {"role": "user", "content": "Hi"}]}));
    let beside = read(&json!({"model": "m", "input": "Hi", "tools": tools()}));
    assert_eq!(inside.request.tools, beside.request.tools);
    assert_eq!(inside.request.messages.len(), 1);
}

#[test]
fn calls_are_written_in_the_form_in_which_their_tools_were_declared() {
    let served = read(&json!({"model": "m", "input": "Hi", "tools": tools()}));
    let patch = "*** Begin Patch\n*** End Patch\n";
    let response = ChatResponse::from_parts(
        "lab/m",
        [
            call("update_plan", r#"{"note":"n"}"#),
            call("apply_patch", &json!({"input": patch}).to_string()),
            call("mcp__docs__search", r#"{"q":1}"#),
            call("mcp__docs__exec", r#"{"input":"ls"}"#),
            call("tool_search", r#"{"query":"mail"}"#),
            call("local_shell", r#"{"command":["ls"]}"#),
            call("local_shell", "ls"),
        ],
    );
    let whole = body(&response, &served.reply);
    let mut output = whole["output"].as_array().unwrap().clone();
    for item in &mut output {
        item.as_object_mut().unwrap().remove("id");
    }
    let done = "completed";
    assert_eq!(
        output,
        [
            json!({"type": "function_call", "status": done, "call_id": "id_update_plan", "name": "update_plan", "arguments": r#"{"note":"n"}"#}),
            json!({"type": "custom_tool_call", "status": done, "call_id": "id_apply_patch", "name": "apply_patch", "input": patch}),
            json!({"type": "function_call", "status": done, "call_id": "id_mcp__docs__search", "namespace": "mcp__docs", "name": "search", "arguments": r#"{"q":1}"#}),
            json!({"type": "custom_tool_call", "status": done, "call_id": "id_mcp__docs__exec", "namespace": "mcp__docs", "name": "exec", "input": "ls"}),
            json!({"type": "tool_search_call", "status": done, "call_id": "id_tool_search", "execution": "client", "arguments": {"query": "mail"}}),
            json!({"type": "local_shell_call", "status": done, "call_id": "id_local_shell", "action": {"type": "exec", "command": ["ls"], "env": {}}}),
            json!({"type": "function_call", "status": done, "call_id": "id_local_shell", "name": "local_shell", "arguments": "ls"}),
        ]
    );
    let events = stream(&response, &served.reply);
    assert_eq!(events.last().unwrap()["response"], whole);
    let done: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| &event["item"])
        .collect();
    assert_eq!(done, whole["output"].as_array().unwrap().iter().collect::<Vec<_>>());
    let inputs: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "response.custom_tool_call_input.done")
        .map(|event| &event["input"])
        .collect();
    assert_eq!(inputs, [patch, "ls"]);
}

/// What a client sends back is what it got, so the provider sees its own calls again.
#[test]
fn calls_that_come_back_are_the_same_calls() {
    let served = read(&json!({"model": "m", "input": "Hi", "tools": tools()}));
    let parts = [
        call("update_plan", r#"{"note":"n"}"#),
        call("apply_patch", r#"{"input":"a \"b\"\n"}"#),
        call("mcp__docs__search", r#"{"q":1}"#),
        call("mcp__docs__exec", r#"{"input":"ls"}"#),
    ];
    let whole = body(&ChatResponse::from_parts("lab/m", parts.clone()), &served.reply);
    let mut input = vec![json!({"role": "user", "content": "Hi"})];
    input.extend(whole["output"].as_array().unwrap().iter().cloned());
    for (at, item) in whole["output"].as_array().unwrap().iter().enumerate() {
        let kind = item["type"].as_str().unwrap();
        let kind = if kind == "custom_tool_call" {
            "custom_tool_call_output"
        } else {
            "function_call_output"
        };
        input.push(json!({"type": kind, "call_id": item["call_id"], "output": [{"type": "input_text", "text": at.to_string()}]}));
    }
    let next = read(&json!({"model": "m", "input": input, "tools": tools()}));
    let messages = &next.request.messages;
    let sent: Vec<ContentPart> = parts.map(ContentPart::from).into();
    assert_eq!(messages[1].parts(), sent);
    let results: Vec<_> = messages[2..]
        .iter()
        .map(|message| (message.role, message.tool_call_id.as_deref().unwrap()))
        .collect();
    assert_eq!(
        results,
        [
            (Role::Tool, "id_update_plan"),
            (Role::Tool, "id_apply_patch"),
            (Role::Tool, "id_mcp__docs__search"),
            (Role::Tool, "id_mcp__docs__exec"),
        ]
    );
}

#[test]
fn long_names_in_namespaces_are_short_and_different() {
    let long = "a".repeat(60);
    let tool = |name: String| json!({"type": "function", "name": name});
    let space =
        |name: &str, tools: Vec<Value>| json!({"type": "namespace", "name": name, "tools": tools});
    let tools = json!([
        space(&long, vec![tool("bbbbbbbb".to_owned()), tool("bbbbbbbc".to_owned())]),
        space("x", vec![tool("y__z".to_owned())]),
        space("x__y", vec![tool("z".to_owned())]),
    ]);
    let served = read(&json!({"model": "m", "input": "Hi", "tools": tools}));
    let names: Vec<&str> = served.request.tools.iter().filter_map(ToolDefinition::name).collect();
    let different: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!((names.len(), different.len()), (4, 4), "{names:?}");
    assert!(names.iter().all(|name| name.len() <= 64));
    for (at, (namespace, name)) in
        [(long.as_str(), "bbbbbbbb"), (&long, "bbbbbbbc"), ("x", "y__z"), ("x__y", "z")]
            .into_iter()
            .enumerate()
    {
        let whole =
            body(&ChatResponse::from_parts("lab/m", [call(names[at], "{}")]), &served.reply);
        let written = &whole["output"][0];
        assert_eq!((&written["namespace"], &written["name"]), (&json!(namespace), &json!(name)));
    }
}

#[test]
fn tools_that_a_search_found_can_be_called() {
    let served = read(&json!({"model": "m", "tools": tools(), "input": [
        {"role": "user", "content": "Hi"},
        {"type": "tool_search_call", "call_id": "s1", "execution": "client", "status": "completed", "arguments": {"query": "mail"}},
        {"type": "tool_search_output", "call_id": "s1", "execution": "client", "status": "completed", "tools": [
            {"type": "namespace", "name": "mail", "description": "", "tools": [{"type": "function", "name": "send", "parameters": {}}]}]},
    ]}));
    assert!(served.request.tools.iter().any(|tool| tool.name() == Some("mail__send")));
    assert_eq!(served.request.messages[2].tool_call_id.as_deref(), Some("s1"));
    assert!(served.request.messages[2].text().contains("send"));
}

/// The parts of a response come back in the same order, with the same ids, texts and signatures.
#[test]
fn what_a_client_sends_back_is_what_it_got() {
    let thinking = |text: &str, signature: &str| {
        let mut part = ThinkingPart::new(text);
        part.signature = Some(signature.to_owned());
        ResponsePart::from(part)
    };
    let mut redacted = RedactedThinkingPart::default();
    redacted.data = "sealed".to_owned();
    let parts = [
        thinking("One.\n\nTwo.", "s1"),
        ResponsePart::Text(TextPart::new("Look.")),
        call("f", "{}"),
        thinking("", "s2"),
        call("g", r#"{"a":[1]}"#),
        ResponsePart::RedactedThinking(redacted),
        ResponsePart::Text(TextPart::new("Done.")),
        thinking("End.", "s3"),
    ];
    let served = read(&json!({"model": "m", "input": "Hi"}));
    let response = ChatResponse::from_parts("lab/m", parts.clone());
    let whole = body(&response, &served.reply);
    let streamed: Vec<Value> = stream(&response, &served.reply)
        .into_iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|mut event| event["item"].take())
        .collect();
    assert_eq!(whole["output"], Value::Array(streamed.clone()));
    // Some clients leave the ids out, and write the content that is absent as null.
    let bare = streamed.iter().cloned().map(|mut item| {
        item.as_object_mut().unwrap().remove("id");
        if item["type"] == "reasoning" {
            item["content"] = Value::Null;
        }
        item
    });
    for input in [streamed.clone(), bare.collect()] {
        let next = read(&json!({"model": "m", "input": input}));
        let mut expected: Vec<ContentPart> = parts.clone().map(ContentPart::from).into();
        // Encrypted thinking is thinking without a text here.
        expected[5] = ContentPart::from(thinking("", "sealed"));
        assert_eq!(next.request.messages[0].parts(), expected);
    }
}
