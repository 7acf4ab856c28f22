//! G.7: a run that waits is a value; it is resumed with decisions, elsewhere if need be, and nothing runs twice.

use agentloop::agent::{
    Decision, Pending, Policy, RunEvent, StopReason, Suspended, Tool, ToolStatus, Wants,
};
use agentloop_sim::Turn;
use serde_json::{Value, json};

use crate::agent::lab::{Count, Lab, asks, call, everywhere, outputs, says, streamed, weather};

/// Over to another process: JSON and nothing else.
fn stored(run: &Suspended) -> Suspended {
    serde_json::from_str(&serde_json::to_string(run).unwrap()).unwrap()
}

#[tokio::test]
async fn a_run_waits_and_is_resumed_from_json_by_a_fresh_agent() {
    everywhere([asks(&["A", "B"]), says("Fine.")], async |lab| {
        let ran = Count::default();
        let agent = || lab.agent().tool(weather(&ran).policy(Policy::Ask));
        let outcome = lab.run(&agent(), lab.question()).await;
        assert_eq!((outcome.stop.clone(), ran.get()), (StopReason::Waiting, 0));
        let mut run = stored(outcome.suspended.as_ref().unwrap());
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
        assert_eq!(lab.told(2)[0], "It rains in A.");
        assert!(lab.told(2)[1].contains("not B"));
        // What the run adds to the conversation, from its first question on, also what came before the wait.
        assert_eq!(outcome.messages.len(), 4);
        lab.goes_on(&outcome).await;
    })
    .await;
}

#[tokio::test]
async fn what_ran_before_the_wait_does_not_run_again() {
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
        let mut run = stored(outcome.suspended.as_ref().unwrap());
        run.decide_all(&Decision::Allow);
        let outcome = lab.run(&agent, run).await;
        assert_eq!((outcome.stop, lab.calls()), (StopReason::Finished, 3));
        assert_eq!((ran.get(), saved.get()), (2, 1));
    })
    .await;
}

#[tokio::test]
async fn a_run_that_is_resumed_without_decisions_waits_again() {
    everywhere([asks(&["A"]), says("Fine.")], async |lab| {
        let ran = Count::default();
        let agent = lab.agent().tool(weather(&ran).policy(Policy::Ask));
        let first = lab.run(&agent, lab.question()).await;
        let again = lab.run(&agent, *first.suspended.unwrap()).await;
        assert_eq!((again.stop.clone(), ran.get(), lab.calls()), (StopReason::Waiting, 0, 1));
        let mut run = *again.suspended.unwrap();
        assert!(run.decide("nobody", Decision::Allow).is_err());
        run.decide_all(&Decision::abort("enough"));
        let ended = lab.run(&agent, run).await;
        assert_eq!(ended.stop, StopReason::Aborted { reason: "enough".into() });
        lab.goes_on(&ended).await;
    })
    .await;
}

#[tokio::test]
async fn an_approver_may_say_that_the_run_waits() {
    everywhere([asks(&["A", "B"]), says("Fine.")], async |lab| {
        let ran = Count::default();
        let agent =
            lab.agent().tool(weather(&ran).policy(Policy::Ask)).approver(|call: &Pending| {
                if call.index == 0 { Decision::Allow } else { Decision::Wait }
            });
        let outcome = lab.run(&agent, lab.question()).await;
        // Nothing of a step runs before all of its calls have their decision.
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
async fn an_agent_without_the_tool_tells_the_model_so_when_it_resumes() {
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
async fn a_waiting_run_tells_what_it_waits_for_and_then_that_it_is_over() {
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
async fn limits_conditions_and_sums_count_what_was_before_the_wait() {
    everywhere([asks(&["A"]), asks(&["B"]), says("unused")], async |lab: &Lab| {
        let ran = Count::default();
        let agent = lab.agent().tool(weather(&ran).policy(Policy::Ask)).max_steps(2);
        let first = lab.run(&agent, lab.question()).await;
        let mut run = stored(first.suspended.as_ref().unwrap());
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
async fn what_the_tools_kept_goes_with_the_run() {
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
            let mut run = stored(outcome.suspended.as_ref().unwrap());
            run.decide_all(&Decision::Allow);
            outcome = lab.run(&lab.agent().tool(count()), run).await;
        }
        assert_eq!(outcome.stop, StopReason::Finished);
        assert_eq!(outcome.data["count"], 2);
        assert_eq!(lab.told(3), ["1", "2"]);
    })
    .await;
}

#[tokio::test]
async fn a_stored_run_of_another_form_is_refused() {
    everywhere([asks(&["A"]), says("unused")], async |lab| {
        let agent = lab.agent().tool(weather(&Count::default()).policy(Policy::Ask));
        let outcome = lab.run(&agent, lab.question()).await;
        let mut json = serde_json::to_value(outcome.suspended.unwrap()).unwrap();
        json["run"]["version"] = json!(99);
        let run: Suspended = serde_json::from_value(json).unwrap();
        let error = agent.resume(run).await.unwrap_err();
        assert!(error.to_string().contains("form 99"), "{error}");
        assert_eq!(lab.calls(), 1);
    })
    .await;
}
