//! G.5: a forced tool choice becomes auto after the first step.

use agentloop::ToolChoice;
use agentloop::agent::StopReason;

use crate::agent::lab::{Count, asks, everywhere, says, weather};

async fn forced(choice: ToolChoice) {
    everywhere([asks(&["A"]), asks(&["B"]), says("Fine.")], async |lab| {
        let ran = Count::default();
        let agent = lab.agent().tool(weather(&ran));
        let outcome = lab.run(&agent, lab.question().tool_choice(choice.clone())).await;
        assert_eq!((outcome.stop, ran.get()), (StopReason::Finished, 2));
        assert_eq!(lab.request(1).tool_choice, Some(choice.clone()));
        for later in [2, 3] {
            let choice = lab.request(later).tool_choice;
            assert!(matches!(choice, None | Some(ToolChoice::Auto)), "{choice:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_required_call_is_required_once() {
    forced(ToolChoice::Required).await;
}

#[tokio::test]
async fn a_named_tool_is_forced_once() {
    forced(ToolChoice::function("weather")).await;
}

#[tokio::test]
async fn the_tool_choice_none_stays_none() {
    everywhere([says("Fine.")], async |lab| {
        let agent = lab.agent().tool(weather(&Count::default()));
        lab.run(&agent, lab.question().tool_choice(ToolChoice::None)).await;
        assert_eq!(lab.request(1).tool_choice, Some(ToolChoice::None));
    })
    .await;
}
