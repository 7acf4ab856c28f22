//! Requests whose maker nested too deep: refused, and not even dropping them breaks anything.

use agentloop::agent::{Agent, RunRequest, Tool, ToolOutput};
use agentloop::limits::MAX_REQUEST_DEPTH;
use agentloop::middleware::{Cache, Logger};
use agentloop::{
    AgentLoop, AudioOutput, ChatMessage, ChatRequest, ContentPart, EmbedRequest, ErrorKind,
    OpaquePart, ProviderState, ResponseFormat, TextPart, ToolChoice, ToolDefinition, inspect,
};
use serde_json::{Map, Value};

/// Deeper than any stack.
const LEVELS: usize = 20_000;

fn deep(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, level| {
        if level.is_multiple_of(2) {
            Value::Array(vec![inner])
        } else {
            Value::Object(Map::from_iter([("properties".to_owned(), inner)]))
        }
    })
}

fn fields(levels: usize) -> Map<String, Value> {
    Map::from_iter([("a".to_owned(), deep(levels - 1))])
}

fn ask() -> ChatRequest {
    ChatRequest::new("openai/gpt-4.1").user("Hello")
}

/// A request with JSON of so many levels, in every place where there can be any.
fn requests(levels: usize) -> Vec<(&'static str, ChatRequest)> {
    let part = |part: ContentPart| {
        let mut request = ask();
        request.messages.push(ChatMessage::assistant(part));
        request
    };
    let with = |change: &dyn Fn(&mut ChatRequest)| {
        let mut request = ask();
        change(&mut request);
        request
    };
    let opaque = OpaquePart::new("", "", deep(levels));
    let state = ProviderState::new("openai", deep(levels));
    let text = TextPart::new("Hi").with_provider_state(state);
    let tool = ToolDefinition::function("f", deep(levels));
    let format = ResponseFormat::json_schema("s", deep(levels));
    let mut voice = AudioOutput::new("v", "wav");
    voice.voice = deep(levels);
    vec![
        ("tools[0]", ask().tool(tool)),
        ("tools[0]", ask().tool(ToolDefinition::Provider(fields(levels)))),
        ("messages[1]", part(ContentPart::Opaque(opaque))),
        ("messages[1]", part(ContentPart::Text(text))),
        ("tool_choice", ask().tool_choice(ToolChoice::Provider(fields(levels)))),
        ("response_format", ask().response_format(format)),
        ("audio", ask().audio(voice)),
        ("metadata", with(&|request| request.metadata = Some(fields(levels)))),
        ("extra_body", with(&|request| request.extra_body = fields(levels))),
    ]
}

fn clients() -> [AgentLoop; 2] {
    let layered = AgentLoop::builder().layer(Logger::new()).layer(Cache::new());
    [AgentLoop::from_env(), layered.build().unwrap()]
}

#[track_caller]
fn refused(error: &agentloop::Error, place: &str) {
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(error.message().contains(place) && error.message().contains("112"), "{error}");
}

#[tokio::test]
async fn a_request_that_nests_too_deep_is_refused() {
    for client in clients() {
        for (place, request) in requests(LEVELS) {
            refused(&client.chat(request).await.unwrap_err(), place);
        }
        for (place, request) in requests(MAX_REQUEST_DEPTH + 1) {
            refused(&client.stream(request.clone()).await.unwrap_err(), place);
            refused(&client.count_tokens(&request).await.unwrap_err(), place);
            refused(&inspect::encode(&client, &request, true).unwrap_err(), place);
        }
        let mut embed = EmbedRequest::new("openai/text-embedding-3-small", ["a"]);
        embed.extra_body = fields(MAX_REQUEST_DEPTH + 1);
        refused(&inspect::encode_embed(&client, &embed).unwrap_err(), "extra_body");
        embed.extra_body = fields(LEVELS);
        refused(&client.embed(embed).await.unwrap_err(), "extra_body");
    }
}

#[test]
fn a_request_that_nests_as_deep_as_it_may_is_sent() {
    for (place, request) in requests(MAX_REQUEST_DEPTH) {
        let encoded = inspect::encode(&AgentLoop::from_env(), &request, false);
        assert!(encoded.is_ok(), "{place}: {:?}", encoded.err());
    }
}

#[tokio::test]
async fn a_schema_that_nests_too_deep_is_refused_wherever_it_is_given() {
    let ai = AgentLoop::from_env();
    let whole = ai.chat_structured_as(deep(LEVELS), ask()).await;
    refused(&whole.unwrap_err(), "the schema");
    let streamed = ai.stream_structured_as(deep(LEVELS), ask()).await;
    refused(&streamed.map(drop).unwrap_err(), "the schema");
    let tool = Tool::dynamic("t", "A tool", deep(LEVELS), |_: Value, _| async {
        Ok(ToolOutput::text("done"))
    });
    let agent = Agent::new(ai).tool(tool);
    refused(&agent.run(ask()).await.unwrap_err().error, "the schema of the tool `t`");
}

#[tokio::test]
async fn a_run_with_a_request_that_is_too_deep_does_not_start() {
    let agent = Agent::new(AgentLoop::from_env());
    for (place, request) in requests(LEVELS) {
        refused(&agent.run(request).await.unwrap_err().error, place);
    }
    let request = RunRequest::new(ask()).data(fields(LEVELS));
    refused(&agent.run(request).await.unwrap_err().error, "data");
}
