//! Tools that the caller runs: the run waits for their results.

use agentloop::agent::{Decision, StopReason, Tool, ToolOutput, Wants};
use agentloop::{FunctionDefinition, ToolDefinition};
use agentloop_sim::Turn;
use serde_json::json;

use crate::agent::lab::{Count, call, everywhere, outputs, says, weather};

fn turns() -> [Turn; 2] {
    let both = [
        call("c1", "ask_user", r#"{"question":"Why?"}"#),
        call("c2", "weather", r#"{"city":"A"}"#),
    ];
    [Turn::new(both), says("Fine.")]
}

fn schema() -> serde_json::Value {
    json!({"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]})
}

#[tokio::test]
async fn a_run_waits_for_the_result_of_an_external_tool() {
    everywhere(turns(), async |lab| {
        let ran = Count::default();
        let external = Tool::external(FunctionDefinition::new("ask_user", schema()));
        let agent = lab.agent().tool(external).tool(weather(&ran));
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!((outcome.stop, ran.get()), (StopReason::Waiting, 0));
        let mut run = *outcome.suspended.unwrap();
        let pending = run.pending();
        assert_eq!((pending.len(), &pending[0].wants), (1, &Wants::Answer));
        assert_eq!(pending[0].arguments, r#"{"question":"Why?"}"#);
        let id = pending[0].call_id.clone();
        assert!(run.decide(&id, Decision::Allow).is_err(), "allowed is not answered");
        run.answer(&id, ToolOutput::text("Because.")).unwrap();
        let outcome = lab.run(&agent, run).await;
        assert_eq!((outcome.stop.clone(), ran.get()), (StopReason::Finished, 1));
        assert_eq!(outputs(&outcome.steps[0].results), ["Because.", "It rains in A."]);
        assert_eq!(lab.results(2), ["Because.", "It rains in A."]);
    })
    .await;
}

#[tokio::test]
async fn a_function_of_the_request_is_an_external_tool() {
    everywhere(turns(), async |lab| {
        let agent = lab.agent().tool(weather(&Count::default()));
        let request = lab.question().tool(ToolDefinition::function("ask_user", schema()));
        let outcome = lab.run(&agent, request).await;
        assert_eq!(outcome.stop, StopReason::Waiting);
        let names: Vec<_> =
            lab.request(1).tools.iter().map(|tool| tool.name().map(str::to_owned)).collect();
        assert_eq!(names, [Some("ask_user".to_owned()), Some("weather".to_owned())]);
        let mut run = *outcome.suspended.unwrap();
        run.answer(&run.pending()[0].call_id, ToolOutput::text("Because.")).unwrap();
        let outcome = lab.run(&agent, run).await;
        assert_eq!(outcome.stop, StopReason::Finished);
        // The tools are declared once, also in the resumed run.
        assert_eq!(lab.request(2).tools.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_call_of_an_external_tool_can_be_denied_or_abort_the_run() {
    everywhere(turns(), async |lab| {
        let agent = lab.agent().tool(weather(&Count::default()));
        let request = lab.question().tool(ToolDefinition::function("ask_user", schema()));
        let waits = lab.run(&agent, request).await.suspended.unwrap();
        let id = waits.pending()[0].call_id.clone();
        let mut denied = waits.clone();
        denied.decide(&id, Decision::deny("the user is away")).unwrap();
        let outcome = lab.run(&agent, *denied).await;
        assert_eq!(outcome.stop, StopReason::Finished);
        assert!(lab.results(2)[0].contains("the user is away"));
        let mut ended = waits;
        ended.decide(&id, Decision::abort("enough")).unwrap();
        let outcome = lab.run(&agent, *ended).await;
        assert_eq!(outcome.stop, StopReason::Aborted { reason: "enough".into() });
        lab.send_history(&outcome).await;
    })
    .await;
}
