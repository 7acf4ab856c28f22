//! G.1: what goes wrong with a tool is told to the model, and the run goes on.

use std::time::Duration;

use agentloop::agent::{Agent, Policy, StopReason, Tool, ToolError, ToolStatus};
use agentloop_sim::Turn;
use serde_json::{Value, json};

use crate::agent::lab::{City, Count, Lab, call, everywhere, says, weather};

/// An agent with a tool for everything that can go wrong.
fn agent(lab: &Lab) -> Agent {
    let open = json!({ "type": "object" });
    lab.agent()
        .tool(weather(&Count::default()))
        .tool(Tool::new("fails", "Fails", |_: City, _| async {
            Err::<(), _>(ToolError::new("the station is closed"))
        }))
        .tool(Tool::dynamic("panics", "Panics", open.clone(), |_: Value, _| async {
            let readings: Vec<String> = Vec::new();
            Ok(readings.into_iter().next().expect("no sensor"))
        }))
        .tool(
            Tool::dynamic("hangs", "Never ends", open.clone(), |_: Value, _| {
                std::future::pending::<Result<(), ToolError>>()
            })
            .timeout(Duration::from_millis(1)),
        )
        .tool(
            Tool::dynamic("secret", "May not run", open, |_: Value, _| async {
                panic!("it ran");
                #[expect(unreachable_code, reason = "says what it would return")]
                Ok(())
            })
            .policy(Policy::Deny),
        )
}

async fn told(tool: &str, arguments: &str, status: ToolStatus, words: &str) {
    let turns = [Turn::new([call("c1", tool, arguments)]), says("So be it.")];
    everywhere(turns, async |lab| {
        let outcome = lab.run(&agent(lab), lab.question()).await;
        assert_eq!(outcome.stop, StopReason::Finished);
        assert_eq!(outcome.text(), "So be it.");
        let result = &outcome.steps[0].results[0];
        assert_eq!(result.status, status);
        assert!(result.output.to_text().contains(words), "{result:?}");
        assert!(outcome.messages[1].is_error);
        assert!(lab.told(2)[0].contains(words), "{:?}", lab.told(2));
    })
    .await;
}

#[tokio::test]
async fn a_failing_tool_is_told_to_the_model() {
    told("fails", r#"{"city":"Rome"}"#, ToolStatus::Failed, "the station is closed").await;
}

#[tokio::test]
async fn a_panicking_tool_is_one_that_failed() {
    told("panics", "{}", ToolStatus::Failed, "no sensor").await;
}

#[tokio::test]
async fn an_unknown_tool_is_told_with_the_names_of_those_there_are() {
    told("wether", "{}", ToolStatus::UnknownTool, "weather, fails, panics, hangs, secret").await;
}

#[tokio::test]
async fn a_tool_that_takes_too_long_is_stopped_and_told() {
    told("hangs", "{}", ToolStatus::TimedOut, "took longer than 1ms").await;
}

#[tokio::test]
async fn a_denied_tool_is_told_and_does_not_run() {
    told("secret", "{}", ToolStatus::Denied, "may not be used").await;
}

#[tokio::test]
async fn arguments_that_are_no_json_are_told() {
    told("weather", r#"{"city": "Ro"#, ToolStatus::InvalidArguments, "the arguments").await;
}

#[tokio::test]
async fn arguments_that_break_the_schema_are_told_with_the_reason() {
    told("weather", r#"{"city": 7}"#, ToolStatus::InvalidArguments, "/city").await;
}

#[tokio::test]
async fn the_model_may_try_again_with_what_it_was_told() {
    let turns = [
        Turn::new([call("c1", "weather", r#"{"town":"Rome"}"#)]),
        Turn::new([call("c2", "weather", r#"{"city":"Rome"}"#)]),
        says("It rains."),
    ];
    everywhere(turns, async |lab| {
        let ran = Count::default();
        let outcome = lab.run(&lab.agent().tool(weather(&ran)), lab.question()).await;
        assert_eq!((outcome.steps.len(), ran.get()), (3, 1));
        assert_eq!(lab.told(3)[1], "It rains in Rome.");
    })
    .await;
}

#[tokio::test]
async fn a_result_of_nothing_is_one_that_hosts_take() {
    let turns = [Turn::new([call("c1", "empty", "{}")]), says("So be it.")];
    everywhere(turns, async |lab| {
        let schema = json!({ "type": "object" });
        let empty = Tool::dynamic("empty", "Gives nothing", schema, |_: Value, _| async { Ok("") });
        let outcome = lab.run(&lab.agent().tool(empty), lab.question()).await;
        assert_eq!(outcome.stop, StopReason::Finished);
        assert_eq!(outcome.steps[0].results[0].status, ToolStatus::Completed);
        lab.goes_on(&outcome).await;
    })
    .await;
}
