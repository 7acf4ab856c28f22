//! G.7: decisions before a tool runs: allow, deny, abort or wait.

use std::sync::{Arc, Mutex};

use agentloop::agent::{
    Agent, Decision, Pending, Policy, RunEvent, StopReason, ToolOutput, ToolStatus, Wants,
};

use crate::agent::lab::{Count, Lab, asks, everywhere, outputs, says, weather};

/// Returns an agent whose calls need approval and get this decision.
fn agent_with_approver(
    lab: &Lab,
    ran: &Count,
    decide: impl Fn(&Pending) -> Decision + Send + Sync + 'static,
) -> Agent {
    lab.agent().tool(weather(ran).policy(Policy::Ask)).approver(decide)
}

#[tokio::test]
async fn allowed_calls_run_and_are_decided_in_order() {
    everywhere([asks(&["A", "B"]), says("Fine.")], async |lab| {
        let (ran, asked) = (Count::default(), Arc::new(Mutex::new(Vec::new())));
        let (notes, before) = (Arc::clone(&asked), ran.clone());
        let agent = agent_with_approver(lab, &ran, move |call| {
            assert_eq!((before.get(), &call.wants), (0, &Wants::Decision), "nothing ran before");
            notes.lock().unwrap().push((call.step, call.index, call.arguments.clone()));
            Decision::Allow
        });
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!((outcome.stop, ran.get()), (StopReason::Finished, 2));
        let asked = asked.lock().unwrap();
        let places: Vec<(u32, usize)> = asked.iter().map(|(step, at, _)| (*step, *at)).collect();
        assert_eq!(places, [(1, 0), (1, 1)]);
        assert!(asked[0].2.contains("\"A\"") && asked[1].2.contains("\"B\""));
    })
    .await;
}

#[tokio::test]
async fn a_denial_is_sent_to_the_model_and_the_run_continues() {
    everywhere([asks(&["A", "B"]), says("Fine.")], async |lab| {
        let ran = Count::default();
        let agent = agent_with_approver(lab, &ran, |call| match call.index {
            0 => Decision::deny("not A"),
            _ => Decision::Allow,
        });
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!((outcome.stop.clone(), ran.get()), (StopReason::Finished, 1));
        assert_eq!(outcome.steps[0].results[0].status, ToolStatus::Denied);
        assert_eq!(lab.results(2)[1], "It rains in B.");
        assert!(lab.results(2)[0].contains("not A"));
    })
    .await;
}

#[tokio::test]
async fn an_abort_ends_the_run_and_no_call_of_the_step_runs() {
    everywhere([asks(&["A", "B"]), says("unused")], async |lab| {
        let ran = Count::default();
        let agent = agent_with_approver(lab, &ran, |call| match call.index {
            0 => Decision::Allow,
            _ => Decision::abort("enough"),
        });
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!(outcome.stop, StopReason::Aborted { reason: "enough".into() });
        assert_eq!((ran.get(), lab.calls()), (0, 1));
        assert_eq!(outcome.steps[0].results.len(), 2);
        lab.send_history(&outcome).await;
    })
    .await;
}

#[tokio::test]
async fn a_call_can_run_with_other_arguments_or_get_a_given_result() {
    everywhere([asks(&["A", "B"]), says("Fine.")], async |lab| {
        let ran = Count::default();
        let agent = agent_with_approver(lab, &ran, |call| match call.index {
            0 => Decision::AllowWith { arguments: r#"{"city":"Z"}"#.into() },
            _ => Decision::answer(ToolOutput::text("It is dry.")),
        });
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!(outputs(&outcome.steps[0].results), ["It rains in Z.", "It is dry."]);
        assert_eq!((lab.results(2), ran.get()), (outputs(&outcome.steps[0].results), 1));
    })
    .await;
}

#[tokio::test]
async fn other_arguments_that_do_not_match_the_schema_fail_the_call() {
    everywhere([asks(&["A"]), says("Fine.")], async |lab| {
        let ran = Count::default();
        let agent =
            agent_with_approver(lab, &ran, |_| Decision::AllowWith { arguments: "{}".into() });
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!(outcome.steps[0].results[0].status, ToolStatus::InvalidArguments);
        assert_eq!(ran.get(), 0);
    })
    .await;
}

#[tokio::test]
async fn an_event_reports_that_a_decision_is_needed() {
    crate::agent::lab::streamed([asks(&["A", "B"]), says("Fine.")], async |lab| {
        let agent = agent_with_approver(lab, &Count::default(), |_| Decision::Allow);
        lab.run(&agent, lab.question()).await;
        let needed = lab
            .events()
            .iter()
            .filter_map(|event| match event {
                RunEvent::ApprovalNeeded { calls, .. } => Some(calls.len()),
                _ => None,
            })
            .collect::<Vec<_>>();
        assert_eq!(needed, [1, 1]);
    })
    .await;
}

#[tokio::test]
async fn the_policy_of_the_agent_overrides_the_policy_of_the_tool_and_the_default() {
    everywhere([asks(&["A"]), says("Fine.")], async |lab| {
        let ran = Count::default();
        let open =
            lab.agent().default_policy(Policy::Deny).tool(weather(&ran).policy(Policy::Allow));
        lab.run(&open, lab.question()).await;
        assert_eq!(ran.get(), 1, "the tool's own word is stronger than the default");
        lab.run(&open.policy("weather", Policy::Deny), lab.question()).await;
        let closed = lab.agent().default_policy(Policy::Deny).tool(weather(&ran));
        lab.run(&closed, lab.question()).await;
        assert_eq!(ran.get(), 1);
    })
    .await;
}
