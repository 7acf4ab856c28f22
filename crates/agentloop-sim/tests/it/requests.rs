//! Received requests, and responses in the order of the requests.

use agentloop::middleware::Retry;
use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, EmbedRequest, ErrorKind, FinishReason, Protocol, Provider,
    ResponsePart, Role, Secret, TextPart, ToolDefinition,
};
use agentloop_sim::{Fault, Faults, Simulator, Turn};
use serde_json::json;

use crate::common::{client, streamed};

fn request(prompt: &str) -> ChatRequest {
    ChatRequest::new("sim/any").user(prompt)
}

#[tokio::test]
async fn requests_of_all_kinds_are_kept_in_order() {
    let simulator = Simulator::new();
    let ai = client(&simulator);
    ai.chat(ChatRequest::new("sim/echo").system("Be brief.").user("One")).await.unwrap();
    streamed(&ai, request("Two")).await.unwrap();
    ai.embed(EmbedRequest::new("sim/vectors", ["a", "b"])).await.unwrap();
    ai.models("sim").await.unwrap();
    ai.chat(ChatRequest::new("sim/echo!status=500").user("Five")).await.unwrap_err();

    let requests = simulator.requests();
    let numbers: Vec<u64> = requests.iter().map(|request| request.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    let first = requests[0].chat().unwrap();
    let messages: Vec<(Role, String)> =
        first.messages.iter().map(|message| (message.role, message.text())).collect();
    assert_eq!(messages, [(Role::System, "Be brief.".into()), (Role::User, "One".into())]);
    assert_eq!(first.model, "echo");
    assert!(!requests[0].is_stream().unwrap());
    assert!(requests[1].is_stream().unwrap());
    assert_eq!(requests[2].embed().unwrap().input.as_slice(), ["a", "b"]);
    assert_eq!((requests[3].method.as_str(), requests[3].uri.path()), ("GET", "/v1/models"));
    assert_eq!(simulator.last_request().unwrap().chat().unwrap().messages[0].text(), "Five");
}

#[tokio::test]
async fn a_request_shows_headers_and_the_body_of_its_protocol() {
    for protocol in Protocol::ALL {
        let simulator = Simulator::new();
        let provider = simulator.provider_named("lab", *protocol).key(Secret::new("sk-test"));
        let ai = AgentLoop::builder().provider(provider).build().unwrap();
        let request = ChatRequest::new("lab/m").user("Hi").header("x-team", "blue");
        ai.chat(request).await.unwrap();
        let received = simulator.last_request().unwrap();
        assert_eq!(received.protocol, *protocol);
        assert_eq!(received.header("x-team"), Some("blue"));
        assert_eq!(received.header("x-missing"), None);
        assert!(
            received
                .headers
                .values()
                .any(|value| { value.to_str().is_ok_and(|value| value.ends_with("sk-test")) })
        );
        assert!(!format!("{received:?}").contains("sk-test"));
        assert_eq!(received.chat().unwrap().messages[0].text(), "Hi", "{protocol:?}");
        assert!(received.json().unwrap().to_string().contains("Hi"));
    }
}

#[tokio::test]
async fn requests_over_http_are_kept_too() {
    let server = Simulator::new().with_responses(["Hello."]).serve("127.0.0.1:0").await.unwrap();
    let provider = Provider::openai_compatible("lab", server.url());
    let ai = AgentLoop::builder().provider(provider).build().unwrap();
    let response = ai.chat(ChatRequest::new("lab/m").user("Hi")).await.unwrap();
    assert_eq!(response.text(), "Hello.");
    let received = server.simulator().last_request().unwrap();
    assert_eq!(received.chat().unwrap().messages[0].text(), "Hi");
    server.shutdown().await;
}

#[tokio::test]
async fn responses_are_used_in_the_order_of_the_requests() {
    let simulator = Simulator::new().with_responses(["First.", "Second."]);
    let ai = client(&simulator);
    assert_eq!(ai.chat(request("Hi")).await.unwrap().text(), "First.");
    ai.embed(EmbedRequest::new("sim/vectors", "text")).await.unwrap();
    assert_eq!(streamed(&ai, request("Hi")).await.unwrap().text(), "Second.");
    let error = ai.chat(request("Hi")).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::InvalidRequest, Some("script_exhausted")));
    assert!(error.message().contains("2 turns"), "{error}");
}

#[tokio::test]
async fn a_response_can_be_text_parts_or_a_scripted_message() {
    let part = ResponsePart::Text(TextPart::new("Part."));
    let simulator = Simulator::new().with_responses([
        Turn::from(part.clone()),
        Turn::from(vec![part.clone()]),
        Turn::from("Part.".to_owned()),
        Turn::default().with_part(part),
    ]);
    let ai = client(&simulator);
    for _ in 0..4 {
        assert_eq!(ai.chat(request("Hi")).await.unwrap().text(), "Part.");
    }
    let simulator = Simulator::new().with_responses([Turn::text("abcd")
        .with_delta_size(1)
        .with_finish_reason(FinishReason::Length)]);
    let response = streamed(&client(&simulator), request("Hi")).await.unwrap();
    assert_eq!(response.finish_reason(), Some(&FinishReason::Length));
    assert_eq!(response.usage.completion_tokens, Some(4));
}

#[tokio::test]
async fn a_tool_call_is_scripted_and_its_result_is_received() {
    let simulator = Simulator::new().with_responses([
        Turn::tool_call("call_1", "weather", &json!({ "city": "Paris" })),
        Turn::text("It rains."),
    ]);
    let ai = client(&simulator);
    let tool = ToolDefinition::function("weather", json!({ "type": "object" }));
    let request = request("Weather?").tool(tool);
    let response = ai.chat(request.clone()).await.unwrap();
    let call = response.tool_calls().next().unwrap();
    assert_eq!((call.id.as_str(), call.arguments.as_str()), ("call_1", r#"{"city":"Paris"}"#));
    let request =
        request.message(response.into_message()).message(ChatMessage::tool("call_1", "rain"));
    assert_eq!(ai.chat(request).await.unwrap().text(), "It rains.");
    let sent = simulator.last_request().unwrap().chat().unwrap();
    assert_eq!(sent.messages.last().unwrap().text(), "rain");
}

#[tokio::test]
async fn a_fault_of_the_schedule_or_the_request_does_not_use_up_a_response() {
    let faults = Faults::first(1, Fault::status(503));
    let simulator = Simulator::new().with_responses(["Hello.", "Bye."]).with_faults(faults);
    let ai = client(&simulator);
    assert_eq!(ai.chat(request("Hi")).await.unwrap_err().kind(), ErrorKind::Overloaded);
    let failing = ChatRequest::new("sim/any!status=500").user("Hi");
    assert_eq!(ai.chat(failing).await.unwrap_err().kind(), ErrorKind::Server);
    assert_eq!(ai.chat(request("Hi")).await.unwrap().text(), "Hello.");
    // A fault that only changes the response uses it up.
    let dripping = ChatRequest::new("sim/any!drip").user("Hi");
    assert_eq!(ai.chat(dripping).await.unwrap().text(), "Bye.");
}

#[tokio::test]
async fn a_fault_of_a_response_is_used_once() {
    let simulator = Simulator::new().with_responses([
        Turn::fault(Fault::status(503).with_message("busy").with_code("busy")),
        Turn::text("Hello."),
    ]);
    let ai = client(&simulator);
    let error = ai.chat(request("Hi")).await.unwrap_err();
    assert_eq!((error.message(), error.code()), ("busy", Some("busy")));
    assert_eq!(ai.chat(request("Hi")).await.unwrap().text(), "Hello.");
}

#[tokio::test(start_paused = true)]
async fn each_attempt_of_a_retry_is_a_request() {
    let simulator = Simulator::new()
        .with_responses(["Hello."])
        .with_faults(Faults::first(2, Fault::status(503)));
    let builder = AgentLoop::builder().provider(simulator.provider()).layer(Retry::new());
    let ai = builder.build().unwrap();
    assert_eq!(ai.chat(request("Hi")).await.unwrap().text(), "Hello.");
    let bodies: Vec<_> = simulator.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies.len(), 3);
    assert!(bodies.iter().all(|body| *body == bodies[0]));
}

#[tokio::test]
async fn clones_share_responses_and_requests() {
    let simulator = Simulator::new().with_responses(["First.", "Second."]);
    let copy = simulator.clone();
    assert_eq!(client(&simulator).chat(request("Hi")).await.unwrap().text(), "First.");
    assert_eq!(client(&copy).chat(request("Hi")).await.unwrap().text(), "Second.");
    assert_eq!(simulator.requests().len(), 2);
    assert_eq!(copy.requests().len(), 2);
}
