//! What holds for every pair of APIs.

use agentloop::{ChatRequest, ChatResponse, Protocol, ResponsePart};
use agentloop_sim::Simulator;
use serde_json::{Value, json};

use crate::common::{CLIENTS, Stage, UPSTREAMS, pairs};

/// Returns a tool definition.
fn weather() -> Value {
    json!([{ "type": "function", "function": { "name": "weather", "description": "Returns the weather.",
        "parameters": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] } } }])
}

fn kinds(response: &ChatResponse) -> Vec<(&'static str, String)> {
    let parts = response.choices[0].content.iter();
    parts
        .filter_map(|part| match part {
            // An empty text carries state to a client of Gemini's API.
            ResponsePart::Text(text) if text.text.is_empty() => None,
            ResponsePart::Text(text) => Some(("text", text.text.clone())),
            ResponsePart::Thinking(thinking) => Some(("thinking", thinking.thinking.clone())),
            ResponsePart::ToolCall(call) => {
                Some(("call", format!("{}({})", call.name, call.arguments)))
            }
            _ => None,
        })
        .collect()
}

/// The client of every API gets what the provider of every API sent, complete and streamed.
#[tokio::test]
async fn a_client_receives_what_the_provider_sent() {
    let stage = Stage::start(Simulator::new()).await;
    for model in ["echo", "think", "tools", "length", "long-40"] {
        for (name, upstream) in UPSTREAMS {
            // What a client of the provider's own API gets, through the gateway if it has that API.
            let is_served = CLIENTS.iter().any(|(_, client)| *client == upstream);
            let request = |model: String| {
                let mut request: ChatRequest = serde_json::from_value(json!({
                    "model": format!("gw/{model}"), "max_tokens": 200,
                    "messages": [{ "role": "user", "content": "How is the weather?" }],
                }))
                .unwrap();
                if model.ends_with("tools") {
                    request.tools = serde_json::from_value(weather()).unwrap();
                }
                request
            };
            let expected = if is_served {
                stage.client(upstream).chat(request(format!("{name}/{model}"))).await
            } else {
                stage.direct(upstream).chat(request(model.to_owned())).await
            };
            let expected = expected.unwrap();
            for (_, client) in CLIENTS {
                let what = format!("{client:?} → {upstream:?} {model}");
                let ai = stage.client(client);
                let whole = ai.chat(request(format!("{name}/{model}"))).await.unwrap();
                let stream = ai.stream(request(format!("{name}/{model}"))).await.unwrap();
                let streamed = stream.response().await.unwrap();
                for got in [&whole, &streamed] {
                    assert_eq!(kinds(got), kinds(&expected), "{what}");
                    assert_eq!(
                        got.choices[0].finish_reason, expected.choices[0].finish_reason,
                        "{what}"
                    );
                    assert_eq!(got.usage.prompt_tokens, expected.usage.prompt_tokens, "{what}");
                    assert_eq!(
                        got.usage.completion_tokens, expected.usage.completion_tokens,
                        "{what}"
                    );
                }
            }
        }
    }
}

/// Returns the list of messages of a request, in the protocol in which the provider received it.
fn messages(protocol: Protocol, body: &Value) -> Vec<Value> {
    let name = match protocol {
        Protocol::OpenAiResponses | Protocol::GeminiInteractions => "input",
        Protocol::Gemini => "contents",
        _ => "messages",
    };
    body[name].as_array().cloned().unwrap_or_default()
}

/// Appending to a conversation only appends to what the provider receives, so its prompt cache stays valid.
#[tokio::test]
async fn a_conversation_only_grows_for_every_pair() {
    let script = json!({ "turns": [
        { "parts": [{ "type": "thinking", "thinking": "I need the weather.", "signature": "EqoBsig" },
                    { "type": "text", "text": "One moment." },
                    { "type": "tool_call", "id": "call_1", "name": "weather", "arguments": "{\"city\":\"Oslo\"}" },
                    { "type": "tool_call", "id": "call_2", "name": "weather", "arguments": "{\"city\":\"Rome\"}" }] },
        { "parts": [{ "type": "thinking", "thinking": "Now I know.", "signature": "EqoBtwo" },
                    { "type": "text", "text": "Rain in Oslo, sun in Rome." }] },
        { "parts": [{ "type": "text", "text": "You are welcome." }] },
    ] });
    let script = agentloop_sim::Script::from_json(&script.to_string()).unwrap();
    let stage = Stage::start(Simulator::new().with_script(script)).await;
    for (name, upstream, client) in pairs() {
        for streamed in [false, true] {
            let what = format!("{client:?} → {upstream:?} streamed {streamed}");
            stage.simulator.clear_requests();
            let ai = stage.client(client);
            let mut request =
                ChatRequest::new(format!("gw/{name}/m")).system("Be short.").user("Weather?");
            request.tools = serde_json::from_value(weather()).unwrap();
            for round in 0..3 {
                let response = if streamed {
                    ai.stream(&request).await.unwrap().response().await.unwrap()
                } else {
                    ai.chat(&request).await.unwrap()
                };
                let calls: Vec<String> =
                    response.tool_calls().map(|call| call.id.clone()).collect();
                assert_eq!(calls.len(), if round == 0 { 2 } else { 0 }, "{what}");
                request = request.message(response.into_message());
                for call in calls {
                    request = request.message(agentloop::ChatMessage::tool(call, "12 degrees"));
                }
                if round > 0 {
                    request = request.user("Thanks.");
                }
            }
            let bodies: Vec<Value> =
                stage.simulator.requests().iter().map(|request| request.json().unwrap()).collect();
            assert_eq!(bodies.len(), 3, "{what}");
            for pair in bodies.windows(2) {
                let (before, after) = (messages(upstream, &pair[0]), messages(upstream, &pair[1]));
                assert!(after.len() > before.len(), "{what}");
                for (at, (one, other)) in before.iter().zip(&after).enumerate() {
                    // A message that ends the list may be continued by the next one of the same role.
                    if at + 1 < before.len() {
                        assert_eq!(one, other, "{what} message {at}");
                    }
                }
                for field in ["system", "systemInstruction", "instructions", "tools"] {
                    assert_eq!(pair[0].get(field), pair[1].get(field), "{what} {field}");
                }
            }
        }
    }
}
