//! Cohere's own API: what a table of cases cannot say.

use agentloop::inspect::{self, EncodedRequest};
use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, Citation, ContentPart, EmbedRequest, FinishReason,
    ResponsePart, ToolCallPart, Usd,
};
use serde_json::{Value, json};

use crate::support::{Decoded, Wire, canned, decode};

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

/// 8 and 2 of the 503 and 14 tokens are billed, at 2.5 and 10 dollars for a million.
#[tokio::test]
async fn the_cost_is_that_of_the_billed_tokens() {
    let body = String::from_utf8(fixture("text.body.json")).unwrap();
    let provider = agentloop::Provider::cohere().key("k").transport(canned::json(body));
    let ai = AgentLoop::builder().provider(provider).build().unwrap();
    let response = ai.chat(ask()).await.unwrap();
    assert_eq!(response.usage.prompt_tokens, Some(503));
    assert_eq!(response.cost.unwrap().usd, Usd::from_picos(40_000_000));
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
