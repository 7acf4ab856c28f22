//! Requests of every kind.

use agentloop::*;
use serde_json::json;

pub(crate) fn all(model: &str) -> Vec<(&'static str, ChatRequest)> {
    let ask = || ChatRequest::new(model).system("Be brief.").user("Hello");
    let weather = || {
        ToolDefinition::function(
            "get_weather",
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
        )
        .with_description("The weather of a city")
    };
    let bare: ToolDefinition =
        serde_json::from_value(json!({"type": "function", "function": {"name": "now"}})).unwrap();
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}},
                        "required": ["a"], "additionalProperties": false});
    let mut everything = ask()
        .temperature(0.7)
        .top_p(0.9)
        .max_tokens(100)
        .stop(vec!["END", "STOP"])
        .seed(42)
        .n(2)
        .effort(Effort::High);
    everything.frequency_penalty = Some(0.5);
    everything.presence_penalty = Some(-0.5);
    everything.logprobs = Some(true);
    everything.top_logprobs = Some(3);
    everything.logit_bias = Some([("50256".to_owned(), -100.0)].into());
    everything.user_id = Some("u1".to_owned());
    everything.metadata = Some([("k".to_owned(), json!("v"))].into_iter().collect());
    everything.service_tier = Some("auto".to_owned());
    everything.prompt_cache_key = Some("k".to_owned());
    everything.verbosity = Some("low".to_owned());

    let answered = || {
        ChatMessage::assistant(vec![
            ContentPart::Thinking(ThinkingPart::new("They want the weather.")),
            ContentPart::text("Let me look."),
            ContentPart::ToolCall(ToolCallPart::new(
                "toolu_01.x|y",
                "get_weather",
                r#"{"city":"Rome"}"#,
            )),
            ContentPart::ToolCall(ToolCallPart::new("call_2", "now", "")),
        ])
    };
    let mut foreign = answered();
    foreign.origin = Some(Origin::new("elsewhere", "m"));
    let data = "data:image/png;base64,iVBORw0KGgo=";
    let mut requests = vec![
        ("plain", ask()),
        ("everything", everything),
        ("json mode", ask().response_format(ResponseFormat::json())),
        ("a schema", ask().response_format(ResponseFormat::json_schema("r", schema))),
        ("tools", ask().tool(weather()).tool(bare).tool_choice(ToolChoice::Auto)),
        ("a forced tool", ask().tool(weather()).tool_choice(ToolChoice::function("get_weather"))),
        (
            "a required tool, one at a time",
            ask().tool(weather()).tool_choice(ToolChoice::Required).parallel_tool_calls(false),
        ),
        ("no tools but a choice", ask().tool_choice(ToolChoice::Auto).parallel_tool_calls(true)),
        (
            "parts",
            ChatRequest::new(model).user([
                ContentPart::text("What is this?"),
                ContentPart::image_url("https://x.test/a.png"),
                ContentPart::image_url(data),
            ]),
        ),
        (
            "a round of tools",
            ask()
                .tool(weather())
                .message(answered())
                .message(ChatMessage::tool("toolu_01.x|y", "18 °C"))
                .message(ChatMessage::tool_error("call_2", "no clock"))
                .user("And tomorrow?"),
        ),
        (
            "a round of tools from elsewhere",
            ask()
                .tool(weather())
                .message(foreign)
                .message(ChatMessage::tool("toolu_01.x|y", "18 °C"))
                .message(ChatMessage::tool("call_2", "noon")),
        ),
        (
            "a response with sources",
            ask().message(ChatMessage::assistant(vec![ContentPart::Text(
                TextPart::new("It is so.").with_citation(UrlCitation::new("https://x.test")),
            )])),
        ),
        (
            "a search of the web",
            ask().tool(
                WebSearchTool::default()
                    .allowed_domains(["example.com"])
                    .user_location(UserLocation::country("DE").with_city("Berlin"))
                    .max_uses(2)
                    .into(),
            ),
        ),
        ("an empty answer", ask().message(ChatMessage::assistant("")).user("Well?")),
        ("a name", ask().message(ChatMessage::user("hi").with_name("ada"))),
    ];
    if !model.starts_with("anthropic/") {
        requests.push((
            "code and files",
            ask()
                .tool(ToolDefinition::code_execution())
                .tool(ToolDefinition::file_search(["fileSearchStores/s"])),
        ));
        requests.push(("pages", ask().tool(ToolDefinition::web_fetch())));
    }
    if model.starts_with("openai/") {
        requests.push(("a response in items", of_items(model)));
        requests.push((
            "speech",
            ChatRequest::new(model)
                .user([ContentPart::text("Listen:"), ContentPart::audio("AAAA", "wav")])
                .audio(AudioOutput::new("alloy", "wav")),
        ));
        requests.push((
            "a file",
            ChatRequest::new(model)
                .user([ContentPart::file("a.pdf", "data:application/pdf;base64,AAAA")]),
        ));
    } else if model.starts_with("anthropic/") {
        requests.extend(of_anthropic(model));
    } else {
        requests.push((
            "a document and sound",
            ChatRequest::new(model).user([
                ContentPart::file("a.pdf", "data:application/pdf;base64,AAAA"),
                ContentPart::audio("AAAA", "wav"),
            ]),
        ));
    }
    requests
}

/// A response in items, with server tools. In Chat Completions only its text is sent.
fn of_items(model: &str) -> ChatRequest {
    let state = |item: serde_json::Value| Some(Box::new(ProviderState::new("openai", item)));
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [],
                           "encrypted_content": "gAAAA=="});
    let said = json!({"type": "message", "id": "msg_1", "role": "assistant",
                      "status": "completed", "phase": "commentary"});
    let called = json!({"type": "function_call", "id": "fc_1", "status": "completed"});
    let answer = ChatMessage::assistant(vec![
        ContentPart::Thinking({
            let mut value = ThinkingPart::default();
            value.provider_state = state(reasoning);
            value
        }),
        ContentPart::Text({
            let mut value = TextPart::new("I look.");
            value.provider_state = state(said);
            value
        }),
        ContentPart::ToolCall({
            let mut value = ToolCallPart::new("call_1", "get_weather", "{}");
            value.provider_state = state(called);
            value
        }),
    ]);
    let tool = ToolDefinition::function("get_weather", json!({"type": "object", "properties": {}}));
    ChatRequest::new(model)
        .user("How is the weather?")
        .message(answer)
        .message(ChatMessage::tool("call_1", "mild"))
        .tool(tool)
}

/// Features that only that protocol has: markers, documents with citations, thinking, its own tools.
fn of_anthropic(model: &str) -> Vec<(&'static str, ChatRequest)> {
    let document: ContentPart = serde_json::from_value(json!({
        "type": "file",
        "file": { "file_data": "data:text/plain,hello", "title": "T", "citations": true },
        "cache_control": { "type": "ephemeral", "ttl": "1h" },
    }))
    .unwrap();
    let search: ToolDefinition =
        serde_json::from_value(json!({"type": "web_search_20250305", "name": "web_search"}))
            .unwrap();
    let thought = ChatMessage::assistant(vec![
        ContentPart::Thinking(ThinkingPart::new("Hm.").with_signature("Sig==")),
        ContentPart::text("Well."),
    ]);
    let marked = ChatMessage::system("Be brief.").with_cache(CacheControl::Ephemeral);
    vec![
        (
            "documents",
            ChatRequest::new(model).user([
                document,
                ContentPart::file("a.pdf", "data:application/pdf;base64,AAAA"),
                ContentPart::text("Compare."),
            ]),
        ),
        (
            "thinking, markers and a tool of the host",
            ChatRequest::new(model)
                .message(marked)
                .user("Hello")
                .message(thought)
                .user("Go on")
                .tool(search)
                .thinking(Thinking::budget(2000).with_include(true)),
        ),
        ("no thinking", ChatRequest::new(model).user("Hello").effort(Effort::None)),
    ]
}
