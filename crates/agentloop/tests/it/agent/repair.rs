//! G.1: a call that cannot run may be mended first.

use agentloop::agent::{Agent, BrokenCall, StopReason, ToolStatus};
use agentloop::{ContentPart, ToolCallPart};
use agentloop_sim::Turn;

use crate::agent::lab::{Count, Lab, call, everywhere, says, weather};

fn agent(lab: &Lab, ran: &Count, mend: fn(&BrokenCall<'_>) -> Option<ToolCallPart>) -> Agent {
    lab.agent().tool(weather(ran)).repair(move |broken| {
        let fixed = mend(&broken);
        Box::pin(std::future::ready(fixed))
    })
}

fn stands(outcome: &agentloop::agent::Outcome) -> ToolCallPart {
    let parts = outcome.messages[0].parts().iter();
    let mut calls = parts.filter_map(|part| match part {
        ContentPart::ToolCall(call) => Some(call.clone()),
        _ => None,
    });
    calls.next_back().unwrap()
}

#[tokio::test]
async fn a_wrong_name_is_mended_and_stands_so_in_the_conversation() {
    let turns = [Turn::new([call("c1", "wether", r#"{"city":"Rome"}"#)]), says("Fine.")];
    everywhere(turns, async |lab| {
        let ran = Count::default();
        let agent = agent(lab, &ran, |broken| {
            assert_eq!(broken.problem, ToolStatus::UnknownTool);
            assert!(broken.tools.get("weather").is_some() && broken.message.contains("wether"));
            // Another id would answer no call: it is not taken over.
            Some(ToolCallPart::new("other", "weather", broken.call.arguments.clone()))
        });
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!((outcome.stop.clone(), ran.get()), (StopReason::Finished, 1));
        assert_eq!(stands(&outcome).name, "weather");
        assert_eq!(Some(&stands(&outcome).id), outcome.messages[1].tool_call_id.as_ref());
        assert_eq!(lab.told(2), ["It rains in Rome."]);
    })
    .await;
}

#[tokio::test]
async fn broken_arguments_are_mended() {
    let turns = [Turn::new([call("c1", "weather", r#"{"city":["Rome"]}"#)]), says("Fine.")];
    everywhere(turns, async |lab| {
        let ran = Count::default();
        let agent = agent(lab, &ran, |broken| {
            assert_eq!(broken.problem, ToolStatus::InvalidArguments);
            Some(ToolCallPart { arguments: r#"{"city":"Rome"}"#.into(), ..broken.call.clone() })
        });
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!(outcome.steps[0].results[0].status, ToolStatus::Completed);
        assert_eq!(stands(&outcome).arguments, r#"{"city":"Rome"}"#);
        assert_eq!(ran.get(), 1);
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_mended_is_told_to_the_model() {
    let turns = [Turn::new([call("c1", "wether", "{}")]), says("Fine.")];
    everywhere(turns, async |lab| {
        let ran = Count::default();
        for mend in [
            (|_: &BrokenCall<'_>| None) as fn(&BrokenCall<'_>) -> Option<ToolCallPart>,
            // Mended once only: what is still broken is told.
            |broken| Some(ToolCallPart::new("c1", "weathr", broken.call.arguments.clone())),
        ] {
            let outcome = lab.run(&agent(lab, &ran, mend), lab.question()).await;
            assert_eq!(outcome.stop, StopReason::Finished);
            assert_eq!(outcome.steps[0].results[0].status, ToolStatus::UnknownTool);
        }
        assert_eq!(ran.get(), 0);
    })
    .await;
}
