//! G.1: a hook can repair a call that cannot run.

use agentloop::agent::{Agent, BrokenCall, StopReason, ToolStatus};
use agentloop::{ContentPart, ToolCallPart};
use agentloop_sim::Turn;

use crate::agent::lab::{Count, Lab, call, everywhere, says, weather};

fn agent(lab: &Lab, ran: &Count, hook: fn(&BrokenCall<'_>) -> Option<ToolCallPart>) -> Agent {
    lab.agent().tool(weather(ran)).repair(move |broken| {
        let fixed = hook(&broken);
        Box::pin(std::future::ready(fixed))
    })
}

fn call_in_history(outcome: &agentloop::agent::Outcome) -> ToolCallPart {
    let parts = outcome.messages[0].parts().iter();
    let mut calls = parts.filter_map(|part| match part {
        ContentPart::ToolCall(call) => Some(call.clone()),
        _ => None,
    });
    calls.next_back().unwrap()
}

#[tokio::test]
async fn a_wrong_name_is_repaired_also_in_the_conversation() {
    let turns = [Turn::new([call("c1", "wether", r#"{"city":"Rome"}"#)]), says("Fine.")];
    everywhere(turns, async |lab| {
        let ran = Count::default();
        let agent = agent(lab, &ran, |broken| {
            assert_eq!(broken.problem, ToolStatus::UnknownTool);
            assert!(broken.tools.get("weather").is_some() && broken.message.contains("wether"));
            // The hook cannot change the id, because the result must belong to the model's call.
            Some(ToolCallPart::new("other", "weather", broken.call.arguments.clone()))
        });
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!((outcome.stop.clone(), ran.get()), (StopReason::Finished, 1));
        assert_eq!(call_in_history(&outcome).name, "weather");
        assert_eq!(Some(&call_in_history(&outcome).id), outcome.messages[1].tool_call_id.as_ref());
        assert_eq!(lab.results(2), ["It rains in Rome."]);
    })
    .await;
}

#[tokio::test]
async fn invalid_arguments_are_repaired() {
    let turns = [Turn::new([call("c1", "weather", r#"{"city":["Rome"]}"#)]), says("Fine.")];
    everywhere(turns, async |lab| {
        let ran = Count::default();
        let agent = agent(lab, &ran, |broken| {
            assert_eq!(broken.problem, ToolStatus::InvalidArguments);
            Some(broken.call.clone().with_arguments(r#"{"city":"Rome"}"#))
        });
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!(outcome.steps[0].results[0].status, ToolStatus::Completed);
        assert_eq!(call_in_history(&outcome).arguments, r#"{"city":"Rome"}"#);
        assert_eq!(ran.get(), 1);
    })
    .await;
}

#[tokio::test]
async fn the_model_receives_the_error_of_a_call_that_cannot_be_repaired() {
    let turns = [Turn::new([call("c1", "wether", "{}")]), says("Fine.")];
    everywhere(turns, async |lab| {
        let ran = Count::default();
        for hook in [
            (|_: &BrokenCall<'_>| None) as fn(&BrokenCall<'_>) -> Option<ToolCallPart>,
            // A call is repaired once. If it still cannot run, the model receives the error.
            |broken| Some(ToolCallPart::new("c1", "weathr", broken.call.arguments.clone())),
        ] {
            let outcome = lab.run(&agent(lab, &ran, hook), lab.question()).await;
            assert_eq!(outcome.stop, StopReason::Finished);
            assert_eq!(outcome.steps[0].results[0].status, ToolStatus::UnknownTool);
        }
        assert_eq!(ran.get(), 0);
    })
    .await;
}
