//! Requests of OpenAI's Responses protocol.

use agentloop::inspect::{DecodeOptions, EncodedRequest, HttpResponse};
use agentloop::provider::quirks::{ItemForm, TokenCount};
use agentloop::*;
use serde_json::{Value, json};

/// A provider with both Responses and Chat Completions.
fn row() -> Provider {
    Provider::responses_compatible("lab", "http://lab.invalid/v1")
        .speaks_as(Provider::openai_compatible("lab", "http://lab.invalid/v1"))
}

fn client() -> AgentLoop {
    AgentLoop::builder().provider(row()).build().unwrap()
}

fn encoded(request: &ChatRequest) -> EncodedRequest {
    inspect::encode(&client(), request, false).unwrap()
}

fn body(request: &ChatRequest) -> Value {
    serde_json::from_str(encoded(request).body.get()).unwrap()
}

fn subjects(request: &ChatRequest) -> Vec<String> {
    encoded(request).warnings.into_iter().filter_map(|warning| warning.subject).collect()
}

fn ask() -> ChatRequest {
    ChatRequest::new("lab/m").user("Hello")
}

/// The response of these items, as a message.
async fn answered(items: &Value) -> ChatMessage {
    let body = json!({"id": "resp_1", "object": "response", "model": "m", "status": "completed",
                      "output": items});
    let answer = HttpResponse::new(body.to_string());
    let stream = inspect::decode(&client(), &DecodeOptions::new("lab"), answer).unwrap();
    stream.response().await.unwrap().into_message()
}

fn provider_tool(fields: Value) -> ToolDefinition {
    serde_json::from_value(fields).unwrap()
}

#[tokio::test]
async fn two_rounds_of_tools_send_the_thinking_between_them_back() {
    let thought = |at: u32| {
        json!({"type": "reasoning", "id": format!("rs_{at}"), "status": "completed",
               "summary": [{"type": "summary_text", "text": "Hm."}],
               "encrypted_content": format!("gAAAA{at}==")})
    };
    let call = |at: u32| {
        json!({"type": "function_call", "id": format!("fc_{at}"), "call_id": format!("call_{at}"),
               "name": "look", "arguments": "{\"at\":1}", "status": "completed"})
    };
    let said = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "phase": "commentary",
        "content": [{"type": "output_text", "text": "I look.", "annotations": [], "logprobs": []}]});
    let first = json!([thought(1), said, call(1), call(2)]);
    let second = json!([thought(2), call(3)]);
    let request = ask()
        .message(answered(&first).await)
        .message(ChatMessage::tool("call_1", "a"))
        .message(ChatMessage::tool_error("call_2", "b"))
        .message(answered(&second).await)
        .message(ChatMessage::tool("call_3", "c"));
    let result = |at: u32, output: &str| json!({"type": "function_call_output", "call_id": format!("call_{at}"), "output": output});
    let hello = json!({"type": "message", "role": "user", "content": "Hello"});
    let expected = json!([
        hello,
        first[0],
        first[1],
        first[2],
        first[3],
        result(1, "a"),
        result(2, "Error: b"),
        second[0],
        second[1],
        result(3, "c")
    ]);
    assert_eq!(body(&request)["input"], expected);
    assert_eq!(subjects(&request), Vec::<String>::new());

    // A provider that accepts only the simple items gets those.
    let row = row().quirks(|q| q.items = ItemForm::Plain);
    let plain = AgentLoop::builder().provider(row).build().unwrap();
    let simple = inspect::encode(&plain, &request, false).unwrap();
    let simple_body: Value = serde_json::from_str(simple.body.get()).unwrap();
    let simple_call = json!({"type": "function_call", "call_id": "call_1", "name": "look",
                             "arguments": "{\"at\":1}"});
    let simple_said = json!({"type": "message", "role": "assistant", "content": "I look."});
    assert_eq!(simple_body["input"].as_array().unwrap()[1..3], [simple_said, simple_call]);
    assert_eq!(simple.warnings.len(), 2, "both thoughts: {:?}", simple.warnings);
    // Chat Completions of the same provider cannot read items.
    let chat = request.protocol(Protocol::OpenAiChat);
    for mark in ["gAAAA1", "rs_1", "msg_1", "fc_1"] {
        assert!(!encoded(&chat).body.get().contains(mark), "{mark}");
    }
    assert_eq!(body(&chat)["messages"][1]["tool_calls"][0]["type"], "function");
}

#[tokio::test]
async fn items_of_the_provider_are_sent_back_once() {
    let items = json!([
        {"type": "web_search_call", "id": "ws_1", "status": "completed",
         "action": {"type": "search", "query": "q", "sources": [{"type": "url", "url": "https://a.test"}]}},
        {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "container_id": "c",
         "code": "print(1)", "outputs": [{"type": "logs", "logs": "1"}]},
        {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo="},
        {"type": "mcp_approval_request", "id": "ma_1", "name": "f", "arguments": "{}", "server_label": "s"},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
         "content": [{"type": "output_text", "text": "One. ", "annotations": [], "logprobs": []},
                     {"type": "refusal", "refusal": "No more."}]},
    ]);
    let request = ask().message(answered(&items).await).user("Go on");
    let sent = body(&request);
    assert_eq!(sent["input"].as_array().unwrap()[1..6], items.as_array().unwrap()[..]);
    assert_eq!(subjects(&request), Vec::<String>::new());
}

/// The role and the status are not kept if they are the usual ones.
#[tokio::test]
async fn every_content_of_a_message_is_sent_back_with_its_role_and_status() {
    for status in ["completed", "incomplete"] {
        let text = json!({"type": "output_text", "text": "Hi", "annotations": [], "logprobs": []});
        let unknown = json!({"type": "output_hologram", "sides": 4});
        let items = json!([{"type": "message", "id": "msg_1", "role": "assistant", "status": status,
                            "content": [text, unknown]}]);
        let body = body(&ask().message(answered(&items).await).user("Go on"));
        let sent = body["input"].as_array().unwrap();
        let messages: Vec<&Value> = sent.iter().filter(|item| item["id"] == "msg_1").collect();
        assert_eq!(messages.len(), 2, "{body}");
        for (message, content) in messages.into_iter().zip([text, unknown]) {
            let wanted = json!({"type": "message", "id": "msg_1", "role": "assistant",
                                "status": status, "content": [content]});
            assert_eq!(message, &wanted);
        }
    }
}

#[tokio::test]
async fn thinking_that_is_not_stored_is_sent_back_only_with_its_content() {
    let bare = json!([{"type": "reasoning", "id": "rs_1", "summary": []},
                      {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                       "content": [{"type": "output_text", "text": "Hi."}]}]);
    let open = json!([{"type": "reasoning", "id": "rs_2", "summary": [],
                       "content": [{"type": "reasoning_text", "text": "Hm."}]}]);
    let request = ask().message(answered(&bare).await).message(answered(&open).await);
    let sent = body(&request);
    assert_eq!(sent["input"][1]["id"], "msg_1");
    assert_eq!(sent["input"][2]["id"], "rs_2");
    assert_eq!(subjects(&request), ["messages[1].content[0]"]);
    // The provider knows stored items by their ids.
    let kept = request.extra("store", true);
    assert_eq!(body(&kept)["store"], true);
    assert_eq!(body(&kept)["input"][1]["id"], "rs_1");
}

#[tokio::test]
async fn results_of_special_calls_have_their_own_form() {
    let items = json!([
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "sql",
         "input": "SELECT 1", "status": "completed"},
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "call_2", "status": "completed",
         "action": {"type": "exec", "command": ["ls"], "env": {}}},
        {"type": "apply_patch_call", "id": "apc_1", "call_id": "call_3", "status": "completed",
         "operation": {"type": "delete_file", "path": "a"}},
    ]);
    let request = ask()
        .message(answered(&items).await)
        .message(ChatMessage::tool("call_1", "1"))
        .message(ChatMessage::tool("call_2", "a b"))
        .message(ChatMessage::tool_error("call_3", "no such file"));
    let sent = body(&request);
    assert_eq!(sent["input"].as_array().unwrap()[1..4], items.as_array().unwrap()[..]);
    assert_eq!(
        sent["input"].as_array().unwrap()[4..],
        [
            json!({"type": "custom_tool_call_output", "call_id": "call_1", "output": "1"}),
            json!({"type": "local_shell_call_output", "call_id": "call_2", "id": "call_2", "output": "a b"}),
            json!({"type": "apply_patch_call_output", "call_id": "call_3", "status": "failed",
                   "output": "no such file"}),
        ]
    );
}

#[test]
fn server_tools_are_declared_and_their_results_requested() {
    let request = ask()
        .tool(provider_tool(json!({"type": "web_search"})))
        .tool(provider_tool(json!({"type": "code_interpreter", "container": {"type": "auto"}})))
        .tool(provider_tool(json!({"type": "custom", "custom": {"name": "sql"}})));
    let sent = body(&request);
    assert_eq!(sent["tools"][0], json!({"type": "web_search"}));
    assert_eq!(sent["tools"][2], json!({"type": "custom", "name": "sql"}));
    let wanted = [
        "reasoning.encrypted_content",
        "web_search_call.action.sources",
        "code_interpreter_call.outputs",
    ];
    assert_eq!(sent["include"], json!(wanted));
    assert_eq!(sent["store"], false);
}

#[test]
fn a_schema_is_strict_if_possible_else_there_is_a_warning() {
    let closed =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let request = ask()
        .tool(ToolDefinition::function("f", closed.clone()).with_strict(true))
        .tool(ToolDefinition::function("g", map).with_strict(true))
        .tool(ToolDefinition::function("h", closed))
        .tool_choice(ToolChoice::function("f"));
    let sent = body(&request);
    let strict: Vec<bool> =
        sent["tools"].as_array().unwrap().iter().map(|t| t["strict"].as_bool().unwrap()).collect();
    assert_eq!(strict, [true, false, false]);
    assert_eq!(sent["tools"][0]["parameters"]["additionalProperties"], false);
    assert_eq!(sent["tool_choice"], json!({"type": "function", "name": "f"}));
    assert_eq!(subjects(&request), ["tools.g.parameters"]);
}

#[test]
fn a_thinking_model_is_called_in_responses_for_tools() {
    let ai = AgentLoop::builder().build().unwrap();
    let tool = || ToolDefinition::function("f", json!({"type": "object", "properties": {}}));
    let url = |request: ChatRequest| inspect::encode(&ai, &request, false).unwrap().url;
    let ask = |model: &str| ChatRequest::new(model).user("Hi");
    for (request, path) in [
        (ask("openai/gpt-6-sol"), "/chat/completions"),
        (ask("openai/gpt-6-sol").tool(tool()), "/responses"),
        (ask("openai/gpt-6-sol").tool(tool()).protocol(Protocol::OpenAiChat), "/chat/completions"),
        (ask("openai/gpt-4.1").tool(tool()), "/chat/completions"),
        (ask("openai/gpt-4.1").protocol(Protocol::OpenAiResponses), "/responses"),
    ] {
        assert_eq!(url(request), format!("https://api.openai.com/v1{path}"));
    }
    assert_eq!(url(ask("xai/grok-4.3")), "https://api.x.ai/v1/responses");
    assert_eq!(url(ask("perplexity/sonar")), "https://api.perplexity.ai/v1/responses");
    let sonar = ask("perplexity/sonar").protocol(Protocol::OpenAiChat);
    assert_eq!(url(sonar), "https://api.perplexity.ai/chat/completions");
    // One that does not think has nothing to keep.
    let flat = ask("openai/gpt-4.1").protocol(Protocol::OpenAiResponses).max_tokens(4);
    let encoded = inspect::encode(&ai, &flat, false).unwrap();
    let sent: Value = serde_json::from_str(encoded.body.get()).unwrap();
    assert_eq!((sent.get("include"), &sent["max_output_tokens"]), (None, &json!(16)));
    assert_eq!(encoded.warnings[0].subject.as_deref(), Some("max_tokens"));
}

#[test]
fn a_tool_result_can_contain_images() {
    let call = ContentPart::ToolCall(ToolCallPart::new("1", "f", ""));
    let png = "data:image/png;base64,iVBORw0KGgo=";
    let shown = [ContentPart::text("Here."), ContentPart::image_url(png)];
    let request = ask().assistant(vec![call]).message(ChatMessage::tool("1", shown));
    let output = body(&request)["input"][2]["output"].take();
    assert_eq!(output[0], json!({"type": "input_text", "text": "Here."}));
    assert_eq!(output[1], json!({"type": "input_image", "image_url": png, "detail": "auto"}));
    // Otherwise they are in a message after it, or refused in strict mode.
    let mut elsewhere = request;
    elsewhere.model = "xai/grok-4.3".to_owned();
    let moved = &body(&elsewhere)["input"][3];
    assert_eq!((&moved["role"], &moved["content"][1]), (&json!("user"), &output[1]));
    let refused = inspect::encode(&client(), &elsewhere.strict(), false).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn tokens_are_counted_before_a_call() {
    let simulator = agentloop_sim::Simulator::new();
    let row = Provider::openai_compatible("lab", "http://lab.invalid/v1")
        .quirks(|q| q.token_count = TokenCount::InputTokens);
    let ai = AgentLoop::builder().provider(simulator.simulate(row)).build().unwrap();
    assert!(ai.count_tokens(&ask()).await.unwrap() > 0);
}
