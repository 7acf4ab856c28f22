//! Runs with deeply nested responses that are stored and resumed.

use agentloop::agent::{Agent, Outcome, Suspended, Tool, ToolOutput};
use agentloop::{
    AgentLoop, ChatRequest, FunctionDefinition, OpaquePart, Protocol, ResponsePart, ToolCallPart,
};
use agentloop_sim::{Model, Script, Simulator, Turn};
use serde_json::json;

use crate::nesting::nested;

fn simulated(levels: usize) -> AgentLoop {
    let opaque = ResponsePart::Opaque(OpaquePart::new(
        "sim",
        "of_tomorrow",
        json!({ "type": "of_tomorrow",
            "deep": serde_json::from_str::<serde_json::Value>(&nested(levels)).unwrap() }),
    ));
    let call = ResponsePart::ToolCall(ToolCallPart::new("c1", "own", "{}"));
    let script = Script::new([Turn::new([opaque, call]), Turn::text("Done.")]);
    let simulator = Simulator::new().with_model(Model::from_script(script));
    let provider = simulator.provider_named("sim", Protocol::Anthropic);
    AgentLoop::builder().provider(provider).build().unwrap()
}

#[tokio::test]
async fn a_run_with_deep_responses_is_stored_and_continues() {
    for levels in [20, 95, 96, 97, 110, 120] {
        let own = FunctionDefinition::new("own", None);
        let agent = Agent::new(simulated(levels)).tool(Tool::external(own));
        let outcome = agent.run(ChatRequest::new("sim/any").user("Hello")).await.unwrap();
        let stored = serde_json::to_string(&json!({ "outcome": outcome })).unwrap();
        let mut read: std::collections::BTreeMap<String, Outcome> =
            serde_json::from_str(&stored).unwrap();
        let read = read.remove("outcome").unwrap();
        assert_eq!(read, outcome, "{levels}");
        let mut waiting: Suspended = *read.suspended.unwrap();
        waiting.answer("c1", ToolOutput::text("given")).unwrap();
        let done = agent.resume(waiting).await.unwrap();
        assert_eq!(done.text(), "Done.", "{levels}");
        let part = &done.steps[0].response.choices[0].content[0];
        assert!(matches!(part, ResponsePart::Opaque(_)), "{part:?}");
    }
}
