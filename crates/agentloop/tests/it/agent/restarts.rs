//! What restarts with each run. A conversation that is stored after each step is a run for each step
//! (docs/agent.md, "Surviving a kill at any point").

use agentloop::agent::{Agent, Outcome, RunRequest, StopReason, Tool, ToolContext};
use agentloop::{ChatRequest, ToolChoice, Usage};
use agentloop_sim::Turn;
use serde_json::{Map, Value, json};

use crate::agent::lab::{Count, Lab, call, everywhere, says, weather};

const STEPS: usize = 4;

/// Steps with the same call, of 40 tokens each, and a last response.
fn turns() -> Vec<Turn> {
    let step = |number: usize| {
        let mut turn = Turn::new([call(&format!("call_{number}"), "weather", r#"{"city":"A"}"#)]);
        turn.usage = Some(Usage::new(39, 1));
        turn
    };
    (0..STEPS).map(step).chain([says("Rain.")]).collect()
}

/// Runs the agent until the model is done, step by step. Each run has the conversation of the ones before.
async fn step_by_step(
    lab: &Lab,
    agent: &Agent,
    mut request: ChatRequest,
    each: impl Fn(RunRequest, Option<&Outcome>) -> RunRequest,
) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    loop {
        let run = each(RunRequest::new(request.clone()), outcomes.last());
        let outcome = lab.run(agent, run).await;
        request.messages.extend(outcome.messages.iter().cloned());
        let is_last = !matches!(outcome.stop, StopReason::Condition { .. });
        outcomes.push(outcome);
        if is_last {
            return outcomes;
        }
    }
}

#[tokio::test]
async fn the_limits_of_steps_repeats_and_tokens_see_one_run() {
    everywhere(turns(), async |lab| {
        let limited: [fn(Agent) -> Agent; 3] = [
            |agent| agent.max_steps(2),
            |agent| agent.max_repeats(2),
            |agent| agent.max_tokens(100),
        ];
        for limit in limited {
            let agent = limit(lab.agent().tool(weather(&Count::default())));
            let whole = lab.run(&agent, lab.question()).await;
            let is_limit = matches!(
                whole.stop,
                StopReason::MaxSteps { .. }
                    | StopReason::Repeated { .. }
                    | StopReason::TokenLimit { .. }
            );
            assert!(is_limit, "in one run: {:?}", whole.stop);
            let agent = agent.stop_when("each step", |_| true);
            let outcomes = step_by_step(lab, &agent, lab.question(), |run, _| run).await;
            assert_eq!(outcomes.len(), STEPS + 1);
            assert_eq!(outcomes[STEPS].stop, StopReason::Finished);
            // What spans the steps is the sum of what each run reports.
            let tokens: u64 = outcomes[..STEPS]
                .iter()
                .map(|outcome| outcome.usage.total_tokens.unwrap_or_default())
                .sum();
            assert_eq!(tokens, 40 * STEPS as u64);
        }
    })
    .await;
}

#[tokio::test]
async fn the_number_of_the_step_is_one_in_each_run() {
    everywhere(turns(), async |lab| {
        let tool = || {
            let step =
                |_: Value, context: ToolContext| async move { Ok(context.step().to_string()) };
            Tool::dynamic("weather", "The number of the step", json!({ "type": "object" }), step)
        };
        let shown = |outcomes: &[Outcome]| -> Vec<String> {
            let steps = outcomes.iter().flat_map(|outcome| &outcome.steps);
            steps.flat_map(|step| &step.results).map(|result| result.output.to_text()).collect()
        };
        let whole = lab.run(&lab.agent().tool(tool()), lab.question()).await;
        assert_eq!(shown(&[whole]), ["1", "2", "3", "4"]);
        let agent = lab.agent().tool(tool()).stop_when("each step", |_| true);
        let outcomes = step_by_step(lab, &agent, lab.question(), |run, _| run).await;
        assert_eq!(shown(&outcomes), ["1", "1", "1", "1"]);
    })
    .await;
}

#[tokio::test]
async fn a_forced_tool_choice_is_forced_in_each_run() {
    everywhere(turns(), async |lab| {
        let agent = lab.agent().tool(weather(&Count::default())).stop_when("each step", |_| true);
        let request = lab.question().tool_choice(ToolChoice::Required);
        step_by_step(lab, &agent, request, |run, _| run).await;
        for number in 1..=STEPS + 1 {
            assert_eq!(lab.request(number).tool_choice, Some(ToolChoice::Required), "{number}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_data_of_the_tools_ends_with_each_run_unless_it_is_passed_on() {
    everywhere(turns(), async |lab| {
        let counting = |_: Value, context: ToolContext| async move {
            let before: u64 = context.data().get("count")?.unwrap_or(0);
            context.data().set("count", &(before + 1))?;
            Ok("counted")
        };
        let tool = Tool::dynamic("weather", "Counts", json!({ "type": "object" }), counting);
        let agent = lab.agent().tool(tool).stop_when("each step", |_| true);
        let counts = |outcomes: &[Outcome]| -> Vec<Option<u64>> {
            outcomes.iter().map(|outcome| outcome.data.get("count")?.as_u64()).collect()
        };
        let lost = step_by_step(lab, &agent, lab.question(), |run, _| run).await;
        assert_eq!(counts(&lost), [Some(1), Some(1), Some(1), Some(1), None]);
        let pass = |run: RunRequest, last: Option<&Outcome>| {
            run.data(last.map_or_else(Map::new, |last| last.data.clone()))
        };
        let kept = step_by_step(lab, &agent, lab.question(), pass).await;
        assert_eq!(counts(&kept), [Some(1), Some(2), Some(3), Some(4), Some(4)]);
    })
    .await;
}
