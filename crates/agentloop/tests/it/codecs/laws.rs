//! What a table of cases cannot say.

use agentloop::inspect::{self, DecodeOptions, HttpResponse};
use agentloop::{AgentLoop, ChatRequest, ErrorKind};
use serde_json::{Value, json};

#[tokio::test]
async fn an_endless_line_is_an_error() {
    let mut options = DecodeOptions::new("openai");
    options.stream = true;
    let body = format!("data: {{\"id\":\"{}", "x".repeat(70 << 20));
    let stream = inspect::decode(&AgentLoop::from_env(), &options, HttpResponse::new(body));
    assert_eq!(stream.unwrap().response().await.unwrap_err().kind(), ErrorKind::TooLarge);
}

#[test]
fn a_longer_conversation_only_appends_to_the_request() {
    let turns = json!([
        {"role": "user", "content": "Weather in Paris and Rome?"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_aaaaaaaaaaaa", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Paris\"}"}},
            {"id": "call_bbbbbbbbbbbb", "type": "function", "function": {"name": "weather", "arguments": ""}}]},
        {"role": "tool", "tool_call_id": "call_aaaaaaaaaaaa", "content": "sun"},
        {"role": "tool", "tool_call_id": "call_bbbbbbbbbbbb", "content": "rain"},
    ]);
    for model in ["openai/gpt-4.1", "mistral/mistral-large-latest", "deepseek/deepseek-chat"] {
        let encode = |turns: &[Value]| {
            let request = json!({"model": model, "messages": turns, "temperature": 0.5, "response_format": {"type": "json_object"}});
            let request: ChatRequest = serde_json::from_str(&request.to_string()).unwrap();
            let encoded = inspect::encode(&AgentLoop::from_env(), &request, false).unwrap();
            encoded.body.get().strip_suffix("]}").unwrap().to_owned()
        };
        let all = turns.as_array().unwrap();
        let (short, long) = (encode(&all[..1]), encode(all));
        assert!(long.starts_with(&short), "{model}\n{short}\n{long}");
    }
}
