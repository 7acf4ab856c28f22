//! What every provider must do.

use agentloop::*;
use serde_json::json;

pub(crate) async fn run(ai: &AgentLoop, row: &Provider) {
    text(ai, row).await;
    thinking(ai, row).await;
    tools(ai, row).await;
    odd_names(ai, row).await;
    endings(ai, row).await;
    citations_and_media(ai, row).await;
    json_output(ai, row).await;
    failures(ai, row).await;
    embeddings(ai, row).await;
    models(ai, row).await;
    counting(ai, row).await;
}

fn ask(row: &Provider, model: &str) -> ChatRequest {
    ChatRequest::new(format!("{}/{model}", row.name)).system("Be brief.").user("Tell me of Rome")
}

/// The response, which is the same complete and streamed.
async fn answer(ai: &AgentLoop, request: ChatRequest) -> ChatResponse {
    let model = request.model.clone();
    let mut whole = ai.chat(request.clone()).await.unwrap_or_else(|e| panic!("{model}: {e:?}"));
    let stream = ai.stream(request).await.unwrap_or_else(|e| panic!("{model}: {e:?}"));
    let mut streamed = stream.response().await.unwrap_or_else(|e| panic!("{model}: {e:?}"));
    // Only the request for the usage of a stream may differ.
    if streamed.usage.is_empty() {
        whole.usage = Usage::default();
    }
    for response in [&mut whole, &mut streamed] {
        response.request_id = None;
        // Ollama and Bedrock give no ids to responses: the library makes one up for each.
        if response.id.starts_with("resp_") {
            response.id.truncate("resp_".len());
        }
    }
    assert_eq!(whole, streamed, "{model}");
    whole
}

async fn text(ai: &AgentLoop, row: &Provider) {
    let response = answer(ai, ask(row, "echo")).await;
    assert!(response.text().starts_with("Tell me of Rome"), "{}", row.name);
    assert_eq!(response.provider, row.name);
    assert_eq!(response.finish_reason(), Some(&FinishReason::Stop));
    assert!(response.warnings.is_empty(), "{}: {:?}", row.name, response.warnings);
    assert!(!response.id.is_empty());
}

async fn thinking(ai: &AgentLoop, row: &Provider) {
    let request = ask(row, "think");
    let response = answer(ai, request.clone()).await;
    assert!(response.thinking().is_some(), "{}", row.name);
    assert!(matches!(response.choices[0].content[0], ResponsePart::Thinking(_)), "{}", row.name);
    // The complete response is sent back, and the conversation continues.
    let next = request.message(response.into_message()).user("And of Oslo?");
    assert!(answer(ai, next).await.text().starts_with("And of Oslo?"), "{}", row.name);
}

async fn tools(ai: &AgentLoop, row: &Provider) {
    let tool = |name: &str| {
        ToolDefinition::function(
            name,
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
        )
    };
    let request = ask(row, "tools").tool(tool("weather")).tool(tool("time"));
    let response = answer(ai, request.clone()).await;
    if row.rules.contains(&provider::Rule::Strip(provider::Param::Tools)) {
        assert!(response.warnings.iter().any(|w| w.subject.as_deref() == Some("tools")));
        return;
    }
    assert_eq!(response.finish_reason(), Some(&FinishReason::ToolCalls), "{}", row.name);
    let calls: Vec<ToolCallPart> = response.tool_calls().cloned().collect();
    let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["weather", "time"], "{}", row.name);
    for call in &calls {
        let arguments: serde_json::Value = call.parse().unwrap();
        assert!(arguments["city"].is_string(), "{}: {arguments}", row.name);
    }
    let mut next = request.message(response.into_message());
    for (call, result) in calls.iter().zip(["sunny", "noon"]) {
        next = next.message(ChatMessage::tool(&call.id, result));
    }
    let text = answer(ai, next).await.text();
    assert_eq!(text, "weather says: sunny\ntime says: noon", "{}", row.name);
}

/// Names that the provider does not accept are replaced, and restored in the response.
async fn odd_names(ai: &AgentLoop, row: &Provider) {
    let names = ["weather/of städte", "weather/of stadte"];
    let tools = names.map(|name| ToolDefinition::function(name, json!({"type": "object"})));
    let request = ask(row, "tools").tools(tools);
    let response = answer(ai, request.clone()).await;
    if row.rules.contains(&provider::Rule::Strip(provider::Param::Tools)) {
        return;
    }
    let calls: Vec<ToolCallPart> = response.tool_calls().cloned().collect();
    let called: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(called, names, "{}", row.name);
    let renamed = |warning: &&Warning| warning.kind == WarningKind::Renamed;
    assert_eq!(response.warnings.iter().filter(renamed).count(), 2, "{}", row.name);
    let mut next = request.message(response.into_message());
    for call in &calls {
        next = next.message(ChatMessage::tool(&call.id, "sunny"));
    }
    assert_eq!(answer(ai, next).await.text().matches("says: sunny").count(), 2, "{}", row.name);
}

async fn endings(ai: &AgentLoop, row: &Provider) {
    let cut = answer(ai, ask(row, "length").max_tokens(4)).await;
    assert_eq!(cut.finish_reason(), Some(&FinishReason::Length), "{}", row.name);
    let refused = answer(ai, ask(row, "refuse")).await;
    assert_eq!(refused.finish_reason(), Some(&FinishReason::ContentFilter), "{}", row.name);
}

async fn citations_and_media(ai: &AgentLoop, row: &Provider) {
    let cited = answer(ai, ask(row, "cite")).await;
    // One protocol has no citations, two have no images in responses.
    let has_citations = row.protocol != Protocol::Ollama;
    assert_eq!(cited.choices[0].citations().next().is_some(), has_citations, "{}", row.name);
    if !matches!(row.protocol, Protocol::Anthropic | Protocol::Cohere) {
        let drawn = answer(ai, ask(row, "image")).await;
        assert_eq!(drawn.choices[0].images().count(), 1, "{}", row.name);
    }
}

async fn json_output(ai: &AgentLoop, row: &Provider) {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}},
                        "required": ["city"], "additionalProperties": false});
    let request = ask(row, "json").response_format(ResponseFormat::json_schema("city", schema));
    let text = answer(ai, request).await.text();
    assert!(serde_json::from_str::<serde_json::Value>(&text).unwrap().is_object(), "{}", row.name);
}

async fn failures(ai: &AgentLoop, row: &Provider) {
    for (fault, kind, retryable) in [
        ("status=401", ErrorKind::Auth, false),
        ("status=429;retry-after=2", ErrorKind::RateLimit, true),
        ("status=500", ErrorKind::Server, true),
        ("status=503", ErrorKind::Overloaded, true),
        ("html", ErrorKind::Protocol, false),
    ] {
        for error in [
            ai.chat(ask(row, &format!("echo!{fault}"))).await.unwrap_err(),
            ai.stream(ask(row, &format!("echo!{fault}"))).await.unwrap_err(),
        ] {
            assert_eq!(error.provider(), Some(row.name.as_ref()));
            assert_eq!(
                (error.kind(), error.is_retryable()),
                (kind, retryable),
                "{}: {error:?}",
                row.name
            );
        }
    }
    let error = ai.stream(ask(row, "echo!error-first")).await.unwrap_err();
    assert_eq!(error.provider(), Some(row.name.as_ref()), "{error:?}");
    for fault in ["cut-events=3", "malformed-events=3", "error-events=3"] {
        let stream = ai.stream(ask(row, &format!("long-9!{fault}"))).await.unwrap();
        let error = stream.response().await.unwrap_err();
        assert!(
            error.partial().is_some_and(|partial| !partial.text().is_empty()),
            "{fault}: {error:?}"
        );
        assert!(!error.is_retryable(), "{fault}");
    }
    let dripped = ai.stream(ask(row, "echo!drip")).await.unwrap().response().await.unwrap();
    assert!(dripped.text().starts_with("Tell me of Rome"));
}

async fn embeddings(ai: &AgentLoop, row: &Provider) {
    let request = EmbedRequest::new(format!("{}/vectors", row.name), ["one", "two", "three"]);
    if !row.serves.embeddings {
        assert_eq!(ai.embed(request).await.unwrap_err().kind(), ErrorKind::Unsupported);
        return;
    }
    let three = ai.embed(request).await.unwrap();
    assert_eq!(three.embeddings.len(), 3, "{}", row.name);
    let last = ai.embed(EmbedRequest::new(format!("{}/vectors", row.name), "three")).await.unwrap();
    assert_eq!(last.embeddings[0], three.embeddings[2], "in order, {}", row.name);
    assert_eq!((&three.warnings, three.provider.as_str()), (&Vec::new(), row.name.as_ref()));
    let tokens = three.usage.map(|usage| usage.prompt_tokens);
    assert_eq!(tokens, Some(3), "{}", row.name);
    let short = EmbedRequest::new(format!("{}/vectors", row.name), ["one", "two"])
        .dimensions(4)
        .input_type(EmbedInputType::Query);
    let short = ai.embed(short).await.unwrap();
    let warned = short.warnings.iter().any(|w| w.subject.as_deref() == Some("dimensions"));
    assert_eq!(short.embeddings[1].len() == 4, !warned, "{}: {short:?}", row.name);
    for (fault, kind) in [
        ("status=401", ErrorKind::Auth),
        ("status=429;retry-after=2", ErrorKind::RateLimit),
        ("status=503", ErrorKind::Overloaded),
        ("html", ErrorKind::Protocol),
    ] {
        let failing = EmbedRequest::new(format!("{}/vectors!{fault}", row.name), "one");
        let error = ai.embed(failing).await.unwrap_err();
        assert_eq!((error.kind(), error.provider()), (kind, Some(row.name.as_ref())), "{error:?}");
    }
}

async fn counting(ai: &AgentLoop, row: &Provider) {
    let count = ai.count_tokens(&ask(row, "echo")).await;
    if row.supports(provider::Feature::TokenCount) {
        assert!(count.unwrap() > 0, "{}", row.name);
    } else {
        assert_eq!(count.unwrap_err().kind(), ErrorKind::Unsupported, "{}", row.name);
    }
}

async fn models(ai: &AgentLoop, row: &Provider) {
    match ai.models(&row.name).await {
        Ok(models) => assert!(models.iter().any(|model| model.id == "echo"), "{}", row.name),
        Err(error) => {
            assert!(!row.serves.models, "{}: {error:?}", row.name);
            assert_eq!(error.kind(), ErrorKind::Unsupported);
        }
    }
}
