//! A provider's state returns through a client of every API.

use agentloop::{ChatMessage, ChatRequest, Protocol};
use agentloop_sim::{Script, Simulator};
use serde_json::{Value, json};

use crate::common::{CLIENTS, Stage, UPSTREAMS};

/// Returns a turn with the state that a provider of this protocol makes.
fn stateful(protocol: Protocol) -> Value {
    let state = |data: Value| json!({ "provider": "sim", "data": data });
    let call = |id: &str, state: Option<Value>| {
        let mut call = json!({ "type": "tool_call", "id": id, "name": "weather", "arguments": "{\"city\":\"Oslo\"}" });
        if let Some(state) = state {
            call["providerState"] = state;
        }
        call
    };
    let parts = match protocol {
        Protocol::Anthropic => json!([
            { "type": "thinking", "thinking": "First ü.", "signature": "EqoBCkgIBRABGAIiQ" },
            { "type": "redacted_thinking", "data": "EmwKAhgB" },
            { "type": "text", "text": "One moment." },
            call("toolu_1", None),
            call("toolu_2", None),
        ]),
        Protocol::OpenAiResponses => json!([
            { "type": "thinking", "thinking": "First ü.", "signature": "gAAAAABencrypted",
              "providerState": state(json!({ "id": "rs_1" })) },
            call("call_1", Some(state(json!({ "id": "fc_1" })))),
            call("call_2", Some(state(json!({ "id": "fc_2" })))),
        ]),
        Protocol::Gemini => json!([
            { "type": "thinking", "thinking": "First ü." },
            call("g_1", Some(state(json!({ "thoughtSignature": "CiQBsignature==" })))),
            call("g_2", None),
        ]),
        _ => json!([
            { "type": "thinking", "thinking": "First ü." },
            { "type": "text", "text": "One moment." },
            call("call_1", None),
            call("call_2", None),
        ]),
    };
    json!({ "turns": [{ "parts": parts }, { "parts": [{ "type": "text", "text": "Done." }] }] })
}

/// Returns what of the state must be in the second request that the provider receives.
fn marks(protocol: Protocol) -> &'static [&'static str] {
    match protocol {
        Protocol::Anthropic => {
            &["EqoBCkgIBRABGAIiQ", "EmwKAhgB", "First ü.", "\"toolu_1\"", "\"toolu_2\""]
        }
        Protocol::OpenAiResponses => {
            &["gAAAAABencrypted", "\"id\":\"rs_", "\"id\":\"fc_", "\"call_1\"", "\"call_2\""]
        }
        Protocol::Gemini => &["CiQBsignature==", "g_1", "g_2"],
        _ => &["\"call_1\"", "\"call_2\""],
    }
}

#[tokio::test]
async fn state_returns_to_its_provider_through_every_client() {
    for (name, upstream) in UPSTREAMS {
        let script = Script::from_json(&stateful(upstream).to_string()).unwrap();
        let stage = Stage::start(Simulator::new().with_script(script)).await;
        for (_, client) in CLIENTS {
            for streamed in [false, true] {
                let what = format!("{client:?} → {upstream:?} streamed {streamed}");
                stage.simulator.clear_requests();
                let ai = stage.client(client);
                let mut request = ChatRequest::new(format!("gw/{name}/m")).user("Weather?");
                request.tools = serde_json::from_value(json!([{ "type": "function", "function": {
                    "name": "weather", "parameters": { "type": "object", "properties": {} } } }]))
                .unwrap();
                let response = if streamed {
                    ai.stream(&request).await.unwrap().response().await.unwrap()
                } else {
                    ai.chat(&request).await.unwrap()
                };
                let calls: Vec<String> =
                    response.tool_calls().map(|call| call.id.clone()).collect();
                request = request.message(response.into_message());
                for call in calls {
                    request = request.message(ChatMessage::tool(call, "12 degrees"));
                }
                ai.chat(&request).await.unwrap_or_else(|error| panic!("{what}: {error}"));
                let last = stage.simulator.last_request().unwrap();
                let sent = last.json().unwrap().to_string();
                for mark in marks(upstream) {
                    assert!(sent.contains(mark), "{what}: {mark} is missing in {sent}");
                }
                assert!(
                    !sent.contains("agentlp1"),
                    "{what}: a capsule reached the provider: {sent}"
                );
            }
        }
    }
}

/// A conversation that moves to a provider of the client's own API must not take another provider's state along.
#[tokio::test]
async fn a_capsule_never_reaches_another_provider() {
    let script = Script::from_json(&stateful(Protocol::OpenAiResponses).to_string()).unwrap();
    let stage = Stage::start(Simulator::new().with_script(script)).await;
    for (_, client) in CLIENTS {
        let ai = stage.client(client);
        let mut request = ChatRequest::new("gw/responses/m").user("Weather?");
        request.tools = serde_json::from_value(json!([{ "type": "function", "function": {
            "name": "weather", "parameters": { "type": "object", "properties": {} } } }]))
        .unwrap();
        let response = ai.chat(&request).await.unwrap();
        let calls: Vec<String> = response.tool_calls().map(|call| call.id.clone()).collect();
        request = request.message(response.into_message());
        for call in calls {
            request = request.message(ChatMessage::tool(call, "12 degrees"));
        }
        for (name, _) in UPSTREAMS.iter().filter(|(name, _)| *name != "responses") {
            let mut moved = request.clone();
            moved.model = format!("gw/{name}/m");
            let what = format!("{client:?} → {name}");
            ai.chat(&moved).await.unwrap_or_else(|error| panic!("{what}: {error}"));
            let sent = stage.simulator.last_request().unwrap().json().unwrap().to_string();
            for foreign in ["agentlp1", "gAAAAABencrypted", "rs_1", "fc_1"] {
                assert!(!sent.contains(foreign), "{what}: {foreign} in {sent}");
            }
            assert!(sent.contains("12 degrees"), "{what}");
        }
    }
}
