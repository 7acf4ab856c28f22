//! Runs that were stored while they waited, and are resumed from whatever became of them.

use std::sync::LazyLock;

use agentloop::agent::{Agent, Decision, Policy, Suspended, Tool, ToolOutput};
use agentloop::{
    AgentLoop, ChatRequest, FunctionDefinition, ResponsePart, TextPart, ThinkingPart, ToolCallPart,
};
use agentloop_sim::{Model, Script, Simulator, Turn};
use serde_json::{Value, json};

use super::laws::{Nowhere, run};
use crate::seeds::{input, parts};

fn client() -> &'static AgentLoop {
    static CLIENT: LazyLock<AgentLoop> = LazyLock::new(|| {
        let call = |id: &str, name: &str| {
            ResponsePart::ToolCall(ToolCallPart::new(id, name, r#"{"city":"Oslo"}"#))
        };
        let think = ResponsePart::Thinking(ThinkingPart::new("hm"));
        let text = ResponsePart::Text(TextPart::new("I look."));
        let turns = [
            Turn::new([call("c0", "free")]),
            Turn::new([think, text, call("c1", "send"), call("c2", "free"), call("c3", "own")]),
            Turn::text("Done."),
            Turn::new([call("c4", "send")]),
            Turn::text("Done again."),
        ];
        let simulator = Simulator::new().with_model(Model::from_script(Script::new(turns)));
        let builder = AgentLoop::builder().provider(simulator.provider());
        builder.transport(Nowhere).media_transport(Nowhere).build().unwrap()
    });
    &CLIENT
}

fn agent() -> &'static Agent {
    static AGENT: LazyLock<Agent> = LazyLock::new(made);
    &AGENT
}

fn made() -> Agent {
    let schema = || json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let send = Tool::dynamic("send", "Sends", schema(), |_: Value, _| async { Ok("sent") });
    let free =
        Tool::dynamic("free", "Looks", schema(), |_: Value, _| async { Ok(json!({"rain": true})) });
    let own = Tool::external(FunctionDefinition::new("own", None));
    Agent::new(client().clone()).tool(send.policy(Policy::Ask)).tool(free).tool(own)
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    run(async {
        let question = ChatRequest::new("sim/any").system("Be brief.").user("How is the weather?");
        let first = agent().run(question).await.unwrap();
        let mut run = *first.suspended.unwrap();
        let mut seeds = Vec::new();
        for how in 0..4 {
            seeds.push(input(how, 0, serde_json::to_string(&run).unwrap()));
        }
        run.decide_all(&Decision::Allow);
        seeds.push(input(4, 0, serde_json::to_string(&run).unwrap()));
        seeds
    })
}

pub(crate) fn check(bytes: &[u8]) {
    let Some((how, _, json)) = parts(bytes) else { return };
    let Ok(mut waiting) = serde_json::from_slice::<Suspended>(json) else { return };
    let stored = serde_json::to_string(&waiting).unwrap();
    assert_eq!(serde_json::from_str::<Suspended>(&stored).unwrap(), waiting);
    let _ = waiting.initial_request();
    match how & 3 {
        0 => waiting.decide_all(&Decision::Allow),
        1 => waiting.decide_all(&Decision::deny("no")),
        2 => {
            for call in waiting.pending() {
                let _ = waiting.answer(&call.call_id, ToolOutput::text("given"));
            }
        }
        _ => {}
    }
    run(async {
        match agent().resume(waiting).await {
            Ok(outcome) => {
                serde_json::to_string(&outcome).unwrap();
                if let Some(again) = outcome.suspended {
                    let stored = serde_json::to_string(&again).unwrap();
                    assert_eq!(serde_json::from_str::<Suspended>(&stored).unwrap(), *again);
                }
            }
            Err(error) => assert!(!error.error.message().is_empty()),
        }
    });
}
