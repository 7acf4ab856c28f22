//! G.4: the limits of a run: steps, tokens, cost, output, conditions.

use agentloop::agent::{StopReason, Tool, ToolOutput, ToolStatus};
use agentloop::{ContentPart, ToolChoice, Usage, Usd};
use agentloop_sim::Turn;
use serde_json::{Value, json};

use crate::agent::lab::{Count, asks, call, everywhere, outputs, says, weather};

#[tokio::test]
async fn the_limit_of_steps_counts_the_requests_to_the_model() {
    let turns = [asks(&["A"]), asks(&["B", "C"]), says("unused")];
    everywhere(turns, async |lab| {
        let ran = Count::default();
        let agent = lab.agent().tool(weather(&ran)).max_steps(2);
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!(outcome.stop, StopReason::MaxSteps { limit: 2 });
        assert_eq!((lab.calls(), ran.get(), outcome.steps.len()), (2, 1, 2));
        // Calls that did not run have placeholder results, so the history can be sent again.
        let results = &outcome.steps[1].results;
        assert!(results.iter().all(|result| result.status == ToolStatus::Skipped));
        assert_eq!(results.len(), 2);
        assert!(outputs(results)[0].contains("limit"));
        lab.send_history(&outcome).await;
    })
    .await;
}

#[tokio::test]
async fn a_response_without_calls_within_the_limit_finishes_the_run() {
    everywhere([asks(&["A"]), says("Rain.")], async |lab| {
        let agent = lab.agent().tool(weather(&Count::default())).max_steps(2);
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!((outcome.stop.clone(), outcome.text()), (StopReason::Finished, "Rain.".into()));
    })
    .await;
}

#[tokio::test]
async fn at_the_limit_a_final_response_without_tools_is_requested_if_enabled() {
    everywhere([asks(&["A"]), asks(&["B"]), says("So far: rain.")], async |lab| {
        let ran = Count::default();
        let agent = lab.agent().tool(weather(&ran)).max_steps(2).final_answer();
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!(outcome.stop, StopReason::MaxSteps { limit: 2 });
        assert_eq!((lab.calls(), ran.get()), (3, 1));
        assert_eq!(outcome.text(), "So far: rain.");
        assert_eq!(lab.request(3).tool_choice, Some(ToolChoice::None));
        assert_eq!(lab.request(3).tools.len(), 1);
        assert!(lab.results(3)[1].contains("limit"));
    })
    .await;
}

#[tokio::test]
async fn a_final_response_with_calls_ends_the_run() {
    everywhere([asks(&["A"]), asks(&["B"]), says("unused")], async |lab| {
        let ran = Count::default();
        let agent = lab.agent().tool(weather(&ran)).max_steps(1).final_answer();
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!(outcome.stop, StopReason::MaxSteps { limit: 1 });
        assert_eq!((lab.calls(), ran.get()), (2, 0));
        lab.send_history(&outcome).await;
    })
    .await;
}

fn with_usage(mut turn: Turn, tokens: u64) -> Turn {
    turn.usage = Some(Usage::new(tokens - 1, 1));
    turn
}

#[tokio::test]
async fn a_limit_of_tokens_stops_before_tools_run() {
    let turns = [with_usage(asks(&["A"]), 40), with_usage(asks(&["B"]), 60), says("unused")];
    everywhere(turns, async |lab| {
        let ran = Count::default();
        let agent = lab.agent().tool(weather(&ran)).max_tokens(100);
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!(outcome.stop, StopReason::TokenLimit { limit: 100, used: 100 });
        assert_eq!((lab.calls(), ran.get()), (2, 1));
        assert_eq!(outcome.steps[1].results[0].status, ToolStatus::Skipped);
        lab.send_history(&outcome).await;
    })
    .await;
}

#[tokio::test]
async fn a_limit_of_cost_stops_before_tools_run() {
    let turns = [with_usage(asks(&["A"]), 1_000_000), says("unused")];
    everywhere(turns, async |lab| {
        let ran = Count::default();
        let limit: Usd = "0.05".parse().unwrap();
        let outcome =
            lab.run(&lab.agent().tool(weather(&ran)).max_cost(limit), lab.question()).await;
        let StopReason::CostLimit { limit: reported, spent } = outcome.stop else {
            panic!("{:?}", outcome.stop)
        };
        assert!(reported == limit && spent > limit, "{spent}");
        assert_eq!(outcome.cost.unwrap().usd, spent);
        assert_eq!((lab.calls(), ran.get()), (1, 0));
    })
    .await;
}

#[tokio::test]
async fn a_limit_of_cost_stops_a_run_whose_cost_is_unknown() {
    everywhere([asks(&["A"]), says("unused")], async |lab| {
        let ran = Count::default();
        let agent = lab.agent().tool(weather(&ran)).max_cost("1".parse().unwrap());
        let mut request = lab.question();
        request.model = format!("{}/an-unknown-model", lab.row.provider);
        let outcome = lab.run(&agent, request).await;
        assert_eq!(outcome.stop, StopReason::Unmeasured { what: "cost".into() });
        assert_eq!(ran.get(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_condition_stops_after_the_tools_of_its_step_have_run() {
    everywhere([asks(&["A"]), asks(&["B"]), says("unused")], async |lab| {
        let ran = Count::default();
        let agent = lab
            .agent()
            .tool(weather(&ran))
            .stop_when("never", |_| false)
            .stop_when("two", |steps| steps.len() == 2 && !steps[1].results.is_empty());
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!(outcome.stop, StopReason::Condition { name: "two".into() });
        assert_eq!((lab.calls(), ran.get()), (2, 2));
        lab.send_history(&outcome).await;
    })
    .await;
}

#[tokio::test]
async fn the_model_sees_both_ends_of_a_long_result_and_the_complete_result_is_kept() {
    let turns = [Turn::new([call("c1", "long", "{}"), call("c2", "longer", "{}")]), says("Fine.")];
    everywhere(turns, async |lab| {
        let long = |name: &str| {
            let schema = json!({ "type": "object" });
            Tool::dynamic(name, "Says much", schema, |_: Value, _| async {
                Ok(ToolOutput::parts([ContentPart::text(format!("begin{}end", "x".repeat(3_000)))]))
            })
        };
        let agent = lab.agent().tool(long("long")).tool(long("longer").max_output_chars(9_000));
        let outcome = lab.run(&agent.max_output_chars(300), lab.question()).await;
        let [cut, whole] = &outcome.steps[0].results[..] else { panic!() };
        let seen = cut.output.to_text();
        assert!(seen.starts_with("begin") && seen.ends_with("end") && seen.len() < 400, "{seen}");
        assert_eq!(cut.full.as_ref().unwrap().to_text().len(), 3_008);
        assert!(whole.full.is_none());
        assert_eq!(lab.results(2), [seen, whole.output.to_text()]);
    })
    .await;
}
