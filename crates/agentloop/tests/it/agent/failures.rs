//! G.1: the model receives the failure of a tool, and the run continues.

use std::time::Duration;

use agentloop::agent::{Agent, Policy, StopReason, Tool, ToolError, ToolStatus};
use agentloop_sim::{Fault, Turn};
use serde_json::{Value, json};

use crate::agent::lab::{City, Count, Lab, call, everywhere, says, weather};

/// Returns an agent with a tool for each kind of failure.
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

async fn check_failure(tool: &str, arguments: &str, status: ToolStatus, words: &str) {
    let turns = [Turn::new([call("c1", tool, arguments)]), says("So be it.")];
    everywhere(turns, async |lab| {
        let outcome = lab.run(&agent(lab), lab.question()).await;
        assert_eq!(outcome.stop, StopReason::Finished);
        assert_eq!(outcome.text(), "So be it.");
        let result = &outcome.steps[0].results[0];
        assert_eq!(result.status, status);
        assert!(result.output.to_text().contains(words), "{result:?}");
        assert!(outcome.messages[1].is_error);
        assert!(lab.results(2)[0].contains(words), "{:?}", lab.results(2));
    })
    .await;
}

#[tokio::test]
async fn the_model_receives_the_error_of_a_failing_tool() {
    check_failure("fails", r#"{"city":"Rome"}"#, ToolStatus::Failed, "the station is closed").await;
}

#[tokio::test]
async fn a_panic_of_a_tool_is_a_failure_of_its_call() {
    check_failure("panics", "{}", ToolStatus::Failed, "no sensor").await;
}

#[tokio::test]
async fn the_result_of_an_unknown_tool_names_the_available_tools() {
    check_failure("wether", "{}", ToolStatus::UnknownTool, "weather, fails, panics, hangs, secret")
        .await;
}

#[tokio::test]
async fn a_tool_that_exceeds_its_timeout_is_stopped_and_fails() {
    check_failure("hangs", "{}", ToolStatus::TimedOut, "exceeded its timeout of 1ms").await;
}

#[tokio::test]
async fn a_denied_tool_does_not_run() {
    check_failure("secret", "{}", ToolStatus::Denied, "does not allow calls").await;
}

#[tokio::test]
async fn arguments_that_are_not_json_fail_the_call() {
    check_failure("weather", r#"{"city": "Ro"#, ToolStatus::InvalidArguments, "the arguments")
        .await;
}

#[tokio::test]
async fn arguments_that_do_not_match_the_schema_fail_with_the_reason() {
    check_failure("weather", r#"{"city": 7}"#, ToolStatus::InvalidArguments, "/city").await;
}

#[tokio::test]
async fn the_model_can_correct_its_call() {
    let turns = [
        Turn::new([call("c1", "weather", r#"{"town":"Rome"}"#)]),
        Turn::new([call("c2", "weather", r#"{"city":"Rome"}"#)]),
        says("It rains."),
    ];
    everywhere(turns, async |lab| {
        let ran = Count::default();
        let outcome = lab.run(&lab.agent().tool(weather(&ran)), lab.question()).await;
        assert_eq!((outcome.steps.len(), ran.get()), (3, 1));
        assert_eq!(lab.results(3)[1], "It rains in Rome.");
    })
    .await;
}

#[tokio::test]
async fn an_empty_result_becomes_text_that_providers_accept() {
    let turns = [Turn::new([call("c1", "empty", "{}")]), says("So be it.")];
    everywhere(turns, async |lab| {
        let schema = json!({ "type": "object" });
        let empty = Tool::dynamic("empty", "Gives nothing", schema, |_: Value, _| async { Ok("") });
        let outcome = lab.run(&lab.agent().tool(empty), lab.question()).await;
        assert_eq!(outcome.stop, StopReason::Finished);
        assert_eq!(outcome.steps[0].results[0].status, ToolStatus::Completed);
        lab.send_history(&outcome).await;
    })
    .await;
}

/// Found by a program whose `main` returned the error: it printed the whole conversation on one line.
#[tokio::test]
async fn the_debug_text_of_a_failed_run_is_short_and_its_fields_have_everything() {
    let secret = "a long text ".repeat(500);
    let turns = [
        Turn::new([call("c1", "weather", r#"{"city":"Rome"}"#)]),
        Turn::fault(Fault::status(401).with_message("the key is wrong")),
    ];
    everywhere(turns, async |lab| {
        let request = lab.question().user(secret.as_str());
        let failed = agent(lab).run(request).await.unwrap_err();
        let text = format!("{failed:?}");
        assert!(text.contains("the key is wrong") && text.contains("\n  hint: "), "{text}");
        assert!(text.ends_with("\n  run: it made 1 step and added 2 messages"), "{text}");
        assert!(text.starts_with(&format!("{:?}", failed.error)), "{text}");
        assert!(text.len() < 600, "{text}");
        assert_eq!(failed.to_string(), failed.error.to_string());
        assert_eq!(failed.outcome.messages.len(), 2);
        assert!(format!("{failed:#?}").contains("outcome: Outcome"), "{failed:#?}");
    })
    .await;
}
