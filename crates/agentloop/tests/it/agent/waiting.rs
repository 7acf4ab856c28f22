//! G.7: a suspended run is a value that can be resumed with decisions in another process, and no call runs twice.

use std::sync::{Arc, Mutex};

use agentloop::agent::{
    Agent, Decision, Pending, Policy, RunEvent, StopReason, Suspended, Tool, ToolContext,
    ToolStatus, Wants,
};
use agentloop::{AgentLoop, ChatRequest};
use agentloop_sim::{Fault, Simulator, Turn};
use serde_json::{Value, json};

use crate::agent::lab::{Count, Lab, asks, call, everywhere, outputs, says, streamed, weather};

/// Returns the run as another process reads it: from JSON.
fn round_trip(run: &Suspended) -> Suspended {
    serde_json::from_str(&serde_json::to_string(run).unwrap()).unwrap()
}

#[tokio::test]
async fn a_run_waits_and_is_resumed_from_json_by_a_fresh_agent() {
    everywhere([asks(&["A", "B"]), says("Fine.")], async |lab| {
        let ran = Count::default();
        let agent = || lab.agent().tool(weather(&ran).policy(Policy::Ask));
        let outcome = lab.run(&agent(), lab.question()).await;
        assert_eq!((outcome.stop.clone(), ran.get()), (StopReason::Waiting, 0));
        let mut run = round_trip(outcome.suspended.as_ref().unwrap());
        let wanted: Vec<(usize, String, Wants)> =
            run.pending().into_iter().map(|call| (call.index, call.tool, call.wants)).collect();
        let wants = |at| (at, "weather".to_owned(), Wants::Decision);
        assert_eq!(wanted, [wants(0), wants(1)]);
        let ids: Vec<String> = run.pending().into_iter().map(|call| call.call_id).collect();
        run.decide(&ids[0], Decision::Allow).unwrap();
        run.decide(&ids[1], Decision::deny("not B")).unwrap();
        let outcome = lab.run(&agent(), run).await;
        assert_eq!((outcome.stop.clone(), ran.get()), (StopReason::Finished, 1));
        assert_eq!(outcome.steps.len(), 2);
        assert_eq!(lab.results(2)[0], "It rains in A.");
        assert!(lab.results(2)[1].contains("not B"));
        // The messages include those from before the suspension.
        assert_eq!(outcome.messages.len(), 4);
        lab.send_history(&outcome).await;
    })
    .await;
}

#[tokio::test]
async fn calls_that_ran_before_the_suspension_do_not_run_again() {
    let turns = [
        asks(&["A"]),
        Turn::new([call("c2", "save", "{}"), call("c3", "weather", r#"{"city":"B"}"#)]),
        says("Fine."),
    ];
    everywhere(turns, async |lab| {
        let (ran, saved) = (Count::default(), Count::default());
        let save = saved.clone();
        let save = Tool::dynamic("save", "Saves", json!({"type":"object"}), move |_: Value, _| {
            save.more();
            async { Ok(()) }
        });
        let agent = lab.agent().tool(weather(&ran)).tool(save.policy(Policy::Ask));
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!((outcome.stop.clone(), ran.get(), lab.calls()), (StopReason::Waiting, 1, 2));
        let mut run = round_trip(outcome.suspended.as_ref().unwrap());
        run.decide_all(&Decision::Allow);
        let outcome = lab.run(&agent, run).await;
        assert_eq!((outcome.stop, lab.calls()), (StopReason::Finished, 3));
        assert_eq!((ran.get(), saved.get()), (2, 1));
    })
    .await;
}

#[tokio::test]
async fn a_run_resumed_without_decisions_waits_again() {
    everywhere([asks(&["A"]), says("Fine.")], async |lab| {
        let ran = Count::default();
        let agent = lab.agent().tool(weather(&ran).policy(Policy::Ask));
        let first = lab.run(&agent, lab.question()).await;
        let again = lab.run(&agent, *first.suspended.unwrap()).await;
        assert_eq!((again.stop.clone(), ran.get(), lab.calls()), (StopReason::Waiting, 0, 1));
        let mut run = *again.suspended.unwrap();
        assert!(run.decide("unknown", Decision::Allow).is_err());
        run.decide_all(&Decision::abort("enough"));
        let ended = lab.run(&agent, run).await;
        assert_eq!(ended.stop, StopReason::Aborted { reason: "enough".into() });
        lab.send_history(&ended).await;
    })
    .await;
}

#[tokio::test]
async fn an_approver_can_suspend_the_run() {
    everywhere([asks(&["A", "B"]), says("Fine.")], async |lab| {
        let ran = Count::default();
        let agent =
            lab.agent().tool(weather(&ran).policy(Policy::Ask)).approver(|call: &Pending| {
                if call.index == 0 { Decision::Allow } else { Decision::Wait }
            });
        let outcome = lab.run(&agent, lab.question()).await;
        // No call of a step runs before all of its calls have a decision.
        assert_eq!((outcome.stop, ran.get()), (StopReason::Waiting, 0));
        let mut run = *outcome.suspended.unwrap();
        assert_eq!(run.pending().len(), 1);
        run.decide_all(&Decision::Allow);
        let outcome = lab.run(&agent, run).await;
        assert_eq!((outcome.stop, ran.get()), (StopReason::Finished, 2));
        assert_eq!(outputs(&outcome.steps[0].results), ["It rains in A.", "It rains in B."]);
    })
    .await;
}

#[tokio::test]
async fn a_run_resumed_without_the_tool_fails_the_call() {
    everywhere([asks(&["A"]), says("Fine.")], async |lab| {
        let agent = lab.agent().tool(weather(&Count::default()).policy(Policy::Ask));
        let outcome = lab.run(&agent, lab.question()).await;
        let mut run = *outcome.suspended.unwrap();
        run.decide_all(&Decision::Allow);
        let outcome = lab.run(&lab.agent(), run).await;
        assert_eq!(outcome.stop, StopReason::Finished);
        assert_eq!(outcome.steps[0].results[0].status, ToolStatus::UnknownTool);
    })
    .await;
}

#[tokio::test]
async fn a_suspended_run_reports_what_it_waits_for_and_then_ends() {
    streamed([asks(&["A"]), says("Fine.")], async |lab| {
        let agent = lab.agent().tool(weather(&Count::default()).policy(Policy::Ask));
        lab.run(&agent, lab.question()).await;
        let events = lab.events();
        let [.., RunEvent::ApprovalNeeded { calls, .. }, RunEvent::RunDone { outcome }] =
            &events[..]
        else {
            panic!("{events:?}")
        };
        assert_eq!(calls, &outcome.suspended.as_ref().unwrap().pending());
    })
    .await;
}

#[tokio::test]
async fn limits_conditions_and_sums_include_the_steps_before_the_suspension() {
    everywhere([asks(&["A"]), asks(&["B"]), says("unused")], async |lab: &Lab| {
        let ran = Count::default();
        let agent = lab.agent().tool(weather(&ran).policy(Policy::Ask)).max_steps(2);
        let first = lab.run(&agent, lab.question()).await;
        let mut run = round_trip(first.suspended.as_ref().unwrap());
        run.decide_all(&Decision::Allow);
        let outcome = lab.run(&agent, run).await;
        assert_eq!(outcome.stop, StopReason::MaxSteps { limit: 2 });
        assert_eq!(outcome.steps.len(), 2);
        let ledger = lab.server.simulator().ledger();
        assert_eq!(outcome.usage.completion_tokens, Some(ledger.completion_tokens));
    })
    .await;
}

#[tokio::test]
async fn the_data_of_the_tools_is_stored_with_the_run() {
    everywhere([asks(&["A"]), asks(&["B"]), says("Fine.")], async |lab| {
        let count = || {
            Tool::dynamic(
                "weather",
                "Counts",
                json!({"type":"object"}),
                |_: Value, context| async move {
                    let before: u32 = context.data().get("count")?.unwrap_or(0);
                    context.data().set("count", &(before + 1))?;
                    Ok(before + 1)
                },
            )
            .policy(Policy::Ask)
        };
        let mut outcome = lab.run(&lab.agent().tool(count()), lab.question()).await;
        for _ in 0..2 {
            let mut run = round_trip(outcome.suspended.as_ref().unwrap());
            run.decide_all(&Decision::Allow);
            outcome = lab.run(&lab.agent().tool(count()), run).await;
        }
        assert_eq!(outcome.stop, StopReason::Finished);
        assert_eq!(outcome.data["count"], 2);
        assert_eq!(lab.results(3), ["1", "2"]);
    })
    .await;
}

/// The guide's program (docs/approval.md) stores the run again after the decisions, and resumes it from there after a crash.
#[tokio::test]
async fn a_run_stored_with_its_decisions_is_resumed_after_a_failure_with_the_same_calls() {
    let keys: Arc<Mutex<Vec<String>>> = Arc::default();
    let (noted, open) = (Arc::clone(&keys), json!({ "type": "object" }));
    let send = Tool::dynamic("send", "Sends", open, move |_: Value, context: ToolContext| {
        let key = format!("{}/{}", context.step(), context.call_id());
        noted.lock().unwrap().push(key);
        async { Ok("sent") }
    });
    let simulator = Simulator::new().with_responses([
        Turn::tool_call("c1", "send", &json!({})),
        Turn::fault(Fault::status(503)),
        Turn::text("Done."),
    ]);
    let ai = AgentLoop::builder().provider(simulator.provider()).build().unwrap();
    let agent = Agent::new(ai).tool(send.policy(Policy::Ask));
    let outcome = agent.run(ChatRequest::new("sim/any").user("Send it.")).await.unwrap();
    let mut run = round_trip(outcome.suspended.as_ref().unwrap());
    run.decide("c1", Decision::Allow).unwrap();
    let decided = round_trip(&run);
    assert!(decided.pending().is_empty());
    let failed = agent.resume(round_trip(&decided)).await.unwrap_err();
    // What was done is not lost either: the messages can be stored and sent again.
    assert_eq!(
        (failed.outcome.messages.len(), failed.outcome.messages[1].text()),
        (2, "sent".to_owned())
    );
    let outcome = agent.resume(decided).await.unwrap();
    assert_eq!((outcome.stop.clone(), outcome.text()), (StopReason::Finished, "Done.".to_owned()));
    assert_eq!(*keys.lock().unwrap(), ["1/c1", "1/c1"]);
}

#[tokio::test]
async fn a_stored_run_of_another_format_version_is_rejected() {
    everywhere([asks(&["A"]), says("unused")], async |lab| {
        let agent = lab.agent().tool(weather(&Count::default()).policy(Policy::Ask));
        let outcome = lab.run(&agent, lab.question()).await;
        let mut json = serde_json::to_value(outcome.suspended.unwrap()).unwrap();
        json["run"]["version"] = json!(99);
        let run: Suspended = serde_json::from_value(json).unwrap();
        let error = agent.resume(run).await.unwrap_err();
        assert!(error.to_string().contains("format version 99"), "{error}");
        assert_eq!(lab.calls(), 1);
    })
    .await;
}
