//! G.8: text before a call stays in the history; usage and cost of a run are the sums of its steps.

use agentloop::ContentPart;
use agentloop::agent::StopReason;
use agentloop::middleware::Costs;
use agentloop_sim::Turn;

use crate::agent::lab::{Count, Lab, ROWS, asks, call, everywhere, says, script, text, weather};

#[tokio::test]
async fn text_before_a_call_stays_in_the_history() {
    let first = Turn::new([text("Let me look."), call("c1", "weather", r#"{"city":"Rome"}"#)]);
    everywhere([first, says("It rains.")], async |lab| {
        let outcome = lab.run(&lab.agent().tool(weather(&Count::default())), lab.question()).await;
        assert_eq!(outcome.messages[0].text(), "Let me look.");
        assert!(matches!(
            outcome.messages[0].parts(),
            [ContentPart::Text(_), ContentPart::ToolCall(_)]
        ));
        let asked = lab.request(2).messages;
        assert!(asked.iter().any(|turn| turn.text() == "Let me look."), "{asked:?}");
    })
    .await;
}

#[tokio::test]
async fn the_usage_of_a_run_is_the_sum_of_its_steps_as_the_provider_counted() {
    everywhere([asks(&["A", "B"]), asks(&["C"]), says("It rains all over.")], async |lab| {
        let outcome = lab.run(&lab.agent().tool(weather(&Count::default())), lab.question()).await;
        let steps = outcome.steps.iter().map(|step| step.response.usage.clone());
        assert_eq!(steps.reduce(|sum, more| sum.plus(&more)), Some(outcome.usage.clone()));
        let ledger = lab.server.simulator().ledger();
        assert_eq!(outcome.usage.prompt_tokens, Some(ledger.prompt_tokens));
        assert_eq!(outcome.usage.completion_tokens, Some(ledger.completion_tokens));
        assert_eq!(ledger.chats, 3);
    })
    .await;
}

#[tokio::test]
async fn the_cost_of_a_run_is_the_sum_of_its_steps() {
    for row in ROWS {
        for streamed in [false, true] {
            let costs = Costs::new();
            let ledger = costs.ledger();
            let script = script([asks(&["A"]), says("It rains.")]);
            let lab = Lab::build(row, streamed, script, |builder| builder.layer(costs)).await;
            let agent = lab.agent().tool(weather(&Count::default()));
            let outcome = lab.run(&agent, lab.question()).await;
            let spent = outcome.steps.iter().map(|step| step.response.cost.clone().unwrap());
            let sum = spent.reduce(|sum, more| sum.plus(&more)).unwrap();
            assert_eq!(outcome.cost.as_ref().unwrap().usd, sum.usd);
            assert!(sum.usd.picos() > 0);
            assert_eq!(ledger.total().usd, sum.usd);
        }
    }
}

#[tokio::test]
async fn complete_and_streamed_runs_have_the_same_outcome() {
    for row in ROWS {
        let mut outcomes = Vec::new();
        for streamed in [false, true] {
            let script = script([asks(&["A", "B"]), says("It rains.")]);
            let lab = Lab::new(row, streamed, script).await;
            let agent = lab.agent().tool(weather(&Count::default()));
            let outcome = lab.run(&agent, lab.question()).await;
            assert_eq!(outcome.stop, StopReason::Finished);
            let turns: Vec<_> =
                outcome.messages.iter().map(|turn| (turn.role, turn.text())).collect();
            outcomes.push((turns, outcome.usage.total_tokens, outcome.steps.len()));
        }
        assert_eq!(outcomes[0], outcomes[1], "{row:?}");
    }
}
