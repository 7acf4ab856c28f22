//! Runs in which a model calls the tools of a server.

use agentloop::agent::mcp::McpConnection;
use agentloop::agent::{Agent, Outcome, ToolResult};
use agentloop::{AgentLoop, ChatRequest, Protocol, ResponsePart, ToolCallPart};
use agentloop_sim::{Model, Script, Simulator, Turn};
use serde_json::Value;

/// Returns a client whose model makes these calls, one in each response, and then finishes.
pub(crate) fn model(calls: &[(&str, Value)]) -> AgentLoop {
    let call = |(at, (tool, arguments)): (usize, &(&str, Value))| {
        let call = ToolCallPart::new(format!("call_{at}"), *tool, arguments.to_string());
        Turn::new([ResponsePart::ToolCall(call)])
    };
    let turns = calls.iter().enumerate().map(call).chain([Turn::text("That is all.")]);
    let simulator = Simulator::new().with_model(Model::from_script(Script::new(turns)));
    // It takes results with images, which not every protocol does.
    let provider = simulator.provider_named("sim", Protocol::Anthropic);
    AgentLoop::builder().provider(provider).build().unwrap()
}

pub(crate) fn agent(connection: &McpConnection, calls: &[(&str, Value)]) -> Agent {
    Agent::new(model(calls)).tool_source(connection.clone())
}

pub(crate) fn request() -> ChatRequest {
    ChatRequest::new("sim/case").user("Go")
}

pub(crate) async fn run(connection: &McpConnection, calls: &[(&str, Value)]) -> Outcome {
    agent(connection, calls).run(request()).await.unwrap()
}

/// Returns the result of one call.
pub(crate) async fn call(connection: &McpConnection, tool: &str, arguments: Value) -> ToolResult {
    let outcome = run(connection, &[(tool, arguments)]).await;
    assert_eq!(outcome.text(), "That is all.", "{:?}", outcome.stop);
    outcome.steps[0].results[0].clone()
}
