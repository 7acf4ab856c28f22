//! Amazon Bedrock's Converse: the form of requests, and what is read from odd streams.

mod costs;
mod hostile;
mod invoke;
mod shapes;

use agentloop::credential::{AwsCredential, AwsSettings};
use agentloop::inspect::{self, EncodedRequest};
use agentloop::{
    AgentLoop, CacheControl, ChatMessage, ChatRequest, ContentPart, Effort, ErrorKind, FileInput,
    Provider, ResponseFormat, Thinking, ThinkingPart, ToolCallPart, ToolChoice, ToolDefinition,
    WarningKind,
};
use agentloop_sim::Simulator;
use serde_json::{Value, json};

const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const NEWER: &str = "global.anthropic.claude-opus-4-6-v1";

fn client() -> AgentLoop {
    AgentLoop::builder().env("AWS_REGION", "eu-west-1").build().unwrap()
}

fn encode(request: &ChatRequest) -> EncodedRequest {
    inspect::encode(&client(), request, false).unwrap()
}

/// The body, which has the shape of the API.
fn body(encoded: &EncodedRequest) -> Value {
    let body: Value = serde_json::from_str(encoded.body.get()).unwrap();
    shapes::check(&body);
    body
}

fn ask(model: &str) -> ChatRequest {
    ChatRequest::new(format!("bedrock/{model}")).user("Hello")
}

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition::function(name, json!({ "type": "object", "properties": {} }))
}

fn kinds(encoded: &EncodedRequest) -> Vec<(&str, WarningKind)> {
    let kind = |warning: &'_ agentloop::Warning| warning.kind;
    let subject = |warning| warning;
    encoded
        .warnings
        .iter()
        .map(subject)
        .map(|warning| (warning.subject.as_deref().unwrap_or_default(), kind(warning)))
        .collect()
}

#[test]
fn parameters_have_the_places_and_ranges_of_the_api() {
    let mut request = ask("us.amazon.nova-lite-v1:0")
        .system("Be brief.")
        .temperature(1.5)
        .top_p(0.9)
        .max_tokens(100)
        .stop(vec!["END", " "])
        .extra("guardrailConfig", json!({ "guardrailIdentifier": "abc", "guardrailVersion": "1" }))
        .extra("performanceConfig", json!({ "latency": "optimized" }))
        .extra("schemaVersion", "messages-v1");
    request.service_tier = Some("flex".to_owned());
    request.metadata =
        serde_json::from_value(json!({ "team": "a b", "odd": "ä", "n": 7 })).unwrap();
    let encoded = encode(&request);
    assert_eq!(
        encoded.url,
        "https://bedrock-runtime.eu-west-1.amazonaws.com/model/us.amazon.nova-lite-v1%3A0/converse"
    );
    assert_eq!(
        body(&encoded),
        json!({
            "inferenceConfig": { "maxTokens": 100, "temperature": 1.0, "topP": 0.9,
                                 "stopSequences": ["END"] },
            "requestMetadata": { "team": "a b", "n": "7" },
            "serviceTier": { "type": "flex" },
            "system": [{ "text": "Be brief." }],
            "guardrailConfig": { "guardrailIdentifier": "abc", "guardrailVersion": "1" },
            "performanceConfig": { "latency": "optimized" },
            "additionalModelRequestFields": { "schemaVersion": "messages-v1" },
            "messages": [{ "role": "user", "content": [{ "text": "Hello" }] }],
        })
    );
    let warned = kinds(&encoded);
    for expected in [
        ("temperature", WarningKind::Clamped),
        ("stop", WarningKind::Dropped),
        ("metadata.odd", WarningKind::Dropped),
        ("metadata.n", WarningKind::Converted),
    ] {
        assert!(warned.contains(&expected), "{expected:?} is not in {warned:?}");
    }
    assert_eq!(warned.len(), 4, "{warned:?}");
}

#[test]
fn the_name_of_a_model_is_one_segment_of_the_path_and_streams_ask_for_frames() {
    let arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc";
    let stream = inspect::encode(&client(), &ask(arn), true).unwrap();
    let encoded =
        "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fabc";
    assert!(stream.url.ends_with(&format!("/model/{encoded}/converse-stream")), "{}", stream.url);
    assert_eq!(stream.headers["accept"], "application/vnd.amazon.eventstream");
    assert_eq!(encode(&ask(arn)).headers["accept"], "application/json");
}

#[test]
fn the_region_is_that_of_the_environment_or_of_the_credential() {
    let settings = AwsSettings::default().region("ap-southeast-2");
    let row = Provider::bedrock().credential(AwsCredential::new(settings));
    let ai = AgentLoop::builder().env("AWS_REGION", "").provider(row).build().unwrap();
    let encoded = inspect::encode(&ai, &ask("m"), false).unwrap();
    assert!(encoded.url.starts_with("https://bedrock-runtime.ap-southeast-2."), "{}", encoded.url);
}

#[test]
fn a_conversation_has_blocks_with_their_results_first_and_state_unchanged() {
    let mut thinking = ThinkingPart::new("Hm.");
    thinking.signature = Some("EqQB==".to_owned());
    let call = ToolCallPart::new("tooluse_a", "look", r#"{"a": 1}"#);
    let origin = agentloop::Origin::new("bedrock", CLAUDE);
    let said = ChatMessage::assistant(vec![
        ContentPart::Thinking(thinking),
        ContentPart::text("I look. "),
        ContentPart::ToolCall(call),
    ])
    .with_origin(origin);
    let request = ask(CLAUDE)
        .tool(tool("look"))
        .message(said)
        .message(ChatMessage::tool_error("tooluse_a", "broken"))
        .user("Go on");
    assert_eq!(
        body(&encode(&request))["messages"],
        json!([
            { "role": "user", "content": [{ "text": "Hello" }] },
            { "role": "assistant", "content": [
                { "reasoningContent": { "reasoningText": { "text": "Hm.", "signature": "EqQB==" } } },
                { "text": "I look. " },
                { "toolUse": { "toolUseId": "tooluse_a", "name": "look", "input": { "a": 1 } } },
            ] },
            { "role": "user", "content": [
                { "toolResult": { "toolUseId": "tooluse_a", "content": [{ "text": "broken" }],
                                  "status": "error" } },
                { "text": "Go on" },
            ] },
        ])
    );
}

#[test]
fn calls_without_tools_get_a_placeholder_and_no_choice_means_no_tools() {
    let call = ContentPart::ToolCall(ToolCallPart::new("a", "look", "{}"));
    let request =
        ask("m").message(ChatMessage::assistant(vec![call])).message(ChatMessage::tool("a", "x"));
    let encoded = encode(&request);
    let sent = body(&encoded);
    assert_eq!(sent["toolConfig"]["tools"][0]["toolSpec"]["name"], "unavailable");
    assert_eq!(kinds(&encoded), [("tools", WarningKind::Converted)]);
    let none = encode(&ask("m").tool(tool("f")).tool_choice(ToolChoice::None));
    assert_eq!(body(&none).get("toolConfig"), None);
    assert_eq!(kinds(&none), [("tool_choice", WarningKind::Converted)]);
    for (choice, wire) in [
        (ToolChoice::Auto, json!({ "auto": {} })),
        (ToolChoice::Required, json!({ "any": {} })),
        (ToolChoice::function("f"), json!({ "tool": { "name": "f" } })),
    ] {
        let sent = body(&encode(&ask("m").tool(tool("f")).tool_choice(choice)));
        assert_eq!(sent["toolConfig"]["toolChoice"], wire);
    }
    // Models that do not accept a forced call choose themselves.
    let llama = encode(
        &ask("us.meta.llama3-3-70b-instruct-v1:0")
            .tool(tool("f"))
            .tool_choice(ToolChoice::Required),
    );
    assert_eq!(body(&llama)["toolConfig"]["toolChoice"], json!({ "auto": {} }));
}

// Found by checking generated conversations: 110 of 272 requests began with a message that the API refuses.
#[test]
fn a_conversation_that_the_assistant_begins_gets_a_message_of_the_user_before() {
    let begun = ChatRequest::new("bedrock/m").message(ChatMessage::assistant("Hi")).user("Go on");
    let encoded = encode(&begun);
    let sent = body(&encoded);
    assert_eq!(sent["messages"][0], json!({ "role": "user", "content": [{ "text": "." }] }));
    assert_eq!(sent["messages"][1]["role"], "assistant");
    assert_eq!(kinds(&encoded), [("messages", WarningKind::Repaired)]);
    let usual = encode(&ask("m").message(ChatMessage::assistant("Hi")).user("Go on"));
    assert_eq!(body(&usual)["messages"].as_array().unwrap().len(), 3);
    assert!(usual.warnings.is_empty());
}

#[test]
fn cache_points_are_blocks_and_at_most_four() {
    let marked = |text: &str, cache| {
        let mut part = agentloop::TextPart::new(text);
        part.cache_control = Some(cache);
        ContentPart::Text(part)
    };
    let mut request = ChatRequest::new(format!("bedrock/{CLAUDE}"));
    request.messages.push(ChatMessage::system(vec![marked("Be.", CacheControl::EphemeralHour)]));
    let parts = (0..5).map(|n| marked(&n.to_string(), CacheControl::Ephemeral)).collect::<Vec<_>>();
    let request = request.user(parts).tool(ToolDefinition::Function {
        function: agentloop::FunctionDefinition::new("f", None),
        cache_control: Some(CacheControl::Ephemeral),
    });
    let encoded = encode(&request);
    let sent = body(&encoded);
    let text = sent.to_string();
    assert_eq!(text.matches("cachePoint").count(), 4, "{text}");
    assert_eq!(sent["toolConfig"]["tools"][1], json!({ "cachePoint": { "type": "default" } }));
    // An hour after five minutes is not accepted.
    assert_eq!(sent["system"][1], json!({ "cachePoint": { "type": "default" } }));
    let content = sent["messages"][0]["content"].as_array().unwrap();
    assert_eq!(content.last().unwrap(), &json!({ "cachePoint": { "type": "default" } }));
    let warned = kinds(&encoded);
    assert!(warned.contains(&("cache_control", WarningKind::Dropped)), "{warned:?}");
    assert!(warned.contains(&("cache_control", WarningKind::Clamped)), "{warned:?}");
}

#[test]
fn thinking_has_the_field_of_the_model() {
    let thinks = |model: &str, request: ChatRequest| {
        let mut request = request;
        request.model = format!("bedrock/{model}");
        let sent = body(&encode(&request));
        (sent["additionalModelRequestFields"].clone(), sent["outputConfig"].clone())
    };
    let effort = || ask("m").effort(Effort::High);
    let budget = json!({ "thinking": { "type": "enabled", "budget_tokens": 20_480 } });
    assert_eq!(thinks(CLAUDE, effort()), (budget, Value::Null));
    let adaptive = json!({ "thinking": { "type": "adaptive" } });
    assert_eq!(thinks(NEWER, effort()), (adaptive, json!({ "effort": "high" })));
    let nova = json!({ "reasoningConfig": { "maxReasoningEffort": "high", "type": "enabled" } });
    assert_eq!(thinks("us.amazon.nova-2-lite-v1:0", effort()), (nova, Value::Null));
    let oss = json!({ "reasoning_effort": "high" });
    assert_eq!(thinks("openai.gpt-oss-120b-1:0", effort()), (oss, Value::Null));
    let gpt = json!({ "reasoning": { "effort": "high" } });
    assert_eq!(thinks("openai.gpt-5.5", effort()), (gpt, Value::Null));
    assert_eq!(thinks("some-model", effort()), (Value::Null, json!({ "effort": "high" })));
    let set = ask("m").thinking(Thinking::budget(2_000));
    let by_budget = json!({ "thinking": { "type": "enabled", "budget_tokens": 2_000 } });
    assert_eq!(thinks("some-model", set), (by_budget, Value::Null));
    let off = json!({ "thinking": { "type": "disabled" } });
    assert_eq!(thinks(CLAUDE, ask("m").thinking(Thinking::disabled())), (off, Value::Null));
}

#[test]
fn a_schema_is_text_where_the_model_follows_it_and_a_tool_elsewhere() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let request =
        |model: &str| ask(model).response_format(ResponseFormat::json_schema("s", schema.clone()));
    let sent = body(&encode(&request(CLAUDE)));
    let format = &sent["outputConfig"]["textFormat"];
    assert_eq!(format["type"], "json_schema");
    let definition = &format["structure"]["jsonSchema"];
    let text: Value = serde_json::from_str(definition["schema"].as_str().unwrap()).unwrap();
    assert_eq!((&text["type"], &definition["name"]), (&json!("object"), &json!("s")));
    for model in ["us.amazon.nova-pro-v1:0", "us.anthropic.claude-haiku-4-5-20251001-v1:0"] {
        let sent = body(&encode(&request(model)));
        assert_eq!(sent.get("outputConfig"), None, "{model}");
        assert_eq!(sent["toolConfig"]["toolChoice"], json!({ "tool": { "name": "s" } }), "{model}");
    }
}

#[test]
fn media_are_bytes_or_in_s3_and_documents_have_unlike_names() {
    let file = |name: &str, data: &str, citations| {
        let mut file = FileInput::default();
        file.file_data = Some(data.to_owned());
        file.filename = Some(name.to_owned());
        file.citations = citations;
        ContentPart::File { file, cache_control: None }
    };
    let encoded = encode(&ChatRequest::new("bedrock/m").user(vec![
        ContentPart::image_url("data:image/png;base64,iVBORw0KGgo="),
        ContentPart::image_url("s3://bucket/a.webp"),
        file("a.pdf", "data:application/pdf;base64,JVBERi0=", None),
        file("a.txt", "data:text/plain,sky", Some(true)),
    ]));
    assert_eq!(
        body(&encoded)["messages"][0]["content"],
        json!([
            { "image": { "format": "png", "source": { "bytes": "iVBORw0KGgo=" } } },
            { "image": { "format": "webp", "source": { "s3Location": { "uri": "s3://bucket/a.webp" } } } },
            { "document": { "format": "pdf", "name": "a", "source": { "bytes": "JVBERi0=" } } },
            { "document": { "format": "txt", "name": "a [2]", "source": { "text": "sky" },
                            "citations": { "enabled": true } } },
            { "text": "See the attached document." },
        ])
    );
    assert_eq!(kinds(&encoded), [("messages[0]", WarningKind::Converted)]);
    let remote = ask("m").user([ContentPart::image_url("https://a.test/b.png")]);
    let error = inspect::encode(&client(), &remote, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn ids_keep_to_the_length_that_the_api_accepts() {
    for (model, length) in [("m", 64), ("us.mistral.pixtral-large-2502-v1:0", 9)] {
        let id = "x".repeat(100);
        let call = ContentPart::ToolCall(ToolCallPart::new(&id, "f", "{}"));
        let request = ask(model)
            .tool(tool("f"))
            .message(ChatMessage::assistant(vec![call]))
            .message(ChatMessage::tool(&id, "y"));
        let sent = body(&encode(&request));
        let sent_id = sent["messages"][1]["content"][0]["toolUse"]["toolUseId"].as_str().unwrap();
        assert!(sent_id.len() <= length, "{sent_id}");
        let is_plain = sent_id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        assert!(is_plain || length != 9, "{sent_id}");
        assert_eq!(sent["messages"][2]["content"][0]["toolResult"]["toolUseId"], sent_id);
    }
}

#[tokio::test]
async fn tokens_are_counted_models_are_listed_and_texts_are_embedded() {
    let row = Simulator::new().simulate(Provider::bedrock());
    let ai = AgentLoop::builder().provider(row).build().unwrap();
    assert!(ai.count_tokens(&ask("echo").effort(Effort::Low)).await.unwrap() > 0);
    assert!(ai.models("bedrock").await.unwrap().iter().any(|model| model.id == "echo"));
    for (model, calls) in [("amazon.titan-embed-text-v2:0", 3), ("us.cohere.embed-v4:0", 1)] {
        let texts = agentloop::EmbedRequest::new(format!("bedrock/{model}"), ["a", "b c", "d"]);
        assert_eq!(inspect::encode_embed(&ai, &texts).unwrap().len(), calls, "{model}");
        let response = ai.embed(texts).await.unwrap();
        assert_eq!((response.embeddings.len(), response.usage.unwrap().prompt_tokens), (3, 4));
    }
    let lab = Simulator::new().provider_named("lab", agentloop::Protocol::Bedrock);
    let ai = AgentLoop::builder().provider(lab).build().unwrap();
    assert!(ai.models("lab").await.unwrap().iter().any(|model| model.id == "echo"));
}

/// Every feature that a request can have, to models of each maker.
#[test]
fn every_feature_has_the_shape_of_the_api() {
    let ai = client();
    for model in [CLAUDE, NEWER, "us.amazon.nova-2-lite-v1:0", "openai.gpt-oss-20b-1:0", "m"] {
        for feature in crate::wire::features::FEATURES {
            let name = format!("bedrock/{model}");
            let request = crate::wire::request(&name, &feature.asked());
            match inspect::encode(&ai, &request, false) {
                Ok(encoded) => _ = body(&encoded),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Unsupported, "{}: {error}", feature.name);
                }
            }
        }
    }
}
