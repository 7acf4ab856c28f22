//! Runs with structured output.

use agentloop::agent::{Decision, Policy, RunRequest, StopReason, Suspended, Typed};
use agentloop::{ErrorKind, OutputStrategy};
use agentloop_sim::Turn;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::agent::lab::{Count, asks, call, everywhere, says, weather};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Report {
    city: String,
    wet: bool,
}

const RIGHT: &str = r#"{"city":"Rome","wet":true}"#;

fn report() -> Report {
    Report { city: "Rome".into(), wet: true }
}

#[tokio::test]
async fn the_last_response_has_the_type_after_the_tools_have_run() {
    everywhere([asks(&["Rome"]), says(RIGHT)], async |lab| {
        let ran = Count::default();
        let agent = lab.agent().tool(weather(&ran));
        let request = RunRequest::new(lab.question()).output::<Report>();
        let outcome = lab.run(&agent, request).await;
        assert_eq!((outcome.stop, ran.get()), (StopReason::Finished, 1));
        assert_eq!(outcome.output, Some(serde_json::from_str(RIGHT).unwrap()));
        assert_eq!(lab.calls(), 2);
    })
    .await;
}

#[tokio::test]
async fn an_invalid_response_is_requested_again_with_the_reason() {
    let turns = [asks(&["Rome"]), says(r#"{"city":"Rome","wet":"very"}"#), says(RIGHT)];
    everywhere(turns, async |lab| {
        let agent = lab.agent().tool(weather(&Count::default()));
        let typed: Typed<Report> = agent.run_structured(lab.question()).await.unwrap();
        assert_eq!(typed.data, Some(report()));
        assert_eq!((lab.calls(), typed.outcome.steps.len()), (3, 3));
        let correction = lab.request(3).messages.last().unwrap().text();
        assert!(correction.contains("wet"), "{correction}");
        lab.send_history(&typed.outcome).await;
    })
    .await;
}

#[tokio::test]
async fn a_response_that_stays_invalid_fails_after_its_retries() {
    let wrong = || says(r#"{"city":"Rome","wet":7}"#);
    everywhere([wrong(), wrong(), wrong()], async |lab| {
        let request = RunRequest::new(lab.question()).output::<Report>().output_retries(2);
        let outcome = lab.run(&lab.agent(), request).await;
        assert_eq!((outcome.stop.clone(), lab.calls()), (StopReason::Failed, 3));
        assert_eq!(outcome.error.as_ref().unwrap().kind(), ErrorKind::OutputMismatch);
        assert_eq!(outcome.output, None);
    })
    .await;
}

#[tokio::test]
async fn corrections_count_as_steps() {
    everywhere([says("no"), says("still no")], async |lab| {
        let request = RunRequest::new(lab.question()).output::<Report>().output_retries(5);
        let outcome = lab.run(&lab.agent().max_steps(2), request).await;
        assert_eq!((outcome.stop.clone(), lab.calls()), (StopReason::MaxSteps { limit: 2 }, 2));
        assert_eq!(outcome.output, None);
    })
    .await;
}

#[tokio::test]
async fn a_run_that_stopped_early_has_no_value_and_reports_why() {
    everywhere([asks(&["Rome"]), says("unused")], async |lab| {
        let agent = lab.agent().tool(weather(&Count::default())).max_steps(1);
        let typed: Typed<Report> = agent.run_structured(lab.question()).await.unwrap();
        assert_eq!(typed.data, None);
        let error = typed.into_data().unwrap_err();
        assert!(error.to_string().contains("max_steps"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_response_by_a_forced_tool_is_not_a_call_of_an_agents_tool() {
    let turns = [asks(&["Rome"]), Turn::new([call("c9", "Report", RIGHT)])];
    everywhere(turns, async |lab| {
        let ran = Count::default();
        let mut request = lab.question();
        request.output_strategy = Some(OutputStrategy::Tool);
        let request = RunRequest::new(request).output::<Report>();
        let outcome = lab.run(&lab.agent().tool(weather(&ran)), request).await;
        assert_eq!((outcome.stop, ran.get()), (StopReason::Finished, 1));
        assert_eq!(outcome.output, Some(serde_json::from_str(RIGHT).unwrap()));
    })
    .await;
}

#[tokio::test]
async fn a_resumed_run_still_returns_its_type() {
    everywhere([asks(&["Rome"]), says(RIGHT)], async |lab| {
        let agent = lab.agent().tool(weather(&Count::default()).policy(Policy::Ask));
        let typed: Typed<Report> = agent.run_structured(lab.question()).await.unwrap();
        assert_eq!((typed.data, &typed.outcome.stop), (None, &StopReason::Waiting));
        let stored = serde_json::to_string(&typed.outcome.suspended).unwrap();
        let mut run: Suspended = serde_json::from_str(&stored).unwrap();
        run.decide_all(&Decision::Allow);
        let typed: Typed<Report> = agent.run_structured(run).await.unwrap();
        assert_eq!(typed.into_data().unwrap(), report());
    })
    .await;
}
